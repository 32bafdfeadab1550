"""Measured draft-verify cycles of chains: MoE targets predicted, dense ones fit the engine.

Nothing of a MoE target is fitted. The engine's host time and SD overhead come from dense targets
alone; how many GPUs (or, where those are stated, how large a batch) from the baseline's TPOT alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.optimize import least_squares

from codesign.designs import Designs
from codesign.model.arrays import FloatArray
from codesign.prediction import Prediction, Scenario, predict
from codesign.scenario import build_scenario
from codesign.spec.study import Study
from codesign.validation.errors_by_group import GroupErrors
from codesign.validation.tables import find_table, read_table

if TYPE_CHECKING:
    from pandas import DataFrame

CONTEXT: Final = 1024
"""Cached tokens; the sources do not say, their data sets are chat, mathematics and code."""

DEGREES: Final = (1, 2, 4, 8)
BATCHES: Final = (1, 2, 4, 8, 16, 32, 64)
DIFFERENCE: Final = 0.05
"""Cycle ratios nearer than this are not ordered [-]."""

REFERENCES: Final = {
    "Llama-3.1-8B-Instruct": "llama-3.1-8b",
    "Llama-3.3-70B-Instruct": "llama-3.1-70b",
    "Qwen3-30B-A3B": "qwen3-30b-a3b",
    "Qwen3-30B-A3B-Instruct-2507": "qwen3-30b-a3b",
    "Qwen3-Coder-30B-A3B-Instruct": "qwen3-30b-a3b",
    "Qwen3-235B-A22B-Instruct-2507": "qwen3-235b-a22b",
    "Qwen2-57B-A14B-Instruct": "qwen2-57b-a14b",
    "Mixtral-8x7B-Instruct-v0.1": "mixtral-8x7b",
}
HARDWARE: Final = {"H100": "h100-sxm", "H200": "h200-sxm", "2xA800": "a100-sxm", "4xL40": "l40s"}
"""A800 as A100 (NVLink 400 instead of 600 GB/s), L40 as L40S (the same memory)."""

DRAFTS: Final = {"EAGLE3": "eagle", "EAGLE head": "eagle", "Qwen2-0.5B-Instruct": "model:0.49e9"}
COLUMNS: Final = (
    "source", "model", "N", "hardware", "n_gpus", "engine", "batch_size", "K", "method", "dataset",
    "baseline_tpot_ms", "implied_cycle_ratio", "quality",
)  # fmt: skip
MOESD_COLUMNS: Final = ("source", "device", "target", "draft", "gamma", "T_AR", "implied_cycle_ratio")


@dataclass(frozen=True)
class Chain:
    """One cell of measurements: a target, a load and a draft length, over data sets.

    Parameters
    ----------
    source, model, hardware : str
    gpus, batch_size : int, optional
        Where stated; otherwise inferred from the baseline.
    draft_tokens : int
    draft : str
    dense : bool
    baseline : float
        TPOT without SD, the median over data sets [s].
    ratios : ndarray, shape (data sets,)
        Measured cycle ratios [-].
    """

    source: str
    model: str
    hardware: str
    gpus: int | None
    batch_size: int | None
    draft_tokens: int
    draft: str
    dense: bool
    baseline: float
    ratios: FloatArray


@dataclass(frozen=True)
class Engine:
    """Overheads of an engine, from its dense targets [s]."""

    host_time: float
    sd_overhead: float


def cycle_errors(folder: Path) -> Iterator[GroupErrors]:
    """Errors of cycle ratios by source and model, and whether their order is right."""
    chains = read_chains(folder)
    controls = [chain for chain in chains if chain.dense]
    if not controls:
        return
    engine = fit_engine(controls)
    predicted = {id(chain): predicted_ratio(chain, engine) for chain in chains}
    keys = dict.fromkeys((chain.source, chain.model, chain.hardware) for chain in chains)
    for source, model, hardware in keys:
        group = [chain for chain in chains
                 if (chain.source, chain.model, chain.hardware) == (source, model, hardware)]  # fmt: skip
        ours = [np.full(chain.ratios.size, predicted[id(chain)]) for chain in group]
        note = ", ".join(dict.fromkeys(_setting(chain, engine) for chain in group))
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


def read_chains(folder: Path) -> list[Chain]:
    """Read both tables of cycle ratios, chains with a known acceptance only."""
    chains = []
    path = find_table(folder, "sd_measurements")
    if path is not None:
        table = read_table(path, COLUMNS)
        table = table[table["method"].str.endswith("chain") & (table["quality"] == "A")]
        keys = ["source", "model", "hardware", "batch_size", "K"]
        chains += [_chain(rows) for _, rows in table.groupby(keys)]
    path = find_table(folder, "moesd_tables12")
    if path is not None:
        table = read_table(path, MOESD_COLUMNS)
        keys = ["source", "device", "target", "gamma"]
        chains += [_moesd_chain(rows) for _, rows in table.groupby(keys)]
    return chains


def _chain(rows: "DataFrame") -> Chain:
    first = rows.iloc[0]
    stated = rows["n_gpus"].dropna()
    return Chain(
        source=str(first["source"]),
        model=str(first["model"]),
        hardware=HARDWARE[first["hardware"]],
        gpus=int(stated.iloc[0]) if len(stated) else None,
        batch_size=int(first["batch_size"]),
        draft_tokens=int(first["K"]),
        draft="eagle",
        dense=bool(rows["N"].fillna(0).max() <= 1),
        baseline=float(rows["baseline_tpot_ms"].median()) * 1e-3,
        ratios=rows["implied_cycle_ratio"].to_numpy(dtype=np.float64),
    )


def _moesd_chain(rows: "DataFrame") -> Chain:
    first = rows.iloc[0]
    return Chain(
        source="MoESD, arXiv 2505.19645, tables 1-2",
        model=str(first["target"]),
        hardware=HARDWARE[first["device"]],
        gpus=int(first["device"][0]),
        batch_size=None,
        draft_tokens=int(first["gamma"]),
        draft=DRAFTS[first["draft"]],
        dense=False,
        baseline=float(rows["T_AR"].median()) * 1e-3,
        ratios=rows["implied_cycle_ratio"].to_numpy(dtype=np.float64),
    )


def fit_engine(controls: list[Chain]) -> Engine:
    """Fit host time to the dense baselines, then SD overhead to the dense cycles.

    The degrees of tensor parallelism are those with which one host time explains the baselines.
    """
    models = list(dict.fromkeys(chain.model for chain in controls))
    first = {model: next(c for c in controls if c.model == model) for model in models}
    measured = np.array([first[model].baseline for model in models])
    fits = []
    for degrees in product(DEGREES, repeat=len(models)):
        steps = np.array([_decode(first[m], gpus, 0.0) for m, gpus in zip(models, degrees, strict=True)])
        host = least_squares(
            lambda x, steps=steps: np.log((steps + x[0]) / measured), [5e-4], bounds=(0.0, 5e-3)
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


def predicted_ratio(chain: Chain, engine: Engine) -> float:
    """Return R of one cell; GPUs or batch size inferred from the baseline where not stated."""
    gpus, batch = setting_of(chain, engine)
    found = predicted(chain, gpus, batch, engine)
    return float(found.cycle_ratio.reshape(-1)[0])


def setting_of(chain: Chain, engine: Engine) -> tuple[int, int]:
    """Return GPUs and batch size: as stated, else those nearest to the baseline's TPOT."""
    choices = list(
        product([chain.gpus] if chain.gpus else DEGREES,
                [chain.batch_size] if chain.batch_size else BATCHES)
    )  # fmt: skip
    distance = [abs(np.log(_decode(chain, gpus, engine.host_time, batch) / chain.baseline))
                for gpus, batch in choices]  # fmt: skip
    return choices[int(np.argmin(distance))]


def _setting(chain: Chain, engine: Engine) -> str:
    gpus, batch = setting_of(chain, engine)
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
    replica = replace(
        scenario.replica, host_time=engine.host_time, sd_overhead=engine.sd_overhead
    )
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
