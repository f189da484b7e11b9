"""The forecast error of plans without a search, beside the same from noise and records by hand."""

from __future__ import annotations

from dataclasses import replace
from math import pi, sqrt

import pytest

from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.schedules.marginals.candidate_plans import direct_error

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
