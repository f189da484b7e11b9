"""Audited releases by the schedules that `auto` takes: neighbours, columns, and what varies."""

from functools import cache

import pytest

from dpqr.audit.cases.releases import ABSENT, schedule_cases
from dpqr.kernel.noise.source import SeededNoise

CASES = {case.trial.plan.schedule.name: case for case in schedule_cases()}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@cache
def seen(schedule):
    return CASES[schedule].outcomes(0, 60, SeededNoise(4))


def test_both_schedules_pay_for_what_steers_them():
    assert set(CASES) == {"queries", "ordered"}
    assert all(case.trial.plan.schedule.adaptive and case.trial.plan.opening for case in CASES.values())


@every_case
def test_one_record_comes(case):
    one, two = (database.counts for database in case.pair)
    assert (two - one).tolist() == [1] + [0] * (one.size - 1)


@every_case
def test_every_run_shows_as_many_numbers_and_not_the_same_rounds(case):
    trial, found = case.trial, seen(case.trial.plan.schedule.name)
    rounds_planned, widest = trial.shown.args
    assert found.context.shape == (60, 3 * rounds_planned)
    assert found.measured.shape == (60, widest * rounds_planned)
    assert found.derived.shape == (60, trial.plan.problem.workload.rows)
    rounds = (found.context[:, ::3] != ABSENT).sum(axis=1)
    assert rounds.min() > 1
    assert rounds.max() <= rounds_planned
    assert len({tuple(row) for row in found.context.tolist()}) > 2


def test_the_total_tells_the_number_of_rounds_and_their_prices():
    context = seen("queries").context
    rounds = (context[:, ::3] != ABSENT).sum(axis=1)
    assert len(set(rounds.tolist())) > 1
    assert len(set(context[:, 5].tolist())) == len(set(rounds.tolist())), "the first price follows from the number"


def test_the_paid_count_is_a_coin():
    """Both faces come; one of chance 0.3 stays away with probability 0.7^60 < 1e-9."""
    second = seen("ordered").context[:, 5]
    assert 0 < (second == second.max()).mean() < 1, "a first look, at its small price, or boxes at once"


def test_claims():
    queries, ordered = CASES["queries"].trial, CASES["ordered"].trial
    assert queries.claim.epsilon == queries.plan.budget.epsilon == queries.plan.epsilon
    ((event, _),) = ordered.plan.events
    assert ordered.claim.rho == event.rho
