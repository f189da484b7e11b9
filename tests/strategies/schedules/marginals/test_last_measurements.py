"""Tables or interactions as the last measurements."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from strategies.schedules.marginals.test_one_table import marginals
from support.cases import in_one_test

from dpqr.kernel.budget import Price
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.strategies.schedules.marginals.forecast import BudgetAllocation, ExpectedError
from dpqr.strategies.schedules.marginals.last_measurements import Interactions, LastMeasurements, MarginalParts
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.strategy_matrices import is_interaction

RECORDS = 20_000


def last(sizes, deviation=5.0, unit=None, measured=None, pure=False):
    """The last measurements of all pairs, as tables and as they are then made; the half is left."""
    singles = tuple(_marginal(sizes, axis) for axis in range(len(sizes)))
    pairs = tuple(_marginal(sizes, *axes) for axes in combinations(range(len(sizes)), 2))
    counts = {axis: np.full(size, RECORDS / size) for axis, size in enumerate(sizes)}
    errors = ExpectedError.of((*pairs, *singles), counts)
    budget = BudgetAllocation(
        whole=Price(epsilon=Fraction(1)) if pure else Price(rho=Fraction(1)), deviation=deviation, pure=pure
    )
    spent = (0.1 / len(sizes),) * len(sizes)
    split = LastMeasurements(singles=singles, spent=spent, queried=pairs, errors=errors, budget=budget)
    direct = split.split(pairs if measured is None else measured(pairs), 0.5)
    apart = Interactions(
        singles=singles, spent=spent, queried=pairs, errors=errors, budget=budget, unit=unit or PrivacyUnit()
    )
    return direct, apart.better(direct)


def _marginal(sizes, *axes):
    return QueryBlock(name=str(axes), factors=tuple(Factor.identity(axis, sizes[axis]) for axis in axes))


def test_pairs_of_small_columns_are_measured_apart():
    direct, found = last((2,) * 12)
    assert len(found) == 1 + 12 + 66
    assert all(is_interaction(block) or not block.factors for block, _ in found)
    assert sum(share for _, share in found) <= sum(share for _, share in direct) * (1 + 1e-9)
    columns = sum(share for block, share in found if len(block.axes) == 1)
    assert 0.1 < columns / sum(share for _, share in found) < 0.5


def test_columns_of_no_pair_are_measured_as_tables():
    """Asked pairs that no measurement answers depend on them."""
    inner = range(14)
    direct, found = last((2,) * 14 + (3,), measured=lambda pairs: [one for one in pairs if {*one.axes} < {*inner}])
    assert found is not direct
    alone = {block.axes for block, _ in found if len(block.axes) == 1 and not is_interaction(block)}
    assert alone == {(14,)}
    assert all(is_interaction(block) for block, _ in found if len(block.axes) == 2)


def test_large_columns_are_measured_as_tables():
    direct, found = last((40,) * 8)
    assert found is direct
    direct, found = last((2, 2, 2, 100))
    assert found is direct


def test_noise_below_a_record_is_left_as_it_is():
    direct, found = last((2,) * 12, deviation=0.05)
    assert found is direct


def test_the_total_is_not_measured_where_it_is_public():
    _, found = last((2,) * 12, unit=PrivacyUnit(neighbours=Neighbours.REPLACE))
    assert all(block.factors for block, _ in found)


def test_nothing_without_pairs():
    direct, found = last((2,) * 12, measured=lambda pairs: ())
    assert found is direct


@in_one_test("pure", [False, True])
def test_names_are_those_of_no_query(pure):
    direct, found = last((2,) * 6, pure=pure)
    names = {block.name for block, _ in direct}
    assert not names.intersection(block.name for block, _ in found) or found is direct


# Parts of marginals: how many cells each has to itself, and who shows it.

SIZES = (2, 3, 4)
BLOCKS = (*marginals(3, SIZES), *marginals(2, SIZES), *marginals(1, SIZES))


def test_a_part_has_what_its_columns_add_to_itself():
    """The product of sizes less one each, over all cells; all parts of a table together are all its cells."""
    alone = MarginalParts.of(BLOCKS, BLOCKS).alone
    cells = [1, *(block.cells for block in BLOCKS)]
    own = [1, *(np.prod([factor.matrix.cells - 1 for factor in block.factors]) for block in BLOCKS)]
    assert alone == pytest.approx(np.divide(own, cells))
    assert sum(own) == BLOCKS[0].cells


def test_parts_without_a_number_are_left_to_the_whole():
    alone = MarginalParts.of(BLOCKS[:1], BLOCKS[:1]).alone
    assert alone.tolist() == [1.0, 1 - 1 / 24]


def test_every_marginal_shows_its_smaller_ones_the_better_the_fewer_cells_are_summed():
    held = MarginalParts.of(BLOCKS, ()).measured
    table = [
        (part, factor) for block, part, factor in zip(held.blocks, held.parts, held.factors, strict=True) if not block
    ]
    assert [part for part, _ in table] == [0, 5, 6, 7, 2, 3, 4, 1]
    assert [1 / factor for _, factor in table] == pytest.approx([24, 12, 8, 6, 4, 3, 2, 1])


def test_another_block_shows_itself_alone_and_sums_the_noise_of_its_columns():
    """One cell of four: a quarter of all records, half of either column's noise in one of its cells."""
    row = Dense(np.array([[1, 0]]))
    other = QueryBlock(name="other", factors=tuple(Factor(axes=(axis,), sizes=(2,), matrix=row) for axis in (0, 1)))
    parts = MarginalParts.of((other, *marginals(1, (2, 2))), (other,))
    assert [part for block, part in zip(parts.measured.blocks, parts.measured.parts, strict=True) if block == 0] == [1]
    assert dict(zip(parts.queried.parts.tolist(), parts.queried.factors.tolist(), strict=True)) == {
        0: 0.25,
        2: 0.5,
        3: 0.5,
        1: 1.0,
    }
    assert parts.own.tolist() == [1]


def test_the_marginal_of_its_columns_shows_another_block_whole():
    first = [Dense(np.eye(1, size, dtype=np.int64)) for size in SIZES]
    other = QueryBlock(
        name="other",
        factors=tuple(Factor(axes=(axis,), sizes=(SIZES[axis],), matrix=row) for axis, row in enumerate(first)),
    )
    assert MarginalParts.of(BLOCKS, (other,)).own.tolist() == [1]
