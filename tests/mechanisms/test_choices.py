"""Both selections: their rate, their event, what they refuse."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from dpqr.data.histogram import DenseHistogram
from dpqr.data.unit import PrivacyUnit
from dpqr.errors import InfeasiblePlan
from dpqr.mechanisms.exponential_choice import ExponentialChoice
from dpqr.mechanisms.permute_and_flip_choice import PermuteAndFlipChoice
from dpqr.noise.source import SeededNoise
from dpqr.privacy.events import ExponentialEvent, PermuteAndFlipEvent

CHOICES = {ExponentialChoice: ExponentialEvent, PermuteAndFlipChoice: PermuteAndFlipEvent}
every_choice = pytest.mark.parametrize(("choice", "event"), CHOICES.items())


@dataclass
class Given:
    """Scores that are what they are."""

    values: tuple[int, ...]
    moves: int = 1

    def __len__(self) -> int:
        return len(self.values)

    def sensitivity(self, unit: PrivacyUnit) -> int:
        return self.moves

    def evaluate(self, counts) -> np.ndarray:
        return np.array(self.values, dtype=np.int64)


@every_choice
@pytest.mark.parametrize(("moves", "rate"), [(1, Fraction(3, 8)), (5, Fraction(3, 40)), (0, Fraction(3, 8))])
def test_rate_and_event_follow_from_epsilon_and_sensitivity(choice, event, moves, rate) -> None:
    made = choice(scores=Given((1, 2), moves), unit=PrivacyUnit(), epsilon=Fraction(3, 4))
    assert made.rate == rate
    assert made.event == event(epsilon=Fraction(3, 4))


@every_choice
def test_a_large_budget_finds_the_largest_score(choice, event) -> None:
    """Larger is worse answered, and the worst answered is what the loop wants."""
    made = choice(scores=Given((3, -40, 60, 59)), unit=PrivacyUnit(), epsilon=Fraction(200))
    counts = DenseHistogram(np.zeros(1, dtype=np.int64))
    assert [made.sample(counts, SeededNoise(seed)) for seed in range(10)] == [2] * 10


@every_choice
def test_nothing_to_select_and_nothing_to_pay_with_are_refused(choice, event) -> None:
    with pytest.raises(InfeasiblePlan, match="nothing to select"):
        choice(scores=Given(()), unit=PrivacyUnit(), epsilon=Fraction(1))
    for epsilon in (Fraction(0), Fraction(-1)):
        with pytest.raises(InfeasiblePlan, match="positive epsilon"):
            choice(scores=Given((1,)), unit=PrivacyUnit(), epsilon=epsilon)
