"""Tables or interactions as the last measurements."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from dpqr.kernel.budget import Price
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.strategies.schedules.marginals.budget import BudgetAllocation
from dpqr.strategies.schedules.marginals.errors import ExpectedError
from dpqr.strategies.schedules.marginals.last_measurements import Interactions, LastMeasurements
from dpqr.workload.block import Factor, QueryBlock
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
    split = LastMeasurements(singles=singles, spent=spent, asked=pairs, errors=errors, budget=budget)
    direct = split.split(pairs if measured is None else measured(pairs), 0.5)
    apart = Interactions(
        singles=singles, spent=spent, asked=pairs, errors=errors, budget=budget, unit=unit or PrivacyUnit()
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


@pytest.mark.parametrize("pure", [False, True])
def test_names_are_those_of_no_query(pure):
    direct, found = last((2,) * 6, pure=pure)
    names = {block.name for block, _ in direct}
    assert not names.intersection(block.name for block, _ in found) or found is direct
