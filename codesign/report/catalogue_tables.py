"""Everything bundled, listed and explained."""

import inspect
from collections.abc import Callable
from dataclasses import asdict
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import yaml

from codesign.ablation import load_ablation
from codesign.ablation.terms import TERMS
from codesign.architectures import list_architectures, load_architecture
from codesign.architectures.counting import count_parameters
from codesign.constraints import constraint_class, list_constraints
from codesign.figure import find_figure
from codesign.hardware import list_hardware, load_hardware, resolve_kernel
from codesign.model.intensity import arithmetic_intensity, ridge_intensity
from codesign.objectives import list_objectives, objective_class
from codesign.prediction import FIGURES, Prediction
from codesign.records import Record, plain
from codesign.report.formats import to_csv, to_json, to_text
from codesign.report.grids import Grid
from codesign.spec.architecture import Architecture
from codesign.spec.load import load_spec
from codesign.spec.precision import BYTES_PER_ELEMENT
from codesign.spec.study import DEFAULT_CONSTRAINTS, Bound, Study
from codesign.starters import find_ablation, find_study, list_ablations, list_studies

RIDGE_HARDWARE: Final = "h100-sxm"

HEADINGS: Final = {
    "memory_gib": "GiB",
    "tb_per_s": "TB/s",
    "bf16_tflops": "bf16 TFLOP/s",
    "fp8_tflops": "fp8 TFLOP/s",
    "usd_per_hour": "USD/h",
}
"""Where a column's name is not how its unit is written."""


def render_list(what: str, form: str) -> str:
    """Return a catalogue as ``table``, ``json`` or ``csv``."""
    rows = _ROWS[what]()
    if form == "json":
        return to_json(rows)
    return to_csv(rows) if form == "csv" else to_text(_table(rows))


def _table(rows: list[Record]) -> Grid:
    headings = [HEADINGS.get(column, column.replace("_", " ")) for column in rows[0]]
    words = {None: "-", True: "yes", False: "no"}
    cells = [[words[c] if c is None or isinstance(c, bool) else str(c) for c in row.values()]
             for row in rows]  # fmt: skip
    text = [n for n, column in enumerate(rows[0])
            if not any(isinstance(row[column], int | float) for row in rows)]  # fmt: skip
    return Grid("", headings, cells, text)


def _hardware_rows() -> list[Record]:
    rows = []
    for name in list_hardware():
        hardware = load_hardware(name)
        peaks = {fmt: plain(peak.value / 1e12) for fmt, peak in hardware.peak_compute.items()}
        rows.append(
            {
                "name": name,
                "title": hardware.title,
                "memory_gib": round(hardware.memory.value / 2**30, 1),
                "tb_per_s": hardware.memory_bandwidth.value / 1e12,
                "bf16_tflops": peaks["bf16"],
                "fp8_tflops": peaks.get("fp8"),
                "usd_per_hour": _price(hardware.price),
                "kernels": "measured" if hardware.kernels else "datasheet only",
            }
        )
    return rows


def _price(price: Any) -> str | None:
    return f"{price.low:g}-{price.high:g}" if price else None


def _architecture_rows() -> list[Record]:
    return [architecture_row(load_architecture(name)) for name in list_architectures()]


def architecture_row(model: Architecture) -> Record:
    """Return the line of one architecture: size, sparsity, intensity and ridge batch size.

    Intensity is that of one decoded sequence, (k+S)/(N+S); the ridge batch size is where it meets
    the H100's ridge point at the weights' own size.
    """
    counts, moe = count_parameters(model), model.moe
    row: Record = {
        "name": model.name,
        "family": model.family,
        "total_b": round(counts.total / 1e9, 2),
        "active_b": round(counts.active / 1e9, 2),
    }
    if moe is None:
        return row | dict.fromkeys(("N", "k", "S", "AI", "ridge_batch_h100"))
    intensity = float(arithmetic_intensity(1, moe.experts, moe.top_k, moe.shared_experts))
    h100, dtype = load_hardware(RIDGE_HARDWARE), model.precision.of("routed_experts")
    kernel = resolve_kernel(h100, "routed_experts", "vllm", dtype).kernel
    ridge = ridge_intensity(kernel.compute, kernel.bandwidth, BYTES_PER_ELEMENT[dtype])
    return row | {
        "N": moe.experts,
        "k": moe.top_k,
        "S": moe.shared_experts,
        "AI": round(intensity, 4),
        "ridge_batch_h100": round(float(ridge) / intensity),
    }


def _objective_rows() -> list[Record]:
    kinds = ((name, objective_class(name)) for name in list_objectives())
    return [
        {"name": name, "direction": kind.direction, "unit": kind.unit, "meaning": _first(kind)}
        for name, kind in kinds
    ]


def _constraint_rows() -> list[Record]:
    rows = []
    for name in list_constraints():
        kind = constraint_class(name)
        rows.append({"name": name, "unit": kind.unit, "default": name in DEFAULT_CONSTRAINTS,
                     "meaning": _first(kind)})  # fmt: skip
    for name, choice in DEFAULT_CONSTRAINTS.items():  # limits on figures need no file
        if isinstance(choice, Bound):
            limits = ", ".join(f"{side.replace('_', ' ')} {value}"
                               for side, value in choice.to_data().items())  # fmt: skip
            figure = find_figure(Prediction, name)
            rows.append({"name": name, "unit": figure.unit, "default": True,
                         "meaning": f"{limits} of the reference's. {figure.meaning}"})  # fmt: skip
    return rows


def _first(kind: type) -> str:
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def _figure_rows() -> list[Record]:
    return [
        {
            "name": name,
            "alias": figure.alias,
            "unit": figure.unit,
            "better": figure.better,
            "meaning": figure.meaning,
        }
        for name, figure in FIGURES.items()
    ]


def _study_rows() -> list[Record]:
    return [{"name": name, "question": _question(find_study(name))} for name in list_studies()]


def _ablation_rows() -> list[Record]:
    files = ((name, find_ablation(name)) for name in list_ablations())
    return [{"name": name, "question": _question(path)} for name, path in files]


def _question(path: Path) -> str:
    """The first sentence of a file's header."""
    return " ".join(line[1:].strip() for line in _header(path)).partition("?")[0] + "?"


def _header(path: Path) -> list[str]:
    """The comment that a bundled file begins with."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(takewhile(lambda line: line.startswith("#"), lines))


def _term_rows() -> list[Record]:
    return [{"name": name, "meaning": term.meaning} for name, term in TERMS.items()]


_ROWS: Final[dict[str, Callable[[], list[Record]]]] = {
    "hardware": _hardware_rows,
    "architectures": _architecture_rows,
    "objectives": _objective_rows,
    "constraints": _constraint_rows,
    "figures": _figure_rows,
    "studies": _study_rows,
    "ablations": _ablation_rows,
    "terms": _term_rows,
}


def render_one(what: str, name: str, form: str) -> str:
    """Return the facts of one thing as ``table`` (YAML), ``json`` or ``csv``."""
    data = _ONE[what](name)
    if form == "json":
        return to_json(data)
    if form == "csv":
        return to_csv([data])
    if what == "architecture":  # a file to start from: what is counted stands in comments
        facts = data.pop("facts")
        counts = "".join(f"# {name}: {value}\n" for name, value in data.items())
        return counts + _to_yaml(facts)
    files = {"study": find_study, "ablation": find_ablation}
    head = _header(files[what](name)) if what in files else []
    return "".join(f"{line}\n" for line in head) + _to_yaml(data)


class _Readable(yaml.SafeDumper):
    """Paragraphs stand as they are written."""


def _paragraph(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Readable.add_representer(str, _paragraph)


def _to_yaml(data: Record) -> str:
    return yaml.dump(data, Dumper=_Readable, sort_keys=False, allow_unicode=True, width=100)


def _architecture(name: str) -> Record:
    """Counts first, under stable keys, then the facts."""
    model = load_architecture(name)
    counts, moe = asdict(count_parameters(model)), model.moe
    head: Record = {
        "name": model.name,
        "total_params": counts["total"],
        "active_params": counts["active"],
        "active_params_without_input_embedding": counts["active"] - _lookup_only(model, counts),
        **{f"{part}_params": counts[part] for part in counts if part not in ("total", "active")},
        "experts": moe.experts if moe else None,
        "top_k": moe.top_k if moe else None,
        "shared_experts": moe.shared_experts if moe else None,
        "moe_layers": moe.layers if moe else 0,
        "layers": model.layers,
    }
    return head | {"facts": model.to_data()}


def _lookup_only(model: Architecture, counts: dict[str, int]) -> int:
    """Input embedding rows are looked up, not multiplied, unless the head is the same table."""
    return 0 if model.tied_embeddings else counts["embedding"]


def _extension(kind: type) -> Record:
    parameters = inspect.signature(kind).parameters.values()
    return {
        "name": kind.name,  # type: ignore[attr-defined]
        "unit": kind.unit,  # type: ignore[attr-defined]
        "meaning": inspect.getdoc(kind),
        "options": {p.name: p.default for p in parameters},
        "file": Path(inspect.getfile(kind)).name,
    }


_ONE: Final[dict[str, Callable[[str], Record]]] = {
    "hardware": lambda name: load_hardware(name).to_data(),
    "architecture": _architecture,
    "objective": lambda name: _extension(objective_class(name)),
    "constraint": lambda name: _extension(constraint_class(name)),
    "study": lambda name: load_spec(find_study(name), Study).to_data(),
    "ablation": lambda name: load_ablation(name)[0].to_data(),
}
