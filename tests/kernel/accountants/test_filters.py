import random
from dataclasses import dataclass
from fractions import Fraction

import pytest
from support.cases import in_one_test

from dpqr.kernel.accountants.accountant import (
    EveryFilter,
    PlanFilter,
    Portion,
    SumFilter,
    bound_across_runs,
    one_after_another,
    pure_losses,
    require_affordable,
    require_pure,
    weigh,
)
from dpqr.kernel.accountants.known import PREDICTING
from dpqr.kernel.accountants.loss_laws import dominating_pair
from dpqr.kernel.accountants.losses import concentrated_rho, pure_epsilon
from dpqr.kernel.accountants.sums import Basic, total_rho
from dpqr.kernel.budget import Cost, PrivacyBudget
from dpqr.kernel.currency import currency
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    LeftOutEvent,
    PermuteAndFlipEvent,
    RoundedGaussianEvent,
)
from dpqr.kernel.exact import ExactEvent
from dpqr.mechanisms.noisy_answers import DroppedRecordsMechanism


def laplace(epsilon):
    return DiscreteLaplaceEvent(sensitivity=1, scale=1 / Fraction(epsilon))


def choice(epsilon):
    return ExponentialEvent(epsilon=Fraction(epsilon))


def test_a_sum_reaches_its_limit_exactly():
    guard = SumFilter(limit=Fraction(1), cost=require_pure, unit="epsilon")
    for number in range(10):
        assert guard.charge(laplace("0.1")) == number
    with pytest.raises(BudgetRefused):
        guard.charge(choice(Fraction(1, 10**40)))
    assert guard.charge(choice(0)) == 10


def test_a_plan_admits_each_event_once_in_any_order():
    plan = ((laplace("0.1"), 3), (choice("0.2"), 2), (laplace("0.5"), 1))
    draws = [event for event, count in plan for _ in range(count)]
    for seed in range(20):
        guard = PlanFilter(planned=plan)
        order = random.Random(seed).sample(draws, len(draws))
        assert [guard.charge(event) for event in order] == list(range(6))
        for event, _ in plan:
            with pytest.raises(BudgetRefused):
                guard.charge(event)


def test_a_cheaper_event_takes_the_cheapest_place_that_covers_it():
    guard = PlanFilter(planned=((laplace(3), 1), (laplace(1), 1), (laplace(2), 1)))
    guard.charge(laplace("1.5"))
    guard.charge(laplace(3))
    with pytest.raises(BudgetRefused, match="none above epsilon 1;"):
        guard.charge(laplace(2))
    guard.charge(laplace("0.5"))
    with pytest.raises(BudgetRefused, match="of 3 planned draws of its kind 3 are spent and 0 left;"):
        guard.charge(laplace("0.001"))


def test_the_same_event_planned_in_two_places_counts_twice():
    guard = PlanFilter(planned=((laplace(1), 1), (choice(1), 1), (laplace(1), 1)))
    assert [guard.charge(laplace(1)) for _ in range(2)] == [0, 1]
    with pytest.raises(BudgetRefused):
        guard.charge(laplace(1))


@in_one_test("event", [choice("0.01"), PermuteAndFlipEvent(epsilon=Fraction(1, 100)), laplace(Fraction(101, 100))])
def test_another_kind_or_a_dearer_event_is_not_in_the_plan(event):
    guard = PlanFilter(planned=((laplace(1), 5), (choice(9), 0)))
    with pytest.raises(BudgetRefused, match="which the plan lacks"):
        guard.charge(event)
    assert guard.charge(laplace(1)) == 0


def test_gaussian_noise_has_no_place_in_either():
    gaussian = DiscreteGaussianEvent(squared_sensitivity=0, variance=Fraction(1))
    for guard in (
        SumFilter(limit=Fraction(1), cost=require_pure, unit="epsilon"),
        PlanFilter(planned=((laplace(1), 5),)),
    ):
        with pytest.raises(BudgetRefused, match="Gaussian noise has no pure epsilon"):
            guard.charge(gaussian)
    with pytest.raises(BudgetRefused, match="Gaussian"):
        PlanFilter(planned=((gaussian, 1),))


def test_rounded_gaussian_noise_takes_the_places_of_its_own_kind():
    def rounded(squared):
        return RoundedGaussianEvent(squared_sensitivity=squared, variance=Fraction(1, 2))

    guard = PlanFilter(planned=((rounded(2), 1), (rounded(5), 1), (laplace(9), 1)))
    with pytest.raises(BudgetRefused, match=r"asks rho 6, .* of 2 planned draws .* none above rho 5;"):
        guard.charge(rounded(6))
    assert [guard.charge(rounded(3)), guard.charge(rounded(2))] == [0, 1]
    for event in (rounded(1), DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(9))):
        with pytest.raises(BudgetRefused):
            guard.charge(event)
    assert guard.charge(laplace(9)) == 2


def test_many_different_costs_find_their_places():
    costs = [Fraction(1, number) for number in range(1, 2001)]
    guard = PlanFilter(planned=tuple((choice(cost), 1) for cost in costs))
    for cost in random.Random(3).sample(costs, len(costs)):
        guard.charge(choice(cost))
    with pytest.raises(BudgetRefused):
        guard.charge(choice(Fraction(1, 2000)))


def shift(sensitivity, epsilon, coordinates=1):
    return DiscreteLaplaceEvent(
        sensitivity=sensitivity, scale=Fraction(sensitivity) / Fraction(epsilon), coordinates=coordinates
    )


def out(event):
    return LeftOutEvent(event=event)


def admits(planned, asked):
    try:
        PlanFilter(planned=((planned, 1),)).charge(asked)
    except BudgetRefused:
        return False
    return True


def test_noise_on_one_integer_takes_places_of_its_own_sensitivity_or_of_any_draw():
    """At one epsilon a larger shift has another curve of losses, and several integers yet another; and a selection
    takes no place of noise, nor noise one of a selection."""
    assert admits(shift(3, 1), shift(3, 1))
    assert admits(shift(3, 1), shift(3, "0.5"))
    assert admits(shift(3, 1, None), shift(3, 1))
    assert admits(shift(3, 1, None), shift(5, 1))
    for other in (shift(2, 1), shift(4, 1), shift(3, 1, None), shift(3, 1, 2), shift(1, 1), choice(1), laplace(1)):
        assert not admits(shift(3, 1), other)
    every = [laplace(1), choice(1), PermuteAndFlipEvent(epsilon=Fraction(1))]
    for planned in every:
        assert [admits(planned, asked) for asked in every] == [planned == asked for asked in every]


def test_draws_from_left_out_records_have_places_of_their_own():
    for draw in (laplace(1), choice(1), shift(3, 1)):
        assert admits(out(draw), out(draw))
        assert not admits(draw, out(draw))
        assert not admits(out(draw), draw)


def test_either_group_reaches_the_limit_of_a_sum_by_itself():
    guard = SumFilter(limit=Fraction(1), cost=require_pure, unit="epsilon")
    order = [laplace("0.5"), out(laplace("0.5")), out(laplace("0.5")), laplace("0.5")]
    assert [guard.charge(event) for event in order] == [0, 1, 2, 3]
    for event in (laplace(Fraction(1, 10**9)), out(laplace(Fraction(1, 10**9)))):
        with pytest.raises(BudgetRefused):
            guard.charge(event)


def test_a_sum_refuses_the_one_draw_that_would_pass_its_limit():
    for event in (laplace(Fraction(10**9 + 1, 10**9)), out(laplace(2))):
        with pytest.raises(BudgetRefused):
            SumFilter(limit=Fraction(1), cost=require_pure, unit="epsilon").charge(event)


@in_one_test(
    ("left_out", "covered"),
    [
        (((laplace(1), 1),), True),
        (((laplace("0.5"), 1),), True),
        (((laplace("1.5"), 1),), False),
        (((laplace(1), 2),), False),
        (((laplace(1), 1), (laplace("0.5"), 1)), False),
        (((choice("0.1"), 1),), False),
    ],
)
def test_beside_other_runs_left_out_draws_count_unless_one_kept_draw_covers_the_only_one(left_out, covered):
    kept = ((laplace(1), 2),)
    together = (*kept, *((out(event), count) for event, count in left_out))
    found = dict(bound_across_runs(together))
    added = {} if covered else dict(left_out)
    assert sum(found.values()) == 2 + sum(added.values())
    for event, count in added.items():
        assert found[event] == count + (2 if event == laplace(1) else 0)
    assert bound_across_runs(kept) == kept


BUDGET = PrivacyBudget.parse("1")


def test_a_plan_at_the_budget_is_affordable_and_one_above_is_not():
    portions = [Portion(share=Fraction(1, 2), count=3), Portion(share=Fraction(2), count=1)]
    assert weigh(Basic(), BUDGET, portions) == Fraction(7, 2)
    require_affordable(Basic(), BUDGET, ((ExponentialEvent(epsilon=Fraction(1, 3)), 3),))
    with pytest.raises(BudgetRefused):
        require_affordable(Basic(), BUDGET, ((ExponentialEvent(epsilon=Fraction(10**30 + 1, 3 * 10**30)), 3),))


HALF, THIRD = (ExponentialEvent(epsilon=Fraction(1, part)) for part in (2, 3))


@dataclass
class Told:
    calls: int = 0

    def charge(self, event):
        self.calls += 1
        return 77


def test_every_filter_is_asked_and_draws_are_numbered_from_zero():
    one, other = Told(), Told()
    guard = EveryFilter(filters=(one, other))
    assert [guard.charge(event) for event in (HALF, THIRD, HALF)] == [0, 1, 2]
    assert (one.calls, other.calls) == (3, 3)
    assert dict(guard.events) == {HALF: 2, THIRD: 1}


@in_one_test("strict_first", [True, False])
def test_one_refusal_is_enough(strict_first):
    strict, loose = currency("basic").guard(Cost(HALF.epsilon)), currency("basic").guard(Cost(Fraction(9)))
    guard = EveryFilter(filters=(strict, loose) if strict_first else (loose, strict))
    guard.charge(HALF)
    with pytest.raises(BudgetRefused):
        guard.charge(THIRD)
    assert guard.charged == [HALF]


# Draws from left-out records: every theorem and filter charges the larger of two groups, not nothing and not a sum.


DELTA = Fraction(1, 10**6)


KEPT = ((ExponentialEvent(epsilon=Fraction(1, 10)), 3), (laplace("0.2"), 2))
every_accountant = pytest.mark.parametrize("accountant", PREDICTING.values(), ids=PREDICTING)


@in_one_test("epsilon", ["0.01", "0.5", "3"])
@every_accountant
def test_the_larger_group_is_the_price(accountant, epsilon) -> None:
    alone = accountant.epsilon(KEPT, DELTA)
    count = accountant.epsilon(((laplace(epsilon), 2),), DELTA)
    together = accountant.epsilon(((out(laplace(epsilon)), 2), *KEPT), DELTA)
    assert together == max(alone, count)
    assert together < accountant.epsilon((*KEPT, (laplace(epsilon), 2)), DELTA)
    assert accountant.epsilon(((out(laplace(epsilon)), 2),), DELTA) == count


@every_accountant
def test_what_a_theorem_does_not_cover_it_does_not_cover_in_a_group(accountant) -> None:
    gaussian = DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(1000))
    covered = accountant.epsilon(((gaussian, 1),), DELTA) is not None
    assert (accountant.epsilon(((out(gaussian), 1), *KEPT), DELTA) is not None) == covered


@in_one_test("repeated", [out(laplace(1)), laplace(1)])
@every_accountant
def test_a_guard_admits_both_groups_and_neither_twice(accountant, repeated) -> None:
    guard = accountant.guard(PrivacyBudget(Fraction(8), DELTA), ((out(laplace(1)), 1), (laplace(1), 1)))
    guard.charge(out(laplace(1)))
    guard.charge(laplace(1))

    def again() -> None:
        for _ in range(1000):
            guard.charge(repeated)

    with pytest.raises(BudgetRefused):
        again()


@in_one_test("name", ["basic", "zcdp"])
def test_a_ledger_prices_runs_by_the_larger_group_and_adds_them_up(name) -> None:
    money = currency(name)
    first, second = ((out(laplace(2)), 1), (laplace(1), 1)), ((laplace(2), 1), (out(laplace(1)), 1))
    assert money.price(first).amount == money.price(second).amount == money.sums.loss(laplace(2))
    merged = one_after_another((*first, *second))
    assert dict(merged) == {laplace(1): 2, laplace(2): 2}
    assert money.price(merged).amount > money.price(first).amount + money.price(second).amount


def test_an_early_stop_settles_at_the_larger_group() -> None:
    money = currency("basic")
    assert money.price(((out(laplace("0.1")), 1), (laplace("0.01"), 1))).amount == Fraction(1, 10)
    assert total_rho(((out(laplace(2)), 1), (laplace(1), 1))) == 2


@in_one_test("price", [pure_epsilon, concentrated_rho, dominating_pair, lambda e: pure_losses(((e, 1),))])
def test_alone_it_has_no_price(price) -> None:
    """What looks at single events must not take it for nothing, nor for a draw beside the others."""
    with pytest.raises(BudgetRefused, match="LeftOutEvent has no price"):
        price(out(laplace(1)))


@in_one_test("wrapped", [out(laplace(1)), ExactEvent(), None, 1])
def test_only_a_draw_is_wrapped_and_once(wrapped) -> None:
    with pytest.raises(BudgetRefused, match="wraps one draw"):
        out(wrapped)


@every_accountant
def test_an_unknown_event_is_refused_in_either_group(accountant) -> None:
    with pytest.raises(BudgetRefused):
        accountant.epsilon(((out(laplace(1)), 1), (ExactEvent(), 1)), DELTA)


def test_the_mechanism_is_the_inner_one_under_that_event() -> None:
    class Inner:
        event = laplace(1)

        def sample(self, value, noise):
            return value, noise

    wrapped = DroppedRecordsMechanism(inner=Inner())
    assert wrapped.event == out(laplace(1))
    assert wrapped.sample(3, 4) == (3, 4)
    with pytest.raises(BudgetRefused, match="once"):
        _ = DroppedRecordsMechanism(inner=wrapped).event
