"""All-reduce and expert-parallel exchange: floors and bandwidths from measured collectives."""

from collections.abc import Callable
from typing import Final

import numpy as np
from scipy.optimize import least_squares

from codesign.calibration.kernels.fit import OUTLIER
from codesign.calibration.kernels.rows import MILLISECOND, column, groups_of
from codesign.calibration.kernels.tables import PACKAGE, read_versions
from codesign.model.arrays import FloatArray
from codesign.spec.hardware import AllReduce, Backend, ExpertAllToAll

MESSAGES: Final = (2**12, 2**22)
"""One token of hidden size 2048 to 256 tokens of 8192, in bf16 [B]."""

NODE: Final = 8
EXCHANGE_TOKENS: Final = 512
MICROSECOND: Final = 1e-6
GIGA: Final = 1e9

Predict = Callable[[FloatArray], FloatArray]


def fit_all_reduce(device: str, backend: Backend) -> AllReduce | None:
    """Fit floor(GPUs) + bus bytes / bandwidth(GPUs) to the newest table under CUDA graphs.

    Parameters
    ----------
    device : str
        Bundled profile.
    backend : Backend

    Returns
    -------
    AllReduce or None
        None where nothing was measured.
    """
    tables = read_versions(device, "comm", backend, "custom_allreduce_perf")
    if not tables:
        return None
    version, rows = next(iter(tables.items()))
    if "backend" in rows:
        rows = rows[rows["backend"].str.endswith("_graph")]
    low, high = MESSAGES
    rows = rows[rows["message_size"].between(low, high) & (rows["num_gpus"] <= NODE)]
    if rows.empty:
        return None
    floors, errors, bandwidths = [], [], []
    for (count,), part in groups_of(rows, ["num_gpus"]):
        bus = 2.0 * (count - 1.0) / count * column(part, "message_size")
        floor, bandwidth, misses = _line(bus, column(part, "latency") * MILLISECOND)
        written = {"gpus": int(count), "floor": microseconds(floor)}
        floors.append(written | {"bandwidth": f"{bandwidth / GIGA:.3g} GB/s"})
        bandwidths.append(bandwidth)
        errors.append(misses)
    source = f"{PACKAGE} custom_allreduce_perf, {backend} {version}, CUDA graph, 4 KiB to 4 MiB"
    return AllReduce.from_data(
        {
            "floors": floors,
            "bandwidth": f"{np.median(bandwidths) / GIGA:.3g} GB/s",
            "source": f"{source}; {_quality(np.concatenate(errors))}",
        }
    )


def _line(bus: FloatArray, seconds: FloatArray) -> tuple[float, float, FloatArray]:
    """Fit floor + bytes / bandwidth; returns both and the relative errors."""

    def predicted(logarithms: FloatArray) -> FloatArray:
        floor, bandwidth = np.exp(logarithms)
        return np.asarray(floor + bus / bandwidth)

    found = _solve(predicted, seconds, np.log([5e-6, 1e11]))
    floor, bandwidth = (float(value) for value in np.exp(found))
    return floor, bandwidth, np.abs(predicted(found) / seconds - 1.0)


def fit_exchange(device: str) -> ExpertAllToAll | None:
    """Fit dispatch and combine floors and one payload bandwidth to DeepEP within a node.

    Dispatch sends fp8 (one byte per element), combine returns bf16; vLLM's own table, whose floor
    is the host's, is not used.
    """
    tables = read_versions(device, "comm", "sglang", "wideep_deepep_ll_perf")
    if not tables:
        return None
    version, rows = next(iter(tables.items()))
    rows = rows[(rows["node_num"] == 1) & (rows["num_token"] <= EXCHANGE_TOKENS)]
    if rows.empty:
        return None
    copies = column(rows, "num_token") * column(rows, "num_topk") * column(rows, "hidden_size")
    payload = np.concatenate([copies * 1.0, copies * 2.0])
    out, back = (column(rows, f"{way}_avg_t_us") for way in ("dispatch", "combine"))
    seconds = np.concatenate([out, back]) * MICROSECOND
    returning = np.repeat([0, 1], copies.size)

    def predicted(logarithms: FloatArray) -> FloatArray:
        constants = np.exp(logarithms)
        return np.asarray(constants[:2][returning] + payload / constants[2])

    found = _solve(predicted, seconds, np.log([10e-6, 11e-6, 2.5e11]))
    errors = np.abs(predicted(found) / seconds - 1.0)
    dispatch, combine, bandwidth = (float(value) for value in np.exp(found))
    source = f"{PACKAGE} wideep_deepep_ll_perf, sglang {version}, one node of 8"
    written = {
        "dispatch_floor": microseconds(dispatch),
        "combine_floor": microseconds(combine),
        "bandwidth": f"{bandwidth / GIGA:.3g} GB/s",
        "source": f"{source}; {_quality(errors)}",
    }
    return ExpertAllToAll.from_data(written)


def microseconds(seconds: float) -> str:
    """Write a time with three digits."""
    return f"{seconds / MICROSECOND:.3g} us"


def _quality(errors: FloatArray) -> str:
    median, p90 = np.median(errors), np.quantile(errors, 0.9)
    return f"n {errors.size}, error {median:.1%} median, {p90:.1%} p90"


def _solve(predicted: Predict, seconds: FloatArray, start: FloatArray) -> FloatArray:
    measured = np.log(seconds)

    def residuals(x: FloatArray) -> FloatArray:
        return np.asarray(np.log(predicted(x)) - measured)

    fit = least_squares(residuals, start, loss="soft_l1", f_scale=OUTLIER)
    return np.asarray(fit.x)
