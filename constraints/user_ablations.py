"""No worse than the reference by a law refitted to the team's own ablations."""

from pathlib import Path

from codesign.calibration.quality import fit_effective_parameters, read_ablations
from codesign.constraints import Assessment, Constraint, at_most
from codesign.model.quality import EPSILON, loss_difference
from codesign.prediction import Prediction


class UserAblations(Constraint):
    """Loss difference by EffParam refitted to a CSV of ablations, at most `epsilon`.

    Parameters
    ----------
    file : str
        CSV with columns group, N, k, S, d_expert, d_shared, total, active, D, loss.
    epsilon : float
        Loss that may be given up [nat/token].
    """

    name = "user_ablations"
    unit = "nat/token"

    def __init__(self, file: str, epsilon: float = EPSILON) -> None:
        self._law = fit_effective_parameters(read_ablations(Path(file))).law
        self._epsilon = float(epsilon)

    def assess(self, prediction: Prediction, reference: Prediction) -> Assessment:
        """Assess every design."""
        difference = loss_difference(
            prediction.quality_inputs, prediction.reference_quality_inputs, (self._law,)
        )
        return at_most(difference, self._epsilon)
