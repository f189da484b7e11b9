"""What stages certify on public tables. Noise is public, so every run gives the same."""

import pytest
from support.staged_runs import CELLS, N, planned, stated

from dpqr.releases.forecast_error import likely_certificates, likely_words, simulate_tables
from dpqr.strategies.updates.perceptron import Perceptron


@pytest.mark.slow
def test_likely_is_far_below_certain_and_reached_on_every_table():
    plan = planned(update=Perceptron(), epsilon=10)
    tables = simulate_tables(plan.problem.domain, N, 3)[:2]
    found = likely_certificates(plan, tables)
    assert found[:1] == likely_certificates(plan, tables[:1])
    assert 0 < max(found) < float(plan.stop.certain)
    words = likely_words(plan, tables)
    assert words.startswith("likely certificate: alpha 0.0")
    assert words.endswith(f"in 2 simulated runs at epsilon 10; certain: {float(plan.stop.certain):.4g}")


def test_nothing_certain_is_said_so():
    plan = planned(stated(n=N // 50))
    assert plan.stop.certain is None
    assert plan.problem.domain.size == CELLS
    words = likely_words(plan, simulate_tables(plan.problem.domain, N // 50, 3)[:1])
    assert words.endswith("certain: none below 1")
