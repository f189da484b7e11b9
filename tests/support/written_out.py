"""What every matrix of queries must be beside its coefficients, written out as a table."""

import numpy as np

from dpqr.workload.matrix import Dense
from support.rounding_error import least_squares, quadratic_form


def require_strategy(matrix, table):
    """What the design of a strategy rests on: products, norms, and the inverse."""
    require_products(matrix, table)
    require_norms(matrix, table)
    require_recovery(matrix, table)


def require_products(matrix, table):
    """Shape, rows, and exact products from either side, of whole numbers and of floats."""
    assert (matrix.rows, matrix.cells) == table.shape
    for start in range(matrix.rows):
        np.testing.assert_array_equal(matrix.row(start), table[start])
        for stop in (start + 1, matrix.rows):
            np.testing.assert_array_equal(matrix.table(start, stop), table[start:stop])
    for dtype in (np.int64, np.float64):
        right = (np.arange(3 * matrix.cells).reshape(-1, 3) % 7 - 2).astype(dtype)
        left = (np.arange(2 * matrix.rows).reshape(-1, 2) % 5 - 1).astype(dtype)
        assert matrix.apply(right).dtype == matrix.adjoint(left).dtype == dtype
        np.testing.assert_array_equal(matrix.apply(right), table @ right)
        np.testing.assert_array_equal(matrix.adjoint(left), table.T @ left)


def require_norms(matrix, table):
    """Those of the dense matrix, which are tested against all columns and pairs of them."""
    for power in (0, 1, 2):
        assert matrix.column_norm(power) == Dense(table).column_norm(power)
        assert matrix.column_distance(power) == Dense(table).column_distance(power)
    assert matrix.smallest <= table.min()


def require_recovery(matrix, table):
    """The pseudo-inverse times the values."""
    values = np.arange(2.0 * matrix.rows).reshape(-1, 2) ** 2 % 11
    expected, rounding = np.linalg.pinv(table) @ values, least_squares(table, values)
    np.testing.assert_allclose(matrix.recover(values), expected, atol=rounding)


def require_variances(matrix, table, queries):
    """Of each query's answer under noise of variance 1: the quadratic form of the inverse."""
    rows, inverse = queries.table(0, queries.rows), np.linalg.inv(table.T @ table)
    expected, rounding = ((rows @ inverse) * rows).sum(axis=1), quadratic_form(table, rows)
    np.testing.assert_allclose(matrix.variances(queries), expected, atol=rounding)
