from dataclasses import dataclass
from fractions import Fraction

import pytest

from dpqr.errors import BudgetRefused
from dpqr.privacy.cost import Cost
from dpqr.privacy.currency import currency
from dpqr.privacy.events import ExponentialEvent
from dpqr.privacy.every_filter import EveryFilter

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


@pytest.mark.parametrize("strict_first", [True, False])
def test_one_refusal_is_enough(strict_first):
    strict, loose = currency("basic").guard(Cost(HALF.epsilon)), currency("basic").guard(Cost(Fraction(9)))
    guard = EveryFilter(filters=(strict, loose) if strict_first else (loose, strict))
    guard.charge(HALF)
    with pytest.raises(BudgetRefused):
        guard.charge(THIRD)
    assert guard.charged == [HALF]
