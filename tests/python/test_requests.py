"""One request, whether its options come from the command line or from Python."""

import pytest

import dpqr
from dpqr.python.release import release_request


def test_what_is_not_stated_keeps_its_default():
    made = release_request(("a.csv", "b.csv"), queries="q.json", eps=0.1, delta=None, max_cells=12, counts="n")
    assert (made.plan.epsilon, made.plan.delta, made.plan.neighbours) == ("0.1", None, "add-remove")
    assert (made.source.paths, made.source.count_column) == (("a.csv", "b.csv"), "n")
    assert (made.limits.cells, made.plan.cells) == (12, 12)
    assert made.payer is None


def test_a_plan_has_no_table():
    assert release_request(None, queries="q.json", eps=1).source.from_stdin


def test_what_has_no_effect_is_refused():
    with pytest.raises(dpqr.UsageFault, match="add --out DIR"):
        release_request("a.csv", queries="q.json", eps=1, synthetic="rows")
