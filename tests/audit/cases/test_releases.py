from fractions import Fraction
from functools import cache

import pytest

from dpqr.audit.cases.releases import (
    ABSENT,
    CELLS,
    DRAWS,
    RECORDS,
    WIDEST,
    Crash,
    Tape,
    partition_cases,
    release_cases,
    schedule_cases,
)
from dpqr.kernel.events import ExponentialEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours
from dpqr.releases.draws import RecordedDraw

CASES = {case.name: case for case in release_cases()}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@every_case
def test_one_record_comes_or_takes_the_place_of_another(case):
    one, two = (database.counts for database in case.pair)
    assert (one >= 0).all()
    moved = (two - one)[two != one].tolist()
    replaced = case.trial.plan.problem.unit.neighbours is Neighbours.REPLACE
    assert sorted(moved) == ([-1, 1] if replaced else [1])
    if replaced:
        assert one.sum() == two.sum() == case.trial.plan.problem.n


@every_case
def test_every_run_has_the_same_columns_and_at_most_the_planned_rounds(case):
    noise = SeededNoise(4)
    seen = case.outcomes(0, 60, noise)
    plan = case.trial.plan
    planned = len(plan.opening) + plan.rounds
    assert seen.context.shape == (60, 1 + planned)
    assert (seen.measured[:, 0] != ABSENT).all()
    assert seen.derived.shape[1] == plan.problem.workload.rows + 1


def test_the_stop_test_is_a_coin():
    """Both faces come; one of chance 1/8 stays away with probability (7/8)^200 < 1e-11."""
    for relation in ("replace", "add-remove"):
        case = CASES[f"release-theory-{relation}"]
        assert case.trial.plan.rounds in {2, 3}
        stopped_at_once = (case.outcomes(0, 200, SeededNoise(5)).context[:, 2] == ABSENT).mean()
        assert 0 < stopped_at_once < 1
        assert abs(int(case.pair[0].counts.sum()) - RECORDS) <= 1


def test_claims_are_the_plans_budgets():
    pure = CASES["release-rounds-basic-add-remove"].trial
    assert pure.claim.epsilon == pure.plan.budget.epsilon
    assert pure.claim.rho is None
    priced = CASES["release-rounds-zcdp-replace"].trial
    assert priced.claim.epsilon <= priced.plan.budget.epsilon
    assert priced.claim.rho > 0


def test_what_is_derived_follows_what_was_measured():
    case = CASES["release-rounds-zcdp-replace"]
    assert case.trial.run(Private(case.pair[0]), SeededNoise(6))[2][-1] == case.trial.plan.problem.n


EVENT = ExponentialEvent(epsilon=Fraction(1))


def drawn(tape, value):
    assert tape.past(EVENT, ()) is None
    tape.begin(EVENT, ())
    tape.record(value)


def test_what_was_recorded_is_read_again_and_what_a_crash_took_is_lost():
    tape = Tape(lost=1)
    drawn(tape, 7)
    with pytest.raises(Crash):
        drawn(tape, 8)
    tape.rewind()
    assert tape.past(EVENT, ()) == RecordedDraw(value=7)
    assert tape.past(EVENT, ()) == RecordedDraw(value=None)
    drawn(tape, 9)


def test_nothing_is_lost_without_a_crash():
    tape = Tape()
    drawn(tape, 7)
    drawn(tape, 8)
    tape.rewind()
    assert [tape.past(EVENT, ()), tape.past(EVENT, ()), tape.past(EVENT, ())] == [
        RecordedDraw(value=7),
        RecordedDraw(value=8),
        None,
    ]


# Audited releases by the schedules that `auto` takes: neighbours, columns, and what varies.

SCHEDULES = {case.trial.plan.schedule.name: case for case in schedule_cases()}
every_schedule = pytest.mark.parametrize("case", SCHEDULES.values(), ids=SCHEDULES)


@cache
def seen(schedule):
    return SCHEDULES[schedule].outcomes(0, 60, SeededNoise(4))


def test_both_schedules_pay_for_what_steers_them():
    assert set(SCHEDULES) == {"queries", "ordered"}
    assert all(case.trial.plan.schedule.adaptive and case.trial.plan.opening for case in SCHEDULES.values())


@every_schedule
def test_one_record_comes(case):
    one, two = (database.counts for database in case.pair)
    assert (two - one).tolist() == [1] + [0] * (one.size - 1)


@every_schedule
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
    queries, ordered = SCHEDULES["queries"].trial, SCHEDULES["ordered"].trial
    assert queries.claim.epsilon == queries.plan.budget.epsilon == queries.plan.epsilon
    ((event, _),) = ordered.plan.events
    assert ordered.claim.rho == event.rho


# Audited releases in buckets: neighbours, columns, and what varies.

(CASE,) = partition_cases()


def test_one_record_comes_to_the_partition() -> None:
    one, two = (database.counts for database in CASE.pair)
    assert (two - one).tolist() == [1] + [0] * (CELLS - 1)


def test_buckets_measurements_and_answers_are_looked_at() -> None:
    seen = CASE.outcomes(0, 60, SeededNoise(4))
    plan = CASE.trial.plan
    assert len(plan.named("stage")) == 3
    assert seen.context.shape == (60, CELLS)
    assert len({tuple(buckets) for buckets in seen.context.tolist()}) > 3
    assert seen.measured.shape == (60, DRAWS * WIDEST)
    assert (seen.measured[:, 0] != ABSENT).all()
    assert seen.derived.shape == (60, CELLS)


def test_the_claim_is_the_plans_budget() -> None:
    assert CASE.trial.claim.epsilon == CASE.trial.plan.budget.epsilon == CASE.trial.plan.epsilon
