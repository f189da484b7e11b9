from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from dpqr.audit.case import Claim, MechanismTrial, Outcomes, records
from dpqr.audit.cases.noisy_answers import block
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import ExponentialEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import PrivacyUnit
from dpqr.mechanisms.noisy_answers import GaussianAnswers, LaplaceAnswers


def test_rows_are_runs_and_empty_parts_have_no_columns():
    seen = Outcomes.of([((1,), (2, 3), ()), ((4,), (5, 6), ()), ((7,), (8, 9), ())])
    assert len(seen) == 3
    assert seen.measured.tolist() == [[2, 3], [5, 6], [8, 9]]
    assert seen.derived.shape == (3, 0)


def test_halves_share_no_run_and_are_equally_long():
    seen = Outcomes.of([((), (index,), ()) for index in range(5)])
    one, two = seen.halves()
    assert (one.measured[:, 0].tolist(), two.measured[:, 0].tolist()) == ([0, 1], [2, 3])


def test_parts_are_joined_in_order():
    parts = [Outcomes.of([((), (index,), (-index,))]) for index in range(3)]
    joined = Outcomes.joined(parts)
    assert np.array_equal(joined.measured[:, 0], [0, 1, 2])
    assert np.array_equal(joined.derived[:, 0], [0, -1, -2])


TABLE = Private[DenseHistogram](records((4,), {(0,): 1000, (3,): 2000}))
LAPLACE = LaplaceAnswers(blocks=(block("marginal"),), unit=PrivacyUnit(), scale=Fraction(2))
GAUSSIAN = GaussianAnswers(blocks=(block("predicate"),), unit=PrivacyUnit(), variance=Fraction(4))


@dataclass
class Seven:
    event = ExponentialEvent(epsilon=Fraction(1, 3))

    def sample(self, value, noise):
        return 7


def test_every_draw_is_shown_in_order():
    context, measured, derived = MechanismTrial(mechanisms=(Seven(), LAPLACE, Seven())).run(TABLE, SeededNoise(1))
    assert (context, derived) == ((), ())
    assert measured[0] == measured[-1] == 7
    assert measured[1:-1] == pytest.approx([1000, 0, 0, 2000], abs=80)


def test_claims_are_derived_from_the_events():
    assert MechanismTrial(mechanisms=(Seven(), LAPLACE)).claim == Claim(epsilon=Fraction(5, 6))
    priced = MechanismTrial(mechanisms=(Seven(), GAUSSIAN), delta=Fraction(1, 100)).claim
    assert priced.rho == Fraction(1, 72) + Fraction(1, 8)


def test_the_guard_admits_the_draws_once():
    guard = MechanismTrial(mechanisms=(Seven(), LAPLACE)).guard()
    guard.charge(LAPLACE.event)
    guard.charge(Seven.event)
    with pytest.raises(BudgetRefused):
        guard.charge(Seven.event)
