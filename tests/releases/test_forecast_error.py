"""Forecasts from closed forms and simulations. All noise is public and seeded, so nothing here is left to chance."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.domain.histogram import DenseHistogram
from dpqr.releases.forecast.simulation import (
    ErrorDistribution,
    ExpectedBlockError,
    MissingError,
    PlanForecast,
    PublicTable,
    closed_form,
    closed_mean,
    forecast,
    left_out_reach,
    planned_runs,
    reaches,
    simulate,
    simulate_tables,
)
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest

DOMAIN = {"age": 16, "sex": 2}
QUERIES = [{"prefix": "age"}, {"marginal": ["age", "sex"]}, {"marginal": ["sex"]}]


def planned(schedule="strategy", eps="1", queries=QUERIES, **more):
    document = {"dpqr": "queries/1", "domain": DOMAIN, "queries": queries}
    return plan_release(PlanRequest(queries=document, epsilon=eps, schedule=schedule, **more))


@cache
def tables(records=2000):
    return simulate_tables(planned().problem.domain, records, 0)


@in_one_test(("confidence", "quantile"), [("0.5", 0.674), ("0.9", 1.645), ("0.95", 1.960), ("0.99", 2.576)])
def test_the_law_of_an_error_fits_normal_noise(confidence, quantile):
    single = ErrorDistribution(mean=np.sqrt(2 / np.pi), deviation=np.sqrt(1 - 2 / np.pi))
    assert single.at_most(Fraction(confidence)) == pytest.approx(quantile, rel=0.1)
    assert ErrorDistribution(mean=3.0, deviation=0.0).at_most(Fraction(confidence)) == 3.0


def test_an_error_that_varies_more_than_it_is_large_keeps_an_upper_end_above_its_mean():
    assert 2.7 < ErrorDistribution(mean=1.0, deviation=1.001).at_most(Fraction(95, 100)) < 3.0
    assert ErrorDistribution(mean=1.0, deviation=50.0).at_most(Fraction(95, 100)) > 1.0


@pytest.mark.slow
def test_the_closed_form_is_the_measured_error_of_a_fixed_schedule():
    plan, table = planned(delta="1e-9"), tables()[0]
    measured = np.mean([simulate(plan, table, seed).errors for seed in range(60)], axis=0)
    assert measured == pytest.approx(closed_form(plan), rel=0.2)


@pytest.mark.slow
def test_the_closed_form_holds_where_the_noise_is_mostly_zero():
    plan, table = planned(eps="6", queries=[{"marginal": ["age"]}]), tables()[0]
    measured = np.mean([simulate(plan, table, seed).errors for seed in range(150)], axis=0)
    assert measured == pytest.approx(closed_form(plan), rel=0.25)


def test_a_forecast_keeps_the_means_of_the_closed_form_whatever_is_simulated():
    plan = planned()
    found = forecast(plan, tables()[:2], 2)
    assert found.closed
    assert [block.error.mean for block in found.blocks] == closed_form(plan).tolist()
    assert found.error.mean == pytest.approx(closed_mean(plan))
    assert found.over_n.mean == pytest.approx(np.mean([block.over_n(2000) for block in found.blocks]))
    assert all(block.error.deviation > 0 for block in found.blocks)


@in_one_test("eps", ["0.5", "1", "2"])
def test_the_error_of_a_total_is_forecast_though_most_of_its_noise_is_zero(eps):
    plan = planned("rounds", eps, [{"marginal": []}])
    law = plan.roles.check.law(plan.problem.workload.blocks, plan.problem.unit, plan.price("opening"))
    assert closed_form(plan) is None
    assert planned_runs(plan, len(tables())) == 8
    assert forecast(plan, tables()).blocks[0].error.mean == pytest.approx(law.mean_size, rel=0.4)
    assert forecast(plan, tables(), 1).blocks[0].error.mean > 0.1


@pytest.mark.slow
def test_without_a_closed_form_the_forecast_is_simulated():
    plan = planned("marginals", queries=QUERIES[1:])
    assert closed_form(plan) is None
    assert closed_mean(plan) is None
    found = forecast(plan, tables())
    assert (found.closed, found.runs, found.records) == (False, len(tables()), 2000)
    assert found.tables == tuple(f"made-up table {number}" for number in range(1, len(tables()) + 1))
    by_table = [simulate(plan, table, seed).errors for seed, table in enumerate(tables())]
    assert [block.error.mean for block in found.blocks] == pytest.approx(np.exp(np.log(by_table).mean(axis=0)))


def test_a_closed_form_is_run_more_often_for_its_spread_than_a_simulation_for_its_mean():
    fixed, adaptive = planned(), planned("marginals", queries=QUERIES[1:])
    assert [planned_runs(fixed, count) for count in (1, 8, 100)] == [24, 3, 1]
    assert [planned_runs(adaptive, count) for count in (1, 8)] == [8, 1]


def test_the_spread_of_a_forecast_is_over_tables_and_noise():
    plan = planned("marginals", queries=QUERIES[1:])
    found = forecast(plan, tables()[:3])
    each = [simulate(plan, table, seed).errors.mean() for seed, table in enumerate(tables()[:3])]
    assert found.error.deviation == pytest.approx(np.std(each, ddof=1))


@pytest.mark.slow
def test_a_forecast_repeats_and_falls_with_epsilon():
    found = [forecast(planned("marginals", eps, QUERIES[1:]), tables()[:1]) for eps in ("0.1", "1", "1", "10")]
    assert found[1] == found[2]
    errors = [one.error.mean for one in found]
    assert errors[0] > errors[1] > errors[3]


def test_a_median_of_whole_numbers_that_most_runs_hit_keeps_a_range():
    """Most of its simulated errors are 0, and so is their median."""
    days = {"name": "days", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}}
    document = {"dpqr": "queries/1", "domain": {"fields": [days]}, "queries": [{"median": "days"}]}
    plan = plan_release(PlanRequest(queries=document, epsilon="0.05", schedule="strategy"))
    (figure,) = forecast(plan, simulate_tables(plan.problem.domain, 2000, 0)).figures
    assert 0 < figure.error.mean < 0.5
    assert figure.error.mean <= figure.error.at_most(Fraction(95, 100)) <= 9


def test_errors_of_sums_count_over_their_largest_coefficient():
    fields = [{"name": "income", "type": "number", "dpqr": {"edges": [0, 100, 300]}}]
    document = {"domain": {"fields": fields}, "queries": [{"sum": "income"}, {"marginal": ["income"]}]}
    plan = plan_release(PlanRequest(queries=document, epsilon="1", schedule="rounds"))
    table = PublicTable.of("rows", plan.problem.domain.shape, np.array([[0]] * 50 + [[1]] * 50))
    found = forecast(plan, [table])
    total, counts = found.blocks
    assert (total.reach, counts.reach) == (200.0, 1.0)
    assert total.over_n(100) == pytest.approx(total.error.mean / 200 / 100)
    assert total.error.mean > 10 * counts.error.mean


# What a forecast on an earlier release's rows leaves out.


def simulated(mean, epsilon=1, records=100, deviation=0.0):
    law = ErrorDistribution(mean=mean, deviation=deviation)
    block = ExpectedBlockError(name="one", answers=4, reach=1.0, error=ErrorDistribution(mean=2 * mean, deviation=0.0))
    return PlanForecast(
        epsilon=Fraction(epsilon),
        schedule="rounds",
        records=records,
        blocks=(block,),
        error=law,
        over_n=law,
        tables=("rows",),
        runs=8,
        closed=False,
    )


def missing(observed, deviation=0.0, **more):
    return MissingError.of(ErrorDistribution(mean=observed, deviation=deviation), simulated(0.1, **more))


def test_at_the_earlier_budget_the_forecast_is_the_error_that_was_bought():
    corrected = missing(0.15).added(simulated(0.1))
    assert corrected.over_n == ErrorDistribution(mean=pytest.approx(0.15), deviation=0.0)
    assert corrected.error.mean == pytest.approx(0.15)
    assert corrected.blocks[0].error.mean == pytest.approx(0.3)


@in_one_test(("epsilon", "records", "least"), [("1/4", 100, 1), (4, 25, 1), (4, 100, 1 / 4), (1, 400, 1 / 4)])
def test_all_is_missed_under_as_much_noise_and_part_under_less(epsilon, records, least):
    corrected = missing(0.15).added(simulated(0.02, epsilon, records)).over_n
    assert corrected.mean == pytest.approx(0.02 + 0.05 * (1 + least) / 2)
    assert corrected.deviation == pytest.approx(0.05 * (1 - least) / 12**0.5)


@in_one_test(
    ("observed", "deviation", "excess"),
    [(0.08, 0.0, 0.0), (0.14, 0.05, 0.0), (0.2, 0.05, 0.075), (0.2, 0.0, 0.1)],
)
def test_an_excess_that_noise_may_explain_is_shrunk(observed, deviation, excess):
    found = missing(observed, deviation).excess
    assert found.mean == pytest.approx(excess)
    assert found.deviation == pytest.approx((deviation**2 * excess / 0.1) ** 0.5)


def test_the_spread_of_the_simulation_counts_as_noise():
    assert missing(0.11, deviation=0.02).excess.mean == 0.0
    spread = MissingError.of(ErrorDistribution(mean=0.2, deviation=0.0), simulated(0.1, deviation=0.04))
    assert spread.excess.mean == pytest.approx(0.1 - 0.04**2 * 9 / 8 / 0.1)
    assert spread.added(simulated(0.1)).over_n.deviation == pytest.approx(spread.excess.deviation)


def test_a_forecast_without_any_error_stays_as_it_is():
    assert missing(0.15).added(simulated(0.0)) == simulated(0.0)


def test_a_row_that_is_left_out_moves_no_block_by_more_than_is_said():
    """Brute force over all cells: the L1 norm of a block's answers on one row there."""
    plan = planned()
    shape, said = plan.problem.domain.shape, left_out_reach(plan) * reaches(plan)
    moved = np.zeros(len(said))
    for cell in np.ndindex(*shape):
        one = np.zeros(shape, dtype=np.int64)
        one[cell] = 1
        counts = DenseHistogram(one)
        for place, block in enumerate(plan.problem.workload.blocks):
            moved[place] = max(moved[place], float(np.abs(block.answer(counts)).sum()) * float(block.scale))
    assert said == pytest.approx(moved)
