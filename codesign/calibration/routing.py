"""`calibrate routing`: read, check, count, fit."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from codesign.calibration.detect import read_files
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.router.cells import Part, count_cells
from codesign.calibration.router.counts_fit import estimate_from_counts
from codesign.calibration.router.estimate import estimate_router
from codesign.calibration.router.facts import (
    ModelFacts,
    model_facts,
    required_experts,
    required_top_k,
)
from codesign.calibration.router.scan import Scan, scan
from codesign.calibration.router.section import counts_section, table_section, trace_section
from codesign.calibration.router.statistics import batch_sizes, measure
from codesign.calibration.router.table_fit import fit_table
from codesign.calibration.router.tables import Fitted
from codesign.calibration.router.trace import (
    ExpertCounts,
    LocalityTable,
    RoutingData,
    RoutingTrace,
)
from codesign.errors import CalibrationError, DataError, UsageError
from codesign.spec.calibration import RoutingSection
from codesign.spec.section import Source

FEW_TOKENS: Final = 2000
FEW_SEQUENCES: Final = 16


def calibrate_routing(paths: Sequence[Path], options: CalibrationOptions) -> RoutingSection:
    """Fit how alike nearby tokens' experts are.

    Parameters
    ----------
    paths : sequence of Path
        Routed experts of one model in any format that a reader knows; or counts of selections; or
        one published table.
    options : CalibrationOptions

    Raises
    ------
    DataError
        If a file is broken, not understood, or of another model.
    CalibrationError
        If N or k is not known, or the files do not go together.
    """
    readings = read_files(paths, "routing", options)
    data: list[RoutingData] = [item for reading in readings for item in reading.data]
    sources = [reading.source for reading in readings]
    kinds = {type(item) for item in data}
    if len(kinds) > 1:
        raise UsageError("calibrate routing: give traces, counts and tables one kind at a time")
    facts = model_facts(data, options)
    if kinds == {LocalityTable}:
        return _from_tables(
            [item for item in data if isinstance(item, LocalityTable)], sources, options
        )
    if kinds == {ExpertCounts}:
        counts = [item for item in data if isinstance(item, ExpertCounts)]
        return _from_counts(counts, facts, sources, options)
    traces = [item for item in data if isinstance(item, RoutingTrace)]
    return _from_traces(traces, facts, sources, options)


def _from_tables(
    tables: list[LocalityTable], sources: Sequence[Source], options: CalibrationOptions
) -> RoutingSection:
    if len(tables) > 1:
        raise UsageError("calibrate routing: give one table at a time")
    return table_section(tables[0], fit_table(tables[0]), sources, options)


def _from_counts(
    items: list[ExpertCounts],
    facts: ModelFacts,
    sources: Sequence[Source],
    options: CalibrationOptions,
) -> RoutingSection:
    found = [f"{item.label}: {_described(item)}" for item in items]
    top_k = required_top_k(facts, "\n".join(found))
    layers = {item.layers for item in items}
    if len(layers) > 1:
        raise DataError("the files have counts of different layers: not the same model")
    if len({item.estimated for item in items}) > 1:
        raise UsageError("calibrate routing: give counts and estimated loads one kind at a time")
    estimated = items[0].estimated
    counts = np.sum([item.counts.sum(axis=0) for item in items], axis=0)
    kept = counts.sum(axis=1) > 0
    if not kept.any():
        raise CalibrationError(f"{items[0].label}: no expert was ever selected")
    counts, numbers = counts[kept], np.array(items[0].layers)[kept].tolist()
    estimates = [
        estimate_from_counts(
            part, top_k, estimated=estimated, replicates=options.replicates, seed=options.seed
        )
        for part in (counts, *(counts[index : index + 1] for index in range(len(counts))))
    ]
    total = float(counts.sum(axis=1).max())
    samples = (0, "tokens: loads are estimated") if estimated else (round(total / top_k), "tokens")
    warnings = [
        *(warning for item in items for warning in item.warnings),
        "counts have no order of tokens: popularity only, no overlap and no unique experts per "
        "window; tokens of the same request count as independent, which overstates popularity "
        "where requests are few",
    ]
    return counts_section(
        counts, top_k, numbers, estimates, sources, found, warnings, options, samples
    )


def _described(item: ExpertCounts) -> str:
    samples, layers, experts = item.counts.shape
    return "; ".join((f"{samples} x {layers} layers x {experts} experts", *item.facts))


@dataclass(frozen=True)
class _Checked:
    """Traces after the scan; sequences that repeat an earlier one are left out."""

    label: str
    parts: list[Part]
    layers: tuple[int, ...]
    scans: list[Scan]
    facts: list[str]
    warnings: list[str]

    @property
    def found(self) -> list[str]:
        """What was read."""
        rows = sum(stop - start for part in self.parts for start, stop in part.runs)
        padding = sum(scan.padding for scan in self.scans)
        dense = self.scans[0].dense
        read = (
            f"{self.label}: read {rows:,} tokens of {len(self.parts):,} sequences, "
            f"{len(self.layers)} routed layers, k = {self.parts[0].selections.shape[2]}"
            + (f"; {padding:,} rows of padding left out" if padding else "")
            + (f"; dense layers {', '.join(map(str, dense))} left out" if dense else "")
        )
        return [read, *self.facts]


def _from_traces(
    traces: list[RoutingTrace],
    facts: ModelFacts,
    sources: Sequence[Source],
    options: CalibrationOptions,
) -> RoutingSection:
    checked = _check(traces, facts, options)
    highest = max(each.highest for each in checked.scans)
    experts = required_experts(facts, highest, "\n".join(checked.found))
    top_k = traces[0].selections.shape[2]
    if top_k >= experts:
        raise CalibrationError(f"k = {top_k} of N = {experts} experts: every expert is selected")
    cells = count_cells(checked.parts, experts, top_k, options.progress)
    pooled, by_layer = measure(cells)
    sizes, pairs = batch_sizes(cells.groups), cells.pair_totals.sum(axis=1)
    estimates = [
        estimate_router(
            each, experts, top_k, sizes, pairs, replicates=options.replicates, seed=options.seed
        )
        for each in (pooled, *by_layer)
    ]
    fitted = Fitted(cells, checked.layers, pooled, by_layer, estimates[0], estimates[1:])
    warnings = [*checked.warnings, *_size_warnings(cells.tokens.sum(), len(checked.parts))]
    return trace_section(fitted, sources, checked.found, warnings, options)


def _check(traces: list[RoutingTrace], facts: ModelFacts, options: CalibrationOptions) -> _Checked:
    scans = [scan(trace, facts.experts, options.progress) for trace in traces]
    layers = Counter(each.layers for each in scans)
    if len(layers) > 1:
        sizes = " and ".join(str(len(numbers)) for numbers in layers)
        raise DataError(f"the files have {sizes} routed layers: not the same model")
    warnings = list(dict.fromkeys(line for each in scans for line in each.warnings))
    for trace, each in zip(traces, scans, strict=True):
        warning = facts.check_planes(len(each.layers), len(each.dense), trace.label)
        warnings += [warning] if warning else []
    parts: dict[bytes, Part] = {}
    for each in scans:
        for key, part in zip(each.keys, each.parts, strict=True):
            parts.setdefault(key, part)
    repeated = sum(len(each.keys) for each in scans) - len(parts)
    if repeated:
        warnings.append(f"{repeated} sequences repeat another one exactly: each counted once")
    model = facts.architecture
    if model is not None and model.moe is not None and model.moe.groups > 1:
        warnings.append(f"{model.name} routes within groups of experts, which the model leaves out")
    told = [f"{trace.label}: {fact}" for trace in traces for fact in trace.facts]
    label = traces[0].label if len(traces) == 1 else f"{len(traces)} traces"
    return _Checked(label, list(parts.values()), scans[0].layers, scans, told, warnings)


def _size_warnings(tokens: float, sequences: int) -> list[str]:
    if tokens >= FEW_TOKENS and sequences >= FEW_SEQUENCES:
        return []
    return [
        f"only {tokens:,.0f} tokens of {sequences} sequence{'s' * (sequences > 1)}: the fit has no "
        "useful standard error"
    ]
