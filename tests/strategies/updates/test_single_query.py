"""One normalised query, and exact mistake bounds."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from support.small_universes import dense, marginal, measured, problem

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.strategies.updates.interface import SingleQuery, floor_of_log, on_domain

SHAPE = (2, 3, 2)


def test_reads_the_newest_answer_as_a_fraction():
    block = dense([0, 1, 2, 3, 4, 4], SHAPE, (1, 2), scale=Fraction(1, 4))
    history = [measured([marginal((0,), SHAPE)], [[1, 2]]), measured([block], [[30]])]
    query = SingleQuery.newest(problem(SHAPE, n=100), history)
    assert query.value == pytest.approx(0.075)
    assert np.allclose(query.coefficients + np.zeros(SHAPE), np.array([[0, 1], [2, 3], [4, 4]]) / 4)


def test_axes_in_any_order():
    tensor = np.arange(4).reshape(2, 2)
    assert np.array_equal(on_domain(tensor, (2, 0), 3), tensor.T[:, None, :])
    assert on_domain(np.array(5), (), 3).shape == (1, 1, 1)


def test_takes_one_query_only():
    with pytest.raises(InfeasiblePlan, match="one query a round"):
        SingleQuery.newest(problem(SHAPE, n=5), [measured([marginal((0,), SHAPE)], [[1, 2]])])


def test_fractions_need_a_public_number_of_records():
    with pytest.raises(InfeasiblePlan, match="--n"):
        SingleQuery.newest(problem(SHAPE), [measured([dense([1, 0], SHAPE, (0,))], [[1]])])


@pytest.mark.parametrize("size", [2, 3, 8, 64, 13440, 10**30])
@pytest.mark.parametrize("factor", [Fraction(1, 7), Fraction(4), Fraction(4 * 40**2), Fraction(10**25, 3)])
def test_agrees_with_many_digits(size, factor):
    with mpmath.workdps(120):
        assert floor_of_log(size, factor) == int(mpmath.floor(mpmath.log(size) * factor.numerator / factor.denominator))


def test_a_product_within_rounding_of_an_integer_is_decided():
    """factor = 5/log(2) to 45 digits, rounded down and up: a double, and 40 digits, cannot tell them apart."""
    with mpmath.workdps(80):
        whole = int(mpmath.floor(5 / mpmath.log(2) * mpmath.mpf(10) ** 45))
    assert floor_of_log(2, Fraction(whole, 10**45)) == 4
    assert floor_of_log(2, Fraction(whole + 1, 10**45)) == 5


def test_a_universe_of_one_cell_takes_no_mistakes():
    assert floor_of_log(1, Fraction(10**9)) == 0
