"""The page of forecasts by epsilon."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from support.pages import Read, require_accessible, require_alone

from dpqr.releases.forecast_error import ErrorDistribution, ExpectedBlockError, PlanForecast
from dpqr.report.reports import curve_html

ERROR = ErrorDistribution(mean=20.0, deviation=4.0)
ONE = PlanForecast(
    epsilon=Fraction(1, 2),
    schedule="rounds",
    records=100,
    blocks=(ExpectedBlockError(name="<pairs>", answers=4, reach=1.0, error=ERROR),),
    error=ERROR,
    over_n=ErrorDistribution(mean=0.8, deviation=0.16),
    tables=("public.csv",),
    runs=8,
    closed=False,
)


def test_several_epsilons_are_a_page_with_their_curve_and_figures():
    halved = ErrorDistribution(mean=10.0, deviation=0.0)
    text = curve_html((ONE, replace(ONE, epsilon=Fraction(1), error=halved, over_n=halved)), ["public.csv is public"])
    require_alone(text)
    require_accessible(text)
    assert [given["id"] for _, given, _ in Read(text).all_of("section")] == ["curve", "blocks", "basis"]
    for words in (
        "At 2 epsilons",
        "epsilon 0.5: 20; epsilon 1: 10",
        "13.9 to 27",
        "&lt;pairs&gt;",
        "8 simulated releases of public.csv",
    ):
        assert words in text
    assert "A FORECAST: nothing was drawn" in text
