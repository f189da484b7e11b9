"""The adversary of the filter: what he sees, and that a filter which forgets is refuted."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest

from dpqr.audit.attack import attack
from dpqr.audit.cases.filters import BUDGET, MOST, Adversary, filter_cases
from dpqr.noise.source import SeededNoise
from dpqr.privacy.accountants.filters import SumFilter
from dpqr.privacy.accountants.gaussian_dp import converted_mu, require_mu
from dpqr.privacy.accountants.losses import concentrated_rho
from dpqr.privacy.events import ExponentialEvent

(CASE,) = filter_cases()
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
    assert CASE.claim.epsilon == converted_mu(CASE.trial.whole, BUDGET.delta) <= BUDGET.epsilon
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
