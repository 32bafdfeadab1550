"""Field reports answered by fitting what was measured: `calibrate latency` on small tables."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from codesign.calibration.latency import calibrate_latency
from codesign.calibration.options import CalibrationOptions
from codesign.spec.measured_times import LatencySection

Answer = tuple[str, bool]
Cells = tuple[float | str | None, ...]


def _section(header: str, *rows: Cells, **known: Any) -> LatencySection:
    """Fit a table as `codesign calibrate latency` does."""
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
        return calibrate_latency([path], CalibrationOptions(**known))


def _column(section: LatencySection, table: str, name: str) -> list[Any]:
    found = section.table(table)
    if found is None:
        return []
    place = found.columns.index(name)
    return [row[place] for row in found.rows]


def _a03() -> Answer:
    found = _section("width,ms", (1, 51), (2, 112), experts=256, top_k=8)
    ratio, bound = (
        _column(found, "width_curves", "T(2)/T(1)")[0],
        _column(found, "width_curves", "bound")[0],
    )
    deeper = _section(
        "depth,tok/s,acceptance_length", (0, 19.7, None), (3, 23.1, 2.18), (5, 19.3, 2.19)
    )
    best = _column(deeper, "best_draft_tokens", "K")[0]
    verdict = _column(found, "width_curves", "verdict")[0]
    text = (
        f"T(2)/T(1) = {ratio:.2f}, above {bound:.2f}, the most that independent experts can make "
        f"of it: {verdict} (kernel). After the kernel work the best K is {best}."
    )
    return text, ratio > bound and best == 3


def _a04() -> Answer:
    found = _section(
        "width,ms", (1, 8.47), (2, 13.49), (3, 15.64), (5, 20.67), (8, 28.13), experts=128, top_k=6
    )
    slope = _column(found, "width_curves", "slope [ms/token]")[0]
    gap = _column(found, "width_curves", "T(1) off curve [ms]")[0]
    widths = _column(found, "passes", "width")
    four = dict(zip(widths, _column(found, "passes", "curve [ms]"), strict=True))[4]
    text = (
        f"Passes of 2 tokens and more lie on a line of {slope:.2f} ms per token; one token runs "
        f"{-gap:.1f} ms below it: a decode kernel of its own. T(4) = {four:.1f} ms (18.2 from the "
        "line). K = 7 can gain at most 4.20/3.32 = 1.26x before the draft."
    )
    return text, abs(four / 18.2 - 1) < 0.05 and abs(slope - 2.44) < 0.05


def _a05() -> Answer:
    rates = ((1, 169.98), (2, 111.52), (3, 145.78), (4, 174.78), (6, 221.85), (8, 266.06))
    found = _section("n_ubatch,tok/s", *rates, experts=128, top_k=8)
    ratio = _column(found, "width_curves", "T(2)/T(1)")[0]
    verdict = _column(found, "width_curves", "verdict")[0]
    best = _column(found, "verification", "best K")[0]
    text = (
        f"T(2)/T(1) = {ratio:.2f}: {verdict} (kernel). Nothing pays from one token, best K {best}."
    )
    return text, best == 0 and abs(ratio - 3.05) < 0.02


def _a06() -> Answer:
    rows = ((0, 22.92, None), (1, 27.58, 0.8835), (2, 29.39, 0.815), (3, 27.78, 0.7127),
            (4, 26.09, 0.6421))  # fmt: skip
    found = _section("K,tok/s,acceptance", *rows)
    ratios = _column(found, "draft_lengths", "cycle_ratio")
    best = _column(found, "best_draft_tokens", "K")[0]
    disk = _section("K,tok/s", (0, 7.41), (1, 7.07), (3, 6.19), (5, 5.97), (7, 5.16))
    on_disk = _column(disk, "best_draft_tokens", "K")[0]
    written = ", ".join(f"{ratio:.2f}" for ratio in ratios[1:])
    text = (
        f"R = {written} for K = 1-4, best K {best}; experts on disk: best K {on_disk}, monotone "
        "loss. Expert traffic over a slow link moves R towards U(w)/k."
    )
    return text, best == 2 and on_disk == 0


def _a07() -> Answer:
    rows = ((1, 4, 55.6, 3.099), (1, 2, 54.9, 2.311), (8, 4, 210.0, 3.099), (8, 2, 303.6, 2.311))
    found = _section("batch_size,K,tok/s,acceptance_length", *rows)
    sizes, best = (_column(found, "best_draft_tokens", name) for name in ("B", "K"))
    by_batch = dict(zip(sizes, best, strict=True))
    text = (
        f"Best K {by_batch[1]} alone, {by_batch[8]} at 8. Survival at position 1, .844 against "
        ".766, differs between the two runs: prompt mix, not physics."
    )
    return text, by_batch[1] in (2, 3, 4) and by_batch[8] <= 2


def _a13() -> Answer:
    found = _section("K,tok/s", (0, 39.69), (2, 37.27), (5, 24.5))
    best = _column(found, "best_draft_tokens", "K")[0]
    text = (
        f"ds4: best block {best} (none). Its replay of 26 ms on rejected blocks is an engine cost "
        "per rejection, which codesign says it has not (assumption 'overhead'): outside the model."
    )
    return text, best in (0, 2)


def best_length_of_a15() -> int:
    lengths = (2.36, 2.79, 3.08, 3.32, 3.46, 3.54)
    times = (4.32, 4.09, 4.05, 4.13, 4.20, 4.29)
    rows = [(k, 1000 / t, a) for k, (t, a) in enumerate(zip(times, lengths, strict=True), start=2)]
    found = _section("K,tok/s,acceptance_length", (0, 1000 / 7.07, None), *rows)
    return int(_column(found, "best_draft_tokens", "K")[0])


QWEN_30B: Final = (
    (1, 44.54), (2, 59.94), (4, 90.46), (8, 129.77), (16, 185.4), (24, 215.99), (32, 238.37),
    (48, 257.83), (64, 262.73), (96, 270.98), (128, 273.72),
)  # fmt: skip


def _a18() -> Answer:
    found = _section("tokens,us", *QWEN_30B, experts=128, top_k=8)
    floor, slope = (found.parameters[f"kernel.{n}"].value for n in ("floor", "per_expert"))
    ours = max(abs(e) for e in _column(found, "kernel", "residual [%]"))
    name = "residual with min(N, m k) experts [%]"
    others = max(abs(e) for e in _column(found, "kernel", name))
    text = (
        f"{floor:.1f} + {slope:.3f} U us, worst residual {ours:.1f} %; with min(N, T k) experts "
        f"{others:.1f} %: the kernel is affine in unique experts."
    )
    return text, abs(floor / 32.3 - 1) < 0.1 and abs(slope / 1.854 - 1) < 0.1 and others > ours


def _a20() -> Answer:
    rates = ((1, 23.28), (2, 33.03), (4, 57.07), (8, 99.42), (16, 148.96), (32, 203.37),
             (64, 222.38), (128, 280.49))  # fmt: skip
    found = _section("ubatch,tok/s", *rates, architecture="gpt-oss-20b")
    crossing = found.parameters["compute_crossing"].value
    gain = dict(
        zip(*(_column(found, "verification", n) for n in ("tokens", "best K")), strict=True)
    )
    text = (
        f"Compute takes over at {crossing:.0f} tokens; from 32 tokens best K {gain[32]}: no gain."
    )
    return text, 16 <= crossing <= 64 and gain[32] == 0


FITS: Final[tuple[tuple[str, str, str, Callable[[], Answer]], ...]] = (
    ("A03", "K = 1 at 86 % acceptance still loses", "jundot/omlx#2077", _a03),
    ("A04", "verify width curve", "waybarrios/vllm-mlx#763", _a04),
    ("A05", "jump at width 2", "ikawrakow/ik_llama.cpp#1630", _a05),
    ("A06", "experts off the GPU", "ggml-org/llama.cpp#22673", _a06),
    ("A07", "K by concurrency", "eugr/spark-vllm-docker#343", _a07),
    ("A13", "one model, two engines, opposite answers", "antirez/ds4#468", _a13),
    ("A18", "kernel time is affine in unique experts", "vllm-project/vllm#24700", _a18),
    ("A20", "batch curves on small GPUs", "ggml-org/llama.cpp#15631", _a20),
)
"""Case, title, source and how it is answered."""
