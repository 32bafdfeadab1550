"""One ablation: a study, what is varied in it, and which terms of the model are taken out."""

from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from codesign.spec.base import Items, Spec
from codesign.spec.study import Study

TermName = Literal[
    "temporal_correlation",
    "popularity_skew",
    "launch_floors",
    "compute_time",
    "memory_time",
    "kv_cache",
    "draft_cost",
    "communication",
    "host_time",
    "sd_overhead",
]

MOST_TERMS: Final = 10
"""Every subset of them is evaluated."""


def parse_terms(written: object) -> object:
    """Read a list of terms, each a mechanism of its own, or mechanisms with their terms.

    Examples
    --------
    >>> parse_terms(["draft_cost"])
    {'draft_cost': ['draft_cost']}
    """
    if isinstance(written, list | tuple):
        return {str(name): [name] for name in written}
    return written


def _check_terms(mechanisms: dict[str, tuple[TermName, ...]]) -> dict[str, tuple[TermName, ...]]:
    names = [name for terms in mechanisms.values() for name in terms]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"a term belongs to one mechanism only: {twice[0]}")
    if len(names) > MOST_TERMS:
        raise ValueError(f"at most {MOST_TERMS} terms: every subset of them is evaluated")
    return mechanisms


Terms = Annotated[
    dict[str, Annotated[Items[TermName], Field(min_length=1)]],
    BeforeValidator(parse_terms),
    AfterValidator(_check_terms),
    WithJsonSchema(
        {
            "type": ["array", "object"],
            "items": {"enum": list(get_args(TermName))},
            "examples": [["temporal_correlation", "launch_floors"]],
        }
    ),
]

Overrides = dict[str, Any]
"""Dotted paths into a study, such as ``workload.target_batch_size``, and what stands there."""


class Ablation(Spec):
    """What is varied, and what is read off.

    Parameters
    ----------
    name : str
        Shown with the tables.
    study : str or Study
        Study file (relative to the ablation's own folder), bundled study, or the fields of one.
    overrides : dict
        Changes of the study that hold in every row, by dotted path.
    factors : dict
        Values of fields of the study, by dotted path.
    combine : {"one_at_a_time", "crossed"}
        How factors are combined.
    variants : dict
        Instead of factors: named changes of the study, each a mapping of dotted paths.
    terms : list or dict
        Terms of the model to take out, or mechanisms with their terms.
    design : {"reoptimise", "hold", "reference"}
        Every row's own certified optimum; the optimum of the study as it stands; or the reference
        with its best draft length of the study's axis.
    figures : list of str
        Figures to read off; mechanisms are weighed by the first.
    """

    name: str = "ablation"
    study: str | Study
    overrides: Overrides = Field(default_factory=dict)
    factors: dict[str, Annotated[Items[Any], Field(min_length=1)]] = Field(default_factory=dict)
    combine: Literal["one_at_a_time", "crossed"] = "one_at_a_time"
    variants: dict[str, Overrides] = Field(default_factory=dict)
    terms: Terms = Field(default_factory=dict)
    design: Literal["reoptimise", "hold", "reference"] = "reoptimise"
    figures: Items[str] = Field(
        default=("sd_speedup", "sd_tpot_s", "sd_tokens_per_s_per_gpu"), min_length=1
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.factors and self.variants:
            raise ValueError("give factors or variants, not both")
        if not (self.factors or self.variants or self.terms):
            raise ValueError("give factors, variants or terms: nothing is varied")
        return self
