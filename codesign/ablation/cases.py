"""From an ablation to its rows: each a study of its own."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import product
from typing import Any

from pydantic import ValidationError

from codesign.errors import UsageError
from codesign.spec.ablation import Ablation, Overrides
from codesign.spec.load import validation_message
from codesign.spec.study import Study

BASE = "base"
"""Name of the row in which nothing is changed."""


@dataclass(frozen=True)
class Case:
    """One row: a study under a name.

    Parameters
    ----------
    name : str
    settings : dict
        What was set, by dotted path.
    study : Study
    """

    name: str
    settings: dict[str, Any]
    study: Study


def cases_of(ablation: Ablation, study: Study) -> list[Case]:
    """Return the rows of an ablation of one study, the study as it stands first.

    Raises
    ------
    UsageError
        If a path does not lead to a field of a study, or a value breaks its rule.
    """
    if ablation.variants:
        named = [(name, dict(changes)) for name, changes in ablation.variants.items()]
        return [Case(name, changes, overridden(study, changes)) for name, changes in named]
    if not ablation.factors:
        return [Case(BASE, {}, study)]
    if ablation.combine == "crossed":
        rows = list(_crossed(ablation.factors))
    else:
        rows = list(_one_at_a_time(ablation.factors, study))
    return [Case(_name(settings), settings, overridden(study, settings)) for settings in rows]


def overridden(study: Study, changes: Mapping[str, Any]) -> Study:
    """Return the study with fields changed, given by dotted paths.

    Raises
    ------
    UsageError
        If a path does not lead to a field, or a value breaks its rule.

    Examples
    --------
    >>> study = Study.from_data({"hardware": "h100", "workload": {"target_batch_size": 32}})
    >>> overridden(study, {"workload.context": 512}).workload.context
    512
    """
    data = study.to_data()
    for path, value in changes.items():
        _put(data, path, deepcopy(value))
    try:
        return Study.from_data(data)
    except ValidationError as error:
        listed = ", ".join(f"{path}: {value}" for path, value in changes.items())
        raise UsageError(f"ablation ({listed}): {validation_message(error)}") from None


def _put(data: dict[str, Any], path: str, value: object) -> None:
    *parents, last = path.split(".")
    for place, part in enumerate(parents):
        inner = data.setdefault(part, {})
        if not isinstance(inner, dict):
            shown = ".".join(parents[: place + 1])
            raise UsageError(f"ablation: {path} leads nowhere, {shown} has no fields of its own")
        data = inner
    data[last] = value


def _crossed(factors: Mapping[str, Iterable[Any]]) -> Iterable[Overrides]:
    for values in product(*factors.values()):
        yield dict(zip(factors, values, strict=True))


def _one_at_a_time(factors: Mapping[str, Iterable[Any]], study: Study) -> Iterable[Overrides]:
    """The study as it stands, then every value of every factor that differs from it."""
    yield {}
    for path, values in factors.items():
        for value in values:
            if overridden(study, {path: value}) != study:
                yield {path: value}


def _name(settings: Mapping[str, Any]) -> str:
    parts = (f"{path.rpartition('.')[2]}={_shown(value)}" for path, value in settings.items())
    return ", ".join(parts) or BASE


def _shown(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, Mapping):
        return " ".join(f"{key}:{_shown(inner)}" for key, inner in value.items())
    return str(value)
