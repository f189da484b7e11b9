"""The adversary of the filter: what he sees, and that a filter which forgets is refuted."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpqr.audit.attack import attack
from dpqr.audit.cases.filters import BUDGET, MOST, Adversary, Turned, filter_cases
from dpqr.kernel.accountants.accountant import SumFilter
from dpqr.kernel.accountants.analytic import require_mu, squared_mu_to_epsilon
from dpqr.kernel.accountants.by_count import ByCount
from dpqr.kernel.accountants.losses import concentrated_rho
from dpqr.kernel.budget import Price
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import ExponentialEvent
from dpqr.kernel.noise.source import SeededNoise

CASE, TURNED = filter_cases()
ALARM = 1e-6


@dataclass(frozen=True)
class Charging:
    """An accountant whose filter charges `cost`; charged: what it admitted."""

    cost: Any
    name: str = "charging"

    def filter(self, budget):
        return SumFilter(limit=CASE.trial.whole, cost=self.cost, unit="mu^2")


def free_choices(event):
    return Fraction(0) if isinstance(event, ExponentialEvent) else require_mu(event)


def test_the_claim_is_that_of_the_whole_budget():
    assert CASE.claim.epsilon == squared_mu_to_epsilon(CASE.trial.whole, BUDGET.delta) <= BUDGET.epsilon
    assert CASE.claim.rho == CASE.trial.whole / 2


def test_he_spends_nearly_all_and_no_more_than_the_filter_allows():
    charged = []

    def noted(event):
        charged.append(require_mu(event))
        return charged[-1]

    trial = Adversary(accountant=Charging(noted), whole=CASE.trial.whole)
    shown = replace(CASE, trial=trial).outcomes(1, 3, SeededNoise(5)).measured
    assert shown.shape == (3, 1)
    assert len(charged) <= 3 * MOST
    assert sum(charged) > 2 * CASE.trial.whole


@pytest.mark.slow
@pytest.mark.parametrize("cost", [require_mu, free_choices, concentrated_rho], ids=["sound", "free choices", "rho"])
def test_he_refutes_a_filter_that_forgets(cost):
    runs, noise = 20_000, SeededNoise(7)
    case = replace(CASE, trial=Adversary(accountant=Charging(cost), whole=CASE.trial.whole))
    one, two = (case.outcomes(side, runs, noise) for side in (0, 1))
    assert attack(one, two, case.claim, ALARM).breach is (cost is not require_mu)


class WholeAfterwards(ByCount):
    """The mutant: what follows the count may spend the whole epsilon again."""

    def rest(self, budget):
        return budget


class Half(ByCount):
    """Half of epsilon goes to the count, so that its share shows in the exact figures."""

    SHARE = Fraction(1, 2)


class HalfMutant(Half, WholeAfterwards):
    def first(self, budget):
        return Price(epsilon=budget.epsilon / 2)


REACH = np.arange(-120, 122)


def laplace(scale, centre):
    ratio = np.exp(-1 / float(scale))
    return (1 - ratio) / (1 + ratio) * ratio ** np.abs(REACH - centre)


def rounded_normal(variance, centre):
    from scipy.special import ndtr

    deviation = float(variance) ** 0.5
    return ndtr((REACH + 0.5 - centre) / deviation) - ndtr((REACH - 0.5 - centre) / deviation)


def joint(trial, records, turns):
    """Probabilities of every first and second answer; turns: which first answers lead to Gaussian noise."""
    first = laplace(trial.first.scale, records)[:, None]
    few, many = laplace(trial.few.scale, records), rounded_normal(trial.many.variance, records)
    return first * np.where(turns[:, None], many, few)


def exact_delta(trial, turns):
    """The delta that the run needs at the claimed epsilon, over both directions."""
    one, two = (joint(trial, records, turns) for records in (0, 1))
    scale = np.exp(float(BUDGET.epsilon))
    return max(np.maximum(one - scale * two, 0).sum(), np.maximum(two - scale * one, 0).sum())


@pytest.mark.parametrize(("accountant", "sound"), [(ByCount(), True), (Half(), True), (HalfMutant(), False)])
@pytest.mark.parametrize("turns", [REACH < -3, REACH > 0, REACH == REACH], ids=["rare", "half", "always"])
def test_what_follows_a_count_is_within_the_budget_exactly(accountant, sound, turns):
    trial = Turned(accountant=accountant)
    assert bool(exact_delta(trial, turns) <= float(BUDGET.delta)) is sound


def test_either_theorem_follows_and_its_filter_admits_no_more():
    shown = TURNED.outcomes(1, 40, SeededNoise(3))
    assert set(shown.context[:, 0].tolist()) == {0, 1}
    assert TURNED.claim.epsilon == BUDGET.epsilon
    mutant = Turned(accountant=WholeAfterwards())
    for following in (mutant.few, mutant.many):
        guard = ByCount().filter(BUDGET)
        guard.charge(TURNED.trial.first.event)
        with pytest.raises(BudgetRefused):
            guard.charge(following.event)
