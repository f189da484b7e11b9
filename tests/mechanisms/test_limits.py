from fractions import Fraction

import numpy as np
import pytest

from dpqr.errors import InfeasiblePlan
from dpqr.mechanisms.limits import CEILING, RECORDS, largest_answer, refuse_beyond, refuse_noise
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense


def test_the_largest_answer_is_attained() -> None:
    row = Factor(axes=(0,), sizes=(3,), matrix=Dense(np.array([[2, -7, 1]])))
    block = QueryBlock(name="q", factors=(row,))
    assert largest_answer(block, 5) == abs(int(block.apply(np.array([0, 5, 0]))[0])) == 35


def test_the_ceiling_itself_is_refused() -> None:
    refuse_beyond(CEILING - 1, "q", RECORDS)
    with pytest.raises(InfeasiblePlan, match=r"'q'.*2\^62.*68719476736 records.*coarser grid"):
        refuse_beyond(CEILING, "q", RECORDS)


def test_noise_outside_the_samplers_range_is_refused() -> None:
    refuse_noise(Fraction(2**52), 2**52, "a scale of")
    for bad in (Fraction(0), Fraction(-1), 2**52 + Fraction(1, 3)):
        with pytest.raises(InfeasiblePlan, match="a scale of"):
            refuse_noise(bad, 2**52, "a scale of")


def test_the_ceiling_leaves_room_for_the_difference_of_any_two() -> None:
    assert np.iinfo(np.int64).max >= (CEILING - 1) - -(CEILING - 1)
    assert CEILING == 2**62


def test_noise_below_the_smallest_that_is_proved_is_refused() -> None:
    refuse_noise(Fraction(1, 64), 2**100, "a variance of", Fraction(1, 64))
    for bad in (Fraction(1, 65), Fraction(0), 2**100 + Fraction(1, 3)):
        with pytest.raises(InfeasiblePlan, match="a variance of"):
            refuse_noise(bad, 2**100, "a variance of", Fraction(1, 64))
