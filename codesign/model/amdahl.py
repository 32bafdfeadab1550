"""The Cohere study's explanation of verification cost, beside the component sum."""

import numpy as np

from codesign.model.arrays import ArrayLike, FloatArray


def amdahl_ratio(routed_load_fraction: ArrayLike, unique_ratio: ArrayLike) -> FloatArray:
    """Verify time over decode time if only the loaded experts grow: f U(B,q)/U(B,1) + 1 - f.

    Parameters
    ----------
    routed_load_fraction : array_like
        Share f of the decode step that is proportional to unique experts, 0 to 1 [-].
    unique_ratio : array_like
        U(B,q) / U(B,1) [-].

    Examples
    --------
    Cohere study: f = .30 and 20.36 unique of 8 give 1.46, which implies 2.73 / 1.46 = 1.87.

    >>> ratio = float(amdahl_ratio(0.30, 20.36 / 8))
    >>> round(ratio, 2), round(2.73 / ratio, 2)
    (1.46, 1.87)
    """
    fraction = np.asarray(routed_load_fraction, dtype=np.float64)
    return np.asarray(fraction * unique_ratio + (1 - fraction))
