"""What a draft-verify cycle takes and yields: step times, cycle ratio, speedup, regime."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from codesign.design_figures import DesignFigures
from codesign.figure import figure
from codesign.forward_pass import ForwardPass
from codesign.model import intensity, speedup
from codesign.model.acceptance import acceptance_length
from codesign.model.amdahl import amdahl_ratio
from codesign.model.arrays import ArrayLike, FloatArray
from codesign.model.roofline import Cost, total_seconds


class CycleFigures(DesignFigures):
    """Second part of a `codesign.prediction.Prediction`."""

    # ---- step times ----------------------------------------------------------------------

    def _pass(self, width: ArrayLike) -> dict[str, Cost]:
        scenario = self.scenario
        return ForwardPass(
            model=scenario.reference,
            designs=self.designs,
            replica=scenario.replica,
            router=scenario.router,
            sequences=self.batch_size,
            width=np.asarray(width, dtype=np.float64),
            context=scenario.context,
        ).costs()

    @cached_property
    def decode_costs(self) -> dict[str, Cost]:
        """Components of one decode step."""
        return self._pass(1)

    @cached_property
    def verify_costs(self) -> dict[str, Cost]:
        """Components of one verify pass."""
        return self._pass(self.verify_width)

    @figure("s", over_mix="mean", better="minimize")
    def step_time_decode_s(self) -> FloatArray:
        """One decode step of the target, T(B, 1)."""
        return total_seconds(self.decode_costs)

    @figure("s", over_mix="mean", better="minimize")
    def step_time_verify_s(self) -> FloatArray:
        """One verify pass of the target, T(B, K+1)."""
        return total_seconds(self.verify_costs)

    @figure("s", over_mix="mean", better="minimize")
    def draft_time_s(self) -> FloatArray:
        """Drafting K tokens, D(B, K)."""
        scenario = self.scenario
        return scenario.drafting.seconds(
            self.designs, scenario.replica, scenario.router, self.batch_size, scenario.context
        )

    @figure("-", over_mix="mean")
    def routed_time_fraction(self) -> FloatArray:
        """Routed experts' share of the decode step, launch floor included."""
        return self._routed(self.decode_costs).seconds / self.step_time_decode_s

    @figure("-", over_mix="mean")
    def routed_load_fraction(self) -> FloatArray:
        """Share of the decode step that is proportional to unique experts (Amdahl's f)."""
        return self._routed(self.decode_costs).memory / self.step_time_decode_s

    def _routed(self, costs: Mapping[str, Cost]) -> Cost:
        return costs.get("routed_experts", Cost())

    # ---- the cycle -----------------------------------------------------------------------

    @figure("-", over_mix="mean", better="minimize")
    def amdahl_ratio(self) -> FloatArray:
        """Verify over decode time if only the loaded experts grew."""
        grown = self.unique_experts_verify / self.unique_experts_decode
        return amdahl_ratio(self.routed_load_fraction, grown)

    @figure("-", over_mix="mean", better="maximize")
    def target_efficiency(self) -> FloatArray:
        """T(B, 1) / T(B, K+1)."""
        return self.step_time_decode_s / self.step_time_verify_s

    @figure("token", better="maximize")
    def acceptance_length(self) -> FloatArray:
        """Tokens per cycle, bonus token included."""
        return acceptance_length(self.scenario.survival, self.designs.draft_tokens)

    @figure("-", over_mix="mean", better="minimize")
    def cycle_ratio(self) -> FloatArray:
        """Draft-verify cycle over decode step."""
        return speedup.cycle_ratio(
            self.draft_time_s,
            self.step_time_verify_s,
            self.scenario.replica.sd_overhead,
            self.step_time_decode_s,
            self.designs.draft_tokens,
            self.scenario.cycle_error,
        )

    @figure("-", over_mix="time", better="maximize")
    def sd_speedup(self) -> FloatArray:
        """Decoding speedup: acceptance length over cycle ratio."""
        return self.acceptance_length / self.cycle_ratio

    @figure("token", over_mix="mean", better="minimize")
    def break_even_acceptance_length(self) -> FloatArray:
        """Acceptance length from which SD pays."""
        return self.cycle_ratio

    @figure("-", over_mix="mean", better="minimize")
    def break_even_acceptance(self) -> FloatArray:
        """Mean share of drafted tokens that must be accepted for SD to pay; above 1: never."""
        return speedup.break_even_acceptance(self.cycle_ratio, self.designs.draft_tokens)

    # ---- regime --------------------------------------------------------------------------

    @cached_property
    def regime(self) -> NDArray[np.str_]:
        """What limits verification, per batch size."""
        costs = self.verify_costs.values()
        memory = sum((cost.memory for cost in costs), np.zeros(()))
        compute = sum((cost.compute for cost in costs), np.zeros(()))
        grown = self.unique_experts_verify / self.unique_experts_decode
        sparse = self.designs.top_k < self.designs.experts
        return intensity.regime(grown, memory, compute, sparse)
