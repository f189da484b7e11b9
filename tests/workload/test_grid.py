from fractions import Fraction

import numpy as np
import pytest

from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import common_grid, round_answers


def blocks(*scales: str) -> list[QueryBlock]:
    return [QueryBlock(name=scale, scale=Fraction(scale)) for scale in scales]


@pytest.mark.parametrize(
    ("scales", "grid"),
    [(["1"], "1"), (["1/2", "1/3"], "1/6"), (["6", "4"], "2"), (["3/4", "1/2", "1/4"], "1/4"), (["2/3", "4/3"], "2/3")],
)
def test_the_common_grid_is_the_coarsest_that_divides_every_scale(scales, grid) -> None:
    found = common_grid(blocks(*scales))
    assert found == Fraction(grid)
    ratios = [Fraction(scale) / found for scale in scales]
    assert all(ratio.denominator == 1 for ratio in ratios)
    assert np.gcd.reduce([ratio.numerator for ratio in ratios]) == 1


def test_rounding_is_to_the_nearest_integer_and_total() -> None:
    answers = np.array([0.4, -0.6, 0.6, -0.4, 99.7, -99.7, 2.5, 1e300, -1e300, np.inf, -np.inf, np.nan])
    assert round_answers(answers, 100).tolist() == [0, -1, 1, 0, 100, -100, 2, 100, -100, 100, -100, 0]


def test_the_largest_limit_does_not_wrap() -> None:
    assert round_answers(np.array([np.inf, -np.inf]), 2**61).tolist() == [2**61, -(2**61)]
