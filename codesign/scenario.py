"""All that is held fixed while designs are compared."""

from dataclasses import dataclass, replace

from codesign.draft_model import Drafting
from codesign.model import quality
from codesign.model.arrays import FloatArray
from codesign.model.routing import RouterParameters
from codesign.parameter_counts import WidthBudget, inner_size, reference_width
from codesign.replica import Replica
from codesign.spec.architecture import Architecture
from codesign.spec.calibration import Calibration


@dataclass(frozen=True)
class Scenario:
    """All that is held fixed while designs are compared.

    Parameters
    ----------
    reference : Architecture
        The model the designs vary.
    replica : Replica
        Resolved hardware and degrees of parallelism.
    batch_sizes : tuple of int
        Sequences decoded together per replica.
    shares : tuple of float
        Share of the generated tokens at each batch size; adds up to 1.
    context : int
        Cached tokens per sequence [token].
    router : RouterParameters
        How alike nearby tokens' experts are.
    survival : ndarray, shape (positions,)
        Probability that a draft survives to each position [-].
    drafting : Drafting
        What is run to draft.
    price_per_gpu_hour : float, optional
        [USD/h].
    training_tokens : float
        Of every design [token].
    width_budget : {"active", "total"}, optional
        Which expert parameters the expert width keeps as the reference's.
    baseline : Architecture, optional
        What designs are compared with where a study also varies the reference itself.
    tpot_limit : float, optional
        Time per token that goodput must keep [s].
    quality_draws : int
        Draws per quality law, a power of two; 0: best coefficients alone.
    quality_epsilon : float
        Loss that the study may give up [nat/token].
    cycle_error : float
        Factor by which every cycle ratio is off: drawn, 1 at the values in use [-].
    assumptions : tuple of str
    calibration : Calibration, optional
        Whose measurements are in use.
    """

    reference: Architecture
    replica: Replica
    batch_sizes: tuple[int, ...]
    shares: tuple[float, ...]
    context: int
    router: RouterParameters
    survival: FloatArray
    drafting: Drafting
    price_per_gpu_hour: float | None
    training_tokens: float
    width_budget: WidthBudget | None = "active"
    baseline: Architecture | None = None
    tpot_limit: float | None = None
    quality_draws: int = 0
    quality_epsilon: float = quality.EPSILON
    cycle_error: float = 1.0
    assumptions: tuple[str, ...] = ()
    calibration: Calibration | None = None

    def width_to_spend(self, budget: WidthBudget) -> float:
        """Return the width over which a design spends the baseline's expert parameters [element].

        Where the hidden size or the number of MoE layers differ from the baseline's, the width
        makes up for it.
        """
        if self.baseline is None:
            return reference_width(self.reference, budget)
        own, other = inner_size(self.reference), inner_size(self.baseline)
        return reference_width(self.baseline, budget) * other / own

    def at(self, batch_sizes: tuple[int, ...]) -> "Scenario":
        """Return the same at other batch sizes, in equal shares."""
        share = 1.0 / len(batch_sizes)
        return replace(self, batch_sizes=batch_sizes, shares=(share,) * len(batch_sizes))
