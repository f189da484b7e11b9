"""The error on groups against the trace it stands for; the tuned strategies against trees and published figures."""

import numpy as np
import pytest
from strategies.designs.errors import every_norm, queries_of, scaled_error
from support.cases import in_one_test, thinned
from support.rounding_error import solved

from dpqr.kernel.values import replace
from dpqr.strategies.designs import kronecker as module
from dpqr.strategies.designs.kronecker import TUNING, PIdentityError, inverse, p_identity, product
from dpqr.strategies.designs.trees import hierarchy
from dpqr.workload.matrix import Dense, Identity, Prefix
from dpqr.workload.ranges import Ranges
from dpqr.workload.sensitivity import Norm
from dpqr.workload.trees import Tree


def case(norm: Norm, widths=(2, 1, 3, 2), sums=2) -> tuple[PIdentityError, np.ndarray, np.ndarray]:
    edges = np.concatenate([[0], np.cumsum(widths)])
    support = np.ones((sums, len(widths)), dtype=bool)
    support[0, -1] = False
    pairs, diagonal = queries_of(Prefix(int(edges[-1]))).gram(edges)
    error = PIdentityError(
        widths=np.array(widths, dtype=float), pairs=pairs, diagonal=diagonal, norm=norm, support=support
    )
    return error, edges, 0.3 + 0.1 * np.arange(float(support.sum()))


@every_norm
def test_the_error_on_groups_is_the_trace_over_cells(norm) -> None:
    error, edges, roots = case(norm)
    cells = np.repeat(np.arange(4), np.diff(edges))
    sums = error.spread(roots**2)[:, cells]
    strategy = np.concatenate([np.eye(len(cells)), sums]) / error.columns(error.spread(roots**2))[cells]
    columns = np.abs(strategy).sum(axis=0) if norm is Norm.L1 else (strategy**2).sum(axis=0)
    np.testing.assert_allclose(columns, 1.0)
    prefix = np.tril(np.ones((len(cells), len(cells))))
    trace = np.trace(prefix @ np.linalg.inv(strategy.T @ strategy) @ prefix.T)
    assert np.exp(error.value(roots)[0]) == pytest.approx(trace)


@every_norm
def test_the_gradient_is_that_of_the_error(norm) -> None:
    error, _, roots = case(norm)
    value, slope = error.value(roots)
    for entry, step in enumerate(1e-6 * np.eye(len(roots))):
        assert (error.value(roots + step)[0] - value) / 1e-6 == pytest.approx(slope[entry], rel=1e-3, abs=1e-6)


@every_norm
@pytest.mark.parametrize("size", thinned([2, 37, 64], 3))
def test_a_tuned_strategy_beats_cells_and_trees(size, norm) -> None:
    queries = queries_of(Prefix(size))
    tuned = scaled_error(p_identity(queries, norm), queries, norm)
    assert tuned < scaled_error(hierarchy(queries, norm), queries, norm) * 1.01
    assert tuned <= scaled_error(Tree(size, (1,), (1,)), queries, norm)


def test_single_cells_are_left_alone_and_any_rows_can_be_queried() -> None:
    queries = queries_of(Identity(16))
    assert scaled_error(p_identity(queries, Norm.L1), queries, Norm.L1) == pytest.approx(16, rel=0.01)
    queries = queries_of(Dense(np.arange(30).reshape(5, 6) % 4))
    tuned = p_identity(queries, Norm.L1)
    assert tuned.cells == 6
    assert scaled_error(tuned, queries, Norm.L1) < scaled_error(Tree(6, (1,), (1,)), queries, Norm.L1)


@pytest.mark.slow
@pytest.mark.parametrize(("workload", "figure"), [("prefix", 9.56), ("ranges", 11.46)])
def test_within_five_percent_of_the_published_figures(workload, figure) -> None:
    """HDMM's expected error at eps 1 on 1,024 cells: all prefixes; 2,000 ranges of uniform length, then position (other
    draws of them: a few percent of leeway)."""
    lengths = 1 + np.arange(2000) * 787 % 1024
    starts = (np.arange(2000) * 0.6180339887 % 1 * (1025 - lengths)).astype(np.int64)
    queries = queries_of(Prefix(1024) if workload == "prefix" else Ranges(starts, starts + lengths, 1024))
    found = (2 * scaled_error(p_identity(queries, Norm.L1), queries, Norm.L1) / queries.terms[0][0].rows) ** 0.5
    assert found < 1.05 * figure


@in_one_test("piece", [1, 20, 2**18])
def test_products_in_pieces_are_products(piece, monkeypatch) -> None:
    monkeypatch.setattr(module, "TUNING", replace(TUNING, piece=piece))
    left, right = np.arange(12.0).reshape(3, 4), np.arange(28.0).reshape(4, 7) ** 2
    np.testing.assert_array_equal(product(left, right), left @ right)


@in_one_test("size", [1, 4, 5, 13])
def test_inverses_by_halves_are_inverses(size, monkeypatch) -> None:
    monkeypatch.setattr(module, "TUNING", replace(TUNING, small=2))
    rows = np.cos(np.arange(float(size * size))).reshape(size, size)
    matrix = rows @ rows.T + np.eye(size)
    # Halves of halves: the inverse of the last block has the condition number once more.
    rounding = solved(size) * np.linalg.cond(matrix) ** 2
    np.testing.assert_allclose(inverse(matrix) @ matrix, np.eye(size), atol=rounding)


@pytest.mark.parametrize("norm", [Norm.L1, Norm.L2_SQUARED])
def test_a_step_of_any_length_has_a_value(norm):
    """The line search halves it, where rounding leaves no matrix that has an inverse."""
    support = np.ones((4, 8), dtype=bool)
    error = PIdentityError(widths=np.ones(8), pairs=np.eye(8), diagonal=np.ones(8), norm=norm, support=support)
    for length in (1.0, 1e4, 1e8, 1e12, 1e70):
        value, gradient = error.value(np.full(32, length))
        assert value > -np.inf
        assert np.isfinite(gradient).all()
