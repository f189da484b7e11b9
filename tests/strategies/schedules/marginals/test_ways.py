"""Ways to spend a budget on marginals: what each measures, and the noise that it leaves."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.schedules.marginals.test_one_table import BUDGET, FOURS, marginals, problem, roles

from dpqr.strategies.schedules.marginals.one_table import remaining
from dpqr.strategies.schedules.marginals.outlook import Outlook
from dpqr.strategies.schedules.marginals.schedule import Marginals
from dpqr.strategies.schedules.marginals.tuning import TUNING
from dpqr.strategies.schedules.marginals.ways import Noise, noise_of
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense


@pytest.mark.parametrize("family", [1, 2, 3])
def test_all_blocks_once_leave_the_noise_of_their_sums(family):
    """Where records are many: the forecast of one block is that of a marginal by itself."""
    asked = problem(marginals(family, FOURS), FOURS)
    plan = Marginals(table=0).plan(asked, BUDGET, roles())
    one = Outlook.of(asked, plan.roles, remaining(plan), 0).at(10.0**8).errors["blocks"]
    number = len(asked.workload.blocks)
    deviation = 2**0.5 * number / float(BUDGET.epsilon)
    kept = TUNING.noise_kept * (2 / np.pi) ** 0.5 * deviation * 4**family / 10**8
    assert 0.7 * kept < one <= 1.001 * kept


def noise(way, blocks, sizes=FOURS):
    asked = problem(blocks, sizes)
    return noise_of(way, asked, roles(), remaining(Marginals(table=0).plan(asked, BUDGET, roles())))


def test_what_a_way_leaves_out_is_hidden_and_what_it_measures_is_joined():
    """Of triples: one-way marginals hide two further columns, pairs a part of one."""
    found = {way: noise(way, marginals(3, FOURS)) for way in ("table", "blocks", "pairs", "columns")}
    assert [one.hidden[0] for one in found.values()] == [0.0, 0.0, TUNING.hidden_by_pairs, 2.0]
    assert [one.joined[0] for one in found.values()] == [2, 2, 2, 0]
    assert noise("pairs", marginals(2, FOURS)) is None


def test_sums_of_cells_hide_less_and_get_less_noise_than_cells():
    half = Dense(np.array([[1, 1, 0, 0]]))
    corner = QueryBlock(
        name="corner", factors=tuple(Factor(axes=(axis,), sizes=(4,), matrix=half) for axis in range(3))
    )
    one, other = (noise("columns", blocks) for blocks in ((corner, *marginals(3, FOURS)), marginals(3, FOURS)))
    assert one.hidden[0] < other.hidden[0] / 8
    assert one.total[0] < one.even[0] * one.total[1]


def test_errors_never_fall_with_noise_and_depend_on_it_as_measured():
    """Small noise stays, but for what a fit cuts; large noise hides what was measured."""
    one = Noise(total=np.array([1.0]), even=np.ones(1), hidden=np.zeros(1), joined=np.ones(1))
    for dependence in (0.0, 0.1, 1.0):
        errors = [float(one.errors(1.0, louder, dependence)[0]) for louder in np.geomspace(1e-4, 1e4, 60)]
        assert errors == sorted(errors)
        assert errors[0] <= TUNING.noise_kept * 1e-4
        assert errors[-1] > dependence
