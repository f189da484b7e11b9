"""Rounding: what double precision adds to the distance of two functions' values, bounded for every table."""

from __future__ import annotations

from fractions import Fraction

UNIT = Fraction(1, 2**53)
"""u, the unit roundoff of double precision."""
ULP = 2 * UNIT
FEATURE_NORM = 1 + Fraction(1, 2**40)
"""Largest norm of a row of features as it is computed. Its square is a sum of `width` squares, so the norm that
`clipped` divides by is short by a factor of (1 - gamma_width)^(1/2) (1 - u) at most, and the quotients by (1 + u):
width 2^-54 and a few u together, 2^-41 for 2^12 features. Cosines and sines have norm 1 but for some u."""


def gamma(operations: int) -> Fraction:
    """gamma_k = k u / (1 - k u): a product of k factors (1 + d)^(+-1), |d| <= u, is 1 + t with |t| <= gamma_k.

    Higham 2002, Accuracy and Stability of Numerical Algorithms, Lemma 3.1.
    """
    return operations * UNIT / (1 - operations * UNIT)


def evaluation_error(width: int, norm: Fraction) -> Fraction:
    """How far a computed value of f(x) = <w, phi(x)> can be from the exact one, ||w|| <= `norm`.

    |fl(<w, phi>) - <w, phi>| <= gamma_width |w| . |phi| in any order of summation, fused or not (Higham 2002, (3.5)),
    and |w| . |phi| <= ||w|| ||phi|| (Cauchy and Schwarz). One rounding more for the quotient by the grid's step, and
    one for what underflows: gamma_(width + 2). The features are what they are computed to be: both tables of a pair
    see the same ones, so it is their norm alone that matters (`FEATURE_NORM`).

    A value that moves by D in exact arithmetic thus moves by D + 2 e as it is computed, with any two tables.
    """
    return gamma(width + 2) * norm * FEATURE_NORM
