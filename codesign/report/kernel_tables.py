"""Fitted kernels as a table, JSON or CSV."""

from typing import Any

from codesign.calibration.kernels import DeviceFits, FittedKernel
from codesign.calibration.kernels.profile import weakness
from codesign.report.formats import to_csv, to_json, to_text
from codesign.report.grids import Grid
from codesign.spec.hardware import Hardware


def render_fits(hardware: Hardware, fits: DeviceFits, form: str) -> str:
    """Return the fits of one device as ``table``, ``json`` or ``csv``."""
    rows = [_row(hardware, key, fit) for key, fit in fits.kernels.items()]
    if form == "json":
        return to_json({"device": hardware.name, "kernels": rows, **_collectives(fits)})
    if form == "csv":
        return to_csv(rows)
    lines = [f"{name}: {value['source']}" for name, value in _collectives(fits).items()]
    return to_text(_constants(hardware, rows), _rows_left_out(fits), *lines)


def _row(hardware: Hardware, key: tuple[str, str, str], fit: FittedKernel) -> dict[str, Any]:
    kernel = fit.kernel
    single = fit.configurations < 2
    return dict(zip(("kernel", "backend", "dtype"), key, strict=True)) | {
        "floor_s": float(kernel.floor),
        "bandwidth_bytes_per_s": float(kernel.bandwidth),
        "compute_flop_per_s": float(kernel.compute),
        "norm": kernel.norm,
        "narrow_width": kernel.narrow_width if key[0] == "routed_experts" else None,
        "samples": fit.samples,
        "configurations": fit.configurations,
        "median_error": fit.median_error,
        "p90_error": fit.p90_error,
        "left_out_error": None if single else fit.left_out_error,
        "left_out_p90_error": None if single else fit.left_out_p90_error,
        "weak": weakness(hardware, fit),
        "source": fit.source,
    }


def _collectives(fits: DeviceFits) -> dict[str, Any]:
    found = {"all_reduce": fits.all_reduce, "expert_all_to_all": fits.exchange}
    return {name: value.to_data() for name, value in found.items() if value is not None}


def _constants(hardware: Hardware, rows: list[dict[str, Any]]) -> Grid:
    headings = ["kernel", "floor [us]", "TB/s", "TFLOP/s", "p", "n", "shapes", "error", "p90",
                "left out", "p90 ", "weak"]  # fmt: skip
    cells = []
    for row in rows:
        left = [row["left_out_error"], row["left_out_p90_error"]]
        cells.append([
            f"{row['kernel']} {row['backend']} {row['dtype']}",
            f"{row['floor_s'] * 1e6:.3g}", f"{row['bandwidth_bytes_per_s'] / 1e12:.3g}",
            f"{row['compute_flop_per_s'] / 1e12:.4g}", f"{row['norm']:.2f}", f"{row['samples']:,}",
            str(row["configurations"]), f"{row['median_error']:.1%}", f"{row['p90_error']:.1%}",
            *("-" if value is None else f"{value:.1%}" for value in left), row["weak"] or "",
        ])  # fmt: skip
    return Grid(f"Fitted constants of {hardware.title}", headings, cells, text=(0, 11))


def _rows_left_out(fits: DeviceFits) -> Grid:
    totals: dict[str, int] = {}
    for fit in fits.kernels.values():
        for reason, count in fit.left_out.items():
            totals[reason] = totals.get(reason, 0) + count
    ordered = sorted(totals.items(), key=lambda item: -item[1])
    cells = [[reason, f"{count:,}"] for reason, count in ordered]
    return Grid("Rows left out", ["reason", "rows"], cells)
