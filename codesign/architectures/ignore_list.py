"""Which modules a quantisation leaves as they were."""

import re
from fnmatch import translate
from typing import Final

ROOTS: Final = ("model.", "language_model.model.", "model.language_model.", "backbone.")
"""What published checkpoints write before ``layers.N``."""


def within_layers(module: str) -> str:
    """Return ``layers.3.mlp.down_proj`` of ``model.layers.3.mlp.down_proj``."""
    return module[module.find("layers.") :] if "layers." in module else module


class IgnoreList:
    """Whether an ignore list names a module or a parent of it, with or without its full path.

    ``re:`` marks a regular expression (compressed-tensors), ``*`` a glob (modelopt, gpt-oss).
    """

    def __init__(self, patterns: list[str]) -> None:
        globs = [within_layers(p) for p in patterns if "*" in p and not p.startswith("re:")]
        self._names = {within_layers(p) for p in patterns if "*" not in p}
        self._globs = re.compile(
            "|".join(translate(f"{p}{end}") for p in globs for end in ("", ".*"))
        )
        self._any_glob = bool(globs)
        self._expressions = [re.compile(p[3:]) for p in patterns if p.startswith("re:")]

    def __contains__(self, module: str) -> bool:
        parts = module.split(".")
        sequences = (
            ".".join(parts[start:end])
            for start in range(len(parts))
            for end in range(start + 1, len(parts) + 1)
        )
        return (
            any(sequence in self._names for sequence in sequences)
            or (self._any_glob and self._globs.match(module) is not None)
            or any(e.match(root + module) for e in self._expressions for root in ROOTS)
        )
