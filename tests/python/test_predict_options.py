"""The request of a prediction run, from options by name: those of the command, and no others."""

from __future__ import annotations

import pytest

import dpqr
from dpqr.python.predict import prediction_request

RUN = {"target": "open", "eps": 0.1, "domain": {"fields": []}}


def test_a_plan_is_made_for_a_usual_number_of_predictions():
    made = prediction_request(None, RUN, dry_run=True)
    assert (made.plan.predictions, made.plan.epsilon, made.payer) == (100, "0.1", None)
    assert prediction_request((), RUN | {"form": "function"}, dry_run=True).plan.predictions is None
    assert prediction_request("a.csv", RUN | {"points": "b.csv", "delimiter": ";"}).points.delimiter == ";"


@pytest.mark.parametrize("given", [{"n": 0}, {"penalty": []}, {"form": "votes"}, {"trust": 7}, {"degree": True}])
def test_values_of_another_kind_are_refused(given):
    with pytest.raises(dpqr.UsageFault):
        prediction_request("a.csv", RUN | {"points": "b.csv"} | given)
