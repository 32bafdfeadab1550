"""Tables of a result: what to build first, then why, then what was assumed."""

from rich.table import Table

from codesign.prediction import FIGURES
from codesign.records import Record
from codesign.report.formats import shown, to_csv, to_json, to_text
from codesign.report.prediction_tables import assumption_list
from codesign.result import Certificate, Result

COMPARED = {
    "sd_speedup": "SD speedup",
    "tpot_s": "TPOT without SD",
    "sd_tpot_s": "TPOT with SD",
    "sd_tokens_per_s_per_gpu": "tokens/s/GPU with SD",
    "cost_per_million_tokens": "USD per million tokens",
    "total_params": "total parameters",
    "active_params": "active parameters",
    "loss_difference": "loss difference [nat/token]",
    "memory_bytes_per_gpu": "memory per GPU",
    "unique_experts_verify": "unique experts, verify",
    "acceptance_length": "acceptance length",
    "cycle_ratio": "cycle ratio",
    "target_efficiency": "target efficiency",
    "amdahl_ratio": "Amdahl verify ratio",
}
FRONT_ROWS = 12


def render_result(result: Result, form: str) -> str:
    """Return a result as ``table``, ``json`` or ``csv`` (the front)."""
    if form == "json":
        return to_json(result.to_dict())
    if form == "csv":
        entries = [("best", result.best), ("reference", result.reference)]
        entries += [("throughput_best", result.throughput_best)]
        entries += [("front", entry) for entry in result.front]
        keys = ("design", "objectives", "constraints")
        return to_csv(
            [{"role": role} | {key: entry[key] for key in keys} for role, entry in entries]
        )
    return to_text(
        _headline(result), _comparison(result), _constraints(result), _front(result),
        assumption_list(result.assumptions),
    )  # fmt: skip


def _headline(result: Result) -> str:
    lines = [result.verdict["text"], certificate_line(result.certificate)]
    lines += [
        f"binding: without {row['constraint']} the best would gain {row['gain_without']:+.1%} "
        f"({_design(row['design_without'])})"
        for row in result.binding
    ] or ["binding: no constraint keeps a better design out"]
    if result.on_bounds:
        lines.append(f"on the bound of its axis: {', '.join(result.on_bounds)}; widen it and see")
    best, throughput = result.best["prediction"], result.throughput_best["prediction"]
    gain = throughput["sd_tokens_per_s"] / best["sd_tokens_per_s"] - 1
    if gain > 0:
        lines.append(
            f"throughput: {_design(result.throughput_best['design'])} yields {gain:.1%} more "
            "tokens per second than the best"
        )
    return "\n".join(lines) + "\n"


def certificate_line(certificate: Certificate) -> str:
    """Say in one line how sure the search is."""
    study = ""
    if certificate.trials is not None:
        study = (
            f"Optuna's study of {certificate.trials} trials ({certificate.distinct_designs} "
            f"distinct designs, {certificate.study_feasible} feasible)"
        )
    if certificate.kind == "none":
        return f"certificate: none; {study} is not proof of an optimum"
    line = (
        f"certificate: exact; all {certificate.designs:,} designs evaluated, "
        f"{certificate.feasible:,} feasible"
    )
    if study:
        regret = certificate.study_regret
        own = "found none feasible" if regret is None else f"missed it by {regret:.2%}"
        line += f"; {study} {own}"
    return line


def _design(design: Record) -> str:
    return (
        f"{design['experts']}/{design['top_k']}+{design['shared_experts']} width "
        f"{design['expert_width']} K={design['draft_tokens']}"
    )


def _comparison(result: Result) -> Table:
    table = Table(title="Best, reference, throughput-best", title_justify="left", box=None)
    table.add_column("")
    entries = (result.best, result.reference, result.throughput_best)
    for name in ("best", "reference", "throughput-best"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_row("experts / top-k + shared, width, K", *(_design(e["design"]) for e in entries))
    for name in result.best["objectives"]:
        if name not in COMPARED:
            table.add_row(name, *(shown(e["objectives"][name]) for e in entries))
    for name, title in COMPARED.items():
        unit = FIGURES[name].unit
        table.add_row(title, *(shown(e["prediction"][name], unit) for e in entries))
    table.add_row("regime at the target", *(_regime(e) for e in entries))
    for key, title in (
        ("partial_load_until", "partial load up to batch size"),
        ("compute_bound_from", "compute bound from batch size"),
        ("sweet_spot_batch_size", "largest speedup at batch size"),
    ):
        cells = (e["prediction"]["regimes"][key] for e in entries)
        table.add_row(title, *("beyond 4096" if cell is None else str(cell) for cell in cells))
    return table


def _regime(entry: Record) -> str:
    regime = entry["prediction"]["regime"]
    return regime if isinstance(regime, str) else ", ".join(dict.fromkeys(regime))


def _constraints(result: Result) -> Table:
    table = Table(title="Constraints of the best design", title_justify="left", box=None)
    for heading in ("", "value", "limit", "slack", "reference"):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for name, row in result.best["constraints"].items():
        own = result.reference["constraints"][name]
        met = "met" if own["feasible"] else "violated"
        cells = (shown(row[key], row["unit"]) for key in ("value", "limit", "slack"))
        table.add_row(name, *cells, met)
    return table


def _front(result: Result) -> Table:
    title = f"Pareto front, {len(result.front)} designs"
    if len(result.front) > FRONT_ROWS:
        title += f" ({FRONT_ROWS} evenly spaced; all with --format json or csv)"
    table = Table(title=title, title_justify="left", box=None)
    table.add_column("design")
    for name in result.front_objectives:
        table.add_column(name, justify="right")
    for position in _spaced(len(result.front), FRONT_ROWS):
        entry = result.front[position]
        cells = (shown(entry["objectives"][name]) for name in result.front_objectives)
        table.add_row(_design(entry["design"]), *cells)
    return table


def _spaced(length: int, most: int) -> list[int]:
    if length <= most:
        return list(range(length))
    return [round(step * (length - 1) / (most - 1)) for step in range(most)]
