"""Filters: an adversary chooses each next draw, and its price, by all that was released, until the filter refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpqr.audit.case import Case, Claim, PublicOutcome, numbers, records
from dpqr.domain.histogram import Counts
from dpqr.kernel.accountants.accountant import FilterAccountant, Portion
from dpqr.kernel.accountants.analytic import GaussianDP, largest_squared_mu
from dpqr.kernel.accountants.by_count import ByCount
from dpqr.kernel.accountants.sums import total_rho
from dpqr.kernel.arrays import IntArray
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import MuSumEvent
from dpqr.kernel.gate import measure
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import PrivacyUnit
from dpqr.mechanisms.noisy_answers import GaussianAnswers, LaplaceAnswers
from dpqr.mechanisms.selection import ExponentialChoice
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.workload.block import QueryBlock

BUDGET = PrivacyBudget(Fraction(3, 2), Fraction(1, 10))
EVERYBODY = QueryBlock(name="records")
STEPS = 64
"""A run's log-likelihood ratio is shown in so many parts of 1."""
MOST = 32
SMALLEST = Fraction(1, 64)
WORK = 4
"""Runs of other cases in the time of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opposed:
    """Two scores that one record moves in opposite directions, so that the odds of a choice move by all of epsilon."""

    def __len__(self) -> int:
        return 2

    def sensitivity(self, unit: PrivacyUnit) -> int:
        return 1

    def evaluate(self, counts: Counts) -> IntArray:
        (found,) = EVERYBODY.answer(counts)
        return np.array([found, 1 - found])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Adversary:
    """He asks whether there is a record: a count with Gaussian noise where he is ahead, a choice where he is behind.

    accountant: whose filter he faces. whole: mu^2 of the budget. What a run shows is the logarithm of its likelihood
    ratio (of a count: before it is rounded), by which he also chooses. A price that is refused is halved twice.
    """

    accountant: FilterAccountant
    whole: Fraction

    @property
    def claim(self) -> Claim:
        spent = ((MuSumEvent(squared_mu=self.whole), 1),)
        return replace(Claim.proved(GaussianDP(), spent, BUDGET.delta), rho=total_rho(spent))

    def run(self, database: Private[Counts], noise: NoiseSource) -> PublicOutcome:
        guard, seen, part = self.accountant.filter(BUDGET), 0.0, Fraction(1)
        for _ in range(MOST):
            try:
                if seen > 0:
                    counted = _count(part * self.whole / 4)
                    (found,) = numbers(measure(database, counted, accountant=guard, noise=noise).value)
                    seen += (found - 0.5) / float(counted.variance)
                else:
                    choice = ExponentialChoice(
                        scores=Opposed(),
                        unit=PrivacyUnit(),
                        epsilon=Price(squared_mu=(part * self.whole / 8)).bounded_range,
                    )
                    chosen = measure(database, choice, accountant=guard, noise=noise).value
                    seen += float(choice.epsilon) * (0.5 - chosen)
            except BudgetRefused:
                part /= 4
                if part < SMALLEST:
                    break
        return (), (round(STEPS * seen),), ()


def _count(squared_mu: Fraction) -> GaussianAnswers:
    return Gaussian().mechanism((EVERYBODY,), PrivacyUnit(), Price(squared_mu=squared_mu))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Turned:
    """A count of the records, whose answer turns him to the dearest Laplace noise or to the dearest Gaussian noise on
    the same question that the filter admits after it. accountant: whose filter he faces."""

    accountant: ByCount

    @property
    def first(self) -> LaplaceAnswers:
        return Laplace().mechanism((EVERYBODY,), PrivacyUnit(), self.accountant.first(BUDGET))

    @property
    def few(self) -> LaplaceAnswers:
        return Laplace().mechanism((EVERYBODY,), PrivacyUnit(), Price(epsilon=self.accountant.rest(BUDGET).epsilon))

    @property
    def many(self) -> GaussianAnswers:
        return _count(largest_squared_mu(self.accountant.rest(BUDGET)))

    @property
    def claim(self) -> Claim:
        sound = ByCount()
        return Claim.proved(sound, ((self.first.event, 1), *sound.sums(BUDGET)), BUDGET.delta)

    def run(self, database: Private[Counts], noise: NoiseSource) -> PublicOutcome:
        guard = self.accountant.filter(BUDGET)
        (counted,) = numbers(measure(database, self.first, accountant=guard, noise=noise).value)
        following = self.many if counted > 0 else self.few
        (found,) = numbers(measure(database, following, accountant=guard, noise=noise).value)
        return (int(counted > 0),), (counted, found), ()


def filter_cases() -> Iterator[Case]:
    """The filter of squares of mu, and the one whose theorem follows a count."""
    accountant = GaussianDP()
    whole = accountant.cut(BUDGET, [Portion(share=Fraction(1), count=1)])[0].figure
    yield Case(
        name="filter-gdp",
        what="draws whose kinds and prices follow what was released, under the filter of Gaussian DP",
        pair=(records((1,), {}), records((1,), {(0,): 1})),
        trial=Adversary(accountant=accountant, whole=whole),
        work=WORK,
    )
    yield Case(
        name="filter-by-count",
        what="a count that decides whether pure or Gaussian noise follows, and the theorem that charges it",
        pair=(records((1,), {}), records((1,), {(0,): 1})),
        trial=Turned(accountant=ByCount()),
        work=WORK,
    )
