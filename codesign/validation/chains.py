"""Measured cycle ratios of chain drafting, read from both tables."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from codesign.calibration.kernels.rows import groups_of
from codesign.model.arrays import FloatArray
from codesign.validation.tables import find_table, read_table

if TYPE_CHECKING:
    from pandas import DataFrame

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
MOESD_COLUMNS: Final = (
    "source",
    "device",
    "target",
    "draft",
    "gamma",
    "T_AR",
    "implied_cycle_ratio",
)


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


def read_chains(folder: Path) -> list[Chain]:
    """Read both tables of cycle ratios, chains with a known acceptance only."""
    chains = []
    path = find_table(folder, "sd_measurements")
    if path is not None:
        table = read_table(path, COLUMNS)
        table = table[table["method"].str.endswith("chain") & (table["quality"] == "A")]
        keys = ["source", "model", "hardware", "batch_size", "K"]
        chains += [_chain(rows) for _, rows in groups_of(table, keys)]
    path = find_table(folder, "moesd_tables12")
    if path is not None:
        table = read_table(path, MOESD_COLUMNS)
        keys = ["source", "device", "target", "gamma"]
        chains += [_moesd_chain(rows) for _, rows in groups_of(table, keys)]
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
