from fractions import Fraction

import numpy as np
import pytest
from support.brute_force_persons import crowd, person
from support.cases import in_one_test

from dpqr.domain.histogram import RECORDS, DenseHistogram
from dpqr.kernel.accountants.accountant import in_parallel
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.events import DiscreteGaussianEvent, DiscreteLaplaceEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.noisy_answers import (
    CEILING,
    DroppedRecordsMechanism,
    GaussianAnswers,
    LaplaceAnswers,
    for_dropped_records,
    largest_answer,
    refuse_beyond,
    refuse_noise,
)
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix

ADD_REMOVE = PrivacyUnit(neighbours=Neighbours.ADD_REMOVE)
REPLACE = PrivacyUnit(neighbours=Neighbours.REPLACE)
COUNTS = DenseHistogram(np.arange(12).reshape(3, 4))
MARGINAL = QueryBlock(name="marginal", factors=(Factor.identity(0, 3),))
PREFIX = QueryBlock(name="prefix", factors=(Factor(axes=(1,), sizes=(4,), matrix=Prefix(4)),))
SCALE, VARIANCE = Fraction(7, 3), Fraction(11, 2)


def query(*row: int) -> QueryBlock:
    factor = Factor(axes=(0,), sizes=(len(row),), matrix=Dense(np.array([row])))
    return QueryBlock(name="query", factors=(factor,))


@in_one_test(
    ("blocks", "unit", "l1", "squared"),
    [
        ((MARGINAL,), ADD_REMOVE, 1, 1),
        ((MARGINAL,), REPLACE, 2, 2),
        ((PREFIX,), ADD_REMOVE, 4, 4),
        ((PREFIX,), REPLACE, 4, 4),
        ((MARGINAL, PREFIX), ADD_REMOVE, 5, 5),
        ((MARGINAL, PREFIX), REPLACE, 6, 6),
        ((query(0, 3, 1),), ADD_REMOVE, 3, 9),
        ((query(-2, 3, 1),), REPLACE, 5, 25),
        ((query(1, 1, 1),), REPLACE, 1, 1),  # a dropped record may take the place of another
        ((query(0, 0, 0),), REPLACE, 1, 1),  # cannot move: counted as one unit, so that the noise is a law
    ],
)
def test_events_follow_from_the_blocks_and_the_noise(blocks, unit, l1, squared) -> None:
    laplace = LaplaceAnswers(blocks=blocks, unit=unit, scale=SCALE)
    alone = 1 if len(blocks) == blocks[0].rows == 1 else None
    assert laplace.event == DiscreteLaplaceEvent(sensitivity=l1, scale=SCALE, coordinates=alone)
    assert laplace.law.scale == SCALE
    gaussian = GaussianAnswers(blocks=blocks, unit=unit, variance=VARIANCE)
    assert gaussian.event == DiscreteGaussianEvent(squared_sensitivity=squared, variance=VARIANCE)
    assert gaussian.law.variance == VARIANCE


@in_one_test("maker", [LaplaceAnswers, GaussianAnswers])
def test_tiny_noise_leaves_the_exact_answers_block_by_block(maker) -> None:
    tiny = {"scale": Fraction(1, 500)} if maker is LaplaceAnswers else {"variance": Fraction(1, 500)}
    made, before = maker(blocks=(PREFIX, MARGINAL), unit=REPLACE, **tiny), COUNTS.marginal((0,)).copy()
    measured = made.sample(COUNTS, SeededNoise(1))
    assert measured.blocks == (PREFIX, MARGINAL)
    assert measured.law == made.law
    assert measured.values[0].tolist() == np.arange(12).reshape(3, 4).sum(axis=0).cumsum().tolist()
    assert measured.values[1].tolist() == [6, 22, 38]
    assert all(values.dtype == np.int64 for values in measured.values)
    LaplaceAnswers(blocks=(MARGINAL,), unit=REPLACE, scale=Fraction(50)).sample(COUNTS, SeededNoise(2))
    np.testing.assert_array_equal(COUNTS.marginal((0,)), before)


@in_one_test("maker", [LaplaceAnswers, GaussianAnswers])
def test_what_could_overflow_is_refused_before_any_data(maker) -> None:
    noise = {"scale": SCALE} if maker is LaplaceAnswers else {"variance": VARIANCE}
    maker(blocks=(query(2**26 - 1, 0, 0),), unit=REPLACE, **noise)
    for row, records in (((2**26, 0, 0), 2**36), ((-(2**26), 0, 0), 2**36), ((2**31, 0, 0), 2**31)):
        with pytest.raises(InfeasiblePlan, match="'query'"):
            maker(blocks=(MARGINAL, query(*row)), unit=REPLACE, records=records, **noise)


def test_noise_that_the_sampler_cannot_draw_is_refused() -> None:
    for scale in (Fraction(0), Fraction(2**53)):
        with pytest.raises(InfeasiblePlan, match="scale"):
            LaplaceAnswers(blocks=(MARGINAL,), unit=REPLACE, scale=scale)
    for variance in (Fraction(0), Fraction(2**101)):
        with pytest.raises(InfeasiblePlan, match="variance"):
            GaussianAnswers(blocks=(MARGINAL,), unit=REPLACE, variance=variance)


def test_the_largest_table_that_is_allowed_is_answered_exactly() -> None:
    counts = DenseHistogram(np.array([2**36 - 5, 5, 0]))
    block = query(2**26 - 1, -3, 0)
    measured = LaplaceAnswers(blocks=(block,), unit=REPLACE, scale=Fraction(1, 500)).sample(counts, SeededNoise(3))
    assert measured.values[0].tolist() == [(2**36 - 5) * (2**26 - 1) - 15]


@in_one_test("rows", [1, 2, 3])
@pytest.mark.parametrize("relation", list(Neighbours))
def test_a_person_moves_the_answers_by_no_more_than_the_events_say(relation, rows) -> None:
    """All that one person's rows can be; a marginal attains both norms."""
    unit, shape = person(relation, rows), (3, 2)
    blocks = (MARGINAL, QueryBlock(name="other", factors=(Factor.identity(1, 2),)))
    l1 = squared = 0
    for databases in crowd(shape, unit):
        table = np.stack([np.concatenate([block.answer(one) for block in blocks]) for one in databases])
        moved = np.abs(table[:, None] - (table[None] if relation is Neighbours.REPLACE else table[None, :1]))
        l1, squared = max(l1, int(moved.sum(axis=-1).max())), max(squared, int((moved**2).sum(axis=-1).max()))
    assert LaplaceAnswers(blocks=blocks, unit=unit, scale=SCALE).event.sensitivity == l1
    assert GaussianAnswers(blocks=blocks, unit=unit, variance=VARIANCE).event.squared_sensitivity == squared


def test_the_largest_answer_is_attained_and_the_ceiling_itself_is_refused() -> None:
    block = query(2, -7, 1)
    assert largest_answer(block, 5) == abs(int(block.apply(np.array([0, 5, 0]))[0])) == 35
    assert CEILING == 2**62
    refuse_beyond(CEILING - 1, "q", RECORDS)
    with pytest.raises(InfeasiblePlan, match=r"'q'.*2\^62.*68719476736 records.*coarser grid"):
        refuse_beyond(CEILING, "q", RECORDS)


@in_one_test(("least", "most"), [(None, 2**52), (Fraction(1, 64), 2**100)])
def test_noise_outside_the_samplers_range_is_refused(least, most) -> None:
    more = () if least is None else (least,)
    refuse_noise(Fraction(least or most), most, "a scale of", *more)
    for bad in (Fraction(0), Fraction(-1), most + Fraction(1, 3), *((least * 64 / 65,) if least else ())):
        with pytest.raises(InfeasiblePlan, match="a scale of"):
            refuse_noise(bad, most, "a scale of", *more)


@in_one_test("drops", [False, True])
@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("relation", Neighbours)
def test_a_draw_from_left_out_records_is_parallel_for_an_added_row_alone(relation, rows, drops) -> None:
    """A replaced row may leave one part and enter the other; a person may have rows in both."""
    unit = PrivacyUnit(neighbours=relation, columns=("who",) if rows else (), rows=max(rows, 1), drops=drops)
    count = LaplaceAnswers(blocks=(MARGINAL,), unit=unit, scale=SCALE)
    found = for_dropped_records(count, unit)
    parallel = relation is Neighbours.ADD_REMOVE and not rows
    assert isinstance(found, DroppedRecordsMechanism) == parallel
    kept, left_out = in_parallel(((count.event, 2), (found.event, 3), (found.event, 1)))
    assert (sum(n for _, n in kept), sum(n for _, n in left_out)) == ((2, 4) if parallel else (6, 0))
