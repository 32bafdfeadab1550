"""Write an architecture as a Hugging Face config.json of its own family."""

from copy import deepcopy
from pathlib import Path
from typing import Any, Final

from codesign.architectures.config import Config
from codesign.architectures.counting import count_parameters
from codesign.architectures.family import Family
from codesign.architectures.readers import families
from codesign.errors import CodesignError, UsageError
from codesign.spec.architecture import Architecture

CLASS_DEFAULTS: Final = (
    "fields without influence on size (rotary base, epsilon of norms, activation, scaling of "
    "router weights) are left to the class's defaults: take them from the reference's own file"
)
"""What an export without a base config leaves open."""


def export_config(architecture: Architecture, base: Config | None = None) -> dict[str, Any]:
    """Return a config.json that transformers loads with the same parameter count.

    Parameters
    ----------
    architecture : Architecture
        What to write: usually a reference with experts, top-k, shared experts and width changed.
    base : Config, optional
        The config.json of the reference, of the same family: only the fields that differ from it
        are changed. Without it the fields that give the size are written alone; see
        `CLASS_DEFAULTS`.

    Raises
    ------
    UsageError
        The family cannot be written, or its config.json cannot express this architecture.
    """
    family = families().get(architecture.family)
    if family is None:
        raise UsageError(f"{architecture.family}: cannot be written: no reader knows this family")
    if base is not None:
        fields = _sized(architecture, family)
        exported = _changed(base, fields, _sized(family.read(base), family), _synonyms(family))
    elif family.write is not None:
        exported = _named(architecture, family) | family.write(architecture)
    else:
        raise UsageError(
            f"{architecture.family}: cannot be written from its facts alone; "
            "name the reference's own config.json to change its experts there"
        )
    _check(architecture, family, exported)
    return exported


def _sized(architecture: Architecture, family: Family) -> dict[str, Any]:
    """Every field the family writes; where it writes none, those of the experts."""
    if family.write is not None:
        return family.write(architecture)
    if family.experts is None or architecture.moe is None:
        return {}
    return family.experts.write(architecture)


def _named(architecture: Architecture, family: Family) -> dict[str, Any]:
    """A text model inside another, or a model type without a class, is written as its kin."""
    model_type = architecture.family
    if model_type not in family.classes:
        model_type = next(iter(family.classes))
    return {
        "architectures": [family.classes[model_type]],
        "model_type": model_type,
        "hidden_size": architecture.hidden_size,
        "num_hidden_layers": architecture.layers,
        "vocab_size": architecture.vocab_size,
        "tie_word_embeddings": architecture.tied_embeddings,
    }


def _synonyms(family: Family) -> list[tuple[str, ...]]:
    """Names of one size; the first of each is the one written."""
    experts = family.experts
    return [experts.experts, experts.top_k, experts.width] if experts else []


def _changed(
    base: Config,
    fields: dict[str, Any],
    own: dict[str, Any],
    synonyms: list[tuple[str, ...]],
) -> dict[str, Any]:
    """The base with those fields replaced that the design gives another value."""
    changes = {name: value for name, value in fields.items() if own.get(name) != value}
    exported = deepcopy(dict(base.outer))
    text = exported["text_config"] if base.nested else exported
    text.update(changes)
    for written, *others in synonyms:
        text.update({name: text[written] for name in others if name in text and written in text})
    return exported


def _check(architecture: Architecture, family: Family, exported: dict[str, Any]) -> None:
    """Read it back: what the family cannot express would be lost in silence."""
    text = exported.get("text_config") or exported
    try:
        again = family.read(Config(Path("exported config.json"), text, exported))
    except CodesignError as error:
        raise UsageError(f"{architecture.family}: cannot express this design: {error}") from None
    wanted, found = _facts(architecture), _facts(again)
    lost = [
        f"{name} {wanted[name]} reads as {found[name]}"
        for name in wanted
        if wanted[name] != found[name]
    ]
    if lost:
        raise UsageError(
            f"{architecture.family}: its config.json cannot express this design: {', '.join(lost)}"
        )


def _facts(architecture: Architecture) -> dict[str, int]:
    moe = architecture.moe
    facts = {"total parameters": count_parameters(architecture).total}
    if moe is None:
        return facts
    each = moe.shared_width or moe.expert_width
    return {
        "experts": moe.experts,
        "top_k": moe.top_k,
        "expert_width": moe.expert_width,
        "width of shared experts": moe.shared_experts * each,
    } | facts
