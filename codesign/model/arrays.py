"""The array type of the model: one design and ten million go through the same functions."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
ArrayLike: TypeAlias = NDArray[Any] | float | int
"""Scalar or array; arguments broadcast against each other."""


def matrix_product(rows: FloatArray, columns: FloatArray) -> FloatArray:
    """Multiply by a matrix or a vector, each element by itself.

    BLAS rounds an element differently depending on how many others and how many threads there
    are; this does not, so that a figure is the same to the last bit wherever it is computed.

    Parameters
    ----------
    rows : ndarray, shape (..., n)
    columns : ndarray, shape (n,) or (n, columns)

    Examples
    --------
    >>> matrix_product(np.array([[1.0, 2.0]]), np.array([3.0, 4.0]))
    array([11.])
    """
    along = "...n,n->..." if columns.ndim == 1 else "...n,nm->...m"
    return np.asarray(np.einsum(along, rows, columns))
