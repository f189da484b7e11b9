"""Distinguishers and checks: the house's conform, and one that is charged too little is found."""

from dataclasses import dataclass
from fractions import Fraction

import pytest
from support.cases import slow_but

from dpqr.kernel.budget import Price
from dpqr.kernel.values import replace
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.distinguishers import Exponential, PermuteAndFlip
from dpqr.testing import check_check, check_distinguisher


@pytest.mark.slow
@pytest.mark.parametrize("distinguisher", [Exponential(), PermuteAndFlip()])
def test_the_distinguishers_of_the_house_conform(distinguisher):
    check_distinguisher(distinguisher)


@pytest.mark.slow
@pytest.mark.parametrize("check", [Laplace(), Gaussian()])
def test_the_checks_of_the_house_conform(check):
    check_check(check)


class Priced:
    """A mechanism that is charged as another."""

    def __init__(self, mechanism, event):
        self.sample, self.event = mechanism.sample, event


@dataclass(frozen=True, kw_only=True)
class Wrapped:
    """A strategy of the house with one thing wrong. times: how much more than the price its draws take."""

    inner: object
    times: int = 4
    name: str = "wrapped"
    claims: bool = True

    def dear(self, price):
        return Price(epsilon=self.times * price.epsilon)


class Distinguished(Wrapped):
    def mechanism(self, scores, unit, price):
        return Priced(self.inner.mechanism(scores, unit, self.dear(price)), self.event(price))

    def event(self, price):
        return self.inner.event(price if self.claims else self.dear(price))

    def shortfall(self, *given):
        return self.inner.shortfall(*given)


class Checked(Wrapped):
    pure = True

    def mechanism(self, blocks, unit, price):
        return Priced(self.inner.mechanism(blocks, unit, self.dear(price)), self.event(blocks, unit, price))

    def event(self, blocks, unit, price):
        return self.inner.event(blocks, unit, price if self.claims else self.dear(price))

    def law(self, *given):
        return self.inner.law(*given)

    def satisfied(self, *given):
        return self.inner.satisfied(*given)


class Hopeful(Distinguished):
    def shortfall(self, *given):
        return 0.0


class Unplanned(Distinguished):
    def event(self, price):
        return replace(self.inner.event(price), epsilon=Fraction(1, 3))

    def mechanism(self, scores, unit, price):
        return self.inner.mechanism(scores, unit, price)


class Narrow(Checked):
    def law(self, blocks, unit, price):
        return self.inner.law(blocks, unit, Price(epsilon=8 * price.epsilon))


class Easy(Checked):
    def satisfied(self, *given):
        return True


BROKEN = [
    (check_distinguisher, Distinguished(inner=Exponential()), "privacy: epsilon"),
    (check_distinguisher, Distinguished(inner=PermuteAndFlip()), "privacy: epsilon"),
    (check_distinguisher, Distinguished(inner=PermuteAndFlip(), claims=False), "price: 4 is charged where 1 may be"),
    (check_distinguisher, Hopeful(inner=Exponential(), times=1), "shortfall: "),
    (check_distinguisher, Unplanned(inner=Exponential(), times=1), "event: a draw is charged as"),
    (check_distinguisher, object(), "protocol: the distinguisher lacks name"),
    (check_check, Checked(inner=Laplace()), "privacy: epsilon"),
    (check_check, Checked(inner=Laplace(), claims=False), "price: 4 is charged where 1 may be"),
    (check_check, Narrow(inner=Laplace(), times=1), "law: "),
    (check_check, Easy(inner=Laplace(), times=1), "satisfied: not False for 50"),
    (check_check, object(), "protocol: the check lacks name"),
]


@pytest.mark.parametrize(("kit", "strategy", "says"), slow_but({5, 10}, BROKEN))
def test_a_planted_fault_is_found(kit, strategy, says):
    with pytest.raises(AssertionError) as raised:
        kit(strategy)
    lines = str(raised.value).splitlines()
    assert any(line.startswith(says) for line in lines), lines
