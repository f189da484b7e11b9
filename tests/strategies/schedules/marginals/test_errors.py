"""What noise leaves in a marginal, and how many records noisy one-way marginals tell of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.cases import in_one_test

from dpqr.strategies.schedules.marginals.forecast import ExpectedError, NoiseSpread, estimated_records
from dpqr.strategies.schedules.marginals.search import Gap, estimate_gap, largest_gap
from dpqr.strategies.transcript import Round
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity, Prefix, Sparse
from dpqr.workload.ranges import Ranges
from dpqr.workload.workload import Measurement


def test_sums_of_few_cells_count_more_for_they_hold_less_noise() -> None:
    assert estimated_records({0: np.full(2, 60.0), 1: np.full(8, 10.0)}) == pytest.approx(
        (120 / 2 + 80 / 8) / (1 / 2 + 1 / 8)
    )
    random = np.random.default_rng(1)
    sizes = (2, 40, 80)
    told = [
        {axis: 1000.0 / size + random.normal(0.0, 20.0, size) for axis, size in enumerate(sizes)} for _ in range(400)
    ]
    plain = [np.mean([values.sum() for values in counts.values()]) for counts in told]
    assert np.std([estimated_records(counts) for counts in told]) < 0.5 * np.std(plain)


def test_nothing_and_less_than_nothing_tell_of_one_record() -> None:
    assert estimated_records({}) == estimated_records({0: np.array([-5.0, 2.0])}) == 1.0


def test_little_noise_leaves_its_size_in_every_cell_and_much_leaves_all_records_astray() -> None:
    pair = QueryBlock(name="pair", factors=(Factor.identity(0, 10), Factor.identity(1, 10)))
    errors = ExpectedError.of((pair,), {0: np.full(10, 1000.0), 1: np.full(10, 1000.0)})
    assert errors.at(pair, 1.0) == pytest.approx(100 * 100 / 101, rel=0.02)
    assert errors.at(pair, 1e7) == pytest.approx(10_000, rel=0.01)


def test_a_predicate_that_ties_columns_together_is_told_from_all_of_them() -> None:
    either = np.ones((1, 6), dtype=np.int64)
    either[0, :2] = 0
    block = QueryBlock(name="or", factors=(Factor(axes=(1, 0), sizes=(2, 3), matrix=Dense(either)),))
    errors = ExpectedError.of((block,), {0: np.array([50.0, 30.0, 20.0]), 1: np.array([60.0, 40.0])})
    answer = 100 * (1 - 0.6 * 0.8)
    assert errors.at(block, 1.0) == pytest.approx(answer / (1 + answer), rel=0.02)


def test_queries_of_a_row_of_every_factor_are_as_many_as_there_are_rows() -> None:
    rows = np.array([[1, 1, 0], [0, 0, 1], [0, 1, 1]])
    factors = tuple(Factor(axes=(axis,), sizes=(3,), matrix=Dense(rows)) for axis in range(2))
    block = QueryBlock(name="ranges", factors=factors, rowwise=True)
    counts = {0: np.array([50.0, 30.0, 20.0]), 1: np.array([10.0, 10.0, 80.0])}
    answers = 100 * np.array([0.8 * 0.2, 0.2 * 0.8, 0.5 * 0.9])
    errors = ExpectedError.of((block,), counts)
    assert errors.at(block, 1.0) == pytest.approx((answers / (1 + answers)).sum(), rel=0.02)


# Spread: sums over a block's answers, beside the same from its coefficients.

ROWS = np.array([[1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 1]])
THREE = Factor(axes=(0,), sizes=(3,), matrix=Prefix(3))
FOUR = Factor(axes=(1,), sizes=(4,), matrix=Dense(ROWS))
SPARSE = Factor(axes=(1,), sizes=(4,), matrix=Sparse(csr_array(ROWS)))
BLOCKS = [
    QueryBlock(name="crossed", factors=(THREE, FOUR)),
    QueryBlock(name="row by row", factors=(THREE, SPARSE), rowwise=True),
    QueryBlock(name="marginal", factors=(Factor.identity(0, 3), Factor.identity(1, 4))),
    QueryBlock(name="by", factors=(Factor.identity(0, 3), SPARSE)),
]


def coefficients(block):
    """Shape (answers, 3, 4)."""
    return np.array([*block.coefficients()]).reshape(-1, 3, 4).astype(float)


@in_one_test("block", BLOCKS)
def test_sums_of_even_records_and_of_noise(block):
    """Noise of one column is shared out evenly over the other one."""
    table, spread = coefficients(block), NoiseSpread(block=block)
    assert spread.even == pytest.approx(table.sum() / 12)
    for axes, cells in (((0, 1), table.reshape(-1, 12)), ((0,), table.mean(axis=2)), ((1,), table.mean(axis=1))):
        assert spread.noise(axes) == pytest.approx(np.linalg.norm(cells, axis=1).sum())


@in_one_test("block", BLOCKS)
def test_what_two_columns_together_show(block):
    """Deviations of cells whose sums over either column are 0, over those of the cells themselves."""
    table, spread = coefficients(block), NoiseSpread(block=block)
    apart = table - table.mean(axis=1, keepdims=True)
    apart -= apart.mean(axis=2, keepdims=True)
    cells = 12 * (2 / 3 * 3 / 4) ** 0.5
    assert spread.missed(2) == spread.missed(3) == pytest.approx(np.sqrt((apart**2).sum(axis=(1, 2))).sum() / cells)


def test_a_single_column_has_nothing_to_miss_in_its_total():
    everything = QueryBlock(name="all", factors=(Factor(axes=(0,), sizes=(3,), matrix=Dense(np.ones((1, 3), int))),))
    assert NoiseSpread(block=everything).missed(1) == pytest.approx(0.0, abs=1e-12)
    assert Identity(3).cells * NoiseSpread(block=everything).even == pytest.approx(3.0)


# How far a measurement shows a block to be from its expected answers.
#
# Draws are those of numpy's frozen generator (NEP 19): the same whole numbers everywhere, so nothing fails by chance.

PAIR = QueryBlock(name="pair", factors=(Factor.identity(0, 10), Factor.identity(1, 10)))
EVEN = np.full((10, 10), 100.0)
ERRORS = ExpectedError.of((PAIR,), {0: np.full(10, 1000.0), 1: np.full(10, 1000.0)})


@dataclass(frozen=True)
class Law:
    deviation: float


def shown(truth: np.ndarray, deviation: float, noise: float = 1.0, seed: int = 3, records: float = 10_000.0) -> Gap:
    told = truth + noise * np.rint(np.random.RandomState(seed).normal(0.0, deviation, truth.shape))
    measurement = Measurement(blocks=(PAIR,), values=(told.reshape(-1).astype(np.int64),), law=Law(deviation))
    gap = estimate_gap(
        Round(choice=0, measurement=measurement, charges=(), expected=(EVEN.reshape(-1),)), ERRORS, records
    )
    assert gap is not None
    return gap


HALVES = EVEN * np.where(np.arange(10) < 5, 1.5, 0.5)
"""Off by 0.5 of the records."""


@pytest.mark.slow
def test_noise_alone_shows_next_to_no_gap() -> None:
    """Noise that drowns all records shows much now and then, so there the mean of 200 is looked at."""
    assert shown(EVEN, 1.0).least < 0.01
    assert shown(EVEN, 20.0).least < 0.07
    assert np.mean([shown(EVEN, 1e6, seed=seed).least for seed in range(200)]) < 0.25


def test_a_gap_is_shown_as_it_is_where_noise_is_small() -> None:
    """Noise may take a part of it, and adds nothing."""
    assert shown(HALVES, 1.0).least == pytest.approx(0.5, abs=0.02)
    assert 0.2 < shown(HALVES, 20.0).least < 0.55


def test_gaps_are_over_the_records_that_were_expected() -> None:
    assert shown(HALVES, 1.0, records=5_000.0).moved == pytest.approx(shown(HALVES, 1.0).moved)


def test_two_columns_that_name_each_other_have_the_largest_gap() -> None:
    assert largest_gap(PAIR) == pytest.approx(np.abs(np.eye(10) / 10 - np.full((10, 10), 0.01)).sum())


@in_one_test("rowwise", [True, False])
def test_the_largest_gap_of_sums_is_no_less_than_that_of_two_columns_that_are_equal(rowwise) -> None:
    """Boxes of two columns, and ranges of one at every cell of the other: a bound that is at most twice as large."""
    cells = 20
    starts, stops = np.arange(0, 10), np.arange(10, 20)
    matrix = Ranges(starts, stops, cells)
    other = matrix if rowwise else Identity(cells)
    factors = (Factor(axes=(0,), sizes=(cells,), matrix=matrix), Factor(axes=(1,), sizes=(cells,), matrix=other))
    block = QueryBlock(name="sums", factors=factors, rowwise=rowwise)
    equal, apart = np.eye(cells) / cells, np.full((cells, cells), 1 / cells**2)
    gap = float(np.abs(block.apply(equal) - block.apply(apart)).sum())
    assert 1 - 1e-12 <= largest_gap(block) / gap <= 2


def test_noise_that_drowns_all_records_hides_it() -> None:
    assert shown(HALVES, 1e6, noise=0.0).least < 0.1


def test_in_squares_noise_of_its_size_hides_no_gap() -> None:
    """The mean of 50 of them, at a deviation at which the least gap is half of the true one."""
    gaps = [shown(HALVES, 30.0, seed=seed) for seed in range(50)]
    assert np.mean([gap.least for gap in gaps]) < 0.3
    assert np.mean([gap.squared for gap in gaps]) ** 0.5 == pytest.approx(0.5, rel=0.2)


def test_where_there_is_no_gap_squares_spread_around_nothing_by_what_is_forecast() -> None:
    squares = [shown(EVEN, 20.0, seed=seed).squared for seed in range(200)]
    spread = shown(EVEN, 20.0).spread
    assert abs(np.mean(squares)) < spread
    assert np.std(squares) == pytest.approx(spread, rel=0.45)


def test_chance_is_how_far_as_many_draws_are_off() -> None:
    """From even cells of a hundred records, the mean of a hundred draws."""
    counts = np.random.RandomState(6).multinomial(10_000, np.full(100, 0.01), 100)
    assert shown(EVEN, 1.0).chance == pytest.approx(np.abs(counts - 100).sum() / 1_000_000, rel=0.07)


def test_a_lost_draw_shows_none() -> None:
    assert estimate_gap(Round(choice=0, measurement=None, charges=()), ERRORS, 10_000.0) is None
