"""Tables of a prediction."""

from codesign.prediction import FIGURES, Prediction
from codesign.records import Record, prediction_rows
from codesign.regimes import LARGEST_BATCH, pays_no_more_from
from codesign.report.formats import to_csv, to_json, to_text
from codesign.report.grids import Grid
from codesign.servable import unservable
from codesign.shown import shown

COLUMNS = {
    "batch_size": "B",
    "draft_tokens": "K",
    "unique_experts_verify": "experts loaded",
    "step_time_decode_s": "decode",
    "step_time_verify_s": "verify",
    "draft_time_s": "draft",
    "acceptance_length": "AL",
    "cycle_ratio": "cycle",
    "sd_speedup": "speedup",
    "break_even_acceptance": "break even",
    "sd_tpot_s": "TPOT",
    "sd_tokens_per_s_per_gpu": "tokens/s per GPU",
    "memory_bytes_per_gpu": "memory",
    "regime": "regime",
}

READING = (
    "experts loaded: per layer, by a decode step and by a verify pass. AL: tokens per cycle. "
    "cycle: in decode steps. break even: mean acceptance of drafted tokens from which SD pays."
)


def render_prediction(prediction: Prediction, form: str) -> str:
    """Return a prediction as ``table``, ``json`` or ``csv``."""
    rows = prediction_rows(prediction)
    if form == "json":
        return to_json(rows)
    if form == "csv":
        return to_csv(rows)
    return to_text(
        _figures(rows), READING, *unservable(prediction), _pays_until(prediction), "",
        _components(rows),
        assumption_list(prediction.scenario.assumptions),
    )  # fmt: skip


def _pays_until(prediction: Prediction) -> str:
    """Name the batch size from which draft lengths no longer pay."""
    lengths: dict[int | None, list[str]] = {}
    for place in range(prediction.designs.draft_tokens.size):
        design = prediction.designs.take(place)
        drafted = int(design.draft_tokens.item())
        if drafted == 0:
            continue
        size = pays_no_more_from(design, prediction.scenario)
        lengths.setdefault(size, []).append(str(drafted))
    verdicts = {None: f"pays at every batch size scanned, to {LARGEST_BATCH:,}", 1: "never pays"}
    return "; ".join(
        f"K = {', '.join(drafted)} {verdicts.get(size, f'stops paying at batch size {size}')}"
        for size, drafted in lengths.items()
    )


def _figures(rows: list[Record]) -> Grid:
    cells = [[_cell(row, name) for name in COLUMNS] for row in rows]
    title, headings = "Speculative decoding, times in ms", [*COLUMNS.values()]
    return Grid(title, headings, cells, text=[headings.index("regime")], names=2, gap=1)


def _cell(row: Record, name: str) -> str:
    if name == "regime" and row["draft_tokens"] == 0:
        return "-"  # nothing is verified
    if name in ("batch_size", "draft_tokens", "regime"):
        return str(row[name])
    if name == "break_even_acceptance" and row[name] > 1:
        return "never"
    text = shown(row[name], FIGURES[name].unit, 3).removesuffix(" ms")
    if name == "unique_experts_verify":
        return f"{shown(row['unique_experts_decode'], digits=3)} > {text}"
    return text


def _components(rows: list[Record]) -> Grid:
    """Where the time of the decode step and the verify pass goes."""
    names = list(rows[0]["components"]["decode"])
    cells = []
    for row in rows:
        decode, verify = row["components"]["decode"], row["components"]["verify"]
        times = (f"{decode[n] * 1e3:.2f} / {verify[n] * 1e3:.2f}" for n in names)
        cells.append([str(row["batch_size"]), str(row["draft_tokens"]), *times])
    headings = ["B", "K", *(name.replace("_", " ") for name in names)]
    return Grid("Components, decode / verify in ms", headings, cells, text=(), names=2)


def assumption_list(assumptions: tuple[str, ...]) -> Grid:
    """Return every assumption, topic by topic."""
    cells = [line.partition(": ")[::2] for line in assumptions]
    return Grid("Assumptions", ["", ""], cells, text=(0, 1))
