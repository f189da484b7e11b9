"""Upper bounds of exp(-x) on a grid, for whole arrays, without trust in any mathematical library.

A *cell* is an integer c that stands for x = c / 2^14. The bound is a product of two table entries, exp(-(c >> 10) / 16)
and exp(-(c & 1023) / 2^14), each computed from an integer bracket; of the floating-point unit only the rounding of one
multiplication (IEEE 754) is used.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import ldexp

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.noise.exp_bounds import exp_bracket

CELL_BITS = 14
LARGEST_EXPONENT = 45
LAST_CELL = LARGEST_EXPONENT << CELL_BITS
"""Stands for every x >= 45; exp(-45) < 2^-64."""

_FINE_BITS = 10
_ENTRY_BITS = 144
_ENTRY_MARGIN = 1 + 2.0**-48


def exp_above(cells: IntArray) -> FloatArray:
    """For each cell c in 0..LAST_CELL a float in [exp(-c / 2^14), (1 + 2^-46) exp(-c / 2^14)].

    Why: an entry comes from an integer `high` with 2^-144 high in [v, v + 2^-143], v = exp(-x) >= 2^-65, so it is
    above v by less than 2^-77 v; rounding it to a float moves it by 2^-53 at most, the factor 1 + 2^-48 by a rounding
    more. So entries lie in [(1 + 2^-49) v, (1 + 2^-47.5) v], and a rounded product of two in [1, 1 + 2^-46] times the
    value.
    """
    coarse, fine = _tables()
    bounds: FloatArray = coarse.take(cells >> _FINE_BITS)
    bounds *= fine.take(cells & ((1 << _FINE_BITS) - 1))
    return bounds


@cache
def _tables() -> tuple[FloatArray, FloatArray]:
    coarse = [_entry(Fraction(i << _FINE_BITS, 1 << CELL_BITS)) for i in range((LAST_CELL >> _FINE_BITS) + 1)]
    fine = [_entry(Fraction(i, 1 << CELL_BITS)) for i in range(1 << _FINE_BITS)]
    return np.array(coarse), np.array(fine)


def _entry(exponent: Fraction) -> float:
    return ldexp(exp_bracket(exponent, _ENTRY_BITS)[1], -_ENTRY_BITS) * _ENTRY_MARGIN
