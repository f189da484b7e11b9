"""What a marginal adds to the marginals below it: rows, sensitivities, and the way back."""

from itertools import product

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.sensitivity import Norm, sensitivity
from dpqr.workload.strategy_matrices import (
    Contrasts,
    interaction,
    interaction_cells,
    interaction_deviation,
    is_interaction,
)

SIZES = (3, 2, 5)


def marginal(*axes):
    return QueryBlock(name="pair", factors=tuple(Factor.identity(axis, SIZES[axis]) for axis in axes))


@in_one_test("size", [2, 3, 4, 7, 20, 64])
def test_rows_are_orthogonal_contrasts_of_nearly_one_norm(size):
    rows = Contrasts.of(size).coefficients
    assert rows.shape == (size - 1, size)
    assert not rows.sum(axis=1).any()
    grams = rows @ rows.T
    assert not (grams - np.diag(np.diag(grams))).any()
    assert np.diag(grams).min() > 0.94 * np.diag(grams).max()
    assert Contrasts.of(size).column_norm(2) == pytest.approx((1 - 1 / size) * np.diag(grams).mean(), rel=0.05)


@in_one_test("axes", [(0,), (0, 1), (2, 0), (0, 1, 2)])
@pytest.mark.parametrize("norm", [Norm.L1, Norm.L2_SQUARED])
def test_sensitivity_is_what_a_record_moves(axes, norm):
    block = interaction(marginal(*axes), "apart")
    cells = [SIZES[axis] for axis in axes]
    moves = []
    for cell in product(*map(range, cells)):
        one = np.zeros(cells, dtype=np.int64)
        one[cell] = 1
        moves.append(block.apply(one))
    added = max(int((np.abs(move) ** norm.value).sum()) for move in moves)
    replaced = max(int((np.abs(move - other) ** norm.value).sum()) for move in moves for other in moves)
    assert sensitivity((block,), norm, PrivacyUnit()) == added
    assert sensitivity((block,), norm, PrivacyUnit(neighbours=Neighbours.REPLACE)) >= max(added, replaced)


def test_the_cells_are_the_last_part_of_the_marginal():
    counts = np.random.default_rng(1).integers(0, 50, (5, 3))
    block = interaction(marginal(2, 0), "apart")
    cells = interaction_cells(block, block.apply(counts).astype(float))
    last = counts - counts.mean(axis=0) - counts.mean(axis=1, keepdims=True) + counts.mean()
    assert cells == pytest.approx(last)


def test_noise_on_the_answers_is_even_noise_on_the_last_part():
    block = interaction(marginal(0, 1), "apart")
    noise = np.eye(block.rows)
    squares = sum((interaction_cells(block, row) ** 2).sum() for row in noise)
    assert interaction_deviation(block) == pytest.approx((squares / block.rows) ** 0.5)


def test_other_blocks_are_no_interactions():
    assert is_interaction(interaction(marginal(0, 1), "apart"))
    assert not is_interaction(marginal(0, 1))
    assert not is_interaction(QueryBlock(name="records"))
