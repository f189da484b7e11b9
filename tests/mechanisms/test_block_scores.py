"""Scores of blocks: their values written out, and their sensitivity against all neighbouring tiny databases."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from audits.neighbours import pairs
from support import brute_force_persons as persons
from support.brute_force_persons import person
from support.cases import in_one_test, slow_but, thinned

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.selection import RESOLUTION, BlockScores, SomeScores, fair_multipliers, largest_total
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix

SHAPE = (2, 3)
ADD_REMOVE = PrivacyUnit(neighbours=Neighbours.ADD_REMOVE)
REPLACE = PrivacyUnit(neighbours=Neighbours.REPLACE)
every_unit = pytest.mark.parametrize("unit", [ADD_REMOVE, REPLACE])


def block(name: str, axis: int, matrix, weight: str = "1") -> QueryBlock:
    factor = Factor(axes=(axis,), sizes=(SHAPE[axis],), matrix=matrix)
    return QueryBlock(name=name, factors=(factor,), weight=Fraction(weight))


def marginal(*axes: int, weight: str = "1") -> QueryBlock:
    factors = tuple(Factor.identity(axis, SHAPE[axis]) for axis in axes)
    return QueryBlock(name=f"marginal {axes}", factors=factors, weight=Fraction(weight))


PREFIX = block("prefix", 1, Prefix(3))
SIGNED = block("signed", 1, Dense(np.array([[-2, 0, 3], [1, 1, 1]])))
WIDE = Fraction(2**24)
HUGE = block("huge", 0, Dense(np.array([[0, 10**6]])))


def scores(*groups, multipliers=None, penalties=None, expected=None, records=2**36) -> BlockScores:
    return BlockScores(
        candidates=groups,
        expected=expected or tuple(tuple(np.arange(b.rows) * 3 - 1 for b in group) for group in groups),
        multipliers=multipliers or fair_multipliers(groups, REPLACE),
        penalties=penalties or (0,) * len(groups),
        records=records,
    )


def test_a_score_is_the_multiple_of_the_error_beyond_the_penalty_rounded_down() -> None:
    counts = DenseHistogram(np.array([[4, 0, 1], [2, 2, 9]]))
    made = scores(
        (marginal(0),),
        (PREFIX, marginal(0)),
        (SIGNED,),
        multipliers=(Fraction(1), Fraction(5, 3), Fraction(2, 7)),
        penalties=(2, 0, 100),
        expected=((np.array([7, 7]),), (np.array([6, 9, 10]), np.array([5, 12])), (np.array([0, 20]),)),
    )
    # errors: |5-7| + |13-7| = 8; |6-6| + |8-9| + |18-10| = 9, and |5-5| + |13-12| = 1; |18-0| + |18-20| = 20
    assert made.evaluate(counts).tolist() == [8 - 2, math.floor(Fraction(50, 3)), math.floor(Fraction(-160, 7))]
    assert made.evaluate(counts).dtype == np.int64
    assert len(made) == 3


CASES = {
    "marginals": ((marginal(0),), (marginal(1),), (marginal(0, 1),)),
    "unlike": ((marginal(0, weight="1/3"),), (PREFIX,), (SIGNED,), (HUGE,)),
    "groups": ((marginal(0), marginal(1)), (PREFIX, SIGNED)),
}
EXPECTED = {
    "low": lambda b: np.zeros(b.rows, dtype=np.int64),
    "near": lambda b: np.arange(b.rows) % 3,
    "mixed": lambda b: (-1) ** np.arange(b.rows) * 10**7,
}


def largest_move(made: BlockScores, unit: PrivacyUnit) -> int:
    known = {}
    moves = []
    for pair in pairs(SHAPE, 2, unit.neighbours):
        one, two = (known.setdefault(id(x), made.evaluate(x)) for x in pair)
        moves.append(int(np.abs(one - two).max()))
    return max(moves)


@every_unit
@pytest.mark.parametrize("fractions", thinned([False, True], 2))
@pytest.mark.parametrize("expected", thinned(EXPECTED.values(), 3), ids=EXPECTED.keys())
@pytest.mark.parametrize("groups", CASES.values(), ids=CASES.keys())
def test_no_neighbour_moves_a_score_by_more_than_the_sensitivity(groups, expected, fractions, unit) -> None:
    made = scores(
        *groups,
        multipliers=tuple(Fraction(5 + i, 7) for i in range(len(groups)))
        if fractions
        else fair_multipliers(groups, unit),
        penalties=tuple(range(len(groups))),
        expected=tuple(tuple(expected(b) for b in group) for group in groups),
    )
    assert largest_move(made, unit) <= made.sensitivity(unit)


@in_one_test(("unit", "sensitivity"), [(ADD_REMOVE, 1), (REPLACE, 2)])
def test_a_marginals_score_moves_by_all_that_its_sensitivity_says(unit, sensitivity) -> None:
    made = scores((marginal(0),), (marginal(1),), expected=((np.array([5, 0]),), (np.zeros(3, dtype=np.int64),)))
    assert made.multipliers == (1, 1)
    assert largest_move(made, unit) == made.sensitivity(unit) == sensitivity


def test_the_sensitivity_of_one_relation_does_not_serve_the_other() -> None:
    """The control of the two tests above."""
    made = scores((marginal(0),), expected=((np.array([5, 0]),),))
    assert largest_move(made, REPLACE) > made.sensitivity(ADD_REMOVE)


def test_equal_marginals_have_multiplier_one_and_a_block_of_no_weight_zero() -> None:
    groups = tuple((marginal(*axes, weight="2/7"),) for axes in ((0,), (1,), (0, 1)))
    for unit in (ADD_REMOVE, REPLACE):
        assert fair_multipliers(groups, unit) == (1, 1, 1)
    assert fair_multipliers((), REPLACE) == ()
    weightless = (marginal(0, weight="0"),)
    assert fair_multipliers((weightless, groups[1]), REPLACE) == (0, 1)
    assert fair_multipliers((weightless,), REPLACE) == (0,)


def test_multipliers_are_exact_weights_per_sensitivity_where_they_are_small() -> None:
    groups = ((marginal(0, weight="3"),), (PREFIX,), (SIGNED,))
    assert fair_multipliers(groups, ADD_REMOVE) == (36, 4, 3)  # 3/1, 1/3, 1/4
    assert fair_multipliers(groups, REPLACE) == (45, 10, 6)  # 3/2, 1/3, 1/5


@every_unit
def test_unlike_sensitivities_share_the_resolution(unit) -> None:
    """A block whose sensitivity is a million keeps its share: a multiplier of at least 1 would spoil all others'."""
    groups = ((marginal(0, weight="0.3"),), (PREFIX,), (HUGE,), (SIGNED,))
    multipliers = fair_multipliers(groups, unit)
    made = scores(*groups, multipliers=multipliers)
    assert made.sensitivity(unit) == RESOLUTION
    pairs_of = zip(groups, multipliers, strict=True)
    shares = [scores(group, multipliers=(times,)).sensitivity(unit) for group, times in pairs_of]
    assert shares == [math.ceil(RESOLUTION * Fraction(3, 10)), RESOLUTION, RESOLUTION, RESOLUTION]


@in_one_test(
    ("made", "more"),
    [
        (marginal(0), {"multipliers": (2 * WIDE,), "records": 2**37}),
        (marginal(0), {"multipliers": (WIDE,), "expected": ((np.array([2**38, 0]),),)}),
        (marginal(0), {"multipliers": (WIDE,), "penalties": (-(2**38),)}),
        (block("sum", 0, Dense(np.array([[0, 2**26]]))), {"multipliers": (Fraction(1, 2**20),)}),  # the error itself
    ],
)
def test_scores_that_could_overflow_are_refused(made, more) -> None:
    scores((marginal(0),), multipliers=(WIDE,), records=2**37)
    with pytest.raises(InfeasiblePlan, match=re.escape(f"'{made.name}'")):
        scores((made,), **more)


def test_the_largest_table_that_is_allowed_is_scored_exactly() -> None:
    records = 2**36
    counts = DenseHistogram(np.array([[records, 0, 0], [0, 0, 0]]))
    made = scores((marginal(0, 1),), multipliers=(Fraction(2**24),), expected=((-np.ones(6, dtype=np.int64),),))
    assert made.evaluate(counts).tolist() == [2**24 * (records + 6)]
    assert largest_total((marginal(0, 1),), records) == records
    assert largest_total((PREFIX, SIGNED), 5) == 5 * (3 + 4)


@pytest.mark.parametrize("rows", thinned([1, 2, 3], 3))
@pytest.mark.parametrize(("relation", "one"), slow_but({0}, [(Neighbours.ADD_REMOVE, 1), (Neighbours.REPLACE, 2)]))
def test_a_person_moves_a_marginals_score_by_all_of_their_rows(relation, one, rows) -> None:
    """All that one person's rows can be, against the sensitivity that the price is worked out from."""
    unit = person(relation, rows)
    far = (np.array([10, 0]),), (np.array([0, 10, 0]),)
    made = scores((marginal(0),), (marginal(1),), expected=far, multipliers=(Fraction(1), Fraction(1)))
    assert made.sensitivity(unit) == persons.largest_move(made.evaluate, SHAPE, unit) == rows * one


@every_unit
@pytest.mark.parametrize("groups", thinned(CASES.values(), 3), ids=CASES.keys())
def test_no_person_moves_a_score_by_more_than_the_sensitivity(groups, unit) -> None:
    one, unit = unit, person(unit.neighbours, 2)
    made = scores(*groups, multipliers=fair_multipliers(groups, unit))
    moved = persons.largest_move(made.evaluate, SHAPE, unit)
    assert made.sensitivity(one) < moved <= made.sensitivity(unit)


def test_the_sensitivity_is_the_largest_over_groups_of_their_sum_rounded_up() -> None:
    groups = ((marginal(0), PREFIX), (marginal(1),))
    made = scores(*groups, multipliers=(Fraction(1, 7), Fraction(1, 3)))
    assert made.sensitivity(ADD_REMOVE) == math.ceil(Fraction(1 + 3, 7)) == 1
    assert made.sensitivity(person(Neighbours.ADD_REMOVE, 5)) == math.ceil(5 * Fraction(1 + 3, 7)) == 3
    turned = scores(*groups[::-1], multipliers=(Fraction(1, 3), Fraction(1, 7)))
    assert turned.sensitivity(person(Neighbours.ADD_REMOVE, 5)) == 3


def test_a_score_is_refused_wherever_the_exact_sums_reach_the_ceiling() -> None:
    """The sum of expected answers is formed in floats; its margin never lets one in."""
    for short in (1, 2**10, 2**35):
        expected = np.array([2**61, 2**61 - short])
        with pytest.raises(InfeasiblePlan):
            scores((marginal(0),), multipliers=(Fraction(1),), expected=((expected,),))


# The scores of some candidates: those of all, and a sensitivity of their own, against all neighbours.


STEEP = Dense(np.array([[0, 7, 0], [5, 0, 1]]))
BLOCKS = (
    QueryBlock(name="columns", factors=(Factor.identity(0, 2),)),
    QueryBlock(name="steep", factors=(Factor(axes=(1,), sizes=(3,), matrix=STEEP),)),
    QueryBlock(name="cells", factors=(Factor.identity(0, 2), Factor.identity(1, 3))),
)
EVERY = BlockScores(
    candidates=tuple((block,) for block in BLOCKS),
    multipliers=(Fraction(2), Fraction(5, 3), Fraction(1)),
    penalties=(1, 0, 2),
    expected=tuple((np.arange(block.rows),) for block in BLOCKS),
)


def test_they_are_those_of_all_candidates():
    counts = DenseHistogram(np.array([[5, 6, 7], [0, 2, 11]]))
    assert SomeScores(scores=EVERY, places=(2, 0)).evaluate(counts).tolist() == EVERY.evaluate(counts)[[2, 0]].tolist()


@pytest.mark.parametrize("places", thinned([(0,), (1,), (2,), (0, 2), (0, 1, 2)], 3))
@pytest.mark.parametrize("relation", list(Neighbours))
def test_no_neighbour_moves_them_by_more_than_the_sensitivity_of_those_that_are_left(relation, places):
    unit, some = PrivacyUnit(neighbours=relation), SomeScores(scores=EVERY, places=places)
    moves = [int(np.abs(some.evaluate(one) - some.evaluate(two)).max()) for one, two in pairs(SHAPE, 2, relation)]
    assert max(moves) <= some.sensitivity(unit)
    assert places != (0,) or max(moves) == some.sensitivity(unit)


def test_a_steeper_candidate_that_is_left_out_costs_nothing():
    unit = PrivacyUnit()
    assert SomeScores(scores=EVERY, places=(0,)).sensitivity(unit) < EVERY.sensitivity(unit)
