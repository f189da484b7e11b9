"""The smallest epsilon that keeps a goal."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpqr.kernel.errors import InfeasiblePlan, UsageFault
from dpqr.releases.forecast import Goal, smallest_epsilon
from dpqr.releases.forecast_error import ErrorDistribution, ExpectedBlockError, PlanForecast


class Forecaster:
    """Two blocks whose errors are 10 and 20 over a power of epsilon, never below `floor`."""

    def __init__(self, power=1.0, floor=0.0, deviation=0.0):
        self.power, self.floor, self.deviation, self.tried = power, floor, deviation, []

    def __call__(self, epsilon):
        self.tried.append(epsilon)
        error = max(10 / float(epsilon) ** self.power, self.floor)
        blocks = tuple(
            ExpectedBlockError(name=name, answers=4, reach=1.0, error=self.law(times * error))
            for name, times in (("one", 1), ("two", 2))
        )
        return PlanForecast(
            epsilon=epsilon,
            schedule="rounds",
            records=100,
            blocks=blocks,
            error=self.law(1.5 * error),
            over_n=self.law(0.06 * error),
            tables=("table",),
            runs=3,
            closed=False,
        )

    def law(self, mean):
        return ErrorDistribution(mean=mean, deviation=mean * self.deviation)


@pytest.mark.parametrize("power", [0.2, 1.0, 2.0])
@pytest.mark.parametrize(
    ("goal", "error"),
    [
        (Goal(most=3.0), 2.0),
        (Goal(most=3.0, names=("two",)), 1.5),
        (Goal(most=3.0, names=("one", "two")), 1.5),
        (Goal(most=0.3, relative=True), 5.0),
        (Goal(most=0.3, relative=True, names=("one",)), 7.5),
        (Goal(most=4000.0), 4000 / 1.5),
    ],
)
def test_it_is_found_to_three_percent(power, goal, error):
    found, forecaster = (10 / error) ** (1 / power), Forecaster(power)
    if not 1e-6 < found < 1000:
        return
    kept = smallest_epsilon(forecaster, goal)
    assert goal.kept(kept)
    assert found * (1 - 1e-9) <= float(kept.epsilon) <= 1.04 * found
    assert len(forecaster.tried) < 20
    assert all(len(str(float(epsilon)).replace(".", "").strip("0")) <= 3 for epsilon in forecaster.tried)


def test_more_confidence_takes_a_larger_epsilon():
    found = [
        smallest_epsilon(Forecaster(deviation=0.5), Goal(most=3.0, confidence=Fraction(part))).epsilon
        for part in ("0.5", "0.9", "0.99")
    ]
    assert found[0] < found[1] < found[2]


def test_the_mean_is_below_the_goal_by_the_margin_of_its_confidence():
    goal = Goal(most=3.0, names=("one", "two"))
    found = smallest_epsilon(Forecaster(deviation=0.5), goal)
    assert goal.typical(found) == found.blocks[1].error.mean
    assert goal.typical(found) < goal.reached(found) <= 3.0


def test_a_goal_that_nothing_keeps_is_refused():
    with pytest.raises(InfeasiblePlan, match="no epsilon up to 1000 keeps the goal, the blocks' mean error"):
        smallest_epsilon(Forecaster(floor=5.0), Goal(most=3.0))


def test_a_goal_that_everything_keeps_ends_at_the_smallest_epsilon_that_is_tried():
    assert smallest_epsilon(Forecaster(), Goal(most=1e12)).epsilon <= Fraction(1, 10**6)


def test_an_unknown_query_is_named_with_the_known_ones():
    with pytest.raises(UsageFault, match="--for three: no query has this name; known: one, two"):
        smallest_epsilon(Forecaster(), Goal(most=1.0, names=("three",)))


def test_words():
    assert Goal(most=0.02, relative=True, names=("a", "b")).words == (
        "the error of 'a', 'b' is at most 0.02 n in L1 with probability 0.95"
    )
