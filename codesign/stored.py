"""A stored result read back: whole, of this form, and with figures where figures belong."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator

from codesign.designs import AXES
from codesign.errors import DataError, UsageError, is_readable
from codesign.paths import is_folder, read_whole
from codesign.prediction import FIGURES
from codesign.records import Record
from codesign.result import SCHEMA
from codesign.spec.load import validation_message
from codesign.spec.study import STATISTIC

RESULT: Final = "result.json"
MOST_BYTES: Final = 256 * 2**20
MOST_FAULTS: Final = 5

LARGEST: Final = 1e40
"""Above any figure: the FLOP of the largest training run are a tenth of a billionth of this."""

MAY_BE_NONE: Final = ("shared_experts", "draft_tokens")
"""Axes on which a design may have nothing."""

Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]


class _Part(BaseModel):
    """Part of a result; later versions may say more."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow", allow_inf_nan=False)


# Fields are the axes and figures there are: types known only when this runs, hence the ignores.
class _Shape(_Part):
    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.top_k > self.experts:  # type: ignore[attr-defined]
            raise ValueError("top_k exceeds experts")
        return self


_AXES = {axis: (int, Field(ge=0 if axis in MAY_BE_NONE else 1)) for axis in AXES}
_Design = create_model("_Design", __base__=_Shape, **_AXES)  # type: ignore[call-overload]
_Figures = create_model("_Figures", __base__=_Part, **dict.fromkeys(FIGURES, (Number | None, ...)))  # type: ignore[call-overload]
Range = Annotated[list[Number], Field(min_length=2, max_length=2)]


class _Standing(_Part):
    value: Number | None
    limit: Number | None
    slack: Number | None
    unit: str
    feasible: bool


class _Listed(_Part):
    design: _Design  # type: ignore[valid-type]
    objectives: Annotated[dict[str, Number | None], Field(min_length=1)]
    constraints: dict[str, _Standing]


class _Components(_Part):
    decode: dict[str, Number]
    verify: dict[str, Number]


class _Load(_Figures):  # type: ignore[valid-type, misc]
    batch_size: Annotated[int, Field(ge=1)]
    components: _Components


class _Law(_Part):
    loss_difference: Number | None
    status: str


class _Quality(_Part):
    mean: Number | None
    quantile: Number | None
    epsilon: Number
    probability: Number | None
    laws: dict[str, _Law]
    flags: list[str]


class _Prediction(_Figures):  # type: ignore[valid-type, misc]
    regime: str | list[str]
    regimes: dict[str, Number | None]
    memory_breakdown: dict[str, Number]
    quality: _Quality
    by_batch_size: Annotated[list[_Load], Field(min_length=1)]


class _Entry(_Listed):
    prediction: _Prediction


class _Verdict(_Part):
    text: str
    choice: Literal["best", "reference"]
    objective: str
    gain: Number | None
    interval: Range | None


class _Certificate(_Part):
    kind: Literal["exact", "gap", "none"]
    designs: int
    feasible: int | None
    regret: Number | None
    study_regret: Number | None
    trials: int | None
    distinct_designs: int | None
    study_feasible: int | None
    polished_designs: int | None


class _Interval(_Part):
    objective: str
    draws: int
    best: Range
    reference: Range
    gain: Range | None


class _Share(_Part):
    design: _Design  # type: ignore[valid-type]
    optimal: Number
    on_front: Number


class _Stability(_Part):
    best_is_optimal: Number
    best_architecture_is_optimal: Number
    designs: list[_Share]


class _Plateau(_Part):
    tolerance: Number
    designs: int
    simplest: _Design  # type: ignore[valid-type]
    objective: Number


class _Price(_Part):
    constraint: str
    step: Number
    unit: str
    objective: Number | None
    gain: Number | None


class _Information(_Part):
    input: str
    calibrate: str
    value: Number


class _Binding(_Part):
    constraint: str
    objective_without: Number
    gain_without: Number | None
    design_without: _Design  # type: ignore[valid-type]


class _Indices(_Part):
    first: Number
    total: Number


class _Sensitivity(_Part):
    axes: dict[str, _Indices] | None
    elasticities: dict[str, Number] | None


class _Batch(_Part):
    batch_size: int
    share: Number


class _Workload(_Part):
    target_batch_size: Annotated[list[_Batch], Field(min_length=1)]


class _Objective(_Part):
    name: str
    direction: str | None = None
    statistic: Annotated[str, Field(pattern=STATISTIC)] = "mean"


class _Draws(_Part):
    draws: int


class _Search(_Part):
    seed: int


class _Space(_Part):
    fix: list[str]
    draft_tokens: list[int]


class _Question(_Part):
    """What every report says of the study, whatever version wrote it."""

    name: str
    reference: str
    hardware: str
    workload: _Workload
    objectives: Annotated[list[_Objective], Field(min_length=1)]
    space: _Space
    uncertainty: _Draws
    search: _Search


class _Result(_Part):
    study: _Question
    verdict: _Verdict
    best: _Entry
    throughput_best: _Entry
    reference: _Entry
    certificate: _Certificate
    front: list[_Listed]
    front_objectives: list[str]
    binding: list[_Binding]
    on_bounds: list[str]
    interval: _Interval | None
    stability: _Stability | None
    plateau: _Plateau | None
    shadow_prices: list[_Price] | None
    value_of_information: list[_Information] | None
    sensitivity: _Sensitivity | None
    assumptions: list[str]
    versions: dict[str, str]

    @model_validator(mode="after")
    def _check(self) -> Self:
        entries = (self.best, self.reference, self.throughput_best)
        if any(each.objectives.get(self.verdict.objective) is None for each in entries):
            raise ValueError(f"no entry has the verdict's objective {self.verdict.objective!r}")
        if len(self.study.objectives) != len(self.best.objectives):
            raise ValueError("the entries do not have the study's objectives")
        if any(each.objectives.keys() != self.best.objectives.keys() for each in entries):
            raise ValueError("entries have different objectives")
        if any(each.constraints.keys() != self.best.constraints.keys() for each in entries):
            raise ValueError("entries are held to different constraints")
        if self.front and len(self.front_objectives) < 2:
            raise ValueError("a front needs two objectives")
        for name in self.front_objectives:
            if any(each.objectives.get(name) is None for each in self.front):
                raise ValueError(f"a design of the front has no {name!r}")
        drafted = [each.design.draft_tokens for each in (*entries, *self.front)]  # type: ignore[attr-defined]
        if not set(drafted) <= set(self.study.space.draft_tokens):
            raise ValueError("a design drafts as many tokens as the study does not search")
        if self.stability is not None and self.interval is None:
            raise ValueError("there is a stability without an interval")
        if len({len(each.prediction.by_batch_size) for each in entries}) > 1:
            raise ValueError("entries were predicted for different loads")
        if "codesign" not in self.versions:
            raise ValueError("versions lack that of codesign")
        return self


def read_result(path: Path) -> Record:
    """Read a result.json, or the one in a folder.

    Raises
    ------
    UsageError
        If there is none.
    DataError
        If it is broken, or no result of this form.
    """
    path = path / RESULT if is_folder(path) else path
    try:
        raw = read_whole(path, MOST_BYTES, "a result")
        result = json.loads(raw.decode("utf-8"), parse_constant=_refuse)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except RecursionError:
        raise DataError(f"{path}: nested too deeply to be a result") from None
    except ValueError as error:
        raise DataError(f"{path}: not JSON ({error})") from None
    schema = result.get("schema") if isinstance(result, dict) else None
    if schema != SCHEMA:
        raise DataError(
            f"{path}: not a result of codesign optimize (schema {str(schema)[:60]}, not {SCHEMA})"
        )
    _check(path, result)
    return dict(result)


def _check(path: Path, result: Record) -> None:
    broken = "cut short or changed by hand"
    for value in _values(result):
        if isinstance(value, str) and not is_readable(value):
            raise DataError(
                f"{path}: {broken}: {value[:60]!r} has characters that are not printable"
            )
        if isinstance(value, int) and abs(value) > LARGEST:
            raise DataError(f"{path}: {broken}: it holds a number of {len(str(value))} digits")
    try:
        _Result.model_validate(result)
    except ValidationError as error:
        lines = validation_message(error).split("\n")
        more = [f"and {len(lines) - MOST_FAULTS} more"] if len(lines) > MOST_FAULTS else []
        raise DataError("\n".join([f"{path}: {broken}:", *lines[:MOST_FAULTS], *more])) from None


def _values(data: Any) -> Iterator[object]:
    """Yield every key and value in plain data."""
    if isinstance(data, dict):
        for key, inner in data.items():
            yield key
            yield from _values(inner)
    elif isinstance(data, list):
        for inner in data:
            yield from _values(inner)
    else:
        yield data


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
