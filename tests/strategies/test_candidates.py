"""Candidates: what can be chosen, what a hypothesis is compared with, and that no hypothesis can break a score."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.fakes import Says

from dpqr.domain.histogram import RECORDS, DenseHistogram
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.box_scores import BoxScores
from dpqr.mechanisms.noisy_answers import CEILING
from dpqr.mechanisms.selection import QueryScores
from dpqr.models.hypothesis import DenseDistribution
from dpqr.strategies import candidates as candidates_module
from dpqr.strategies.candidates import BlockCandidates, QueryCandidates, SomeCandidates
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.ranges import Ranges

ADD_REMOVE = PrivacyUnit(neighbours=Neighbours.ADD_REMOVE)
REPLACE = PrivacyUnit(neighbours=Neighbours.REPLACE)
COUNTS = DenseHistogram(np.array([[4, 0, 1], [2, 2, 9]]))
MARGINAL = QueryBlock(name="marginal", factors=(Factor.identity(0, 2), Factor.identity(1, 3)))
PREFIX = QueryBlock(name="prefix", factors=(Factor(axes=(1,), sizes=(3,), matrix=Prefix(3)),))
HALVES = QueryBlock(
    name="halves",
    factors=(Factor(axes=(1,), sizes=(3,), matrix=Dense(np.array([[0, 1, 2], [2, 0, 0]]))),),
    scale=Fraction(1, 2),
)
BROKEN = [np.nan, np.inf, -np.inf, 1e300, -1e300]


def constant(value) -> Says:
    return Says(dict.fromkeys(("marginal", "prefix", "halves"), value))


def test_blocks_are_scored_by_error_per_sensitivity_beyond_the_penalty() -> None:
    candidates = BlockCandidates(blocks=(MARGINAL, PREFIX), unit=ADD_REMOVE, penalties=(1, 2))
    assert [candidates[0], candidates[1]] == [(MARGINAL,), (PREFIX,)]
    scores = candidates.scores(Says({"marginal": [4.4, 0.6, 1.2, 2, 2, 9], "prefix": [6, 8.7, 7.6]}))
    # rounded: 4 1 1 2 2 9 against 4 0 1 2 2 9, and 6 9 8 against 6 8 18; sensitivities 1 and 3
    assert scores.evaluate(COUNTS).tolist() == [3 * (1 - 1), 11 - 2]
    for unit in (ADD_REMOVE, REPLACE):
        assert candidates.sensitivity(unit) == scores.sensitivity(unit)
    assert candidates.sensitivity(ADD_REMOVE) == 3
    assert candidates.sensitivity(REPLACE) == 6


def test_blocks_are_made_comparable_under_the_units_own_relation() -> None:
    single = QueryBlock(name="single", factors=(Factor(axes=(0,), sizes=(2,), matrix=Dense(np.array([[0, 1]]))),))
    for unit, sensitivity in ((ADD_REMOVE, 1), (REPLACE, 2)):
        candidates = BlockCandidates(blocks=(MARGINAL, single), unit=unit)
        assert candidates.sensitivity(unit) == sensitivity
        factors = candidates.scores(Says({"marginal": 0, "single": 0})).multipliers
        assert factors == ((1, 1) if unit is ADD_REMOVE else (1, 2))


def test_every_row_is_a_candidate_query() -> None:
    candidates = QueryCandidates(blocks=(MARGINAL, HALVES, PREFIX))
    assert len(candidates) == 6 + 2 + 3
    answers = np.concatenate([block.answer(COUNTS) for block in candidates.blocks])
    for index in range(len(candidates)):
        (row,) = candidates[index]
        assert row.rows == 1
        assert row.answer(COUNTS).tolist() == [answers[index]]
        assert row.scale == (Fraction(1, 2) if index in (6, 7) else 1)
    for outside in (-1, len(candidates)):
        with pytest.raises(IndexError):
            candidates[outside]


def test_queries_are_scored_on_the_finest_grid() -> None:
    candidates = QueryCandidates(blocks=(MARGINAL, HALVES))
    assert candidates.grid == Fraction(1, 2)
    scores = candidates.scores(Says({"marginal": [4.3, 0, 1, 2, 2, 8], "halves": [20.6, 12.4]}))
    # in halves: 8 0 2 4 4 18 against 9 0 2 4 4 16; and 2 + 20, 12 against 21, 12
    assert scores.evaluate(COUNTS).tolist() == [1, 0, 0, 0, 0, 2, 1, 0]
    for unit in (ADD_REMOVE, REPLACE):
        assert candidates.sensitivity(unit) == scores.sensitivity(unit) == 2
    assert QueryCandidates(blocks=(PREFIX,)).sensitivity(REPLACE) == 1


@in_one_test("value", BROKEN)
@pytest.mark.parametrize("kind", [BlockCandidates, QueryCandidates])
def test_no_hypothesis_can_break_or_overflow_a_score(kind, value) -> None:
    """Whatever it answers, scores are public grounds only: finite, in range, made without a warning."""
    candidates = kind(blocks=(MARGINAL, PREFIX, HALVES))
    scores = candidates.scores(constant(value)).evaluate(COUNTS)
    exact = [abs(int(score)) for score in scores]
    assert max(exact) < CEILING
    if np.isnan(value):
        assert scores.tolist() == candidates.scores(constant(0)).evaluate(COUNTS).tolist()
    else:
        assert min(exact) > 2**33  # such an answer is as wrong as any


def test_a_block_whose_every_row_is_beyond_all_records_is_shrunk_as_a_whole() -> None:
    """Clipped row by row, six rows of up to 2^59 records would still overflow the sum."""
    for value in (np.inf, -np.inf, 1e300):
        scores = BlockCandidates(blocks=(MARGINAL,), records=2**59).scores(constant(value))
        assert 2**58 < int(scores.evaluate(COUNTS)[0]) < 2**60


def test_clipping_leaves_every_plausible_hypothesis_alone() -> None:
    """Even one that stands for all records that may be declared."""
    full = DenseHistogram(np.array([[RECORDS, 0, 0], [0, 0, 0]]))
    says = Says({block.name: block.answer(full) for block in (MARGINAL, PREFIX, HALVES)})
    for kind in (BlockCandidates, QueryCandidates):
        scores = kind(blocks=(MARGINAL, PREFIX, HALVES)).scores(says)
        assert not scores.evaluate(full).any()


def test_scoring_leaves_candidates_and_hypothesis_as_they_were() -> None:
    """So choices from one hypothesis do not depend on which of them came first."""
    listed = BlockCandidates(blocks=(MARGINAL, PREFIX))
    says = Says({block.name: constant(3).answer(block) for block in (MARGINAL, PREFIX)})
    first = listed.scores(says).evaluate(COUNTS).tolist()
    listed.scores(constant(5))
    assert listed.scores(says).evaluate(COUNTS).tolist() == first
    assert BlockCandidates(blocks=(PREFIX,)).scores(says).evaluate(COUNTS).tolist() == first[1:]


def test_answers_of_many_blocks_are_held_in_short_words_where_they_fit() -> None:
    for value, kind in ((-(2**31) + 1, np.int32), (2**31 - 1, np.int32), (2**31, np.int64), (-(2**31), np.int64)):
        ((held,),) = BlockCandidates(blocks=(MARGINAL,)).scores(constant(value)).expected
        assert (held.dtype, set(held.tolist())) == (kind, {value})


@in_one_test("kind", [BlockCandidates, QueryCandidates])
def test_what_could_overflow_is_refused_in_the_plan(kind) -> None:
    large = Factor(axes=(0,), sizes=(2,), matrix=Dense(np.array([[0, 2**26], [1, 0]])))
    with pytest.raises(InfeasiblePlan, match="'large'"):
        kind(blocks=(MARGINAL, QueryBlock(name="large", factors=(large,))))
    kind(blocks=(MARGINAL, QueryBlock(name="large", factors=(large,))), records=2**30)


@pytest.fixture
def few_are_searched(monkeypatch):
    """A function that has the search take any number of boxes from then on."""

    def now():
        candidates_module._index.cache_clear()
        monkeypatch.setattr(candidates_module, "FEWEST_SEARCHED", 1)

    yield now
    candidates_module._index.cache_clear()


def test_very_many_boxes_are_searched_and_score_what_they_scored(few_are_searched) -> None:
    """On the table's finer grid: rounding the hypothesis' cells and not its answers moves a score by half a record."""
    boxes = QueryBlock(
        name="boxes",
        factors=tuple(Factor(axes=(axis,), sizes=(size,), matrix=Prefix(size)) for axis, size in ((0, 2), (1, 3))),
        rowwise=True,
    )
    blocks = (random_boxes(boxes, 40), PREFIX)
    hypothesis = DenseDistribution.uniform((2, 3), 17.3)
    plain = QueryCandidates(blocks=blocks).scores(hypothesis)
    assert isinstance(plain, QueryScores)
    few_are_searched()
    searched = QueryCandidates(blocks=blocks).scores(hypothesis)
    assert isinstance(searched, BoxScores)
    assert len(searched) == len(plain)
    apart = searched.evaluate(COUNTS) / 2.0**searched.bits - plain.evaluate(COUNTS)
    assert np.abs(apart).max() < 0.51
    for unit in (ADD_REMOVE, REPLACE):
        assert searched.sensitivity(unit) == plain.sensitivity(unit) << searched.bits


@pytest.mark.parametrize("broken", BROKEN)
def test_no_hypothesis_can_break_the_search(broken, few_are_searched) -> None:
    few_are_searched()
    scores = QueryCandidates(blocks=(random_boxes(PREFIX, 30),)).scores(Says({"table": broken}))
    assert isinstance(scores, BoxScores)
    assert 0 <= scores.evaluate(COUNTS).min() <= scores.evaluate(COUNTS).max() < CEILING


def test_queries_of_unlike_weight_are_not_searched(few_are_searched) -> None:
    few_are_searched()
    heavy = replace(PREFIX, name="heavy", weight=Fraction(2))
    made = QueryCandidates(blocks=(random_boxes(PREFIX, 30), heavy), unit=ADD_REMOVE)
    assert isinstance(made.scores(DenseDistribution.uniform((2, 3), 1.0)), QueryScores)


def random_boxes(block: QueryBlock, rows: int) -> QueryBlock:
    """As many random boxes on the block's attributes."""
    generator = np.random.default_rng(rows)
    factors = []
    for factor in block.factors:
        ends = np.sort(generator.integers(0, factor.matrix.cells + 1, (2, rows)), axis=0)
        factors.append(replace(factor, matrix=Ranges(ends[0], ends[1], factor.matrix.cells)))
    return replace(block, factors=tuple(factors), rowwise=True, name=f"{block.name}-{rows}")


# SomeCandidates: scores of a part of the blocks are those that this part would have alone.

ONE = QueryBlock(name="one", factors=(Factor.identity(0, 2),), weight=Fraction(1, 2))


def test_some_blocks_are_scored_as_if_they_were_all() -> None:
    """Up to a factor that scores and sensitivities share: a selection looks at their quotients alone."""
    every = BlockCandidates(blocks=(MARGINAL, PREFIX, ONE), penalties=(1, 2, 3), keep=True)
    says = Says({"marginal": 4, "prefix": [6, 8.7, 7.6], "one": [20.6, 12.4]})
    for gone in ((), ("prefix",), ("marginal", "one")):
        some = SomeCandidates.without(every, gone)
        alone = some.listed
        assert [some[place] for place in range(len(some))] == [(block,) for block in alone.blocks]
        assert [block.name for block in alone.blocks] == [each.name for each in every.blocks if each.name not in gone]
        found, expected = some.scores(says), alone.scores(says)
        assert len(found) == len(expected) == len(some)
        for unit in (ADD_REMOVE, REPLACE):
            widths = (found.sensitivity(unit), expected.sensitivity(unit))
            assert (found.evaluate(COUNTS) * widths[1]).tolist() == (expected.evaluate(COUNTS) * widths[0]).tolist()
            assert alone.sensitivity(unit) == some.sensitivity(unit) == widths[1]


def test_choices_from_one_hypothesis_are_scored_once() -> None:
    every, answered = BlockCandidates(blocks=(MARGINAL, PREFIX)), []

    class Counted(Says):
        def answer(self, block):
            answered.append(block.name)
            return super().answer(block)

    says = Counted({"marginal": 4, "prefix": 5})
    for gone in ((), ("marginal",)):
        SomeCandidates.without(every, gone).scores(says)
    assert answered == ["marginal", "prefix"]
    every.scores(Counted({"marginal": 0, "prefix": 5}))
    assert len(answered) == 4
