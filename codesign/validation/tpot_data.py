"""Measured time per output token without SD, one (model, TP) group or whole model left out.

m = h + e (decode step + prefill between two tokens), with one host time h and one efficiency e per
engine and GPU, fitted to the other groups. Servers under a fixed concurrency prefill new requests
between decode steps: a token waits for concurrency x input / output tokens of prefill, taken to run
at half of the datasheet's dense compute.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.optimize import least_squares

from codesign.architectures.counting import count_parameters
from codesign.calibration.kernels.rows import groups_of
from codesign.designs import Designs
from codesign.hardware.constants import compute_format
from codesign.model.arrays import FloatArray
from codesign.prediction import predict
from codesign.resolve import build_scenario
from codesign.scenario import Scenario
from codesign.spec.study import Study
from codesign.validation.errors_by_group import GroupErrors
from codesign.validation.tables import find_table, read_table

if TYPE_CHECKING:
    from pandas import DataFrame

PREFILL_SHARE: Final = 0.5
"""Of the datasheet's dense compute that prefill reaches; one round share for all [-].

docs/accuracy.md says what the errors would be with others.
"""

MODELS: Final = {
    "Qwen/Qwen3-235B-A22B-FP8": ("qwen3-235b-a22b", "fp8_block"),
    "Qwen/Qwen3-32B": ("qwen3-32b", None),
    "meta-llama/Llama-3.1-8B-Instruct": ("llama-3.1-8b", None),
    "meta-llama/Llama-3.1-70B": ("llama-3.1-70b", None),
    "openai/gpt-oss-120b": ("gpt-oss-120b", "own"),
}
"""Bundled reference and the checkpoint's format: Qwen's FP8 is block-quantised, gpt-oss its own."""

COLUMNS: Final = (
    "backend", "model_path", "system", "isl", "osl", "gemm_quant_mode", "batch_size", "tp_size",
    "moe_tp_size", "moe_ep_size", "silicon_tpot_ms",
)  # fmt: skip
LARGEST_NODE: Final = 8
HOST_RANGE: Final = (0.0, 5e-3)
EFFICIENCY_RANGE: Final = (0.3, 3.0)
OUTLIER: Final = 0.1


@dataclass(frozen=True)
class _Group:
    """Deployments of one engine, GPU, model and degree, as arrays over their measurements."""

    engine: str
    system: str
    model: str
    degree: str
    seconds: FloatArray
    measured: FloatArray


def tpot_errors(folder: Path, prefill_share: float = PREFILL_SHARE) -> Iterator[GroupErrors]:
    """Errors of each (model, TP) group, left out; then of each model, left out whole.

    Parameters
    ----------
    folder : Path
    prefill_share : float
        Of the datasheet's compute that prefill reaches; infinite where it takes no time [-].
    """
    path = find_table(folder, "measured_tpot")
    if path is None:
        return
    groups = _groups(read_table(path, COLUMNS), prefill_share)
    yield from _left_out(groups, "TPOT", lambda group: (group.model, group.degree))
    yield from _left_out(groups, "TPOT, whole model left out", lambda group: (group.model,))


def _left_out(groups: list[_Group], quantity: str, key: Any) -> Iterator[GroupErrors]:
    for group in groups:
        peers = [other for other in groups
                 if (other.engine, other.system) == (group.engine, group.system)]  # fmt: skip
        others = [other for other in peers if key(other) != key(group)]
        if not others:
            continue
        host, efficiency = _fit(others)
        yield GroupErrors(
            "measured TPOT", quantity, f"aiconfigurator-core 0.12.0 silicon sample, {group.engine}",
            f"{group.model}, {group.degree}", group.system, False,
            host + efficiency * group.seconds, group.measured,
            f"host {host * 1e3:.2f} ms, efficiency {efficiency:.2f}, from the others",
            spread=_scatter(others, host, efficiency),
        )  # fmt: skip


def _scatter(groups: list[_Group], host: float, efficiency: float) -> float:
    """Root mean square log residual of the groups that an engine's fit rests on [-]."""
    residuals = [
        np.log(np.median(group.measured / (host + efficiency * group.seconds))) for group in groups
    ]
    return float(np.sqrt(np.mean(np.square(residuals))))


def _fit(groups: list[_Group]) -> tuple[float, float]:
    seconds = np.concatenate([group.seconds for group in groups])
    measured = np.concatenate([group.measured for group in groups])

    def residuals(x: FloatArray) -> FloatArray:
        return np.asarray(np.log((x[0] + x[1] * seconds) / measured))

    low, high = zip(HOST_RANGE, EFFICIENCY_RANGE, strict=True)
    fit = least_squares(residuals, (1e-4, 1.0), bounds=(low, high), loss="soft_l1", f_scale=OUTLIER)
    return float(fit.x[0]), float(fit.x[1])


def _groups(table: "DataFrame", prefill_share: float) -> list[_Group]:
    table = table[table["model_path"].isin(list(MODELS)) & (table["tp_size"] <= LARGEST_NODE)]
    experts = table["moe_tp_size"].clip(lower=1) * table["moe_ep_size"].clip(lower=1)
    sparse = table["model_path"].str.contains("A22B|gpt-oss")
    table = table[~sparse | (experts == table["tp_size"])]  # else the degrees do not fit together
    if "concurrency" in table:
        table = table[table["concurrency"].notna()]
    keys = ["backend", "system", "model_path", "tp_size", "moe_ep_size"]
    groups = []
    for (engine, system, model, tensor, expert), rows in groups_of(table, keys):
        expert = (
            max(int(expert), 1) if MODELS[model][0] in ("qwen3-235b-a22b", "gpt-oss-120b") else 1
        )
        seconds = [_seconds(engine, system, model, int(tensor), expert, row, prefill_share)
                   for row in rows.to_dict("records")]  # fmt: skip
        groups.append(
            _Group(engine, system, model, f"tp {tensor:g} ep {expert}", np.array(seconds),
                   rows["silicon_tpot_ms"].to_numpy() * 1e-3)
        )  # fmt: skip
    return groups


def _seconds(
    engine: str, system: str, model: str, gpus: int, expert: int, row: Mapping[Any, Any],
    prefill_share: float,
) -> float:  # fmt: skip
    """Decode step at the mean context, and the prefill between two tokens [s]."""
    own = MODELS[model][1]
    dtype = own if own else {"fp8": "fp8", "fp8_block": "fp8_block"}.get(row["gemm_quant_mode"])
    context = int(row["isl"] + row["osl"] / 2)
    scenario = _scenario(
        engine, system, model, gpus, expert, None if own == "own" else dtype, context
    )
    step = predict(Designs.of_architecture(scenario.reference, 0),
                   scenario.at((int(row["batch_size"]),))).step_time_decode_s  # fmt: skip
    active = count_parameters(scenario.reference).active
    hardware = scenario.replica.hardware
    form = compute_format(hardware, scenario.replica.precision.weights)
    compute = prefill_share * hardware.peak_compute[form].value * gpus
    prefilled = float(row["batch_size"] * row["isl"] / row["osl"])
    return float(step.reshape(-1)[0]) + 2.0 * active * prefilled / compute


@cache
def _scenario(
    engine: str, system: str, model: str, gpus: int, expert: int, dtype: str | None, context: int
) -> Scenario:
    deployment = {"gpus": gpus, "expert_parallel": expert, "backend": engine}
    study = {
        "reference": MODELS[model][0],
        "hardware": system.replace("_", "-"),
        "workload": {"target_batch_size": 1, "context": context},
        "deployment": deployment | ({"dtype": dtype} if dtype else {}),
        "uncertainty": {"draws": 0},
    }
    return build_scenario(Study.from_data(study), longest_draft=1)
