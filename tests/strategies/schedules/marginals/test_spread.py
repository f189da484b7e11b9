"""Spread: sums over a block's answers, beside the same from its coefficients."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpqr.strategies.schedules.marginals.errors import NoiseSpread
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity, Prefix, Sparse

ROWS = np.array([[1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 1]])
THREE = Factor(axes=(0,), sizes=(3,), matrix=Prefix(3))
FOUR = Factor(axes=(1,), sizes=(4,), matrix=Dense(ROWS))
SPARSE = Factor(axes=(1,), sizes=(4,), matrix=Sparse(csr_array(ROWS)))
BLOCKS = [
    QueryBlock(name="crossed", factors=(THREE, FOUR)),
    QueryBlock(name="row by row", factors=(THREE, SPARSE), rowwise=True),
    QueryBlock(name="marginal", factors=(Factor.identity(0, 3), Factor.identity(1, 4))),
    QueryBlock(name="by", factors=(Factor.identity(0, 3), SPARSE)),
]


def coefficients(block):
    """Shape (answers, 3, 4)."""
    return np.array([*block.coefficients()]).reshape(-1, 3, 4).astype(float)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_sums_of_even_records_and_of_noise(block):
    """Noise of one column is shared out evenly over the other one."""
    table, spread = coefficients(block), NoiseSpread(block=block)
    assert spread.even == pytest.approx(table.sum() / 12)
    for axes, cells in (((0, 1), table.reshape(-1, 12)), ((0,), table.mean(axis=2)), ((1,), table.mean(axis=1))):
        assert spread.noise(axes) == pytest.approx(np.linalg.norm(cells, axis=1).sum())


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_what_two_columns_together_show(block):
    """Deviations of cells whose sums over either column are 0, over those of the cells themselves."""
    table, spread = coefficients(block), NoiseSpread(block=block)
    apart = table - table.mean(axis=1, keepdims=True)
    apart -= apart.mean(axis=2, keepdims=True)
    cells = 12 * (2 / 3 * 3 / 4) ** 0.5
    assert spread.missed(2) == spread.missed(3) == pytest.approx(np.sqrt((apart**2).sum(axis=(1, 2))).sum() / cells)


def test_a_single_column_has_nothing_to_miss_in_its_total():
    everything = QueryBlock(name="all", factors=(Factor(axes=(0,), sizes=(3,), matrix=Dense(np.ones((1, 3), int))),))
    assert NoiseSpread(block=everything).missed(1) == pytest.approx(0.0, abs=1e-12)
    assert Identity(3).cells * NoiseSpread(block=everything).even == pytest.approx(3.0)
