"""Tables of a prediction."""

from rich.table import Table

from codesign.prediction import FIGURES, Prediction
from codesign.records import Record, prediction_rows
from codesign.report.formats import shown, to_csv, to_json, to_text

COLUMNS = {
    "batch_size": "B",
    "draft_tokens": "K",
    "unique_experts_decode": "U(B,1)",
    "unique_experts_verify": "U(B,K+1)",
    "step_time_decode_s": "decode",
    "step_time_verify_s": "verify",
    "draft_time_s": "draft",
    "acceptance_length": "AL",
    "cycle_ratio": "cycle",
    "sd_speedup": "speedup",
    "break_even_acceptance": "break-even acc.",
    "sd_tpot_s": "TPOT",
    "sd_tokens_per_s_per_gpu": "tok/s/GPU",
    "memory_bytes_per_gpu": "memory",
    "regime": "regime",
}


def render_prediction(prediction: Prediction, form: str) -> str:
    """Return a prediction as ``table``, ``json`` or ``csv``."""
    rows = prediction_rows(prediction)
    if form == "json":
        return to_json(rows)
    if form == "csv":
        return to_csv(rows)
    return to_text(
        _figures(rows), _components(rows), assumption_list(prediction.scenario.assumptions)
    )


def _figures(rows: list[Record]) -> Table:
    table = Table(title="Speculative decoding, times in ms", title_justify="left", box=None)
    for heading in COLUMNS.values():
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(_cell(row, name) for name in COLUMNS))
    return table


def _cell(row: Record, name: str) -> str:
    if name in ("batch_size", "draft_tokens", "regime"):
        return str(row[name])
    if name == "break_even_acceptance" and row[name] > 1:
        return "never"
    return shown(row[name], FIGURES[name].unit, 3).removesuffix(" ms")


def _components(rows: list[Record]) -> Table:
    """Where the time of the decode step and the verify pass goes."""
    table = Table(title="Components, decode / verify in ms", title_justify="left", box=None)
    table.add_column("B", justify="right")
    table.add_column("K", justify="right")
    names = list(rows[0]["components"]["decode"])
    for name in names:
        table.add_column(name.replace("_", " "), justify="right", overflow="fold")
    for row in rows:
        decode, verify = row["components"]["decode"], row["components"]["verify"]
        cells = (f"{decode[n] * 1e3:.2f} / {verify[n] * 1e3:.2f}" for n in names)
        table.add_row(str(row["batch_size"]), str(row["draft_tokens"]), *cells)
    return table


def assumption_list(assumptions: tuple[str, ...]) -> Table:
    """Return every assumption, topic by topic."""
    table = Table(title="Assumptions", title_justify="left", box=None, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for line in assumptions:
        topic, _, sentence = line.partition(": ")
        table.add_row(topic, sentence)
    return table
