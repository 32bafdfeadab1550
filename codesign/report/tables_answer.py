"""Tables of the answer: the designs side by side, constraints and their price, the front."""

from codesign.records import Record
from codesign.report.cells import Cell, Row, Table, cell, change, look_up, pointer, table
from codesign.report.glossary import (
    component_label,
    constraint_label,
    label,
    meaning,
    statistic_label,
    unit,
)

AXES = ("experts", "top_k", "shared_experts", "expert_width", "draft_tokens")
COMPARED = (
    "sd_speedup", "tpot_s", "sd_tpot_s", "sd_tpot_p95_s", "sd_tokens_per_s_per_gpu",
    "cost_per_million_tokens", "total_params", "active_params", "loss_difference",
    "memory_bytes_per_gpu", "kv_capacity_sequences", "unique_experts_decode",
    "unique_experts_verify", "step_time_decode_s", "step_time_verify_s", "draft_time_s",
    "acceptance_length", "cycle_ratio", "break_even_acceptance", "target_efficiency",
    "amdahl_ratio", "energy_per_token_j",
)  # fmt: skip
REGIMES = {
    "partial_load_until": "partial load up to batch size",
    "compute_bound_from": "compute bound from batch size",
    "sweet_spot_batch_size": "largest speedup at batch size",
    "sweet_spot_speedup": "speedup there",
}
ROLES = {"best": "best", "reference": "reference", "throughput_best": "throughput-best"}


def shown_roles(result: Record) -> list[str]:
    """Return the designs worth a column: the throughput-best only where it is another one."""
    same = result["throughput_best"]["design"] == result["best"]["design"]
    return [role for role in ROLES if not (same and role == "throughput_best")]


def designs_table(result: Record) -> Table:
    """Return best, reference and throughput-best side by side."""
    roles = shown_roles(result)
    rows: list[Row] = []
    for axis in AXES:
        cells = [cell(result, role, "design", axis) for role in roles]
        rows.append([label(axis), *cells, None, meaning(axis)])
    rows += _objective_rows(result, roles)
    for name in COMPARED:
        if any(result[role]["prediction"].get(name) is not None for role in roles):
            rows.append(_figure_row(result, roles, name))
    rows += _quality_rows(result, roles) + _regime_rows(result, roles)
    columns = {"figure": "", **{role: ROLES[role] for role in roles}}
    exact = result["certificate"]["kind"] == "exact"  # a sampled search does not look for it
    known = exact and "throughput_best" not in roles
    note = " The best design also yields the most tokens/s." if known else ""
    return table(
        "designs",
        "The designs side by side",
        columns | {"change": "best against reference", "meaning": "meaning"},
        rows,
        "Expected figures are over the draws; all others are at the values in use." + note,
    )


def _objective_rows(result: Record, roles: list[str]) -> list[Row]:
    rows: list[Row] = []
    drawn, first = result["interval"] is not None, result["verdict"]["objective"]
    for choice, asked in zip(
        result["best"]["objectives"], result["study"]["objectives"], strict=True
    ):
        cells = [cell(result, role, "objectives", choice, unit=unit(choice)) for role in roles]
        versus = change(result, ("best", "objectives", choice), ("reference", "objectives", choice))
        if choice == first and drawn:  # the verdict's own: the mean of the gains, draw by draw
            versus = cell(result, "verdict", "gain", unit="gain", digits=2)
        kind = statistic_label(asked.get("statistic", "mean")) if drawn else "at the values in use"
        how = "over the draws" if drawn else "nothing was drawn"
        rows.append([f"{label(choice)}, {kind}", *cells, versus, how])
    if not drawn:
        return rows
    name = result["interval"]["objective"]
    for end, words in enumerate(("5 % of draws below", "95 % of draws below")):
        cells = [
            cell(result, "interval", role, end, unit=unit(name)) if role in ROLES else Cell()
            for role in roles
        ]
        own = cell(result, "interval", "gain", end, unit="gain", digits=2)
        rows.append([f"{label(name)}: {words}", *cells, own, "change: draw by draw"])
    return rows


def _figure_row(result: Record, roles: list[str], name: str) -> Row:
    cells = [cell(result, role, "prediction", name, unit=unit(name)) for role in roles]
    versus = change(result, ("best", "prediction", name), ("reference", "prediction", name))
    title = label(name) + (", values in use" if name in result["best"]["objectives"] else "")
    return [title, *cells, versus, meaning(name)]


def _quality_rows(result: Record, roles: list[str]) -> list[Row]:
    rows: list[Row] = []
    for key, words, kind in (
        ("quantile", "cautious loss difference [nat/token]", "difference"),
        ("probability", "probability that quality holds", "share"),
    ):
        cells = [
            cell(result, role, "prediction", "quality", key, unit=kind, digits=3) for role in roles
        ]
        rows.append([words, *cells, None, "over scaling laws and their errors"])
    return rows


def _regime_rows(result: Record, roles: list[str]) -> list[Row]:
    regimes: Row = [_regime(result, role) for role in roles]
    rows: list[Row] = [["regime at the target", *regimes, None, "what limits the verify pass"]]
    for key, words in REGIMES.items():
        kind = "times" if key == "sweet_spot_speedup" else "-"
        cells: Row = [cell(result, role, "prediction", "regimes", key, unit=kind) for role in roles]
        rows.append([words, *_beyond(cells), None, "scanned up to 4,096"])
    return rows


def _beyond(cells: Row) -> Row:
    return ["beyond 4,096" if isinstance(c, Cell) and c.value is None else c for c in cells]


def _regime(result: Record, role: str) -> str:
    regime = result[role]["prediction"]["regime"]
    return regime if isinstance(regime, str) else ", ".join(dict.fromkeys(regime))


def constraints_table(result: Record) -> Table:
    """Return every constraint at the best design, what it costs, and how the reference stands."""
    prices = {row["constraint"]: n for n, row in enumerate(result["shadow_prices"] or [])}
    binding = {row["constraint"]: n for n, row in enumerate(result["binding"])}
    rows = []
    for name, standing in result["best"]["constraints"].items():
        kind = "share" if name == "expert_width" else standing["unit"]
        title = constraint_label(name, drawn=result["study"]["uncertainty"]["draws"] > 0)
        if kind == "nat/token":  # said once, not in every cell
            title, kind = f"{title} [{kind}]", "-"
        at_best = [
            cell(result, "best", "constraints", name, key, unit=kind)
            for key in ("value", "limit", "slack")
        ]
        met = result["reference"]["constraints"][name]["feasible"]
        rows.append([
            title, at_best[0], _sense(standing), *at_best[1:],
            "met" if met else "violated",
            *_price(result, prices.get(name), kind), *_lifted(result, binding.get(name)),
        ])  # fmt: skip
    unpriced = " Prices were not computed: the space was sampled." if not prices else ""
    return table(
        "constraints",
        "Constraints, and what each costs",
        {
            "constraint": "", "value": "best", "sense": "", "limit": "limit", "slack": "slack",
            "reference": "reference", "step": "loosened by", "gain": "gains",
            "gain_without": "gains without it",
        },
        rows,
        "Slack is what is left before the limit; the gain is of the first objective, if this one "
        "constraint were loosened by the step, or lifted." + unpriced,
    )  # fmt: skip


def _sense(standing: Record) -> str:
    """Which side of its limit a value has to be on: slack is the distance to it from there."""
    if None in (standing["value"], standing["limit"], standing["slack"]):
        return ""  # infinitely far, on whichever side
    above = standing["value"] - standing["limit"]
    return "≥" if abs(standing["slack"] - above) < abs(standing["slack"] + above) else "≤"


def _price(result: Record, place: int | None, kind: str) -> Row:
    if place is None:
        return [None, None]
    return [
        cell(result, "shadow_prices", place, "step", unit=kind),
        cell(result, "shadow_prices", place, "gain", unit="gain", digits=2),
    ]


def _lifted(result: Record, place: int | None) -> Row:
    if place is None:
        return [None]
    return [cell(result, "binding", place, "gain_without", unit="gain", digits=2)]


def front_table(result: Record) -> Table:
    """Return the Pareto front, every design of it."""
    names = result["front_objectives"]
    rows: list[Row] = [
        [
            place + 1,
            *(cell(result, "front", place, "design", axis) for axis in AXES),
            *(cell(result, "front", place, "objectives", n, unit=unit(n)) for n in names),
        ]
        for place in range(len(result["front"]))
    ]
    return table(
        "front",
        f"Pareto front, {len(rows):,} designs",
        {"place": "", "experts": "N", "top_k": "k", "shared_experts": "S"}
        | {"expert_width": "width", "draft_tokens": "K"}
        | {name: label(name) for name in names},
        rows,
        "No feasible design beats one of these in every objective at once."
        if rows
        else "Not computed: a front needs the exact engine.",
    )


def components_table(result: Record) -> Table:
    """Return where the time of decode step and verify pass goes, per component and batch size."""
    rows: list[Row] = []
    for role in ("best", "reference"):
        for place, row in enumerate(result[role]["prediction"]["by_batch_size"]):
            at = (role, "prediction", "by_batch_size", place)
            for name in row["components"]["decode"]:
                decode = cell(result, *at, "components", "decode", name, unit="s")
                verify = cell(result, *at, "components", "verify", name, unit="s")
                rows.append([
                    ROLES[role], cell(result, *at, "batch_size"), component_label(name),
                    decode, verify, _added(verify, decode),
                ])  # fmt: skip
    return table(
        "components",
        "Where decode step and verify pass spend their time",
        {
            "design": "design", "batch_size": "batch size", "component": "component",
            "decode": "decode step", "verify": "verify pass", "added": "verify over decode",
        },
        rows,
        "The verify pass checks K + 1 tokens per sequence, the decode step one.",
    )  # fmt: skip


def _added(verify: Cell, decode: Cell) -> Cell:
    value, base = verify.value, decode.value
    numbers = isinstance(value, int | float) and isinstance(base, int | float) and base > 0
    relative = value / base - 1 if numbers else None  # type: ignore[operator]
    return Cell(relative, "gain", (*verify.pointers, *decode.pointers), "change", digits=2)


def memory_table(result: Record) -> Table:
    """Return what fills a GPU's memory."""
    at = ("prediction", "memory_breakdown")
    parts = look_up(result, pointer("best", *at)) or {}
    roles = shown_roles(result)
    rows: list[Row] = [
        [part.replace("_", " "), *(cell(result, role, *at, part, unit="B") for role in roles)]
        for part in parts
    ]
    columns = {"part": "", **{role: ROLES[role] for role in roles}}
    return table("memory", "Memory of the fullest GPU", columns, rows)
