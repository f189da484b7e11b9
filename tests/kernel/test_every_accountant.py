"""The laws that every accountant obeys; a theorem that joins `known.PREDICTING` is held to them too."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import mpmath
import pytest
from support.cases import in_one_test, slow_one, thinned

from dpqr.kernel.accountants.accountant import FilterAccountant, Portion
from dpqr.kernel.accountants.known import ACCOUNTANTS, PREDICTING
from dpqr.kernel.budget import (
    LARGE,
    SMALLEST,
    Price,
    PrivacyBudget,
    pure_of_squared_mu,
    squared_mu_of_pure,
    squared_mu_of_ranged,
)
from dpqr.kernel.currency import CURRENCIES
from dpqr.kernel.errors import BudgetRefused, InfeasiblePlan
from dpqr.kernel.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    PermuteAndFlipEvent,
    RoundedGaussianEvent,
)
from dpqr.kernel.values import replace
from dpqr.strategies import known as strategies

BUDGETS = [
    ("1", "1e-9"),
    ("0.1", "1e-6"),
    ("10", "1e-9"),
    ("0.000000001", "1e-30"),
    ("1000", "1e-30"),
    ("1", "0.5"),
]
COUNTS = [(1, 1), (3, 4), (200, 150)]
DELTAS = [Fraction(1, 10**30), Fraction(1, 10**9), Fraction(1, 1000), Fraction(1, 2), Fraction(999, 1000)]


@dataclass(frozen=True)
class Stranger:
    epsilon: Fraction = Fraction(0)


@pytest.fixture(params=[slow_one(one) if name == "pld" else one for name, one in PREDICTING.items()], ids=PREDICTING)
def accountant(request):
    if request.param.name == "pld":
        pytest.importorskip("dp_accounting", reason="dp-accounting is not installed; it comes with dpqr[pld]")
    return request.param


@pytest.fixture(params=thinned(BUDGETS, 6), ids=lambda texts: "eps " + " delta ".join(texts))
def budget(request):
    return PrivacyBudget.parse(*request.param)


def portions_for(accountant, counts):
    """Draws as in `plan_of`: what a theorem may know of them when it cuts."""
    shares = (1, 1) if accountant.homogeneous else (1, 4)
    recorded = (lambda price: ExponentialEvent(epsilon=price.bounded_range), None)
    return [
        Portion(share=Fraction(share), count=count, event=event)
        for share, count, event in zip(shares, counts, recorded, strict=True)
    ]


@cache
def cut(accountant, budget, counts):
    """Prices of these draws, found once for all tests."""
    return accountant.cut(budget, portions_for(accountant, counts))


def plan_of(prices, portions, stretch=Fraction(1)):
    """A selection and a measurement at the prices, all prices multiplied by `stretch`."""
    grown = [price.times(stretch) for price in prices]
    select = ExponentialEvent(epsilon=grown[0].bounded_range)
    measure = DiscreteLaplaceEvent(sensitivity=3, scale=3 / grown[1].pure)
    return ((select, portions[0].count), (measure, portions[1].count))


def laplace(epsilon):
    return DiscreteLaplaceEvent(sensitivity=1, scale=1 / Fraction(epsilon))


@pytest.mark.parametrize("delta", DELTAS)
def test_nothing_costs_nothing_and_delta_zero_is_pure_privacy(accountant, delta):
    """No theorem may claim a finite epsilon at delta 0 below the sum."""
    assert accountant.epsilon((), delta) == accountant.epsilon((), Fraction(0)) == 0
    assert accountant.epsilon(((laplace(3), 0),), delta) == 0
    assert accountant.epsilon(((laplace(2), 3),), Fraction(0)) == (None if accountant.concentrated else 6)


@pytest.mark.parametrize("delta", thinned(DELTAS, 2))
def test_more_or_dearer_events_never_cost_less(accountant, delta):
    ladder = [
        ((laplace("0.1"), 5),),
        ((laplace("0.1"), 6),),
        ((laplace("0.1"), 6), (ExponentialEvent(epsilon=Fraction(1, 10)), 1)),
        ((laplace("0.1"), 6), (PermuteAndFlipEvent(epsilon=Fraction(1, 10)), 1)),
        ((laplace("0.1"), 60), (PermuteAndFlipEvent(epsilon=Fraction(1, 5)), 1)),
        ((laplace("0.2"), 60), (PermuteAndFlipEvent(epsilon=Fraction(1, 2)), 1)),
        ((laplace("2"), 600), (PermuteAndFlipEvent(epsilon=Fraction(1, 2)), 1)),
    ]
    prices = [accountant.epsilon(events, delta) for events in ladder]
    assert prices == sorted(prices)
    assert prices[-1] > 100


def test_a_larger_delta_never_costs_more(accountant):
    events = ((laplace("0.1"), 50), (ExponentialEvent(epsilon=Fraction(1, 5)), 20))
    prices = [accountant.epsilon(events, delta) for delta in DELTAS]
    assert prices == sorted(prices, reverse=True)


def test_the_price_is_exact_and_of_one_kind(accountant, budget):
    prices = cut(accountant, budget, (2, 2))
    for price in prices:
        figure = price.figure
        assert type(figure) is Fraction
        assert price == Price(**{price.currency: figure})


@pytest.mark.parametrize("counts", thinned(COUNTS, 3), ids=str)
def test_what_was_cut_stays_within_the_budget_and_nearly_fills_it(accountant, budget, counts):
    portions = portions_for(accountant, counts)
    prices = cut(accountant, budget, counts)
    assert accountant.epsilon(plan_of(prices, portions), budget.delta) <= budget.epsilon
    grown = plan_of(prices, portions, stretch=1 + Fraction(1, 10**6))
    assert accountant.epsilon(grown, budget.delta) > budget.epsilon


def test_prices_stand_in_the_ratio_of_the_shares_and_only_that_matters(accountant, budget):
    portions = portions_for(accountant, (7, 5))
    once = cut(accountant, budget, (7, 5))
    assert once[1].figure / once[0].figure == portions[1].share / portions[0].share
    assert accountant.cut(budget, [replace(portion, share=portion.share * 16) for portion in portions]) == once


@pytest.mark.parametrize("counts", thinned(COUNTS, 3), ids=str)
def test_the_guard_admits_exactly_the_plan(accountant, budget, counts):
    portions = portions_for(accountant, counts)
    plan = plan_of(cut(accountant, budget, counts), portions)
    draws = [event for event, count in reversed(plan) for _ in range(count)]
    guard = accountant.guard(budget, plan)
    assert [guard.charge(event) for event in draws] == list(range(len(draws)))
    for event, _ in plan:
        with pytest.raises(BudgetRefused):
            guard.charge(event)


def test_a_refused_charge_changes_nothing_and_names_what_is_asked_and_left_in_one_line(accountant):
    budget = PrivacyBudget.parse("1", "1e-9")
    portions = portions_for(accountant, (2, 2))
    prices = accountant.cut(budget, portions)
    plan = plan_of(prices, portions)
    guard = accountant.guard(budget, plan)
    for _ in range(3):
        for event in (laplace(100), Stranger()):
            with pytest.raises(BudgetRefused):
                guard.charge(event)
    draws = [event for event, count in plan for _ in range(count)]
    assert [guard.charge(event) for event in draws] == [0, 1, 2, 3]
    with pytest.raises(BudgetRefused) as refusal:
        guard.charge(plan[1][0])
    assert all(word in str(refusal.value) for word in ("asks", " left", "spent"))
    assert "\n" not in str(refusal.value)
    larger = [accountant.cut(PrivacyBudget.parse("2", delta), portions)[0].pure for delta in ("1e-9", "1e-3")]
    assert prices[0].pure < larger[0] <= larger[1], "prices are not shared between budgets"


def test_the_guard_refuses_a_plan_above_the_budget(accountant):
    portions = portions_for(accountant, (3, 3))
    plan = plan_of(accountant.cut(PrivacyBudget.parse("1.001", "1e-9"), portions), portions)
    with pytest.raises(BudgetRefused, match="above the reserved 1"):
        accountant.guard(PrivacyBudget.parse("1", "1e-9"), plan)


def test_unequal_shares_no_draws_and_unknown_events_are_refused(accountant, budget):
    unequal = [Portion(share=Fraction(1), count=2), Portion(share=Fraction(2), count=2)]
    if accountant.homogeneous:
        with pytest.raises(InfeasiblePlan, match="equal shares"):
            accountant.cut(budget, unequal)
    else:
        assert len(accountant.cut(budget, unequal)) == 2
    for portions in ([], [Portion(share=Fraction(1), count=0)]):
        with pytest.raises(InfeasiblePlan, match="no draws"):
            accountant.cut(budget, portions)
    for use in (
        lambda events: accountant.epsilon(events, budget.delta),
        lambda events: accountant.guard(budget, events),
    ):
        with pytest.raises(BudgetRefused, match="Stranger has no price"):
            use(((Stranger(), 1),))


def test_gaussian_noise_is_covered_by_rho_and_mu_only(accountant, budget):
    kind = RoundedGaussianEvent if accountant.name == "gdp" else DiscreteGaussianEvent
    gaussian = kind(squared_sensitivity=1, variance=Fraction(10**25))
    covered = accountant.epsilon(((gaussian, 1),), budget.delta) is not None
    assert covered == accountant.concentrated
    guard = accountant.guard(budget, ())
    if not accountant.concentrated:
        with pytest.raises(BudgetRefused, match="Gaussian"):
            guard.charge(gaussian)
        with pytest.raises(BudgetRefused, match="no price"):
            accountant.guard(budget, ((gaussian, 1),))


def test_without_a_delta_only_basic_composition_serves(accountant):
    pure = PrivacyBudget.parse("1")
    refusal = accountant.refusal(pure)
    assert (refusal is None) == (accountant.name == "basic")
    assert accountant.refusal(PrivacyBudget.parse("1", "1e-30")) is None
    if refusal:
        assert "\n" not in refusal
        assert "--delta" in refusal
        with pytest.raises(InfeasiblePlan, match="delta"):
            accountant.cut(pure, [Portion(share=Fraction(1), count=1)])
        with pytest.raises(BudgetRefused, match="delta"):
            accountant.guard(pure, ())


# What pure draws and draws of bounded range cost in mu^2, held against the trade-off curves themselves.

EPSILONS = [
    Fraction(1, 10**9),
    Fraction(1, 1000),
    Fraction(1, 3),
    Fraction(1),
    Fraction(6),
    Fraction(40),
    Fraction(1000),
]


@in_one_test("epsilon", EPSILONS)
def test_the_cost_is_the_least_one_rounded_up(epsilon):
    with mpmath.workdps(60):
        level = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        place = mpmath.sqrt(mpmath.mpf(squared_mu_of_pure(epsilon).numerator)) / mpmath.sqrt(
            squared_mu_of_pure(epsilon).denominator
        )
        reached = mpmath.log(mpmath.ncdf(place / 2) / mpmath.ncdf(-place / 2))
        assert 0 <= reached / level - 1 < mpmath.mpf(10) ** -25


@in_one_test("epsilon", EPSILONS)
def test_what_a_price_buys_costs_no_more(epsilon):
    bought = pure_of_squared_mu(epsilon)
    assert squared_mu_of_pure(bought) <= epsilon
    assert squared_mu_of_pure(bought * (1 + Fraction(1, 10**13))) > epsilon


def test_nothing_costs_nothing_and_no_epsilon_is_too_small_or_too_large():
    assert squared_mu_of_pure(Fraction(0)) == squared_mu_of_ranged(Fraction(0)) == 0
    assert 0 < squared_mu_of_pure(Fraction(1, 10**80)) == squared_mu_of_pure(SMALLEST) < Fraction(1, 10**39)
    assert squared_mu_of_pure(Fraction(10**80)) == 8 * 10**80
    assert Fraction(99, 100) < squared_mu_of_pure(Fraction(LARGE)) / (8 * LARGE) < 1


# Which theorems survive prices that are chosen on the way, told by their types.

FILTERS = {name: one for name, one in ACCOUNTANTS.items() if isinstance(one, FilterAccountant)}
BUDGET = PrivacyBudget.parse("1", "1e-6")


def test_sums_are_filters_and_nothing_else_is():
    assert list(FILTERS) == ["basic", "zcdp", "gdp"] == list(CURRENCIES)
    with pytest.raises(BudgetRefused, match="delta"):
        FILTERS["zcdp"].filter(PrivacyBudget.parse("1"))


def test_the_registry_of_strategies_offers_the_same_ones_and_pld_where_it_is_named_only():
    assert [entry.name for entry in strategies.ACCOUNTANTS.entries() if entry.origin == "dpqr"] == list(ACCOUNTANTS)
    assert all(strategies.ACCOUNTANTS.load(name) is type(one) for name, one in ACCOUNTANTS.items())
    assert all(one.name == name for name, one in PREDICTING.items())
    assert strategies.ACCOUNTANTS.offered == tuple(name for name in ACCOUNTANTS if name != "pld")
    assert strategies.CHECKS.offered == tuple(strategies.CHECKS.builtins)


@in_one_test(("share", "count"), [(Fraction(0), 1), (Fraction(-1), 1), (Fraction(1), -1)])
def test_a_portion_without_share_or_with_a_negative_count_is_refused(share, count):
    with pytest.raises(InfeasiblePlan):
        Portion(share=share, count=count)


@in_one_test("draws", [1, 3, 7, 1390, 2999])
def test_equal_parts_add_up_to_the_whole(draws):
    """With floats about half of these sums miss the whole."""
    budget = PrivacyBudget.parse("0.1")
    price = ACCOUNTANTS["basic"].cut(budget, [Portion(share=Fraction(1), count=2 * draws)])[0]
    event = ExponentialEvent(epsilon=price.pure)
    assert ACCOUNTANTS["basic"].epsilon(((event, 2 * draws),), Fraction(0)) == budget.epsilon


@in_one_test("accountant", FILTERS.values())
def test_a_filter_needs_no_plan_and_stops_where_its_theorem_does(accountant):
    """Prices halve and double on the way; what was admitted is within the budget, and one more like it is not."""
    made = accountant.filter(BUDGET)
    asked = [laplace(Fraction(1, part)) for part in (8, 16, 4, 64, 8)]
    admitted = []
    for event in asked * 40:
        try:
            made.charge(event)
        except BudgetRefused:
            continue
        admitted.append((event, 1))
    assert Fraction(95, 100) < accountant.epsilon(tuple(admitted), BUDGET.delta) <= 1
    with pytest.raises(BudgetRefused):
        made.charge(asked[0])
