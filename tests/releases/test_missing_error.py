"""What a forecast on an earlier release's rows leaves out."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpqr.releases.forecast_error import ErrorDistribution, ExpectedBlockError, MissingError, PlanForecast


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


@pytest.mark.parametrize(
    ("epsilon", "records", "least"), [("1/4", 100, 1), (4, 25, 1), (4, 100, 1 / 4), (1, 400, 1 / 4)]
)
def test_all_is_missed_under_as_much_noise_and_part_under_less(epsilon, records, least):
    corrected = missing(0.15).added(simulated(0.02, epsilon, records)).over_n
    assert corrected.mean == pytest.approx(0.02 + 0.05 * (1 + least) / 2)
    assert corrected.deviation == pytest.approx(0.05 * (1 - least) / 12**0.5)


@pytest.mark.parametrize(
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
