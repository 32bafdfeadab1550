"""One question: reference, hardware, load, space, objectives, constraints, search."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, field_validator

from codesign.spec.axis import Axis, parse_axis
from codesign.spec.base import Items, PositiveCount, Spec, TokenCount
from codesign.spec.draft import (
    DEFAULT_ACCEPTANCE,
    Acceptance,
    AnyAcceptance,
    AnyDraft,
    Draft,
    parse_acceptance,
    parse_draft,
)
from codesign.spec.hardware import Deployment
from codesign.spec.precision import Dtype
from codesign.spec.uncertainty import Uncertainty
from codesign.spec.workload import Workload

WidthPolicy = Literal["iso_active", "fixed", "iso_total", "search"]
RoutingChoice = Literal["own", "generic", "independent", "uniform"]
Direction = Literal["maximize", "minimize"]


def check_draft_choice(written: str) -> str:
    """Check a draft with, after ``@``, an acceptance of its own.

    Examples
    --------
    >>> check_draft_choice("model:qwen3-0.6b@decay:.8,.97")
    'model:qwen3-0.6b@decay:.8,.97'
    """
    draft, at, acceptance = written.partition("@")
    Draft.from_data(parse_draft(draft))
    if at:
        Acceptance.from_data(parse_acceptance(acceptance))
    return written


AnyDraftChoice = Annotated[str, AfterValidator(check_draft_choice)]


LONGEST_DRAFT = 1024
"""Far above any draft; every length is a window of its own in the router's model."""


def _check_lengths(values: tuple[int, ...]) -> tuple[int, ...]:
    if values[-1] > LONGEST_DRAFT:
        raise ValueError(f"a draft has at most {LONGEST_DRAFT:,} tokens, not {values[-1]:,}")
    return values


DraftLengths = Annotated[Axis, AfterValidator(_check_lengths)]


class Space(Spec):
    """What is searched.

    Parameters
    ----------
    experts, top_k, shared_experts, draft_tokens : Axis
        Values of each axis; those of the reference always belong to it.
    expert_width : {"iso_active", "fixed", "iso_total", "search"}
        Width of a routed expert: so that active, or total, expert parameters equal the
        reference's; the reference's own width; or `widths` as a further axis.
    widths : Axis, optional
        For ``search``.
    fix : list of str
        Axes pinned to the reference.
    hidden_size, layers, draft_ffn_width, tensor_parallel, expert_parallel : Axis, optional
        Further axes, those of the reference included; layers of all kinds keep their proportion.
    expert_dtype : list of Dtype
        Number formats of the routed experts; no law says what they cost in quality.
    drafts : list of str
        Drafts, as in `draft`, each with ``@`` and an acceptance of its own, or the study's.
    """

    experts: Axis = parse_axis("8:128:8,144:256:16,288:512:32")
    top_k: Axis = parse_axis("1:16")
    shared_experts: Axis = parse_axis("0:4")
    draft_tokens: DraftLengths = parse_axis("0:8")
    expert_width: WidthPolicy = "iso_active"
    widths: Axis | None = None
    fix: Items[Literal["experts", "top_k", "shared_experts"]] = ()
    hidden_size: Axis | None = None
    layers: Axis | None = None
    draft_ffn_width: Axis | None = None
    tensor_parallel: Axis | None = None
    expert_parallel: Axis | None = None
    expert_dtype: Items[Dtype] = ()
    drafts: Items[AnyDraftChoice] = ()


FURTHER_AXES = (
    "hidden_size",
    "layers",
    "draft_ffn_width",
    "tensor_parallel",
    "expert_parallel",
    "expert_dtype",
    "drafts",
)
"""Axes that make another scenario: an outer product around the designs."""


class Bound(Spec):
    """Limits of one figure: numbers, quantities with a unit, or ``1.1x`` of the reference's."""

    at_least: float | str | None = None
    at_most: float | str | None = None


STATISTIC = r"^(mean|(q|cvar)\d{2})$"
"""What is taken of an objective over the draws."""


class ObjectiveChoice(Spec):
    """A registered objective or any figure.

    Parameters
    ----------
    name : str
    direction : {"maximize", "minimize"}, optional
        Where it is not evident.
    statistic : str
        Over the draws: ``mean``, a quantile such as ``q05``, or ``cvar10``, the mean of the worst
        10 % of draws.
    options : dict
        Of an objective in a file: parameters of its constructor.
    """

    name: str
    direction: Direction | None = None
    statistic: str = "mean"
    options: dict[str, Any] = Field(default_factory=dict)

    @field_validator("statistic")
    @classmethod
    def _known_statistic(cls, value: str) -> str:
        if not re.fullmatch(STATISTIC, value):
            raise ValueError("must be mean, a quantile such as q05, or cvar10")
        return value


def parse_objective(written: object) -> object:
    """Read ``sd_speedup``, ``total_params:minimize``, ``sd_speedup:q05`` or a mapping.

    What a mapping says beside direction and statistic are options of the objective's own.

    Examples
    --------
    >>> parse_objective("sd_tpot:minimize:q95")
    {'name': 'sd_tpot', 'direction': 'minimize', 'statistic': 'q95'}
    >>> parse_objective({"sd_speedup": {"statistic": "cvar10"}})
    {'name': 'sd_speedup', 'statistic': 'cvar10'}
    >>> parse_objective({"mine.py": {"discount": 0.3}})
    {'name': 'mine.py', 'options': {'discount': 0.3}}
    """
    if isinstance(written, dict) and len(written) == 1:
        [(name, options)] = written.items()
        if isinstance(options, dict):
            common = {k: v for k, v in options.items() if k in ("direction", "statistic")}
            own = {k: v for k, v in options.items() if k not in common}
            return {"name": name} | common | ({"options": own} if own else {})
    if not isinstance(written, str):
        return written
    name, *rest = (part.strip() for part in written.split(":"))
    data = {"name": name}
    for part in rest:
        data["direction" if part in ("maximize", "minimize") else "statistic"] = part
    return data


AnyObjective = Annotated[
    ObjectiveChoice,
    BeforeValidator(parse_objective),
    WithJsonSchema({"type": ["string", "object"], "examples": ["sd_speedup"]}),
]

_BOUND = re.compile(r"\s*([\w.]+)\s*(<=|>=)\s*(.+?)\s*")


def parse_bound(written: str) -> tuple[str, dict[str, object]]:
    """Read ``FIGURE<=VALUE`` or ``FIGURE>=VALUE``.

    Examples
    --------
    >>> parse_bound("total_params<=1.1x")
    ('total_params', {'at_most': '1.1x'})
    """
    match = _BOUND.fullmatch(written)
    if match is None:
        raise ValueError(f"a constraint is FIGURE<=VALUE or FIGURE>=VALUE, not {written!r}")
    figure, operator, value = match.groups()
    return figure, {"at_most" if operator == "<=" else "at_least": value}


class Search(Spec):
    """How the space is searched.

    Parameters
    ----------
    engine : {"auto", "exact", "optuna", "hybrid"}
        ``exact``: every design. ``optuna``: a study of some. ``hybrid``: a study, then a local
        search from its best designs. ``auto``: a study certified by exact enumeration, or hybrid
        where the space is too large for that.
    sampler : str
        ``tpe``, ``gp``, ``nsga2``, ``qmc``, ``random``, or the import path of any Optuna sampler.
    trials, batch : int
        Optuna trials, and how many are asked for at a time.
    piece : int
        Designs of a batch that one worker evaluates together; few for slow objectives of your own.
    seed : int
        Of the sampler.
    """

    engine: Literal["auto", "exact", "optuna", "hybrid"] = "auto"
    sampler: str = Field(default="tpe", min_length=1)
    trials: PositiveCount = 200
    batch: PositiveCount = 20
    piece: PositiveCount = 20
    seed: int = Field(default=0, ge=0, lt=2**32)


ConstraintChoice = bool | Bound | dict[str, Any]

DEFAULT_CONSTRAINTS: dict[str, ConstraintChoice] = {
    "total_params": Bound(at_most="1.1x"),
    "active_params": Bound(at_least="0.8x", at_most="1.1x"),
    "top_k": True,
    "quality": True,
    "memory": True,
    "divisibility": True,
    "expert_width": True,
    "sd_tpot": Bound(at_most="1x"),
}
"""What a design must meet unless the study says otherwise; `True` takes the built-in options."""


class Study(Spec):
    """One question, as a file or as flags.

    Parameters
    ----------
    name : str
        Shown with the answer.
    reference : str
        Bundled name, config.json or YAML of the model the designs vary.
    set : dict
        Other fields of the reference to change.
    hardware : str
        Bundled name or profile.
    routing : {"own", "generic", "independent", "uniform"}
        How alike nearby tokens' experts are: as published for the reference, the generic router,
        popularity only, or not at all.
    constraints : dict
        By name: ``false`` removes one, ``true`` takes its built-in options, a mapping sets them.
    calibration : str, optional
        Calibration file, whose sections replace the defaults.
    train_tokens : quantity, optional
        Training tokens of every design, for the quality laws.
    """

    name: str = "codesign"
    reference: str = "qwen3-30b-a3b"
    set: dict[str, Any] = Field(default_factory=dict)
    hardware: str
    workload: Workload
    deployment: Deployment = Deployment()
    routing: RoutingChoice = "own"
    draft: AnyDraft = Draft()
    acceptance: AnyAcceptance = DEFAULT_ACCEPTANCE
    calibration: str | None = None
    train_tokens: TokenCount | None = None
    space: Space = Space()
    objectives: Items[AnyObjective] = Field(
        default=(ObjectiveChoice(name="sd_speedup"),), min_length=1
    )
    constraints: dict[str, ConstraintChoice] = Field(default_factory=dict)
    uncertainty: Uncertainty = Uncertainty()
    search: Search = Search()
