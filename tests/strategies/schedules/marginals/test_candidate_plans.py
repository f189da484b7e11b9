"""Ways to spend a budget on marginals: what their forecasts say, and what is measured by them."""

from __future__ import annotations

from itertools import combinations
from math import pi, sqrt

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
from support.cases import in_one_test

from dpqr.kernel.values import replace
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.schedules.marginals.decision import CandidateForecaster, Forecasts, noise_by_block
from dpqr.strategies.schedules.marginals.forecast import TUNING, direct_error, remaining
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


@in_one_test("family", [1, 2, 3])
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


@in_one_test(("search", "least"), [(0.1, 0.13), (0.3, 0.2)])
def test_accountants_are_compared_by_the_best_way_and_a_search_counts_for_more(search, least):
    found = Forecasts(records=10.0, errors={"blocks": 0.2, "search": search}, searched=1.3)
    assert found.least == pytest.approx(least)
    assert found.best == ("search" if search < 0.2 else "blocks")


# The forecast error of plans without a search, beside the same from noise and records by hand.

RECORDS = 1_000
CELLS = 12

FIELD = {
    "name": "a",
    "type": "integer",
    "constraints": {"minimum": 0, "maximum": CELLS - 1},
    "dpqr": {"otherwise": "fail"},
}
DOMAIN = {"fields": [FIELD], "malformed": "fail"}
NORMAL = sqrt(2 / pi)


def plan(records=RECORDS, queries=({"marginal": ["a"]},)):
    document = {"domain": DOMAIN, "queries": [*queries]}
    known = {"neighbours": "replace", "n": records} if records else {}
    return plan_release(PlanRequest(queries=document, epsilon="1", schedule="rounds", **known))


def forecast(made, *, deviation, error=None):
    """The same plan, each of its blocks with such noise."""
    return replace(made, forecast=tuple(replace(one, deviation=deviation, error=error) for one in made.forecast))


def test_noise_of_a_known_deviation_is_off_by_its_mean_size():
    made = forecast(plan(), deviation=4.0)
    assert direct_error(made, fitted=False) == pytest.approx(CELLS * NORMAL * 4.0 / RECORDS)


def test_a_known_mean_size_is_taken_instead_but_not_where_a_fit_cuts_the_noise():
    known = forecast(plan(), deviation=4.0, error=0.5)
    assert direct_error(known, fitted=False) == pytest.approx(CELLS * 0.5 / RECORDS)
    assert direct_error(known, fitted=True) == direct_error(forecast(plan(), deviation=4.0), fitted=True)


def test_no_answer_is_forecast_to_be_off_by_more_than_even_records_would_be():
    """A record lies in one cell of a marginal: even records hold n of its answers together."""
    assert direct_error(forecast(plan(), deviation=1e6), fitted=False) == pytest.approx(1.0)


def test_answers_of_larger_coefficients_are_told_in_units_of_one_record():
    made = forecast(plan(queries=[{"sum": "a"}]), deviation=10.0)
    (block,) = made.problem.workload.blocks
    assert block.largest_coefficient > 1
    assert direct_error(made, fitted=False) == pytest.approx(NORMAL * 10.0 / block.largest_coefficient / RECORDS)


def test_unknown_records_are_judged_by_the_geometric_mean_over_possible_ones():
    made = plan(records=None)
    each = [direct_error(replaced(made, records), fitted=True) for records in (100, 10_000, 1_000_000)]
    assert each == sorted(each, reverse=True)
    assert each[0] > direct_error(forecast(made, deviation=made.forecast[0].deviation), fitted=True) > each[-1]


def replaced(made, records):
    """A plan for so many known records, with the noise of the one given."""
    return forecast(plan(records=records), deviation=made.forecast[0].deviation)
