"""Costs in epsilon and delta: what a run's own accountant proves for its events, and what comes back."""

import random
from fractions import Fraction

import pytest
from support.ledger_jobs import draws

from dpqr.kernel import currency as pair_currency
from dpqr.kernel.accountants.known import PREDICTING
from dpqr.kernel.budget import PURE, Cost, Pricing, PrivacyBudget
from dpqr.kernel.currency import PAIR, ROUNDING
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    RhoSumEvent,
    RoundedGaussianEvent,
)

MICRO = Fraction(1, 10**6)
PURE_EVENTS = ((ExponentialEvent(epsilon=Fraction(1, 10)), 20),)
GAUSSIAN = ((DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(100)), 4),)
ROUNDED = ((RoundedGaussianEvent(squared_sensitivity=1, variance=Fraction(100)), 4),)
RUNS = [
    ("basic", PURE_EVENTS),
    ("advanced", PURE_EVENTS),
    ("optimal", PURE_EVENTS),
    ("zcdp", PURE_EVENTS),
    ("zcdp", GAUSSIAN),
    ("zcdp", ((RhoSumEvent(rho=Fraction(1, 50)), 1),)),
    ("pld", PURE_EVENTS),
    ("analytic", ROUNDED),
]


def by(accountant, delta=MICRO):
    return Pricing(accountant=accountant, delta=delta)


@pytest.mark.parametrize(("accountant", "events"), RUNS)
def test_a_run_costs_what_its_own_accountant_proves_and_its_delta(accountant, events):
    delta = Fraction(0) if accountant == "basic" else MICRO
    assert PAIR.price(events, by(accountant)) == Cost(PREDICTING[accountant].epsilon(events, delta), delta)


@pytest.mark.parametrize(
    ("pricing", "events", "said"),
    [
        (PURE, GAUSSIAN, "basic accountant has no price"),
        (by("pld"), GAUSSIAN, "pld accountant has no price"),
        (by("analytic"), GAUSSIAN, "analytic accountant has no price"),
        (by("zcdp", Fraction(0)), GAUSSIAN, "needs a delta"),
        (by("advanced", Fraction(0)), PURE_EVENTS, "needs a delta"),
        (by("somebody's"), PURE_EVENTS, "takes dpqr's own accountants only"),
    ],
)
def test_what_nobody_proves_is_refused(pricing, events, said):
    with pytest.raises(BudgetRefused, match=said):
        PAIR.price(events, pricing)


@pytest.mark.parametrize(("accountant", "events"), RUNS)
def test_only_pure_sums_give_back_what_was_not_drawn(accountant, events):
    paid = PAIR.price(events, by(accountant))
    half = tuple((event, count // 2) for event, count in events if count > 1) or events
    back = PAIR.settled(paid, half, by(accountant))
    assert back == (Cost(paid.amount / 2) if accountant == "basic" else paid)
    assert PAIR.settled(paid, (), by(accountant)) == 0


@pytest.mark.parametrize(("accountant", "events"), RUNS)
def test_a_guard_admits_the_events_that_were_paid_for_and_no_other_dearer_or_repeated_one(accountant, events):
    guard = PAIR.guard(PAIR.price(events, by(accountant)), events, by(accountant))
    with pytest.raises(BudgetRefused):
        guard.charge(ExponentialEvent(epsilon=Fraction(100)))
    for event, count in events:
        for _ in range(count):
            guard.charge(event)
    for other in (events[0][0], DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(10**6))):
        with pytest.raises(BudgetRefused):
            guard.charge(other)


def test_the_largest_request_fits_by_any_accountant():
    """A plan within (eps, delta) costs at most eps by its own accountant, and that delta or none."""
    moments = random.Random(0)
    for _ in range(50):
        largest = Cost(Fraction(moments.randrange(1, 10**12), 10**10), Fraction(moments.randrange(1, 10**9), 10**15))
        words = PAIR.request(largest, Fraction(1, 2)).split()
        asked = PrivacyBudget.parse(words[1], words[3])
        assert Cost(asked.epsilon, asked.delta) <= largest
        assert asked.epsilon >= largest.amount * (1 - Fraction(1, 10**5))


def test_without_a_delta_left_a_pure_request_fits():
    assert PAIR.request(Cost(Fraction(1, 3)), MICRO) == "--eps 0.333333"
    assert PAIR.request(Cost(Fraction(1), Fraction(1, 10**40)), MICRO) == "--eps 1"
    assert PAIR.request(Cost(Fraction(1, 10**10), MICRO), MICRO) is None
    assert PAIR.request(Cost(Fraction(0), MICRO), MICRO) is None


def test_the_limit_is_the_budget_and_what_was_spent_is_an_epsilon_at_any_delta_from_its_own_on():
    budget, spent = PrivacyBudget(Fraction(5), MICRO), Cost(Fraction(2), MICRO)
    assert PAIR.covers(budget, PAIR.limit(budget))
    for above in (Cost(Fraction(5), 2 * MICRO), Cost(Fraction(6))):
        assert not PAIR.covers(budget, above)
    assert [PAIR.epsilon(spent, delta) for delta in (MICRO, 2 * MICRO, MICRO / 2)] == [2, 2, None]


def test_a_price_may_differ_by_rounding_and_no_more():
    cost = Cost(Fraction(1), MICRO)
    assert PAIR.proves(cost, Cost(ROUNDING, MICRO))
    assert not PAIR.proves(cost, Cost(ROUNDING + Fraction(1, 10**12), MICRO))
    assert not PAIR.proves(cost, Cost(Fraction(1), MICRO * ROUNDING))


def test_one_draw_is_what_its_pair_says():
    """The worst (epsilon, delta) there is, drawn twice: never beyond the sums (basic composition, by enumeration)."""
    epsilon, delta = 0.5, 0.125
    # Two outcomes that give the neighbour away with probability delta, and randomised response otherwise.
    growth = 2.718281828459045**epsilon
    one = {"away": delta, "yes": (1 - delta) * growth / (1 + growth), "no": (1 - delta) / (1 + growth), "home": 0.0}
    other = {"away": 0.0, "yes": one["no"], "no": one["yes"], "home": delta}
    both = [(one[a] * one[b], other[a] * other[b]) for a in one for b in one]
    excess = sum(max(0.0, p - 2.718281828459045 ** (2 * epsilon) * q) for p, q in both)
    assert delta < excess <= 2 * delta


def test_installed_is_asked_of_pld_alone(monkeypatch):
    monkeypatch.setattr(pair_currency, "find_spec", lambda _: None)
    assert [name for name in PREDICTING if not pair_currency.is_installed(name)] == ["pld"]


def test_a_pure_run_may_draw_otherwise_than_planned_within_its_sum():
    """The draw is the filter's unit, as in a ledger of epsilon: any pure draws, whatever they are."""
    guard = PAIR.guard(Cost(Fraction(1)), draws("1/2", 2))
    ((quarter, _),), ((other, _),) = draws("1/4"), ((DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(2)), 1),)
    for event in (quarter, other, quarter):
        guard.charge(event)
    with pytest.raises(BudgetRefused):
        guard.charge(quarter)
