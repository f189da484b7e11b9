from fractions import Fraction
from functools import cache

import pytest
from support.cases import thinned

from dpqr.audit.cases.releases import ABSENT, CELLS, DRAWS, RECORDS, WIDEST, Crash, Tape
from dpqr.audit.cases.selections import MOST as MOST_DRAWN
from dpqr.audit.run import cases_by_name
from dpqr.kernel.events import ExponentialEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.releases.draws import RecordedDraw

KNOWN = cases_by_name()
PLANNED = ("release-rounds-", "release-theory-", "release-stages-", "release-resumed", "release-certified")
CASES = {name: case for name, case in KNOWN.items() if name.startswith(PLANNED)}
every_case = pytest.mark.parametrize("case", thinned(CASES.values(), 9), ids=CASES.keys())


@every_case
def test_every_run_has_the_same_columns_and_at_most_the_planned_rounds(case):
    noise = SeededNoise(4)
    seen = case.outcomes(0, 15, noise)
    plan = case.trial.plan
    planned = len(plan.opening) + plan.rounds
    assert seen.context.shape == (15, 1 + planned)
    assert (seen.measured[:, 0] != ABSENT).all()
    assert seen.derived.shape[1] == plan.problem.workload.rows + 1


@pytest.mark.slow
def test_the_stop_test_is_a_coin():
    """Both faces come; one of chance 1/8 stays away with probability (7/8)^200 < 1e-11."""
    for relation in ("replace", "add-remove"):
        case = CASES[f"release-theory-{relation}"]
        assert case.trial.plan.rounds in {2, 3}
        stopped_at_once = (case.outcomes(0, 200, SeededNoise(5)).context[:, 2] == ABSENT).mean()
        assert 0 < stopped_at_once < 1
        assert abs(int(case.pair[0].counts.sum()) - RECORDS) <= 1


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

BY_SCHEDULE = [KNOWN[f"release-{name}"] for name in ("queries-basic-add-remove", "ordered-zcdp-add-remove")]
SCHEDULES = {case.trial.plan.schedule.name: case for case in BY_SCHEDULE}
every_schedule = pytest.mark.parametrize("case", SCHEDULES.values(), ids=SCHEDULES)


@cache
def seen(schedule):
    return SCHEDULES[schedule].outcomes(0, 60, SeededNoise(4))


def test_both_schedules_pay_for_what_steers_them():
    assert set(SCHEDULES) == {"queries", "ordered"}
    assert all(case.trial.plan.schedule.adaptive and case.trial.plan.opening for case in SCHEDULES.values())


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_total_tells_the_number_of_rounds_and_their_prices():
    context = seen("queries").context
    rounds = (context[:, ::3] != ABSENT).sum(axis=1)
    assert len(set(rounds.tolist())) > 1
    assert len(set(context[:, 5].tolist())) == len(set(rounds.tolist())), "the first price follows from the number"


@pytest.mark.slow
def test_the_paid_count_is_a_coin():
    """Both faces come; one of chance 0.3 stays away with probability 0.7^60 < 1e-9."""
    second = seen("ordered").context[:, 5]
    assert 0 < (second == second.max()).mean() < 1, "a first look, at its small price, or boxes at once"


# Audited releases in buckets: neighbours, columns, and what varies.

CASE = KNOWN["release-partition-basic-add-remove"]


@pytest.mark.slow
def test_buckets_measurements_and_answers_are_looked_at() -> None:
    seen = CASE.outcomes(0, 60, SeededNoise(4))
    plan = CASE.trial.plan
    assert len(plan.named("stage")) == 3
    assert seen.context.shape == (60, CELLS)
    assert len({tuple(buckets) for buckets in seen.context.tolist()}) > 3
    assert seen.measured.shape == (60, DRAWS * WIDEST)
    assert (seen.measured[:, 0] != ABSENT).all()
    assert seen.derived.shape == (60, CELLS)


# Searches among marginals.


@pytest.mark.slow
def test_the_count_leads_to_one_table_and_to_one_way_marginals():
    seen = KNOWN["release-counted-basic-add-remove"].outcomes(0, 25, SeededNoise(4))
    assert {15, 1} == set(seen.context[:, 0].tolist())


@pytest.mark.slow
def test_the_error_of_one_way_marginals_leads_to_all_pairs_and_to_a_search():
    """Three columns, the error, and three pairs; a search makes choices between."""
    seen = KNOWN["release-dependence-zcdp-replace"].outcomes(0, 25, SeededNoise(4))
    assert (seen.context[:, 0] == 1).all()
    rounds = seen.context[:, 1].tolist()
    assert min(rounds) == 7 < max(rounds)


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for name, case in KNOWN.items() if name.startswith("release-search-")])
def test_what_a_run_draws_follows_what_it_released(case):
    seen = case.outcomes(0, 25, SeededNoise(4))
    assert seen.context.shape == (25, 2 * MOST_DRAWN)
    draws = (seen.context[:, ::2] != ABSENT).sum(axis=1)
    assert 6 < draws.max() < MOST_DRAWN
    pairs = seen.context[:, ::2][:, 3:]
    assert ((pairs == 3).sum(axis=1) == 2).any(), "the two columns that agree are chosen, and measured again"
    assert len({tuple(row) for row in seen.context.tolist()}) > 1
