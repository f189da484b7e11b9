"""Distances from draws: where the noise is small, they are the errors."""

from fractions import Fraction

import numpy as np
import pytest

from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.releases.answers.errors import at_least_distance, distance_error, is_measured_exactly
from dpqr.releases.answers.noisy import Noisy
from dpqr.releases.answers.refits import MeasuredBlocks
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.workload import Measurement

BLOCK, OTHER = (QueryBlock(name=f"{axis}", factors=(Factor.identity(axis, 3),)) for axis in (0, 1))
DRAWN = Noisy(values=np.array([5.0, 5.0, 5.0]), deviation=np.full(3, 0.5), margin=np.array([1.0, 1.0, np.nan]))


@pytest.mark.parametrize(("scale", "known"), [(Fraction(1, 10), True), (Fraction(1, 2), False), (Fraction(9), False)])
def test_a_block_is_known_where_cells_are_as_they_were(scale, known):
    history = [Measurement(blocks=(BLOCK,), values=(np.zeros(3, dtype=np.int64),), law=DiscreteLaplace(scale))]
    places = MeasuredBlocks.of(history)
    assert is_measured_exactly(BLOCK, DRAWN, history, places) == known
    assert not is_measured_exactly(OTHER, DRAWN, history, places)
    assert not is_measured_exactly(BLOCK, Noisy.absent(3), history, places)


def test_the_error_of_a_known_block_is_its_distance_and_the_noise():
    found = distance_error(np.array([5.0, 5.5, 9.0]), DRAWN)
    assert found == pytest.approx([0.5, 0.5 * 2**0.5, (16 + 0.25) ** 0.5])


def test_no_error_is_below_the_distance_less_the_margin():
    estimate = np.array([9.0, 5.5, 100.0])
    assert at_least_distance(np.full(3, 0.1), estimate, DRAWN).tolist() == [3.0, 0.1, 0.1]
    assert at_least_distance(np.full(3, 4.0), estimate, DRAWN).tolist() == [4.0] * 3
    assert np.isnan(at_least_distance(np.full(3, np.nan), estimate, DRAWN)).all()
