"""Both selections: their rate, their event, what they refuse, and that a draw uses the rate."""

from fractions import Fraction

import numpy as np
import pytest
from support import brute_force_persons as persons
from support.fakes import Given

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.events import ExponentialEvent, PermuteAndFlipEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms import selection
from dpqr.mechanisms.selection import ExponentialChoice, PermuteAndFlipChoice, QueryScores
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

KINDS = {
    ExponentialChoice: (ExponentialEvent, "exponential"),
    PermuteAndFlipChoice: (PermuteAndFlipEvent, "permute_and_flip"),
}
EMPTY = DenseHistogram(np.zeros(1, dtype=np.int64))
either = pytest.mark.parametrize("kind", KINDS)


@either
@pytest.mark.parametrize(("moves", "rate"), [(1, Fraction(3, 8)), (5, Fraction(3, 40)), (0, Fraction(3, 8))])
def test_rate_and_event_follow_from_epsilon_and_sensitivity(kind, moves, rate) -> None:
    made = kind(scores=Given((1, 2), moves), unit=PrivacyUnit(), epsilon=Fraction(3, 4))
    assert made.rate == rate
    assert made.event == KINDS[kind][0](epsilon=Fraction(3, 4))


@either
def test_a_large_budget_finds_the_largest_score(kind) -> None:
    """Larger is worse answered, and the worst answered is what the loop wants."""
    made = kind(scores=Given((3, -40, 60, 59)), unit=PrivacyUnit(), epsilon=Fraction(200))
    assert [made.sample(EMPTY, SeededNoise(seed)) for seed in range(10)] == [2] * 10


@either
def test_nothing_to_select_and_nothing_to_pay_with_are_refused(kind) -> None:
    with pytest.raises(InfeasiblePlan, match="nothing to select"):
        kind(scores=Given(()), unit=PrivacyUnit(), epsilon=Fraction(1))
    for epsilon in (Fraction(0), Fraction(-1)):
        with pytest.raises(InfeasiblePlan, match="positive epsilon"):
            kind(scores=Given((1,)), unit=PrivacyUnit(), epsilon=epsilon)


def losses(made, shape, unit):
    """Largest log(Pr[i | x] / Pr[i | x']) over candidates and all that one person's rows can be."""
    worst = 0.0
    for databases in persons.crowd(shape, unit):
        logits = float(made.rate) * np.stack([made.scores.evaluate(database) for database in databases])
        law = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        one, two = (law, law) if unit.neighbours is Neighbours.REPLACE else (law, law[:1])
        worst = max(worst, float(np.abs(one[:, None] - two[None]).max()))
    return worst


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("relation", list(Neighbours))
def test_a_selection_loses_no_more_than_epsilon_for_a_person(relation, rows) -> None:
    """The exact law at the rate of this unit. The rate of one row loses more: the control."""
    epsilon, shape = Fraction(1, 2), (2, 2)
    block = QueryBlock(name="m", factors=(Factor.identity(0, 2), Factor.identity(1, 2)))
    scored = QueryScores(blocks=(block,), ratios=(1,), expected=np.array([0, 0, 9, 9]))
    unit = persons.person(relation, rows)
    made = ExponentialChoice(scores=scored, unit=unit, epsilon=epsilon)
    assert losses(made, shape, unit) <= epsilon * (1 + 1e-12)
    assert losses(made, shape, unit) > epsilon / 3
    if rows == 3:
        single = ExponentialChoice(scores=scored, unit=PrivacyUnit(neighbours=relation), epsilon=epsilon)
        assert losses(single, shape, unit) > epsilon


@either
def test_the_rate_is_that_of_its_own_unit(kind) -> None:
    block = QueryBlock(name="q", factors=(Factor(axes=(0,), sizes=(2,), matrix=Dense(np.array([[-3, 2]]))),))
    scored = QueryScores(blocks=(block,), ratios=(1,), expected=np.array([0]))
    for unit, moved in (
        (PrivacyUnit(), 3),
        (PrivacyUnit(neighbours=Neighbours.REPLACE), 5),
        (persons.person(Neighbours.ADD_REMOVE, 4), 12),
        (persons.person(Neighbours.REPLACE, 4), 20),
    ):
        assert kind(scores=scored, unit=unit, epsilon=Fraction(1)).rate == Fraction(1, 2 * moved)


@either
def test_a_draw_is_made_by_the_stated_rate_with_and_without_a_search(kind, monkeypatch) -> None:
    asked = []
    for draw in ("draw", "search"):
        name = f"{draw}_{KINDS[kind][1]}"
        monkeypatch.setattr(selection, name, lambda scores, rate, noise: asked.append(rate) or 0)
    searched = Given((1, 2), 5)
    searched.search = lambda counts: None
    for scored in (Given((1, 2), 5), searched):
        kind(scores=scored, unit=PrivacyUnit(), epsilon=Fraction(3, 4)).sample(EMPTY, SeededNoise(1))
    assert asked == [Fraction(3, 40)] * 2
