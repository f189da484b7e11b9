"""Draws from left-out records: every theorem and filter charges the larger of two groups, not nothing and not a sum."""

from fractions import Fraction

import pytest

from dpqr.kernel.accountants.accountant import (
    one_after_another,
    pure_losses,
)
from dpqr.kernel.accountants.known import PREDICTING
from dpqr.kernel.accountants.loss_laws import dominating_pair
from dpqr.kernel.accountants.losses import concentrated_rho, pure_epsilon
from dpqr.kernel.accountants.sums import total_rho
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.currency import currency
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, ExponentialEvent, LeftOutEvent
from dpqr.kernel.exact import ExactEvent
from dpqr.mechanisms.noisy_answers import DroppedRecordsMechanism

DELTA = Fraction(1, 10**6)


def laplace(epsilon):
    return DiscreteLaplaceEvent(sensitivity=1, scale=1 / Fraction(epsilon))


def out(event):
    return LeftOutEvent(event=event)


KEPT = ((ExponentialEvent(epsilon=Fraction(1, 10)), 3), (laplace("0.2"), 2))
every_accountant = pytest.mark.parametrize("accountant", PREDICTING.values(), ids=PREDICTING)


@every_accountant
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "3"])
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


@every_accountant
@pytest.mark.parametrize("repeated", [out(laplace(1)), laplace(1)], ids=["left out", "kept"])
def test_a_guard_admits_both_groups_and_neither_twice(accountant, repeated) -> None:
    guard = accountant.guard(PrivacyBudget(Fraction(8), DELTA), ((out(laplace(1)), 1), (laplace(1), 1)))
    guard.charge(out(laplace(1)))
    guard.charge(laplace(1))

    def again() -> None:
        for _ in range(1000):
            guard.charge(repeated)

    with pytest.raises(BudgetRefused):
        again()


@pytest.mark.parametrize("name", ["basic", "zcdp"])
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


@pytest.mark.parametrize("price", [pure_epsilon, concentrated_rho, dominating_pair, lambda e: pure_losses(((e, 1),))])
def test_alone_it_has_no_price(price) -> None:
    """What looks at single events must not take it for nothing, nor for a draw beside the others."""
    with pytest.raises(BudgetRefused, match="LeftOutEvent has no price"):
        price(out(laplace(1)))


@pytest.mark.parametrize("wrapped", [out(laplace(1)), ExactEvent(), None, 1])
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
