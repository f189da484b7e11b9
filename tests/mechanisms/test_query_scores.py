"""Scores of single queries: their values written out, and their sensitivity against all neighbouring databases."""

from fractions import Fraction

import numpy as np
import pytest
from audits.neighbours import pairs
from support import brute_force_persons as persons
from support.brute_force_persons import person
from support.cases import in_one_test, thinned
from support.fakes import Given

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.events import ExponentialEvent, PermuteAndFlipEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms import selection
from dpqr.mechanisms.selection import RESOLUTION, ExponentialChoice, PermuteAndFlipChoice, QueryScores, fair_ratios
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix

SHAPE = (2, 3)
ADD_REMOVE = PrivacyUnit(neighbours=Neighbours.ADD_REMOVE)
REPLACE = PrivacyUnit(neighbours=Neighbours.REPLACE)
every_unit = pytest.mark.parametrize("unit", [ADD_REMOVE, REPLACE])


def block(name: str, matrix, axis: int = 1) -> QueryBlock:
    return QueryBlock(name=name, factors=(Factor(axes=(axis,), sizes=(SHAPE[axis],), matrix=matrix),))


PREFIX = block("prefix", Prefix(3))
ZERO_ONE = block("zero-one", Dense(np.array([[1, 0, 1], [0, 1, 1]])))
SIGNED = block("signed", Dense(np.array([[-2, 0, 3], [2, 2, 2]])))
LARGE = block("large", Dense(np.array([[2**25, 0, 0]])))


def scores(*blocks, ratios=None, expected=None, records=2**36) -> QueryScores:
    return QueryScores(
        blocks=blocks,
        ratios=ratios or (1,) * len(blocks),
        expected=np.concatenate([np.arange(b.rows) * 2 for b in blocks]) if expected is None else expected,
        records=records,
    )


def test_every_row_of_every_block_is_scored_on_the_common_grid() -> None:
    counts = DenseHistogram(np.array([[4, 0, 1], [2, 2, 9]]))  # columns 6, 2, 10
    made = scores(PREFIX, SIGNED, ratios=(3, 1), expected=np.array([20, 20, 20, -1, 40]))
    assert made.evaluate(counts).tolist() == [abs(18 - 20), abs(24 - 20), abs(54 - 20), 18 + 1, 40 - 36]
    assert made.evaluate(counts).dtype == np.int64
    assert len(made) == 5


def largest_move(made: QueryScores, unit: PrivacyUnit) -> int:
    return max(
        int(np.abs(made.evaluate(one) - made.evaluate(two)).max()) for one, two in pairs(SHAPE, 2, unit.neighbours)
    )


@in_one_test(
    ("blocks", "ratios", "added", "replaced"),
    [
        ((ZERO_ONE, PREFIX), (1, 1), 1, 1),
        ((ZERO_ONE, PREFIX), (2, 3), 3, 3),
        ((SIGNED,), (1,), 3, 5),
        ((SIGNED, ZERO_ONE), (1, 7), 7, 7),
    ],
)
@every_unit
def test_the_sensitivity_is_the_largest_move_of_any_score(blocks, ratios, added, replaced, unit) -> None:
    made = scores(*blocks, ratios=ratios, expected=np.full(sum(b.rows for b in blocks), -100))
    assert made.sensitivity(unit) == (added if unit is ADD_REMOVE else replaced)
    assert largest_move(made, unit) == made.sensitivity(unit)


def test_the_sensitivity_of_one_relation_does_not_serve_the_other() -> None:
    made = scores(SIGNED, expected=np.array([-100, -100]))
    assert largest_move(made, REPLACE) > made.sensitivity(ADD_REMOVE)


def test_scores_that_could_overflow_are_refused() -> None:
    scores(LARGE)
    for wrong in ({"ratios": (2,)}, {"records": 2**37}, {"expected": np.array([2**61])}):
        with pytest.raises(InfeasiblePlan, match="'large'"):
            scores(LARGE, **wrong)


def test_many_rows_are_scored_without_a_loop_over_them(monkeypatch) -> None:
    monkeypatch.delattr(Dense, "row")
    table = np.random.default_rng(0).integers(0, 2, (20_000, 3))
    counts = DenseHistogram(np.arange(6).reshape(SHAPE))
    made = scores(block("many", Dense(table)), expected=np.zeros(20_000, dtype=np.int64))
    np.testing.assert_array_equal(made.evaluate(counts), table @ np.array([3, 5, 7]))


@pytest.mark.parametrize("rows", thinned([1, 2, 3], 3))
@pytest.mark.parametrize(
    ("blocks", "ratios", "added", "replaced"),
    [((ZERO_ONE, PREFIX), (1, 1), 1, 1), ((SIGNED,), (1,), 3, 5), ((SIGNED, ZERO_ONE), (2, 7), 7, 10)],
)
def test_a_person_moves_a_score_by_the_number_of_their_rows_times_one_rows_move(
    blocks, ratios, added, replaced, rows
) -> None:
    """All that one person's rows can be, against the sensitivity that the price is worked out from."""
    made = scores(*blocks, ratios=ratios, expected=np.full(sum(b.rows for b in blocks), -100))
    for relation, one in ((Neighbours.ADD_REMOVE, added), (Neighbours.REPLACE, replaced)):
        unit = person(relation, rows)
        assert made.sensitivity(unit) == persons.largest_move(made.evaluate, SHAPE, unit) == rows * one


def test_scores_of_other_blocks_on_the_same_counts_are_their_own() -> None:
    """True answers are kept with the counts; what is kept is found again by its own blocks alone."""
    counts = DenseHistogram(np.array([[4, 0, 1], [2, 2, 9]]))
    for _ in range(2):
        for block_ in (PREFIX, ZERO_ONE, SIGNED, LARGE):
            made = scores(block_, ratios=(1,), expected=np.arange(block_.rows) * 2)
            truth = block_.answer(DenseHistogram(np.array([[4, 0, 1], [2, 2, 9]])))
            assert made.evaluate(counts).tolist() == np.abs(truth - np.arange(block_.rows) * 2).tolist()
        for ratio in (1, 3):
            made = scores(PREFIX, ratios=(ratio,), expected=np.zeros(3, dtype=np.int64))
            assert made.evaluate(counts).tolist() == [ratio * answer for answer in (6, 8, 18)]


def test_ratios_are_exact_weights_per_sensitivity_where_they_are_small() -> None:
    blocks = (replace(ZERO_ONE, weight=Fraction(1, 2)), SIGNED, PREFIX)
    assert fair_ratios(blocks, ADD_REMOVE) == (3, 2, 6)  # 1/2, 1/3, 1
    assert fair_ratios(blocks, REPLACE) == (5, 2, 10)  # 1/2, 1/5, 1
    assert fair_ratios(blocks, person(Neighbours.REPLACE, 3)) == (5, 2, 10)


@every_unit
def test_unlike_blocks_share_the_resolution(unit) -> None:
    """Each ratio is right within half a unit."""
    blocks = (replace(ZERO_ONE, weight=Fraction(3, 10)), SIGNED, LARGE, replace(PREFIX, weight=Fraction(7, 9)))
    moves = [QueryScores(blocks=(b,), ratios=(1,), expected=np.zeros(b.rows)).sensitivity(unit) for b in blocks]
    most = max(b.weight for b in blocks)
    for ratio, block_, move in zip(fair_ratios(blocks, unit), blocks, moves, strict=True):
        exact = RESOLUTION * block_.weight / move / most
        assert ratio == 1 or abs(ratio - exact) <= Fraction(1, 2)
        assert ratio > 1 or exact < 2


# Both selections: their rate, their event, what they refuse, and that a draw uses the rate.

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
def test_a_large_budget_finds_the_largest_score_and_nothing_to_select_or_to_pay_with_is_refused(kind) -> None:
    """Larger is worse answered, and the worst answered is what the loop wants."""
    made = kind(scores=Given((3, -40, 60, 59)), unit=PrivacyUnit(), epsilon=Fraction(200))
    assert [made.sample(EMPTY, SeededNoise(seed)) for seed in range(10)] == [2] * 10
    for given, epsilon, said in (((), 1, "nothing to select"), ((1,), 0, "positive epsilon"), ((1,), -1, "positive")):
        with pytest.raises(InfeasiblePlan, match=said):
            kind(scores=Given(given), unit=PrivacyUnit(), epsilon=Fraction(epsilon))


def losses(made, shape, unit):
    """Largest log(Pr[i | x] / Pr[i | x']) over candidates and all that one person's rows can be."""
    worst = 0.0
    for databases in persons.crowd(shape, unit):
        logits = float(made.rate) * np.stack([made.scores.evaluate(database) for database in databases])
        law = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        one, two = (law, law) if unit.neighbours is Neighbours.REPLACE else (law, law[:1])
        worst = max(worst, float(np.abs(one[:, None] - two[None]).max()))
    return worst


@pytest.mark.parametrize("rows", thinned([1, 2, 3], 2))
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
