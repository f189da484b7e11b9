from fractions import Fraction

import mpmath
import numpy as np

from dpqr.noise.exp_table import LAST_CELL, exp_above


def check(cells, exp_minus):
    for cell, bound in zip(cells.tolist(), exp_above(cells).tolist(), strict=True):
        ratio = mpmath.mpf(bound) / exp_minus(Fraction(cell, 1 << 14))
        assert 1 <= ratio <= 1 + mpmath.ldexp(1, -46)


def test_every_fine_entry_bounds_from_above(exp_minus):
    check(np.arange(1024), exp_minus)


def test_every_coarse_entry_bounds_from_above(exp_minus):
    check(np.arange(0, LAST_CELL + 1, 1024), exp_minus)


def test_products_bound_from_above(exp_minus):
    check(np.arange(0, LAST_CELL, 997), exp_minus)
