"""How far a measurement shows that the fit was off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dpqr.strategies.schedules.expected_error import ExpectedError
from dpqr.strategies.schedules.gap import shown_gap
from dpqr.strategies.transcript import Round
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.measurement import Measurement

PAIR = QueryBlock(name="pair", factors=(Factor.identity(0, 10), Factor.identity(1, 10)))
EVEN = np.full((10, 10), 100.0)
ERRORS = ExpectedError.of((PAIR,), {0: np.full(10, 1000.0), 1: np.full(10, 1000.0)})


@dataclass(frozen=True)
class Law:
    deviation: float


def shown(truth: np.ndarray, deviation: float, noise: float = 1.0) -> float:
    told = truth + noise * np.rint(np.random.default_rng(3).normal(0.0, deviation, truth.shape))
    measurement = Measurement(blocks=(PAIR,), values=(told.reshape(-1).astype(np.int64),), law=Law(deviation))
    return shown_gap(
        Round(choice=0, measurement=measurement, charges=(), expected=(EVEN.reshape(-1),)), ERRORS, 10_000.0
    )


def test_noise_alone_shows_next_to_no_gap() -> None:
    assert all(shown(EVEN, deviation) < 0.03 for deviation in (1.0, 20.0, 1e6))


def test_a_gap_is_shown_as_it_is_where_noise_is_small() -> None:
    """Noise may take a part of it, and adds nothing."""
    truth = EVEN * np.where(np.arange(10) < 5, 1.5, 0.5)
    assert shown(truth, 1.0) == pytest.approx(0.5, abs=0.02)
    assert 0.25 < shown(truth, 20.0) < 0.55


def test_noise_that_drowns_all_records_hides_it() -> None:
    truth = EVEN * np.where(np.arange(10) < 5, 1.5, 0.5)
    assert shown(truth, 1e6, noise=0.0) < 0.1


def test_a_lost_draw_shows_none() -> None:
    assert shown_gap(Round(choice=0, measurement=None, charges=()), ERRORS, 10_000.0) == 0.0
