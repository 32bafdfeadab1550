"""Measured draft-verify cycles of chains: MoE targets predicted, dense ones fit the engine.

Nothing of a MoE target is fitted. The engine's host time and SD overhead come from dense targets
alone; how many GPUs (or, where those are stated, how large a batch) from the baseline's TPOT alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations, product
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.optimize import least_squares

from codesign.designs import Designs
from codesign.model.arrays import FloatArray
from codesign.prediction import Prediction, predict
from codesign.resolve import build_scenario
from codesign.scenario import Scenario
from codesign.spec.study import Study
from codesign.validation.chains import REFERENCES, Chain, read_chains
from codesign.validation.errors_by_group import GroupErrors

CONTEXT: Final = 1024
"""Cached tokens; the sources do not say, their data sets are chat, mathematics and code."""

DEGREES: Final = (1, 2, 4, 8)
BATCHES: Final = (1, 2, 4, 8, 16, 32, 64)
HOST_START: Final = 5e-4
HOST_RANGE: Final = (0.0, 1e-3)
"""Seen in engines; a longer host time would let any dense model stand on twice the GPUs [s]."""

DIFFERENCE: Final = 0.05
"""Cycle ratios nearer than this are not ordered [-]."""


@dataclass(frozen=True)
class Engine:
    """Overheads of an engine, from its dense targets [s]."""

    host_time: float
    sd_overhead: float


def cycle_errors(
    folder: Path, rank: int = 0, host_range: tuple[float, float] = HOST_RANGE
) -> Iterator[GroupErrors]:
    """Errors of cycle ratios by source and model.

    Parameters
    ----------
    folder : Path
    rank : int
        0 takes the inferred setting, 1 the one second nearest to the baseline, where MoE targets
        leave a choice: how much hangs on the inference.
    host_range : tuple of float
        Limits of the engine's host time [s].
    """
    chains = read_chains(folder)
    controls = [chain for chain in chains if chain.dense]
    if not controls:
        return
    engine = fit_engine(controls, host_range)
    ratios = {
        id(chain): predicted_ratio(chain, engine, 0 if chain.dense else rank) for chain in chains
    }
    keys = dict.fromkeys((chain.source, chain.model, chain.hardware) for chain in chains)
    for source, model, hardware in keys:
        own = (source, model, hardware)
        group = [chain for chain in chains if (chain.source, chain.model, chain.hardware) == own]
        ours = [np.full(chain.ratios.size, ratios[id(chain)]) for chain in group]
        note = ", ".join(dict.fromkeys(_setting(chain, engine, rank) for chain in group))
        yield GroupErrors(
            "SD cycles", "cycle ratio, chains", source, model, hardware, group[0].dense,
            np.concatenate(ours), np.concatenate([chain.ratios for chain in group]),
            f"{note}; host {engine.host_time * 1e3:.2f} ms, SD {engine.sd_overhead * 1e3:.2f} ms",
        )  # fmt: skip


def ordered_pairs(folder: Path) -> tuple[int, int]:
    """Return how many pairs of MoE cells of one source the prediction orders right, of how many.

    Only pairs whose measured ratios differ by more than 5 %.
    """
    chains = read_chains(folder)
    controls = [chain for chain in chains if chain.dense]
    if not controls:
        return 0, 0
    engine = fit_engine(controls)
    cells = [chain for chain in chains if not chain.dense]
    ratios = {id(chain): predicted_ratio(chain, engine) for chain in cells}
    right = total = 0
    for first, second in combinations(cells, 2):
        measured = float(np.median(first.ratios) / np.median(second.ratios))
        if first.source != second.source or abs(np.log(measured)) <= np.log1p(DIFFERENCE):
            continue
        total += 1
        right += (ratios[id(first)] > ratios[id(second)]) == (measured > 1.0)
    return right, total


def fit_engine(controls: list[Chain], host_range: tuple[float, float] = HOST_RANGE) -> Engine:
    """Fit host time to the dense baselines, then SD overhead to the dense cycles.

    The degrees of tensor parallelism are those with which one host time, within its range,
    explains the baselines best.
    """
    models = list(dict.fromkeys(chain.model for chain in controls))
    first = {model: next(c for c in controls if c.model == model) for model in models}
    measured = np.array([first[model].baseline for model in models])
    fits = []
    for degrees in product(DEGREES, repeat=len(models)):
        steps = np.array(
            [_decode(first[m], gpus, 0.0) for m, gpus in zip(models, degrees, strict=True)]
        )
        host = least_squares(
            partial(_baseline_residuals, steps, measured), [HOST_START], bounds=host_range
        )
        fits.append((host.cost, float(host.x[0])))
    engine = Engine(min(fits)[1], 0.0)

    def residuals(x: FloatArray) -> FloatArray:
        tried = replace(engine, sd_overhead=float(x[0]))
        return np.concatenate(
            [np.log(predicted_ratio(chain, tried) / chain.ratios) for chain in controls]
        )

    overhead = least_squares(residuals, [1e-3], bounds=(0.0, 1e-2), loss="soft_l1", f_scale=0.1)
    return replace(engine, sd_overhead=float(overhead.x[0]))


def _baseline_residuals(steps: FloatArray, measured: FloatArray, x: FloatArray) -> FloatArray:
    return np.asarray(np.log((steps + x[0]) / measured))


def predicted_ratio(chain: Chain, engine: Engine, rank: int = 0) -> float:
    """Return R of one cell; GPUs or batch size inferred from the baseline where not stated."""
    gpus, batch = setting_of(chain, engine, rank)
    found = predicted(chain, gpus, batch, engine)
    return float(found.cycle_ratio.reshape(-1)[0])


def setting_of(chain: Chain, engine: Engine, rank: int = 0) -> tuple[int, int]:
    """Return GPUs and batch size: as stated, else those nearest to the baseline's TPOT."""
    choices = list(
        product([chain.gpus] if chain.gpus else DEGREES,
                [chain.batch_size] if chain.batch_size else BATCHES)
    )  # fmt: skip
    distance = [abs(np.log(_decode(chain, gpus, engine.host_time, batch) / chain.baseline))
                for gpus, batch in choices]  # fmt: skip
    return choices[int(np.argsort(distance)[min(rank, len(choices) - 1)])]


def _setting(chain: Chain, engine: Engine, rank: int) -> str:
    gpus, batch = setting_of(chain, engine, 0 if chain.dense else rank)
    return (
        f"tp {gpus} {'stated' if chain.gpus else 'inferred'}, "
        f"batch {batch} {'stated' if chain.batch_size else 'inferred'}"
    )


def _decode(chain: Chain, gpus: int, host_time: float, batch: int | None = None) -> float:
    found = predicted(chain, gpus, batch or chain.batch_size or 1, Engine(0.0, 0.0))
    return float(found.step_time_decode_s.reshape(-1)[0]) + host_time


def predicted(chain: Chain, gpus: int, batch: int, engine: Engine) -> Prediction:
    """Predict one cell."""
    scenario = _scenario(chain.model, chain.hardware, gpus, chain.draft).at((batch,))
    replica = replace(scenario.replica, host_time=engine.host_time, sd_overhead=engine.sd_overhead)
    designs = Designs.of_architecture(scenario.reference, chain.draft_tokens)
    return predict(designs, replace(scenario, replica=replica))


@cache
def _scenario(model: str, hardware: str, gpus: int, draft: str) -> Scenario:
    study: dict[str, Any] = {
        "reference": REFERENCES[model],
        "hardware": hardware,
        "workload": {"target_batch_size": 1, "context": CONTEXT},
        "deployment": {"gpus": gpus, "backend": "sglang" if draft == "eagle" else "vllm"},
        "draft": draft,
        "uncertainty": {"draws": 0},
    }
    return build_scenario(Study.from_data(study), longest_draft=8)
