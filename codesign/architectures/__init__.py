"""Facts of published models: bundled references, and a reader of Hugging Face config.json."""

from codesign.architectures.lookup import list_architectures, load_architecture

__all__ = ["list_architectures", "load_architecture"]
