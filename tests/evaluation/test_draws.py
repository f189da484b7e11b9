from dataclasses import dataclass
from fractions import Fraction

import pytest

from dpqr.data.histogram import DenseHistogram
from dpqr.data.unit import PrivacyUnit
from dpqr.errors import BudgetRefused
from dpqr.evaluation.answer_cases import block
from dpqr.evaluation.claim import Claim
from dpqr.evaluation.draws import Draws
from dpqr.evaluation.neighbours import records
from dpqr.mechanisms.noisy_answers import GaussianAnswers, LaplaceAnswers
from dpqr.noise.source import SeededNoise
from dpqr.privacy.events import ExponentialEvent
from dpqr.privacy.sealed import Private

TABLE = Private[DenseHistogram](records((4,), {(0,): 1000, (3,): 2000}))
LAPLACE = LaplaceAnswers(blocks=(block("marginal"),), unit=PrivacyUnit(), scale=Fraction(2))
GAUSSIAN = GaussianAnswers(blocks=(block("predicate"),), unit=PrivacyUnit(), variance=Fraction(4))


@dataclass
class Seven:
    event = ExponentialEvent(epsilon=Fraction(1, 3))

    def sample(self, value, noise):
        return 7


def test_every_draw_is_shown_in_order():
    context, measured, derived = Draws(mechanisms=(Seven(), LAPLACE, Seven())).run(TABLE, SeededNoise(1))
    assert (context, derived) == ((), ())
    assert measured[0] == measured[-1] == 7
    assert measured[1:-1] == pytest.approx([1000, 0, 0, 2000], abs=80)


def test_claims_are_derived_from_the_events():
    assert Draws(mechanisms=(Seven(), LAPLACE)).claim == Claim(epsilon=Fraction(5, 6))
    priced = Draws(mechanisms=(Seven(), GAUSSIAN), delta=Fraction(1, 100)).claim
    assert priced.rho == Fraction(1, 72) + Fraction(1, 8)


def test_the_guard_admits_the_draws_once():
    guard = Draws(mechanisms=(Seven(), LAPLACE)).guard()
    guard.charge(LAPLACE.event)
    guard.charge(Seven.event)
    with pytest.raises(BudgetRefused):
        guard.charge(Seven.event)
