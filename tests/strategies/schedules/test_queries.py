"""Rounds of single queries: prices, the number of rounds, what is charged, and what comes of it."""

from fractions import Fraction

import numpy as np
import pytest
from support import staged_runs
from support.cases import in_one_test, slow_but
from support.small_universes import domain, marginal

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.currency import currency
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.releases.result import assemble
from dpqr.strategies import candidates as candidates_module
from dpqr.strategies.checks import Laplace
from dpqr.strategies.distinguishers import Exponential, PermuteAndFlip
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.rounds import FEWEST, MOST, Queries, default_query_rounds
from dpqr.strategies.updates.maximum_entropy import PiecewiseWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.ranges import Ranges
from dpqr.workload.workload import Workload

SHAPE = (300, 2)
CDF = QueryBlock(name="cdf", factors=(Factor(axes=(0,), sizes=(300,), matrix=Prefix(300)),))
SEX = marginal((1,), SHAPE, name="sex")
COUNTS = np.arange(600).reshape(SHAPE) % 50
N = int(COUNTS.sum())


def planned(
    rounds=None,
    epsilon="1",
    delta="0",
    accountant="basic",
    blocks=(CDF, SEX),
    distinguisher=PermuteAndFlip(),  # noqa: B008
    **more,
):
    settings = {"unit": PrivacyUnit()} | more
    problem = Problem(domain=domain(SHAPE), workload=Workload(blocks), **settings)
    roles = Roles(
        distinguisher=distinguisher, check=Laplace(), update=PiecewiseWeights(), accountant=ACCOUNTANTS[accountant]
    )
    return Queries(rounds=rounds).plan(problem, PrivacyBudget.parse(epsilon, delta), roles)


class Counted:
    """A filter that keeps what was charged."""

    def __init__(self, plan):
        self.guard, self.events = make_filter(plan), []

    def charge(self, event):
        self.events.append((event, 1))
        return self.guard.charge(event)


def run(plan, seed=1):
    guard = Counted(plan)
    return staged_runs.run(plan, seed=seed, counts=COUNTS, guard=guard), guard


def test_rounds_follow_the_signal() -> None:
    told = [default_query_rounds(n, Fraction(1)) for n in (0, 1, 100, 1000, 10**5, 10**7, 10**9)]
    assert told == [2, 2, 4, 8, 60, 140, 140]
    assert default_query_rounds(10**5, Fraction(1, 100)) == 8


def test_a_public_or_declared_number_of_records_fixes_them() -> None:
    public = planned(unit=PrivacyUnit(neighbours=Neighbours.REPLACE), n=1000)
    assert (public.rounds, public.opening) == (8, ())
    declared = planned(n=1000)
    assert (declared.rounds, len(declared.opening)) == (8, 1)
    assert planned(rounds=5).rounds == 5
    assert (Queries(rounds=5).adaptive, Queries().adaptive) == (False, True)


@in_one_test(("accountant", "delta"), [("basic", "0"), ("zcdp", "1e-9")])
def test_a_noisy_total_sets_the_rounds_and_the_whole_stays_within_what_was_reserved(accountant, delta) -> None:
    plan = planned(accountant=accountant, delta=delta)
    assert plan.rounds == (FEWEST if accountant == "basic" else MOST)
    outcome, guard = run(plan)
    measured_total = int(outcome.transcript.rounds[0].measurement.values[0][0])
    assert len(outcome.transcript.rounds) == 1 + default_query_rounds(measured_total, Fraction(1))
    for ledger in ("basic", "zcdp"):
        reserved, charged = (currency(ledger).price(tuple(events)) for events in (plan.events, guard.events))
        assert charged <= reserved
    own = currency(accountant)
    assert own.price(tuple(guard.events)).amount > own.price(plan.events).amount * (1 - Fraction(1, 10**9))


def test_the_budget_is_spent_to_the_last_digit_by_fixed_rounds() -> None:
    plan = planned(rounds=7)
    assert plan.epsilon == 1
    _, guard = run(plan)
    assert sum(event.epsilon for event, _ in guard.events[1::2]) + plan.price("opening").pure < 1
    assert currency("basic").price(tuple(guard.events)) == 1


def test_single_answers_reach_the_release_and_the_fit_follows_them() -> None:
    plan = planned(rounds=40, epsilon="20")
    outcome, _ = run(plan)
    release = assemble(plan, outcome, {}, private=False)
    cdf, sex = release.answers
    truth = CDF.answer(DenseHistogram(COUNTS))
    measured = np.isfinite(cdf.noisy.values)
    assert 0 < measured.sum() + np.isfinite(sex.noisy.values).sum() <= 40
    assert np.abs(cdf.noisy.values[measured] - truth[measured]).max() < 200
    assert np.abs(cdf.estimate - truth).max() < 0.05 * N


@pytest.mark.parametrize(("accountant", "delta"), slow_but({0}, [("basic", "0"), ("zcdp", "1e-9")]))
def test_searched_selections_are_charged_and_fitted_like_others(accountant, delta, monkeypatch) -> None:
    """The plan is blind to how a selection is worked out, and so is what it costs."""
    generator = np.random.default_rng(2)
    ends = np.sort(generator.integers(0, 301, (2, 900)), axis=0)
    factors = (Factor(axes=(0,), sizes=(300,), matrix=Ranges(*ends, 300)),)
    blocks = (QueryBlock(name="ranges", factors=factors, rowwise=True), CDF, QueryBlock(name="total"))
    distinguisher = Exponential() if accountant == "zcdp" else PermuteAndFlip()
    charged = []
    for fewest in (1, 2**62):
        monkeypatch.setattr(candidates_module, "FEWEST_SEARCHED", fewest)
        candidates_module._index.cache_clear()
        plan = planned(
            rounds=12, epsilon="20", accountant=accountant, delta=delta, blocks=blocks, distinguisher=distinguisher
        )
        outcome, guard = run(plan)
        charged.append(guard.events)
        ranges = assemble(plan, outcome, {}, private=False).answers[0]
        assert np.abs(ranges.estimate - blocks[0].answer(DenseHistogram(COUNTS))).max() < 0.1 * N
        assert (candidates_module._index(blocks) is not None) == (fewest == 1)
    candidates_module._index.cache_clear()
    assert charged[0] == charged[1]
