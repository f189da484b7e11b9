"""Oracles: no attempt learns anything for free; and a build with the refunds and the freedoms of before is caught."""

from __future__ import annotations

import pytest
from hostile.oracles.blind import blind
from hostile.oracles.limits import LIMITS
from hostile.oracles.mutants import freedoms, refunds
from hostile.oracles.outputs import OUTPUTS
from hostile.oracles.policies import POLICIES
from hostile.oracles.rows import FAULTY
from hostile.oracles.verdict import tried
from support.cases import thinned

from dpqr.kernel.values import replace

ATTEMPTS = [*LIMITS, *POLICIES, *FAULTY, *OUTPUTS]
LEAST, LEAST_CAUGHT = 40, 10
DEAR = ("schedule-", "learner-", "files-", "session-")
"""Attempts that run whole releases many times: in the slow part."""


@pytest.fixture
def trial(tmp_path, monkeypatch):
    """Makes an attempt."""
    blind(monkeypatch)

    def make(attempt):
        place = tmp_path / attempt.name
        place.mkdir()
        with pytest.MonkeyPatch.context() as changed:
            changed.chdir(place)
            for target, value in attempt.changes:
                changed.setattr(target, value)
            return tried(attempt, place)

    return make


def case(each):
    dear = each.name.startswith(DEAR) or "session" in each.name
    return pytest.param(each, id=each.name, marks=pytest.mark.slow if dear else ())


@pytest.mark.parametrize("attempt", thinned([case(each) for each in ATTEMPTS], 37))
def test_nothing_is_learnt_for_free(trial, attempt):
    made = trial(attempt)
    assert made.leak is None
    assert made.idle is None


def test_there_are_enough_of_them():
    assert len({attempt.name for attempt in ATTEMPTS}) == len(ATTEMPTS) >= LEAST


@pytest.mark.slow
def test_a_build_that_refunds_what_ends_before_its_first_draw_is_caught(trial, monkeypatch):
    refunds(monkeypatch)
    leaks = [trial(attempt).leak or "" for attempt in POLICIES if attempt.budget is not None]
    assert sum(leak.startswith("refunded") for leak in leaks) >= LEAST_CAUGHT


@pytest.mark.slow
def test_a_build_whose_policies_bind_nobody_is_caught(trial, monkeypatch):
    """By what differs between tables, not by whether there is one."""
    freedoms(monkeypatch)
    leaks = [trial(replace(attempt, unopened=False)).leak for attempt in LIMITS]
    assert len(list(filter(None, leaks))) >= LEAST_CAUGHT
