"""What one family of models brings: how its config.json is read and written."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import ValidationError

from codesign.architectures.config import Config
from codesign.architectures.feed_forward import ExpertFields, FeedForward
from codesign.architectures.quantization import read_precision
from codesign.errors import DataError
from codesign.spec.architecture import Architecture
from codesign.spec.base import Spec
from codesign.spec.load import validation_message

PREDICTION_FIELDS: Final = (
    "num_nextn_predict_layers",
    "mtp_num_hidden_layers",
    "num_mtp_modules",
    "num_mtp_layers",
)
TOWERS: Final = {"vision_config": "vision tower", "audio_config": "audio tower"}


@dataclass(frozen=True)
class Family:
    """One family of models.

    Parameters
    ----------
    model_types : tuple of str
        Every ``model_type`` it answers to, of a whole file or of its ``text_config``.
    read : callable
        `Config` -> `Architecture`; raises DataError where a field is missing or not understood.
    write : callable, optional
        `Architecture` -> the fields of a config.json that give its size, beside those that every
        family names alike (`export`).
    experts : ExpertFields, optional
        How it names the sizes of experts: enough to change them in a base config.json.
    classes : dict
        For each model type that can be written, its class in transformers; the first also
        stands for the others.
    """

    model_types: tuple[str, ...]
    read: Callable[[Config], Architecture]
    write: Callable[[Architecture], dict[str, Any]] | None = None
    experts: ExpertFields | None = None
    classes: Mapping[str, str] = field(default_factory=dict)


def writer(
    *parts: Callable[[Architecture], dict[str, Any]],
) -> Callable[[Architecture], dict[str, Any]]:
    """Return what writes the fields of all parts, the last one's where two name the same."""

    def write(architecture: Architecture) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for part in parts:
            fields |= part(architecture)
        return fields

    return write


def assemble(
    config: Config,
    attention: Sequence[Spec],
    feed_forward: FeedForward,
    *,
    tied: bool | None = False,
    notes: Iterable[str] = (),
    **facts: Any,
) -> Architecture:
    """Put the parts of an architecture together with what every family names alike.

    Parameters
    ----------
    config : Config
        The file.
    attention : sequence of Attention
        Its token mixers.
    feed_forward : FeedForward
        Its experts and dense layers.
    tied : bool, optional
        Whether embeddings are tied where the file does not say: its class's default. None: the
        class never ties them.
    notes : iterable of str
        What the family has to say.
    **facts
        Other fields of `Architecture`.

    Raises
    ------
    DataError
        The facts contradict each other, as `Architecture` checks.
    """
    layers = config.layers
    prediction = config.integer(*PREDICTION_FIELDS, default=0, least=0)
    data: dict[str, Any] = {
        "name": name_of(config),
        "family": config.model_type,
        "source": str(config.path),
        "hidden_size": config.integer("hidden_size", "d_model"),
        "layers": layers,
        "vocab_size": config.integer("vocab_size"),
        "tied_embeddings": _tied(config, tied),
        "attention": [mixer.to_data() for mixer in attention],
        "moe": feed_forward.moe,
        "dense": feed_forward.dense,
        "prediction_layers": prediction,
        "draft_ffn_width": feed_forward.dense_width,
        "precision": read_precision(config, layers, feed_forward.dense_layers).to_data(),
        "notes": [*notes, *_left_out(config, prediction)],
    }
    try:
        return Architecture.from_data(data | facts)
    except ValidationError as error:
        raise DataError(f"{config.path}: {validation_message(error)}") from None


def name_of(config: Config) -> str:
    """Return what to call the model of a file: its name, or that of its folder."""
    path = config.path
    return path.stem if path.stem != "config" else path.resolve().parent.name or path.stem


def _tied(config: Config, default: bool | None) -> bool:
    for fields in (config.text, config.outer):
        if fields.get("tie_word_embeddings") is not None:
            value = fields["tie_word_embeddings"]
            if not isinstance(value, bool):
                raise config.fault("tie_word_embeddings", "must be true or false", value)
            if value and default is None:
                rule = "must be false: this family has two tables"
                raise config.fault("tie_word_embeddings", rule, value)
            return value
    return bool(default)


def _left_out(config: Config, prediction: int) -> list[str]:
    notes = [
        f"{tower} left out: only the language model is described"
        for name, tower in TOWERS.items()
        if config.outer.get(name)
    ]
    if prediction:
        plural = "s" if prediction > 1 else ""
        notes.append(f"{prediction} multi-token-prediction layer{plural} left out of the counts")
    return notes
