"""What designs read of a workload, against its coefficients written out."""

import itertools

import numpy as np
import pytest

from dpqr.strategies.designs import axis_queries
from dpqr.strategies.designs.axis_queries import AxisQueries
from dpqr.workload.matrix import Dense, Identity, Prefix
from dpqr.workload.ranges import Ranges, everything

SIZE = 7
PAIRS = np.array(list(itertools.combinations(range(SIZE + 1), 2)))
MATRICES = {
    "prefix": Prefix(SIZE),
    "prefix with others": Prefix(SIZE - 2, 2),
    "identity": Identity(SIZE),
    "ranges": Ranges(PAIRS[:, 0], PAIRS[:, 1], SIZE),
    "everything": everything(SIZE),
    "signed": Dense(np.arange(3 * SIZE).reshape(3, SIZE) % 5 - 2),
}
every_matrix = pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES.keys())


def asked(matrix) -> tuple[AxisQueries, np.ndarray]:
    """The matrix and twice everything; and the weighted Gram matrix of both."""
    weights = 1.0 + np.arange(matrix.rows) % 3
    queries = AxisQueries(size=SIZE, terms=((matrix, weights), (everything(SIZE), np.full(1, 2.0))))
    table = matrix.table(0, matrix.rows)
    return queries, table.T @ (weights[:, None] * table) + 2.0


@every_matrix
def test_the_gram_matrix_on_groups(matrix, monkeypatch) -> None:
    monkeypatch.setattr(axis_queries, "SLICE", 2 * SIZE)
    queries, whole = asked(matrix)
    edges = np.array([0, 2, 3, 7])
    pairs, diagonal = queries.gram(edges)
    groups = np.repeat(np.arange(3), np.diff(edges))
    sums = (groups == np.arange(3)[:, None]).astype(float)
    np.testing.assert_allclose(pairs, sums @ whole @ sums.T)
    np.testing.assert_allclose(diagonal, sums @ np.diag(whole))


@every_matrix
def test_energies_are_the_traces_of_projections(matrix, monkeypatch) -> None:
    monkeypatch.setattr(axis_queries, "SLICE", 2 * SIZE)
    queries, whole = asked(matrix)
    for width, energy in zip((8, 4, 2, 1), queries.energies((8, 4, 2, 1)), strict=True):
        alike = np.arange(SIZE)[:, None] // width == np.arange(SIZE) // width
        assert energy == pytest.approx((whole * alike).sum() / width)


def test_single_cells_alone_are_plain() -> None:
    assert AxisQueries(size=2, terms=((Identity(2), np.ones(2)),)).plain
    assert not AxisQueries(size=2, terms=((Identity(2), np.ones(2)), (everything(2), np.ones(1)))).plain
