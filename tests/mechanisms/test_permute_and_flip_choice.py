"""Its rate, its event, what it refuses."""

from fractions import Fraction

import numpy as np
import pytest
from fakes import Given

from dpqr.data.histogram import DenseHistogram
from dpqr.data.unit import PrivacyUnit
from dpqr.errors import InfeasiblePlan
from dpqr.mechanisms.permute_and_flip_choice import PermuteAndFlipChoice
from dpqr.noise.source import SeededNoise
from dpqr.privacy.events import PermuteAndFlipEvent


@pytest.mark.parametrize(("moves", "rate"), [(1, Fraction(3, 8)), (5, Fraction(3, 40)), (0, Fraction(3, 8))])
def test_rate_and_event_follow_from_epsilon_and_sensitivity(moves, rate) -> None:
    made = PermuteAndFlipChoice(scores=Given((1, 2), moves), unit=PrivacyUnit(), epsilon=Fraction(3, 4))
    assert made.rate == rate
    assert made.event == PermuteAndFlipEvent(epsilon=Fraction(3, 4))


def test_a_large_budget_finds_the_largest_score() -> None:
    """Larger is worse answered, and the worst answered is what the loop wants."""
    made = PermuteAndFlipChoice(scores=Given((3, -40, 60, 59)), unit=PrivacyUnit(), epsilon=Fraction(200))
    counts = DenseHistogram(np.zeros(1, dtype=np.int64))
    assert [made.sample(counts, SeededNoise(seed)) for seed in range(10)] == [2] * 10


def test_nothing_to_select_and_nothing_to_pay_with_are_refused() -> None:
    with pytest.raises(InfeasiblePlan, match="nothing to select"):
        PermuteAndFlipChoice(scores=Given(()), unit=PrivacyUnit(), epsilon=Fraction(1))
    for epsilon in (Fraction(0), Fraction(-1)):
        with pytest.raises(InfeasiblePlan, match="positive epsilon"):
            PermuteAndFlipChoice(scores=Given((1,)), unit=PrivacyUnit(), epsilon=epsilon)
