"""The closed form against the trace it stands for; the weights against their neighbours."""

import numpy as np
import pytest
from strategies.designs.errors import every_norm, queries_of, scaled_error
from support.cases import thinned

from dpqr.strategies.designs.trees import hierarchy, log_error
from dpqr.workload.matrix import Identity, Prefix
from dpqr.workload.ranges import everything
from dpqr.workload.sensitivity import Norm
from dpqr.workload.trees import Tree, dyadic


@every_norm
@pytest.mark.parametrize("size", [1, 8, 32])
def test_the_closed_form_is_the_expected_error(size, norm) -> None:
    queries, widths = queries_of(Prefix(size)), dyadic(size)
    weights = 1 + np.arange(len(widths)) % 3
    energies = np.diff(queries.energies(widths), prepend=0.0)
    found = log_error(weights.astype(float), energies, np.array(widths, dtype=float), norm)[0]
    tree = Tree(size, widths, tuple(weights.tolist()))
    assert np.exp(found) == pytest.approx(scaled_error(tree, queries, norm))


@every_norm
@pytest.mark.parametrize("size", thinned([2, 16, 100, 1024], 4))
def test_no_level_alone_can_be_bettered(size, norm) -> None:
    queries = queries_of(Prefix(size))
    best = hierarchy(queries, norm)
    error = scaled_error(best, queries, norm)
    for level in range(len(best.weights)):
        for factor in (0.9, 1.1):
            weights = [1000 * weight for weight in best.weights]
            weights[level] = int(weights[level] * factor)
            assert scaled_error(Tree(size, best.widths, tuple(weights)), queries, norm) > 0.998 * error


def test_figures_of_trees_with_optimal_weights() -> None:
    """Expected error at eps 1, all prefixes of 1,024 cells: 10.9 (published measurements of such trees)."""
    queries = queries_of(Prefix(1024))
    assert (2 * scaled_error(hierarchy(queries, Norm.L1), queries, Norm.L1) / 1024) ** 0.5 == pytest.approx(
        10.9, rel=0.01
    )


def test_single_cells_need_no_levels_and_totals_little_else() -> None:
    assert hierarchy(queries_of(Identity(64)), Norm.L1).widths == (1,)
    total = hierarchy(queries_of(everything(64)), Norm.L1)
    assert total.widths[0] == 64
    assert total.weights[0] > 50 * total.weights[-1]
