"""How tokens are drafted, and how many of them the target accepts."""

import re
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from codesign.errors import did_you_mean
from codesign.spec.base import Fraction, Items, Spec

DRAFT_KINDS = ("eagle", "mtp", "fraction", "model")
ACCEPTANCE_FORMS = ("constant", "decay", "positions")


class Draft(Spec):
    """The draft.

    Parameters
    ----------
    kind : {"eagle", "mtp", "fraction", "model"}
        A dense decoder layer of the target's shape (EAGLE), one target-shaped layer with the full
        head (multi-token prediction), a share of the design's own decode step, another model.
    fraction : float, optional
        Cost of one draft token relative to one decode step at batch size 1, for ``fraction``.
    model : str, optional
        Architecture of the draft, for ``model``: a name, a file, or a number of parameters (9e9).
    parallel : bool
        All K tokens in one pass instead of K sequential passes.
    """

    kind: Literal["eagle", "mtp", "fraction", "model"] = "eagle"
    fraction: float | None = Field(default=None, ge=0)
    model: str | None = None
    parallel: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        for field in ("fraction", "model"):
            if (self.kind == field) != (getattr(self, field) is not None):
                raise ValueError(f"kind {field!r} and the field {field!r} belong together")
        return self


def parse_draft(written: object) -> object:
    """Read ``eagle``, ``mtp``, ``fraction:0.05`` or ``model:qwen3-0.6b``, each with ``,parallel``.

    Examples
    --------
    >>> parse_draft("fraction:0.05,parallel")
    {'parallel': True, 'kind': 'fraction', 'fraction': 0.05}
    """
    if not isinstance(written, str):
        return written
    head, *flags = written.split(",")
    kind, _, argument = head.strip().partition(":")
    if kind not in DRAFT_KINDS or any(flag.strip() != "parallel" for flag in flags):
        hint = did_you_mean(kind, DRAFT_KINDS)
        raise ValueError(f"a draft is {', '.join(DRAFT_KINDS)}, each with ,parallel{hint}")
    data: dict[str, object] = {"parallel": bool(flags), "kind": kind}
    if kind == "fraction":
        data["fraction"] = _number(argument)
    elif argument:
        data["model"] = argument
    return data


class Acceptance(Spec):
    """Probability that a drafted token is accepted.

    Parameters
    ----------
    form : {"constant", "decay", "positions"}
        ``constant``: one rate. ``decay``: first rate and ratio, rate_i = first * ratio^(i-1).
        ``positions``: measured survival per position (non-increasing, unconditional); the last
        conditional rate is carried on beyond it.
    values : list of float
        The numbers of the form.
    """

    form: Literal["constant", "decay", "positions"]
    values: Items[Fraction] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        needed = {"constant": 1, "decay": 2}.get(self.form)
        if needed is not None and len(self.values) != needed:
            raise ValueError(f"{self.form} needs {needed} value{'s' * (needed > 1)}")
        survival = self.values if self.form == "positions" else ()
        if any(later > earlier for earlier, later in pairwise(survival)):
            raise ValueError("survival per position cannot rise")
        return self


def parse_acceptance(written: object) -> object:
    """Read ``constant:.75``, ``decay:.76,.965`` or ``positions:.8,.6,.4``.

    Examples
    --------
    >>> parse_acceptance("decay:.76,.965")
    {'form': 'decay', 'values': [0.76, 0.965]}
    """
    if not isinstance(written, str):
        return written
    form, _, argument = written.strip().partition(":")
    if form not in ACCEPTANCE_FORMS or not argument:
        hint = did_you_mean(form, ACCEPTANCE_FORMS)
        raise ValueError(f"acceptance is constant:A, decay:A,D or positions:S1,S2,...{hint}")
    return {"form": form, "values": [_number(part) for part in argument.split(",")]}


def _number(text: str) -> float:
    if not re.fullmatch(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*", text):
        raise ValueError(f"{text.strip()!r} is not a number")
    return float(text)


AnyDraft = Annotated[
    Draft,
    BeforeValidator(parse_draft),
    WithJsonSchema({"type": ["string", "object"], "examples": ["eagle", "fraction:0.05"]}),
]
AnyAcceptance = Annotated[
    Acceptance,
    BeforeValidator(parse_acceptance),
    WithJsonSchema({"type": ["string", "object"], "examples": ["decay:0.7645,0.965"]}),
]

DEFAULT_ACCEPTANCE = Acceptance(form="decay", values=(0.7645, 0.965))
"""AL(3) = 2.73, the Cohere study's figure, with the decay measured on EAGLE-3 and MTP heads."""
