"""Ways to spend a budget on marginals: what their forecasts say, and what is measured by them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from strategies.schedules.marginals.test_one_table import (
    BUDGET,
    FOURS,
    UNSURE,
    marginals,
    outlook,
    problem,
    roles,
    unsure,
)

from dpqr.strategies.schedules.marginals.budget import remaining
from dpqr.strategies.schedules.marginals.candidate_plans import CandidateForecaster, Forecasts, noise_by_block
from dpqr.strategies.schedules.marginals.errors import TUNING
from dpqr.strategies.schedules.marginals.schedule import Marginals
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity, Prefix


def test_errors_fall_with_the_records_to_what_is_not_measured():
    known = outlook(unsure())
    found = [known.at(10.0**power).errors for power in range(9)]
    for way, least in (("table", 0.0), ("blocks", 0.0), ("search", 0.0), ("pairs", 0.15)):
        errors = [one[way] for one in found]
        assert errors == sorted(errors, reverse=True)
        assert least <= errors[-1] < least + 0.01 < 0.9 < errors[0]


def test_one_way_marginals_alone_are_a_way_where_noise_hides_the_dependence():
    """Else a search measures it, and may end with them."""
    known = outlook(unsure())
    assert [10**power for power in range(7) if "columns" in known.at(10.0**power).errors] == [1, 10, 100]


@pytest.mark.parametrize("family", [1, 2, 3])
def test_all_blocks_once_leave_the_noise_of_their_sums(family):
    """What a fit leaves of it, where records are many: the forecast of one block is that of a marginal by itself."""
    asked = problem(marginals(family, FOURS), FOURS)
    plan = Marginals(table=0).plan(asked, BUDGET, roles())
    one = CandidateForecaster.of(asked, plan.roles, remaining(plan), 0).at(10.0**8).errors["blocks"]
    number = len(asked.workload.blocks)
    deviation = 2**0.5 * number / float(BUDGET.epsilon)
    assert one == pytest.approx((2 / np.pi) ** 0.5 * TUNING.left * deviation * 4**family / 10**8, rel=0.01)


def test_blocks_that_the_model_would_lose_are_not_all_measured_once():
    """The first cell of every triple of seven columns of eight values: a model of all has 2 million cells."""
    first = Dense(np.eye(1, 8, dtype=np.int64))
    corners = tuple(
        QueryBlock(name=f"corner{axes}", factors=tuple(Factor(axes=(axis,), sizes=(8,), matrix=first) for axis in axes))
        for axes in combinations(range(7), 3)
    )
    found = {}
    for name, blocks in (("lost", corners), ("kept", corners[:1])):
        asked = problem(blocks, (8,) * 7)
        plan = Marginals(table=0).plan(asked, BUDGET, roles())
        found[name] = CandidateForecaster.of(asked, plan.roles, remaining(plan), 0).at(10.0**8).errors
    assert "blocks" not in found["lost"]
    assert "blocks" in found["kept"]


def test_a_plan_is_judged_by_its_error_among_the_records_that_there_may_be():
    """Pairs of many columns: Gaussian noise is less in sum, and a search finds those that matter."""
    few, many = (problem(marginals(2, (4,) * columns), (4,) * columns) for columns in (5, 20))
    for asked, better in ((few, "basic"), (many, "zcdp")):
        plans = {name: Marginals().plan(asked, BUDGET, roles(name)) for name in UNSURE}
        assert min(plans, key=lambda name: plans[name].expected) == better


def test_prefixes_of_one_way_marginals_are_forecast_by_the_noise_of_their_sums():
    """Cells of a column have independent noise: k of them together hold sqrt(k) times that of one, not k times."""
    pairs = problem((crossed(Prefix(8)),), (8, 8))
    cells = problem((crossed(Identity(8)),), (8, 8))
    found = {}
    for name, asked in (("prefixes", pairs), ("cells", cells)):
        plan = Marginals(table=0).plan(asked, BUDGET, roles())
        found[name] = noise_by_block("columns", asked, plan.roles, remaining(plan))
    sums = np.sqrt(np.arange(1, 9)).sum()
    assert found["prefixes"].total[0] / found["cells"].total[0] == pytest.approx((sums + 8 * 4.5) / (8 + 8))
    assert found["prefixes"].even[0] == pytest.approx(4.5)
    assert found["prefixes"].hidden[0] < 1.2 * found["cells"].hidden[0]


def crossed(matrix):
    """Queries on a column of eight values, for each of the eight values of another."""
    return QueryBlock(name="crossed", factors=(Factor.identity(0, 8), Factor(axes=(1,), sizes=(8,), matrix=matrix)))


@pytest.mark.parametrize(("search", "least"), [(0.1, 0.13), (0.3, 0.2)])
def test_accountants_are_compared_by_the_best_way_and_a_search_counts_for_more(search, least):
    found = Forecasts(records=10.0, errors={"blocks": 0.2, "search": search}, searched=1.3)
    assert found.least == pytest.approx(least)
    assert found.best == ("search" if search < 0.2 else "blocks")
