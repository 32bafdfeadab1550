"""What speculative decoding does for a design: every intermediate figure, vectorised.

This is the one seam that constraints, objectives, search and reports read. Figures are computed on
demand; one that depends on the load has a leading axis of batch sizes before the designs' axes. In
the order of the derivation they are `design_figures`, `cycle_figures`, and what is served, here.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Final

import numpy as np

from codesign.cycle_figures import CycleFigures
from codesign.designs import Designs
from codesign.errors import UsageError
from codesign.figure import Figure, figure, figures_of, find_figure
from codesign.footprint import Footprint
from codesign.model import speedup
from codesign.model.arrays import NORMAL_95, FloatArray
from codesign.scenario import Scenario

REQUEST_TOKENS: Final = 256
"""Length of the requests whose time per token `sd_tpot_p95_s` looks at [token]."""


def predict(designs: Designs, scenario: Scenario) -> "Prediction":
    """Predict any number of designs in one scenario.

    Parameters
    ----------
    designs : Designs
    scenario : Scenario

    Returns
    -------
    Prediction
        Figures by attribute; `Prediction.value` also averages them over the workload mix.
    """
    return Prediction(designs, scenario)


class Prediction(CycleFigures):
    """Figures of designs in a scenario.

    Parameters
    ----------
    designs : Designs
    scenario : Scenario
    """

    # ---- over the workload mix -----------------------------------------------------------

    def value(self, name: str) -> FloatArray:
        """Return a figure, by name or alias, over the workload mix: without an axis of batch sizes.

        Raises
        ------
        UsageError
            If there is none of that name, with the nearest.
        """
        chosen = find_figure(type(self), name)
        values: FloatArray = getattr(self, chosen.name)
        shares = self._per_batch(self.scenario.shares)
        match chosen.over_mix:
            case "none":
                return values
            case "max":
                return np.asarray(values.max(axis=0))
            case "mean":
                return np.asarray((shares * values).sum(axis=0))
            case "goodput":  # every token takes its time, only those in time count
                return np.asarray(
                    (shares * (values > 0)).sum(axis=0)
                    / (shares / self.sd_tokens_per_s).sum(axis=0)
                )
            case "harmonic":
                return np.asarray(1 / (shares / values).sum(axis=0))
        time = shares / self.tokens_per_s
        return np.asarray(time.sum(axis=0) / (time / values).sum(axis=0))

    # ---- latency, throughput, cost, memory ------------------------------------------------

    @figure("s", over_mix="mean", better="minimize", alias="tpot")
    def tpot_s(self) -> FloatArray:
        """Time per output token of one sequence without SD."""
        return self.step_time_decode_s

    @figure("s", over_mix="mean", better="minimize", alias="sd_tpot")
    def sd_tpot_s(self) -> FloatArray:
        """Time per output token of one sequence with SD."""
        return self.step_time_decode_s / self.sd_speedup

    @figure("token/s", over_mix="harmonic", better="maximize")
    def tokens_per_s(self) -> FloatArray:
        """Tokens per second of a replica without SD."""
        return self.batch_size / self.step_time_decode_s

    @figure("token/s", over_mix="harmonic", better="maximize")
    def sd_tokens_per_s(self) -> FloatArray:
        """Tokens per second of a replica with SD."""
        return self.batch_size / self.sd_tpot_s

    @figure("token/s", over_mix="harmonic", better="maximize")
    def sd_tokens_per_s_per_gpu(self) -> FloatArray:
        """Tokens per second and GPU with SD."""
        return self.sd_tokens_per_s / self.scenario.replica.gpus

    @figure("USD", over_mix="mean", better="minimize", alias="cost")
    def cost_per_million_tokens(self) -> FloatArray:
        """Price of a million generated tokens with SD."""
        price = self.scenario.price_per_gpu_hour
        if price is None:
            raise UsageError(
                f"{self.scenario.replica.hardware.name} has no price; give one with --price, such "
                "as --price '2.5 USD/h', or add it to the profile"
            )
        return speedup.cost_per_million_tokens(price, self.sd_tokens_per_s_per_gpu)

    @cached_property
    def footprint(self) -> Footprint:
        """Memory by what fills it."""
        return Footprint.of(
            self._parameters, self.scenario.replica, self.scenario.drafting,
            self.batch_size, self.verify_width, self.scenario.context,
        )  # fmt: skip

    @figure("B", over_mix="max", better="minimize", alias="memory", certain=True)
    def memory_bytes_per_gpu(self) -> FloatArray:
        """Weights, caches and workspace on the fullest GPU."""
        return self.footprint.total

    @figure("sequence", over_mix="max", better="maximize", certain=True, alias="kv_capacity")
    def kv_capacity_sequences(self) -> FloatArray:
        """Sequences of the context's length whose caches fit a replica beside everything else."""
        replica, footprint = self.scenario.replica, self.footprint
        free = replica.memory_limit - footprint.besides_caches
        each = footprint.caches / replica.sequences_here(self.batch_size)
        with np.errstate(divide="ignore", invalid="ignore"):  # an empty context fills nothing
            fitting = np.floor(free / each)
        fitting = np.where(free >= 0, np.where(each > 0, fitting, np.inf), 0.0)
        return np.asarray(fitting * replica.data_parallel)

    @figure("s", over_mix="mean", better="minimize", alias="sd_tpot_p95")
    def sd_tpot_p95_s(self) -> FloatArray:
        """95 % quantile over requests of 256 tokens of the time per token with SD."""
        spread = speedup.request_spread(
            self.scenario.survival, self.designs.draft_tokens, REQUEST_TOKENS
        )
        return self.sd_tpot_s * (1.0 + NORMAL_95 * spread)

    @figure("-", over_mix="mean", better="maximize")
    def relative_throughput(self) -> FloatArray:
        """Tokens per second with SD over the reference's without, on the same replica."""
        own = Designs.of_architecture(self.scenario.reference, np.zeros((1,) * self._dimensions))
        return self.sd_tokens_per_s / predict(own, self.scenario).tokens_per_s

    @figure("token/s", over_mix="goodput", better="maximize", alias="goodput")
    def sd_goodput_tokens_per_s(self) -> FloatArray:
        """Tokens per second with SD that keep the workload's limit on time per token."""
        limit = self.scenario.tpot_limit
        if limit is None:
            raise UsageError("goodput needs a limit: workload.tpot_limit, such as 20 ms")
        return np.where(self.sd_tpot_s <= limit, self.sd_tokens_per_s, 0.0)

    @figure("J", over_mix="mean", better="minimize", alias="energy")
    def energy_per_token_j(self) -> FloatArray:
        """Energy per generated token with SD at the GPUs' rated power: an upper bound."""
        power = self.scenario.replica.hardware.power
        if power is None:
            raise UsageError(f"{self.scenario.replica.hardware.name} has no power; add it")
        return self.scenario.replica.gpus * power.value / self.sd_tokens_per_s


FIGURES: Mapping[str, Figure] = figures_of(Prediction)
"""Every figure by name, in the order of the derivation."""
