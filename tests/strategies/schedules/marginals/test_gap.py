"""How far a measurement shows a block to be from its expected answers.

Draws are those of numpy's frozen generator (NEP 19): the same whole numbers everywhere, so nothing fails by chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dpqr.strategies.schedules.marginals.errors import ExpectedError, Gap, estimate_gap, largest_gap
from dpqr.strategies.transcript import Round
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.workload import Measurement

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
