"""Decode steps composed of measured kernels, against the component sum."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from codesign.architectures import load_architecture
from codesign.calibration.kernels.benchmark_routing import benchmark_unique_experts
from codesign.calibration.kernels.rows import groups_of
from codesign.designs import Designs
from codesign.forward_pass import ForwardPass
from codesign.hardware import load_hardware
from codesign.model.arrays import FloatArray
from codesign.model.expert_parallel import RankLoad
from codesign.model.roofline import total_seconds
from codesign.model.routing import GENERIC_ROUTER
from codesign.replica import resolve_replica
from codesign.spec.architecture import Architecture
from codesign.spec.hardware import Deployment
from codesign.validation.errors_by_group import GroupErrors
from codesign.validation.tables import find_table, read_table

if TYPE_CHECKING:
    from pandas import DataFrame

DISTRIBUTION: Final = "power_law_1.2"
"""Of the expert times in that composition: they equal this distribution's in the kernel table."""

CONTEXT: Final = 1024
MODELS: Final = {
    "Qwen/Qwen3-30B-A3B": "qwen3-30b-a3b",
    "meta-llama/Meta-Llama-3.1-8B": "llama-3.1-8b",
}


def composed_step_errors(folder: Path) -> Iterator[GroupErrors]:
    """T(B, K+1) / T(B, 1), and T(B, 1) itself, from kernels alone.

    The composition reads the cache once per query; here attention of the K+1 queries of a
    sequence is taken to cost what one query does, as verification reads it once.
    """
    path = find_table(folder, "composed_decode_steps")
    if path is None:
        return
    table = read_table(path, ("model", "system", "tp", "moe_ep", "K", "B", "step_ms", "attn_ms"))
    for (name, system, tp), rows in groups_of(table, ["model", "system", "tp"]):
        if name not in MODELS:
            continue
        alone = rows[rows["K"] == 0].set_index("B")
        verify = rows[rows["K"] > 0]
        base = alone["step_ms"].reindex(verify["B"]).to_numpy()
        once = alone["attn_ms"].reindex(verify["B"]).to_numpy()
        reported = (verify["step_ms"].to_numpy() - verify["attn_ms"].to_numpy() + once) / base
        ours = _times(name, system, int(tp), verify) / _times(name, system, int(tp), verify, 1)
        for quantity, predicted, measured in (
            ("T(K+1)/T(1)", ours, reported),
            ("T(1)", _times(name, system, int(tp), alone.reset_index(), 1),
             alone["step_ms"].to_numpy() * 1e-3),
        ):  # fmt: skip
            yield GroupErrors(
                "composed decode steps", quantity, "aiconfigurator 0.12.0 composition",
                f"{name}, tp {tp:g}", system, False, np.asarray(predicted), np.asarray(measured),
                "cache reads counted once per sequence" if quantity != "T(1)" else "",
            )  # fmt: skip


def _times(
    name: str, system: str, tensor: int, rows: "DataFrame", width: int | None = None
) -> FloatArray:
    """Step times of rows; of so many tokens per sequence, K + 1 where absent."""
    model = load_architecture(MODELS[name])
    replica = resolve_replica(
        load_hardware(system.replace("_", "-")), Deployment(gpus=tensor), model, tensor
    )
    times = []
    for batch, drafted in zip(rows["B"], rows["K"], strict=True):
        tokens = width or int(drafted) + 1
        forward = ForwardPass(
            model=model,
            designs=Designs.of_architecture(model, 0),
            replica=replica,
            router=GENERIC_ROUTER,
            sequences=np.asarray([float(batch)]),
            width=np.asarray([float(tokens)]),
            context=CONTEXT,
            load=_load(model, int(batch) * tokens),
        )
        times.append(float(total_seconds(forward.costs())[0]))
    return np.array(times)


def _load(model: Architecture, tokens: int) -> RankLoad | None:
    if model.moe is None:
        return None
    unique = benchmark_unique_experts(DISTRIBUTION, model.moe.experts, model.moe.top_k, tokens)
    return RankLoad(np.asarray([unique]), np.asarray([float(tokens * model.moe.top_k)]))
