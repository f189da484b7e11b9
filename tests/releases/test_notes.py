"""What a plan warns of: a large epsilon or delta, noise above all records."""

import pytest
from support.slow_cases import slow_but

from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest

FIELDS = [{"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}, "dpqr": {"null": "cell"}}]


def plan(**wishes):
    return plan_release(PlanRequest(**{"queries": "q.json", "epsilon": "1", **wishes}))


@pytest.mark.parametrize(("delta", "warned"), slow_but({0}, [("1e-9", False), ("1e-5", False), ("0.000011", True)]))
def test_a_large_delta_is_warned_of_whatever_the_number_of_records(desk, delta, warned):
    assert any("may fail altogether" in note for note in plan(delta=delta).notes) is warned


@pytest.mark.parametrize(("epsilon", "warned"), [("0.1", False), ("20", False), ("20.1", True), ("1000", True)])
def test_a_large_epsilon_is_warned_of(desk, epsilon, warned):
    assert any("promises next to nothing" in note for note in plan(epsilon=epsilon).notes) is warned


@pytest.mark.parametrize(("count", "warned"), [(20, True), (10**6, False)])
def test_noise_above_the_known_number_of_records_is_warned_of(desk, count, warned):
    domain = {"fields": FIELDS, "totals": [{"count": count}]}
    desk.write(q__json={"domain": domain, "queries": [{"marginal": ["sex"]}]})
    assert any("so they say next to nothing" in note for note in plan(epsilon="0.01").notes) is warned
    assert not any("so they say next to nothing" in note for note in plan(epsilon="10").notes)


@pytest.mark.parametrize(("n", "warned"), [(20, True), (10**6, False)])
def test_noise_above_the_declared_number_of_records_is_warned_of(desk, n, warned):
    notes = plan(epsilon="0.01", neighbours="replace", n=n).notes
    assert any("so they say next to nothing" in note for note in notes) is warned


@pytest.mark.parametrize(("delta", "warned"), [("1e-9", False), ("0.0001", False), ("0.00011", True), ("0.5", True)])
def test_a_delta_not_far_below_one_record_is_warned_of(desk, delta, warned):
    notes = plan(delta=delta, neighbours="replace", n=1000, accountant="zcdp").notes
    assert any("is not far below 1/n" in note for note in notes) is warned
