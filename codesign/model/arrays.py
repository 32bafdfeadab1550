"""The array types of the model, which one design and ten million share, and its arithmetic."""

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

FloatArray: TypeAlias = NDArray[np.float64]
ArrayLike: TypeAlias = NDArray[Any] | float | int
"""Scalar or array; arguments broadcast against each other."""

NORMAL_95: Final = float(ndtri(0.95))
"""Standard normal quantile at 95 %."""


def matrix_product(rows: FloatArray, columns: FloatArray) -> FloatArray:
    """Multiply by a matrix or a vector, each element by itself.

    BLAS rounds an element differently depending on how many others and how many threads there
    are, and `numpy.einsum` depending on whether there are other columns; products added one after
    the other are the same to the last bit wherever a figure is computed.

    Parameters
    ----------
    rows : ndarray, shape (..., n)
    columns : ndarray, shape (n,) or (n, columns)

    Examples
    --------
    >>> matrix_product(np.array([[1.0, 2.0]]), np.array([3.0, 4.0]))
    array([11.])
    """
    factors = np.ascontiguousarray(np.moveaxis(rows, -1, 0))
    total = np.zeros(columns.shape[1:] + rows.shape[:-1])
    for factor, column in zip(factors, columns, strict=True):
        total += column.reshape(column.shape + (1,) * factor.ndim) * factor
    return np.moveaxis(total, 0, -1) if columns.ndim > 1 else total
