"""Forecasts made by hand, of figures that can be checked on paper."""

from __future__ import annotations

from fractions import Fraction

from dpqr.releases.forecast.simulation import ErrorDistribution, ExpectedBlockError, PlanForecast


def forecasts(*epsilons, name="one"):
    """One an epsilon; errors fall with it. A query of 4 counts, and one sum whose largest coefficient is 10."""
    return [
        PlanForecast(
            epsilon=Fraction(epsilon),
            schedule="rounds",
            records=100,
            blocks=(
                ExpectedBlockError(name=name, answers=4, reach=1.0, error=_law(10 / epsilon)),
                ExpectedBlockError(name="years", answers=1, reach=10.0, error=_law(500 / epsilon)),
            ),
            error=_law(7.5 / epsilon),
            over_n=_law(0.45 / epsilon),
            tables=("table",),
            runs=6,
            closed=False,
        )
        for epsilon in epsilons
    ]


def _law(mean):
    return ErrorDistribution(mean=mean, deviation=0.41 * mean)
