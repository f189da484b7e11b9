"""The loop in stages: what it certifies, what it spends, and where it ends. Noise is seeded."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import slow_but, thinned
from support.staged_runs import COUNTS, NET, PREDICATES, REPLACE, N, Watching, largest_error, planned, run, stated

from dpqr.kernel.accountants.accountant import EveryFilter, require_pure
from dpqr.kernel.accountants.sums import ZeroConcentrated
from dpqr.kernel.errors import BudgetRefused, InfeasiblePlan
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.strategies.checks import Gaussian
from dpqr.strategies.guard import make_filter
from dpqr.strategies.schedules.anytime import BeforeCount, EndState, InStage
from dpqr.strategies.transcript import Round
from dpqr.strategies.updates.least_squares import LeastSquares
from dpqr.strategies.updates.median import Median
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.strategies.updates.perceptron import Perceptron

ADDED = PrivacyUnit()
HIDDEN = PrivacyUnit(neighbours=Neighbours.REPLACE, drops=True)
RHO = {"epsilon": 1, "delta": Fraction(1, 10**9), "accountant": ZeroConcentrated()}


@pytest.mark.parametrize("update", thinned([MultiplicativeWeights(), Perceptron(), NET], 3))
@pytest.mark.parametrize(
    ("unit", "n", "most"),
    slow_but({0}, [(REPLACE, N, None), (ADDED, N, None), (ADDED, None, None), (HIDDEN, None, 2 * N)]),
)
def test_certificates_hold_and_the_best_one_is_of_what_is_released(update, unit, n, most):
    plan = planned(stated(unit=unit, n=n, most=most), update=update)
    watching = Watching()
    outcome = run(plan, observer=watching)
    bounds = outcome.transcript.bounds
    assert [bound for _, bound in watching.certificates] == list(bounds)
    assert [stage for stage, _ in watching.certificates] == list(range(1, len(bounds) + 1))
    assert largest_error(outcome.hypothesis) <= min(bounds) <= float(plan.stop.stages[0]) * (most or N)
    assert not outcome.exhausted


@pytest.mark.slow
@pytest.mark.parametrize("more", [{"check": Gaussian()}, {}])
def test_the_same_in_rho(more):
    plan = planned(**RHO, **more)
    outcome = run(plan)
    assert largest_error(outcome.hypothesis) <= min(outcome.transcript.bounds) < 0.03 * N
    assert plan.epsilon <= 1


@pytest.mark.slow
def test_what_is_certain_is_certified_and_mostly_far_more():
    plan = planned(update=Perceptron(), epsilon=10)
    assert min(run(plan).transcript.bounds) < plan.stop.certain * N / 5
    plan = planned(update=NET, epsilon=10)
    assert plan.stop.certain == plan.stop.stages[-1]
    assert min(run(plan).transcript.bounds) <= plan.stop.certain * N


def test_a_net_ends_the_stages_at_its_own_level():
    small, large = (planned(update=Median(members=members)).stop.stages[-1] for members in (2 * 10**4, 10**5))
    assert large < small
    plan = planned(update=NET)
    assert len(run(plan).transcript.bounds) == len(plan.stop.stages)


def test_a_stated_alpha_ends_the_run_and_leaves_the_rest_of_the_budget():
    plan = planned(stated(alpha=Fraction(1, 20)))
    assert plan.stop.stages[-1] == Fraction(1, 20)
    guard = EveryFilter(filters=(make_filter(plan),))
    outcome = run(plan, guard=guard)
    assert outcome.transcript.stopped
    assert min(outcome.transcript.bounds) <= N / 20
    assert total(guard) < 1


def test_without_it_the_next_round_does_not_fit():
    plan = planned()
    guard = EveryFilter(filters=(make_filter(plan),))
    outcome = run(plan, guard=guard)
    state = plan.schedule.start(plan)
    for finished in outcome.transcript.rounds:
        state = plan.schedule.after(state, finished)
    assert isinstance(state, InStage)
    spent = total(guard)
    assert plan.schedule.next(plan, state) is None
    assert state.spent == spent
    assert spent + sum(state.stages.prices(state.number, state.turn)) > 1


def total(guard):
    return sum(require_pure(event) * count for event, count in guard.events)


class Forgetful(InStage):
    """Counts the last stage's draws alone."""

    def after(self, finished):
        found = InStage.after(self, finished)
        forgotten = replace(found, spent=Fraction(0)) if finished.stopped and isinstance(found, InStage) else found
        return Forgetful(**{name: getattr(forgotten, name) for name in InStage.__struct_fields__})


def test_a_run_that_counts_its_last_stage_alone_is_stopped_by_the_filter(monkeypatch):
    plan = planned()
    first = plan.schedule.start(plan)
    forgetful = Forgetful(**{name: getattr(first, name) for name in InStage.__struct_fields__})
    monkeypatch.setattr(type(plan.schedule), "start", lambda self, plan: forgetful)
    with pytest.raises(BudgetRefused, match="asks epsilon"):
        run(plan)


def test_a_stage_starts_where_the_last_one_ended():
    """Else every stage would need the rounds of all before it."""
    transcript = run(planned()).transcript
    stops = [place for place, finished in enumerate(transcript.rounds) if finished.stopped]
    assert len(stops) > 10
    assert max(np.diff([-1, *stops])) <= 14


@pytest.mark.slow
def test_the_count_comes_first_and_scales_all_answers():
    plan = planned(stated(unit=ADDED, n=None))
    outcome = run(plan)
    (counted,) = outcome.transcript.rounds[0].measurement.values
    assert outcome.hypothesis.total == int(counted[0]) != COUNTS.sum()
    assert any("measured first" in note for note in plan.notes)
    assert plan.stop.certain is None


def test_a_lost_count_ends_the_run_and_a_lost_round_stays_paid():
    plan = planned(stated(unit=ADDED, n=None))
    lost = Round(choice=None, measurement=None, charges=(0,))
    state = plan.schedule.start(plan)
    assert isinstance(state, BeforeCount)
    assert state.after(lost) == EndState()
    assert EndState().step() is None
    known = planned().schedule.start(planned())
    after = known.after(lost)
    assert (after.turn, after.spent) == (2, sum(known.stages.prices(0, 1)))


@pytest.mark.slow
def test_a_declared_number_far_from_the_tables_ends_the_run_early():
    """Else the budget would be spent on rounds that cannot help."""
    plan = planned(stated(unit=ADDED, n=2 * N), epsilon=1000)
    outcome = run(plan)
    rounds = outcome.transcript.rounds
    last = len(rounds) - 1 - max((place for place, one in enumerate(rounds) if one.stopped), default=-1)
    assert last <= 1_000
    assert largest_error(outcome.hypothesis) <= min(outcome.transcript.bounds)


def test_an_empty_table_is_released_like_any_other():
    outcome = run(planned(stated(unit=ADDED, n=None)), counts=np.zeros(8, dtype=np.int64))
    assert outcome.hypothesis.total < 10**4


def test_refusals():
    with pytest.raises(InfeasiblePlan, match=r"certify nothing here.*use --schedule rounds"):
        planned(stated(n=20))
    with pytest.raises(InfeasiblePlan, match=r"--alpha 1e-09: the smallest that .* can try is 0\.0"):
        planned(stated(alpha=Fraction(1, 10**9)))
    with pytest.raises(InfeasiblePlan, match=r"outside \[0, 1\]"):
        planned(stated(blocks=(replace(PREDICATES, scale=Fraction(2)),)))
    with pytest.raises(InfeasiblePlan, match="no proved mistake bound"):
        planned(update=LeastSquares())


def test_plan_on_paper():
    plan = planned()
    assert plan.schedule.adaptive
    assert [phase.noun for phase in plan.phases] == ["selection", "measurement", "search"]
    assert plan.rounds * (plan.price("selection").pure + plan.price("measurement").pure) == 1
    assert plan.stop.certain in plan.stop.stages
    assert plan.noise == float(plan.stop.paper)
    assert plan.promised == plan.stop.certain
    bought = planned(stated(unit=ADDED, n=None))
    draws = bought.rounds * (bought.price("selection").pure + bought.price("measurement").pure)
    assert draws + bought.price("opening").pure == 1
