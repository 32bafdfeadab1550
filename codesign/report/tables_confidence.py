"""Tables of how sure the answer is: draws, stability, sensitivity, quality, certificate."""

from codesign.records import Record
from codesign.report.cells import Row, Table, cell, look_up, pointer, table
from codesign.report.glossary import input_label, label, unit
from codesign.report.tables_answer import AXES

NOT_DRAWN = "Not computed: nothing was drawn, or the space was sampled instead of enumerated."
CERTIFICATES = {
    "exact": "exact: every design was evaluated",
    "gap": "gap: the optimum is better by the regret at most",
    "none": "none: the best of the designs evaluated",
}
LAW_STATUS = {
    "interpolated": "inside its own data",
    "ratio-extrapolated": "inside in shape, not in scale: only the ratio to the reference counts",
    "outside": "outside its own data, in shape too",
}
DESIGN_COLUMNS = {
    "experts": "N", "top_k": "k", "shared_experts": "S", "expert_width": "width",
    "draft_tokens": "K",
}  # fmt: skip


def certificate_table(result: Record) -> Table:
    """Return what the search saw and what it proves."""
    own = result["certificate"]
    figures = {
        "designs": ("designs in the space", "-"),
        "feasible": ("feasible designs", "-"),
        "regret": ("regret of the returned design", "share"),
        "trials": ("Optuna trials", "-"),
        "distinct_designs": ("distinct designs among them", "-"),
        "study_feasible": ("feasible among those", "-"),
        "study_regret": ("regret of the Optuna study", "share"),
        "polished_designs": ("designs a local search evaluated", "-"),
    }
    rows: list[Row] = [["certificate", CERTIFICATES[own["kind"]]]]
    for key, (title, kind) in figures.items():
        if own.get(key) is not None:
            rows.append([title, cell(result, "certificate", key, unit=kind, digits=2)])
    note = "Regret: how far a search's best design stays below the best known, relative. "
    if own["trials"] is None:
        note += "No Optuna study was run: the space is no larger than its trials, or exact asked. "
    note += "Trials are drawn where the study's journal lies beside result.json."
    return table("certificate", "Search and certificate", {"what": "", "value": ""}, rows, note)


def stability_table(result: Record) -> Table:
    """Return which designs are optimal in how many draws."""
    columns = DESIGN_COLUMNS | {"optimal": "optimal in", "on_front": "on the front in"}
    title = "Stability: which design is best in how many draws"
    if result["stability"] is None:
        return table("stability", title, columns, [], NOT_DRAWN)
    at = ("stability", "designs")
    rows = [
        [
            *(cell(result, *at, place, "design", axis) for axis in AXES),
            cell(result, *at, place, "optimal", unit="share", digits=2),
            cell(result, *at, place, "on_front", unit="share", digits=2),
        ]
        for place in range(len(result["stability"]["designs"]))
    ]
    draws = result["interval"]["draws"]
    note = f"The best design first, then those optimal most often over {draws:,} joint draws."
    return table("stability", title, columns, rows, note)


def plateau_table(result: Record) -> Table:
    """Return the simplest design among those about as good as the best."""
    objective = result["verdict"]["objective"]
    columns = DESIGN_COLUMNS | {"objective": f"{label(objective)}, expected", "designs": "designs"}
    title = "Plateau: the simplest of the designs about as good"
    plateau = result["plateau"]
    if plateau is None:
        return table("plateau", title, columns, [], NOT_DRAWN)
    row = [
        *(cell(result, "plateau", "simplest", axis) for axis in AXES),
        cell(result, "plateau", "objective", unit=unit(objective)),
        cell(result, "plateau", "designs"),
    ]
    note = (
        f"Designs within {plateau['tolerance']:.0%} of the best; simplest: fewest axes changed "
        "from the reference, then fewest shared experts, experts and drafted tokens."
    )
    return table("plateau", title, columns, [row], note)


def information_table(result: Record) -> Table:
    """Return what knowing each uncertain input would be worth."""
    columns = {"input": "input", "value": "worth", "calibrate": "measured by"}
    title = "Value of information: what to measure first"
    rows_of = result["value_of_information"]
    if rows_of is None:
        return table("information", title, columns, [], NOT_DRAWN)
    rows: list[Row] = [
        [
            input_label(row["input"]),
            cell(result, "value_of_information", place, "value", unit="gain", digits=2),
            f"codesign calibrate {row['calibrate']}",
        ]
        for place, row in enumerate(rows_of)
    ]
    note = (
        "Expected gain of the first objective from knowing the input before choosing; an input "
        "worth nothing moves the prediction perhaps, but not the choice."
    )
    return table("information", title, columns, rows, note)


def axes_table(result: Record) -> Table:
    """Return the exact Sobol indices of the axes."""
    columns = {"axis": "axis", "first": "alone", "total": "with interactions"}
    title = "Which axis matters: exact Sobol indices over the whole space"
    axes = look_up(result, pointer("sensitivity", "axes"))
    if axes is None:
        return table("axes", title, columns, [], NOT_DRAWN)
    rows: list[Row] = [
        [
            label(axis),
            *(cell(result, "sensitivity", "axes", axis, key, unit="share", digits=3)
              for key in ("first", "total")),
        ]
        for axis in axes
    ]  # fmt: skip
    note = "Share of the first objective's variance at the values in use, over all valid designs."
    return table("axes", title, columns, rows, note)


def elasticity_table(result: Record) -> Table:
    """Return by how much the best design's objective follows each input, strongest first."""
    columns = {"input": "input", "elasticity": "change per +1 % of the input, %"}
    title = "Which input matters: elasticities of the best design"
    values = look_up(result, pointer("sensitivity", "elasticities"))
    if values is None:
        return table("elasticities", title, columns, [], NOT_DRAWN)
    rows: list[Row] = [
        [input_label(name), cell(result, "sensitivity", "elasticities", name, digits=2)]
        for name in sorted(values, key=lambda name: -abs(values[name]))
    ]
    note = "At the values in use; per cent of the first objective."
    return table("elasticities", title, columns, rows, note)


def quality_table(result: Record) -> Table:
    """Return what each scaling law says of the best design, and how far it may speak."""
    at = ("best", "prediction", "quality")
    rows: list[Row] = [
        [
            name.replace("_", " "),
            cell(result, *at, "laws", name, "loss_difference", unit="difference"),
            LAW_STATUS.get(law["status"], law["status"]),
        ]
        for name, law in look_up(result, pointer(*at, "laws")).items()
    ]
    rows += [
        ["mean of the laws", cell(result, *at, "mean", unit="difference"), ""],
        ["cautious: the constraint's quantile",
         cell(result, *at, "quantile", unit="difference"), ""],
        ["probability that quality holds",
         cell(result, *at, "probability", unit="share", digits=3), ""],
    ]  # fmt: skip
    flags: list[str] = look_up(result, pointer(*at, "flags")) or []
    raised = f" Beware: {', '.join(f.replace('_', ' ') for f in flags)}." if flags else ""
    return table(
        "quality",
        "Quality of the best design against the reference, law by law",
        {
            "law": "",
            "loss_difference": "loss difference [nat/token]",
            "status": "how far it may speak",
        },
        rows,
        "Pretraining loss minus the reference's; positive is worse. Laws disagree, so the "
        f"constraint takes a cautious quantile.{raised}",
    )
