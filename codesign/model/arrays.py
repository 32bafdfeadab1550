"""The array type of the model: one design and ten million go through the same functions."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
ArrayLike: TypeAlias = NDArray[Any] | float | int
"""Scalar or array; arguments broadcast against each other."""
