"""Exact Pareto fronts, gathered chunk by chunk in bounded memory."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from codesign.designs import Designs
from codesign.model.arrays import FloatArray


def nondominated(merits: FloatArray) -> NDArray[np.bool_]:
    """Return which rows no other row beats.

    Parameters
    ----------
    merits : ndarray, shape (points, objectives)
        Larger is better in every column.

    Returns
    -------
    ndarray of bool, shape (points,)
        Of equal rows the first is kept.
    """
    import moocore  # a C library that only searches need

    return np.asarray(moocore.is_nondominated(-merits, keep_weakly=False), dtype=np.bool_)


@dataclass
class Front:
    """The designs that no other feasible design beats in every objective.

    Parameters
    ----------
    designs : Designs, optional
        A list of designs; absent while empty.
    merits : ndarray, shape (designs, objectives)
    """

    designs: Designs | None = None
    merits: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    def add(self, designs: Designs, merits: FloatArray) -> None:
        """Merge a list of designs, given their merits."""
        if len(merits) == 0:
            return
        keep = np.flatnonzero(nondominated(merits))
        designs, merits = designs.take(keep), merits[keep]
        if self.designs is not None:
            designs = self.designs.joined(designs)
            merits = np.concatenate([self.merits, merits])
            keep = np.flatnonzero(nondominated(merits))
            designs, merits = designs.take(keep), merits[keep]
        self.designs, self.merits = designs, merits
