"""Oracles: no attempt learns anything for free; and a build with the refunds and the freedoms of before is caught."""

from __future__ import annotations

import pytest
from hostile.oracles.attempt import leak
from hostile.oracles.blind import blind
from hostile.oracles.limits import LIMITS
from hostile.oracles.outputs import OUTPUTS
from hostile.oracles.policies import POLICIES
from hostile.oracles.rows import FAULTY

ATTEMPTS = [*LIMITS, *POLICIES, *FAULTY, *OUTPUTS]
LEAST = 40


@pytest.fixture
def learnt(tmp_path, monkeypatch):
    """What an attempt learns, with its changes made."""
    monkeypatch.chdir(tmp_path)
    blind(monkeypatch)

    def learn(attempt):
        for target, value in attempt.changes:
            monkeypatch.setattr(target, value)
        return leak(attempt, tmp_path)

    return learn


@pytest.mark.parametrize("attempt", [pytest.param(each, id=each.name) for each in ATTEMPTS])
def test_nothing_is_learnt_for_free(learnt, attempt):
    assert learnt(attempt) is None


def test_there_are_enough_of_them():
    assert len({attempt.name for attempt in ATTEMPTS}) == len(ATTEMPTS) >= LEAST
