"""The mean error of a published release, from its record."""

from __future__ import annotations

import json

import pytest

from dpqr.releases.forecast_error import reaches
from dpqr.releases.read_release import observed_error, published_epsilon
from dpqr.releases.record.plan_document import plan_document

FINENESS = 64
BOUGHT = [["sex by age", "cdf"], ["young women"]]
VALUES = [10 * FINENESS, -2 * FINENESS]


@pytest.fixture
def record(plan):
    names = [block.name for block in plan.problem.workload.blocks]
    draws = [{"of": "sum", "groups": BOUGHT, "values": VALUES, "law": {"deviation": 3.0 * FINENESS}}]
    found = {
        "plan": plan_document(plan),
        "errors": {"fineness": FINENESS, "units": dict.fromkeys([*BOUGHT[0], *BOUGHT[1]], 1), "draws": draws},
        "error_bars": {"predicted": dict.fromkeys(names, 6.0)},
    }
    return json.loads(json.dumps(found))


def test_bought_errors_come_before_predicted_ones(plan, record):
    found, reach = observed_error(record, plan, 100), reaches(plan)
    assert found.mean == pytest.approx(sum([5, 5, -2, 6, 6, 6] / reach) / 6 / 100)
    groups = [1.5 / reach[0] + 1.5 / reach[1], 3 / reach[2]]
    assert found.deviation == pytest.approx((groups[0] ** 2 + groups[1] ** 2) ** 0.5 / 6 / 100)


def test_a_unit_above_one_is_given_back_with_what_rounding_down_takes(plan, record):
    before = observed_error(record, plan, 100).mean
    record["errors"]["units"]["young women"] = 2
    more = (2 * -2 + 1 / 2 / FINENESS) - -2
    assert observed_error(record, plan, 100).mean - before == pytest.approx(more / reaches(plan)[2] / 6 / 100)


def nothing_bought(record):
    record["errors"] = None


def older(record):
    del record["errors"]


def not_all_predicted(record):
    del record["error_bars"]["predicted"]["all"]


def other_queries(record):
    record["plan"]["workload"]["blocks"].reverse()


def other_schedule(record):
    record["plan"]["schedule"]["name"] = "auto"


def infinite(record):
    record["errors"]["draws"][0]["values"][0] = 1e999


@pytest.mark.parametrize("change", [nothing_bought, older, not_all_predicted, other_queries, other_schedule, infinite])
def test_without_errors_of_the_same_plan_nothing_is_known(plan, record, change):
    change(record)
    assert observed_error(record, plan, 100) is None


def test_an_epsilon_is_read_as_it_can_be_typed(record):
    assert published_epsilon(record) == "1"
    record["plan"]["budget"]["epsilon"]["exact"] = "1/8"
    assert published_epsilon(record) == "0.125"
    for damaged in ({}, {"exact": None}, {"exact": "1/0"}, {"exact": "one"}):
        record["plan"]["budget"]["epsilon"] = damaged
        assert published_epsilon(record) is None
