"""Held-out cells of the measurement sets, with the spread of their predictions' draws."""

from pathlib import Path
from typing import Final

import numpy as np

from codesign.designs import Designs
from codesign.model.arrays import FloatArray
from codesign.prediction import predict
from codesign.resolve import build_scenario
from codesign.spec.study import Study
from codesign.uncertainty.draws import draw_scenarios
from codesign.validation.chains import REFERENCES, Chain, read_chains
from codesign.validation.cycle_data import CONTEXT, fit_engine, predicted_ratio, setting_of
from codesign.validation.errors_by_group import GroupErrors
from codesign.validation.intervals import HeldOut, IntervalScore, score_intervals

DRAWS: Final = 32


def cycle_interval(folder: Path) -> IntervalScore | None:
    """Score intervals of MoE targets' cycle ratios, with draws of kernels, routing, overheads."""
    chains = read_chains(folder)
    controls = [chain for chain in chains if chain.dense]
    if not controls:
        return None
    engine = fit_engine(controls)
    cells = [
        HeldOut(
            group=f"{chain.source} {chain.model}",
            predicted=predicted_ratio(chain, engine),
            reported=float(np.median(chain.ratios)),
            spread=float(np.std(np.log(_drawn(chain, *setting_of(chain, engine))))),
        )
        for chain in chains
        if not chain.dense
    ]
    return score_intervals("SD cycle ratio, MoE chains", cells)


def error_interval(name: str, groups: list[GroupErrors]) -> IntervalScore | None:
    """Score intervals of group medians; their spread is that of the groups they rest on."""
    cells = [
        HeldOut(
            group=f"{group.source} {group.model} {group.hardware}",
            predicted=1.0,
            reported=float(np.median(group.reported / group.predicted)),
            spread=group.spread,
        )
        for group in groups
        if not group.fitted
    ]
    return score_intervals(name, cells)


def _drawn(chain: Chain, gpus: int, batch: int) -> FloatArray:
    """Cycle ratios of drawn scenarios; overheads drawn from their documented ranges."""
    study = Study.from_data(
        {
            "reference": REFERENCES[chain.model],
            "hardware": chain.hardware,
            "workload": {"target_batch_size": batch, "context": CONTEXT},
            "deployment": {
                "gpus": gpus, "backend": "sglang" if chain.draft == "eagle" else "vllm",
            },
            "draft": chain.draft,
            "uncertainty": {"draws": DRAWS},
        }
    )  # fmt: skip
    scenario = build_scenario(study, longest_draft=max(chain.draft_tokens, 1))
    designs = Designs.of_architecture(scenario.reference, chain.draft_tokens)
    scenarios = draw_scenarios(study, scenario).scenarios
    return np.array(
        [float(predict(designs, each).cycle_ratio.reshape(-1)[0]) for each in scenarios]
    )
