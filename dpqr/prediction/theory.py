"""Theory: lambda, excess risk and the least useful epsilon by the sources' rates, for a stated smoothness."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpqr.prediction.recipes import StableRecipe

USUAL = Fraction(1, 2)
"""The smoothness that is shown where nobody states one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Theory:
    """Exponents of the number of records m: lambda = m^-penalty, excess risk of order m^-risk, which still holds at
    epsilon = m^-epsilon. To be shown; nothing is chosen by it but lambda where the user states the smoothness.

    smoothness: r (least squares) or beta. assumed: nobody stated it. records: m.
    """

    least_squares: bool
    smoothness: Fraction
    assumed: bool
    records: int
    penalty: float
    risk: float
    epsilon: float

    def power(self, exponent: float) -> float:
        """records^-exponent."""
        return math.exp(-exponent * math.log(self.records))


def theory(recipe: StableRecipe, records: int) -> Theory | None:
    """The rates of Nie and Wang 2017 at `records`; None for the online learner.

    Least squares (JAMP, Theorems 2 and 3), r: lambda = m^(-2 / min(4, 3 + 2 r)), excess risk
    m^-min(1/2, 4 r / (3 + 2 r)); epsilon m^-min(1/3, 4 r / (3 + 6 r)). Others (J. Inequal. Appl., Theorem 4), beta:
    lambda = m^(-1 / (2 beta + 1)), excess risk m^(-beta / (2 beta + 1)), of a sign half that exponent;
    epsilon = 1 / sqrt(lambda m). The sources call that epsilon optimal; it is the smallest one at which their rate
    survives, and a larger one is always more accurate, so no epsilon is ever chosen or lowered by it.
    """
    if recipe.ordered:
        return None
    stated = recipe.smoothness or USUAL
    smooth, penalty = float(stated), recipe.exponent(stated)
    if recipe.name == "least-squares":
        risk, epsilon = min(0.5, 4 * smooth / (3 + 2 * smooth)), min(1 / 3, 4 * smooth / (3 + 6 * smooth))
    else:
        risk, epsilon = smooth / (2 * smooth + 1) / (2 if recipe.classifies else 1), (1 - penalty) / 2
    return Theory(
        least_squares=recipe.name == "least-squares",
        smoothness=stated,
        assumed=recipe.smoothness is None,
        records=records,
        penalty=penalty,
        risk=risk,
        epsilon=epsilon,
    )
