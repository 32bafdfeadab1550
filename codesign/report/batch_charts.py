"""Charts over batch sizes: speedup, throughput, best draft length, unique experts, sparsity map."""

from collections.abc import Mapping
from itertools import groupby
from typing import Final

import numpy as np
from numpy.typing import NDArray

from codesign.designs import Designs
from codesign.model.arrays import FloatArray
from codesign.prediction import Prediction, predict
from codesign.regimes import scanned_batch_sizes
from codesign.report.charts import Axis, Chart, Dash, Heat, Mark, Role, Series, Span
from codesign.report.rebuilt import Rebuilt

BATCH: Final = Axis("batch size (sequences per replica)", log=True)
ROLES: Final[dict[str, Role]] = {
    "best": "best",
    "reference": "reference",
    "dense control": "control",
}
MAP_LINES: Final = 24
DENSE: Final = "Dense control: the best design's layers with one expert as wide as its active ones."


def batch_charts(rebuilt: Rebuilt) -> tuple[Chart, ...]:
    """Return every chart over batch sizes of a result."""
    sizes = scanned_batch_sizes()
    predictions = {
        "best": rebuilt.over_batch_sizes(rebuilt.design("best"), sizes),
        "reference": rebuilt.over_batch_sizes(rebuilt.design("reference"), sizes),
        "dense control": rebuilt.over_batch_sizes(rebuilt.dense_control(), sizes),
    }
    return (
        speedup_chart(predictions, _marks(rebuilt)),
        throughput_chart(predictions, _marks(rebuilt)),
        _draft_length_chart(rebuilt, sizes),
        experts_chart(predictions["best"], _targets(rebuilt)),
        _sparsity_map(rebuilt, sizes),
    )


def _marks(rebuilt: Rebuilt) -> tuple[Mark, ...]:
    """Targets of the study, and last how many sequences fit the best design's memory."""
    marks = _targets(rebuilt)
    capacity = rebuilt.result["best"]["prediction"]["kv_capacity_sequences"]
    if capacity is None:  # nothing is cached: memory is never full
        return marks
    return (*marks, Mark(float(capacity), f"memory full at {capacity:,}", "best"))


def _targets(rebuilt: Rebuilt) -> tuple[Mark, ...]:
    sizes = rebuilt.problem.scenario.batch_sizes
    return tuple(Mark(float(size), f"target {size:,}") for size in sizes)


def curve(prediction: Prediction, name: str) -> FloatArray:
    """Return one figure of a single design over the batch sizes of its scenario."""
    values: FloatArray = getattr(prediction, name)
    sizes = len(prediction.scenario.batch_sizes)
    return np.broadcast_to(values, (sizes, 1))[:, 0]


def regime_spans(row: str, prediction: Prediction) -> list[Span]:
    """Return the stretches of one regime each, without gaps between them."""
    sizes = prediction.scenario.batch_sizes
    regimes = np.broadcast_to(prediction.regime, (len(sizes), 1))[:, 0]
    spans, start = [], 0
    for regime, group in groupby(regimes):
        stop = start + len(list(group))
        edge = sizes[min(stop, len(sizes) - 1)]
        spans.append(Span(row, float(sizes[start]), float(edge), str(regime)))
        start = stop
    return [span for span in spans if span.stop > span.start]


def speedup_chart(predictions: Mapping[str, Prediction], marks: tuple[Mark, ...]) -> Chart:
    """Return SD speedup against batch size, regimes as ribbons below."""
    series, spans = [], []
    for name, prediction in predictions.items():
        sizes = prediction.scenario.batch_sizes
        series.append(Series(name, sizes, curve(prediction, "sd_speedup"), role=ROLES[name]))
        spans += regime_spans(name, prediction)
    return Chart(
        "speedup",
        "At which batch sizes does speculative decoding pay?",
        "SD speedup at the values in use, each design with its own K; ribbons: what limits its "
        f"verify pass. Below 1 drafting costs more than it saves. {DENSE}",
        BATCH,
        Axis("SD speedup [×]"),
        tuple(series),
        tuple(spans),
        marks,
    )


def throughput_chart(predictions: Mapping[str, Prediction], marks: tuple[Mark, ...]) -> Chart:
    """Return tokens per second and GPU against batch size, with and without SD."""
    series, spans = [], []
    for name, prediction in predictions.items():
        sizes, gpus = prediction.scenario.batch_sizes, prediction.scenario.replica.gpus
        with_sd = curve(prediction, "sd_tokens_per_s_per_gpu")
        series.append(Series(f"{name}, with SD", sizes, with_sd, role=ROLES[name]))
        plain = curve(prediction, "tokens_per_s") / gpus
        series.append(Series(f"{name}, without", sizes, plain, role=ROLES[name], dash="dot"))
        spans += regime_spans(name, prediction)
    return Chart(
        "throughput",
        "How many tokens per second does a GPU yield?",
        f"At the values in use; dotted: without speculative decoding. {DENSE}",
        BATCH,
        Axis("tokens/s per GPU", log=True),
        tuple(series),
        tuple(spans),
        marks,
    )


def experts_chart(best: Prediction, marks: tuple[Mark, ...]) -> Chart:
    """Return unique experts against batch size, by how tokens choose, and as measured."""
    sizes = best.scenario.batch_sizes
    lines: tuple[tuple[str, str, Role], ...] = (
        ("verify pass, tokens choose uniformly", "unique_experts_uniform", "quiet"),
        ("verify pass, independent tokens", "unique_experts_independent", "control"),
        ("verify pass, correlated tokens (the model)", "unique_experts_verify", "best"),
        ("decode step, correlated tokens (the model)", "unique_experts_decode", "reference"),
    )
    series = [Series(words, sizes, curve(best, name), role=role) for words, name, role in lines]
    measured = measured_experts(best)
    told = "Points: measured." if measured else "No measured points: nothing was calibrated."
    return Chart(
        "unique_experts",
        "How many experts does a pass load?",
        "Routed experts per layer that at least one token of the best design's pass chooses. "
        f"Independent: tokens share popularity, not context. {told}",
        BATCH,
        Axis(f"experts loaded, of {int(best.designs.experts.flat[0])}"),
        (*series, *measured),
        marks=marks,
    )


def measured_experts(best: Prediction) -> list[Series]:
    """Return measured decode steps of the calibrated model, and the model's own line for them."""
    calibration = best.scenario.calibration
    section = None if calibration is None else calibration.routing
    table = None if section is None else section.table("unique_by_batch")
    if section is None or table is None:
        return []
    batch, unique = table.columns.index("B"), table.columns.index("measured")
    here, there = ([row[column] for row in table.rows] for column in (batch, unique))
    shape = f"{section.experts} experts, top-{section.top_k}"
    measured = Series(f"decode step, measured ({shape})", here, there, "points", "throughput")
    own = best.designs
    if (int(own.experts[0]), int(own.top_k[0])) == (section.experts, section.top_k):
        return [measured]
    other = Designs.of(
        section.experts, section.top_k, own.shared_experts, own.draft_tokens, own.expert_width
    )
    line = curve(predict(other, best.scenario), "unique_experts_decode")
    sizes = best.scenario.batch_sizes
    return [measured, Series(f"decode step, model ({shape})", sizes, line, "line", "throughput")]


def _draft_length_chart(rebuilt: Rebuilt, sizes: tuple[int, ...]) -> Chart:
    lengths = np.array(rebuilt.problem.space.axes["draft_tokens"], dtype=np.float64)
    roles: tuple[Role, ...] = ("best", "reference")
    series = []
    for role in roles:
        own = rebuilt.design(role)
        every = Designs.of(own.experts, own.top_k, own.shared_experts, lengths, own.expert_width)
        speedups = rebuilt.over_batch_sizes(every, sizes).sd_speedup
        chosen, gains = best_lengths(lengths, speedups)
        labels = [f"SD speedup {gain:.3g}×" for gain in gains]
        dash: Dash = "solid" if role == "best" else "dash"
        series.append(Series(role, sizes, chosen, "steps", role, dash, labels))
    return Chart(
        "draft_length",
        "How many tokens to draft at each batch size?",
        "The K of the space with the largest SD speedup, at the values in use; 0: drafting does "
        "not pay. What an engine that adapts K to its load would do.",
        BATCH,
        Axis("best K (drafted tokens)", whole=True),
        tuple(series),
        marks=_marks(rebuilt),
    )


def best_lengths(lengths: FloatArray, speedups: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the best draft length and its speedup per batch size; ties go to the shorter."""
    place = np.argmax(speedups, axis=1)
    return lengths[place], speedups[np.arange(len(place)), place]


def _sparsity_map(rebuilt: Rebuilt, sizes: tuple[int, ...]) -> Chart:
    best = rebuilt.design("best")
    top_k = int(best.top_k[0])
    experts = sparsity_lines(top_k, max(512, *rebuilt.problem.space.axes["experts"]))
    designs = Designs.of(
        experts, best.top_k, best.shared_experts, best.draft_tokens, best.expert_width
    )
    speedups = rebuilt.over_batch_sizes(designs, sizes).sd_speedup.T
    shares = top_k / experts
    ridge = np.array(sizes)[np.argmax(speedups, axis=1)]
    order = np.argsort(shares)
    heat = Heat(
        np.array(sizes, dtype=np.float64), shares[order], speedups[order], "SD speedup",
        Series("sweet-spot ridge: best batch size", ridge[order], shares[order], role="reference"),
    )  # fmt: skip
    here = Series(
        "best design at the target",
        rebuilt.problem.scenario.batch_sizes,
        [top_k / float(best.experts[0])] * len(rebuilt.problem.scenario.batch_sizes),
        "points",
        "throughput",
    )
    return Chart(
        "sparsity",
        "Where is the sweet spot, by sparsity and batch size?",
        f"SD speedup with k = {top_k}, K = {int(best.draft_tokens[0])} and expert width of the "
        "best design, and from k to many experts; 100 %: every token uses every expert. The line "
        "follows the batch size at which speculation pays most.",
        BATCH,
        Axis("active share of experts, k/N", log=True, percent=True),
        (here,),
        heat=heat,
    )


def sparsity_lines(top_k: int, most: int) -> NDArray[np.float64]:
    """Return whole numbers of experts from top_k to the most, evenly spaced in logarithm."""
    return np.unique(np.rint(np.geomspace(top_k, most, MAP_LINES)))
