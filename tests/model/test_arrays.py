"""Products that are the same to the last bit in any company."""

import numpy as np
import pytest

from codesign.model.arrays import matrix_product

RNG = np.random.default_rng(0)
ROWS, COLUMNS = RNG.standard_normal((7, 5, 140)), RNG.standard_normal((140, 9))


def test_matrix_product_is_a_matrix_product() -> None:
    np.testing.assert_allclose(matrix_product(ROWS, COLUMNS), ROWS @ COLUMNS, 1e-12, 1e-12)
    np.testing.assert_allclose(matrix_product(ROWS, COLUMNS[:, 0]), ROWS @ COLUMNS[:, 0], 1e-12)


@pytest.mark.parametrize("columns", [1, 2, 3, 9])
@pytest.mark.parametrize("rows", [1, 2, 7])
def test_neither_rows_nor_columns_change_an_element(rows: int, columns: int) -> None:
    # numpy.einsum adds up in another order where there is a single column.
    whole = matrix_product(ROWS, COLUMNS)
    part = matrix_product(ROWS[:rows, 1:4], COLUMNS[:, :columns])
    np.testing.assert_array_equal(part, whole[:rows, 1:4, :columns])
    np.testing.assert_array_equal(matrix_product(ROWS, COLUMNS[:, 2]), whole[..., 2])
