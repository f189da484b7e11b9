"""Sums of losses: the law of many independent privacy losses added up, nearly without slack.

The law of the sum is computed by dp-accounting's convolution, with its errors bounded. Floats and their Fourier
transforms are exact to some 10^-15 of the whole mass only, far above the deltas that matter. So all laws are tilted
first, Pr[l] -> Pr[l] e^(theta l) / M(theta), which makes losses near epsilon the likely ones, and tilted back
afterwards: absolute errors of the transform become errors relative to Chernoff's bound of delta.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.privacy.accountants.dominating_pairs import LossLaw, Pair
from dpqr.privacy.accountants.numerics import golden_section

FINENESS = 10
"""Steps of the grid in the smallest epsilon; 5 would do."""
COARSEST = 5
MOST_CELLS = 2**21
TRUNCATED = 2.0**-40
"""Mass, of a tilted power, that may be left out of its window, and again off its ends."""
NEGLIGIBLE = 2.0**-900
"""Mass of one cell of a tilted law that is left out: by it the library would divide, beyond the range of floats."""
TRANSFORM = 2.0**-45
"""Relative error of a Fourier transform in the 2-norm: log2(N) 6.7 2^-53 by Higham 2002, Theorem 24.2, for N < 2^38."""
RELATIVE = 1 + 2.0**-20
"""Covers the relative errors of all masses and exponents: below 10^-12 a draw, for at most MOST_DRAWS draws."""
MOST_DRAWS = 2 * 10**5
STEEPEST = 2.0**20
MILDER = 2.0**10
SEARCH_STEPS = 60

Laws = tuple[tuple[LossLaw, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossSum:
    """tilted[k] of the tilted sum's mass lies on the loss (lowest + k) step; all of it is e^`scale` of the true mass.

    error: L1 distance, at most, of `tilted` to the exact masses of the tilted sum. beyond: mass, at most, of losses
    that have no place on the grid.
    """

    step: float
    lowest: int
    tilted: FloatArray
    tilt: float
    scale: float
    error: float
    beyond: float = 0.0

    def delta(self, epsilon: Fraction) -> float:
        """At least sum over losses l > epsilon of Pr[l] (1 - e^(epsilon - l)).

        With x = l - epsilon a tilted mass counts e^(scale - tilt epsilon) times (1 - e^-x) e^(-tilt x), which is
        largest where e^-x = tilt / (1 + tilt): so the error counts at most as much as that.
        """
        below = float(epsilon) * (1 - 2.0**-52)
        first = max(0, math.ceil(below / self.step) - self.lowest)
        above = np.maximum((np.arange(first, self.tilted.size) + self.lowest) * self.step - below, 0.0)
        mass = float((self.tilted[first:] * -np.expm1(-above)) @ np.exp(-self.tilt * above))
        exponent = self.scale - self.tilt * below
        whole = mass + self.error * math.exp(_log_peak(self.tilt))
        return math.inf if exponent > 500 else whole * math.exp(exponent) * RELATIVE + self.beyond


def grid_step(epsilons: list[Fraction], exact: Fraction, fineness: int = FINENESS) -> float:
    """Return a step that divides `exact`, one of the epsilons (but for a float's rounding up), and the smallest epsilon
    at least `fineness` times.

    Raises:
        ArithmeticError: the step is coarser than a fifth of the smallest epsilon.
    """
    smallest = min(epsilons)
    parts = math.ceil(exact / smallest * fineness)
    step = math.nextafter(float(exact / parts), math.inf)
    if not 0 < COARSEST * Fraction(step) <= smallest:
        raise ArithmeticError("the grid of losses is coarser than a fifth of the smallest epsilon")
    return step


def summed(pairs: Mapping[Pair, int], step: float, delta: float) -> LossSum | None:
    """Return the law of the sum of all losses, tilted for use at `delta`; None beyond MOST_DRAWS or MOST_CELLS.

    Args:
        pairs: dominating pairs, each with its number of draws.
        step: of the grid of losses.
        delta: the conversion for which the law is most accurate.
    """
    draws = sum(pairs.values())
    spread = math.sqrt(math.fsum(count * (float(pair.epsilon) / step) ** 2 for pair, count in pairs.items()))
    longest = max(float(pair.epsilon) / step for pair in pairs)
    if draws > MOST_DRAWS or 20 * spread + longest > MOST_CELLS:
        return None
    laws = tuple((pair.losses(step), count) for pair, count in pairs.items())
    tilt = _best_tilt(laws, step, delta)
    return _convolved(laws, step, tilt)


def _best_tilt(laws: Laws, step: float, delta: float) -> float:
    """Return nearly the minimiser of Chernoff's epsilon for the delta of a sum, by golden sections.

    Any tilt gives a valid figure, so floats may choose it. The target is MILDER times the delta: a tilt that is too
    steep for the epsilon costs more digits than one that is too flat. At 8 / step nearly all of a law lies on its
    largest loss, and no more is gained; more than STEEPEST for the whole sum would cost digits.
    """
    aim = math.log(MILDER * delta)
    reach = math.fsum(count * (law.logs.size + abs(law.lowest)) for law, count in laws)
    top = math.log(min(8.0, STEEPEST / reach) / step)

    def epsilon(log_tilt: float) -> float:
        tilt = math.exp(log_tilt)
        return (_scale(laws, step, tilt) + _log_peak(tilt) - aim) / tilt

    return math.exp(golden_section(epsilon, top - 30, top, SEARCH_STEPS))


def _log_peak(tilt: float) -> float:
    """ln of the largest (1 - e^-x) e^(-tilt x) over x > 0."""
    return -tilt * math.log1p(1 / tilt) - math.log1p(tilt)


def _scale(laws: Laws, step: float, tilt: float) -> float:
    """ln of the mean of e^(tilt sum)."""
    return math.fsum(count * _log_mass(_tilted_logs(law, step, tilt)) for law, count in laws)


def _tilted_logs(law: LossLaw, step: float, tilt: float) -> FloatArray:
    return law.logs + tilt * step * (np.arange(law.logs.size) + law.lowest)


def _log_mass(logs: FloatArray) -> float:
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))


def _convolved(laws: Laws, step: float, tilt: float) -> LossSum:
    """Each law's own powers by dp-accounting, then their convolution.

    Errors, in L1, of transforms of length N (2-norm theorem, |transform| <= 1, and Cauchy's inequality): at most
    sqrt(N) (count + 4) TRANSFORM for a power, sqrt(N) 4 TRANSFORM for a convolution, and what was truncated. N is at
    most twice the longest array. A draw of which a mass m is left out moves the sum's law by m at most.
    """
    from dp_accounting.pld import common
    from scipy.signal import fftconvolve

    total, lowest, scale, longest = np.ones(1), 0, 0.0, 0
    for law, count in laws:
        logs = _tilted_logs(law, step, tilt)
        log_mass = _log_mass(logs)
        masses = np.exp(logs - log_mass)
        masses[masses < NEGLIGIBLE] = 0.0
        start, power = common.self_convolve(masses, count, TRUNCATED)
        first, trimmed = _trimmed(np.maximum(power, 0.0))
        longest = max(longest, power.size, logs.size)
        total = np.maximum(fftconvolve(total, trimmed), 0.0)
        lowest += law.lowest * count + int(start) + first
        scale += log_mass * count
    draws = sum(count for _, count in laws)
    transforms = math.sqrt(2 * max(total.size, longest)) * (draws + 8 * len(laws)) * TRANSFORM
    error = transforms + 2 * len(laws) * TRUNCATED + draws * longest * NEGLIGIBLE
    beyond = math.fsum(law.beyond * count for law, count in laws)
    return LossSum(step=step, lowest=lowest, tilted=total, tilt=tilt, scale=scale, error=error, beyond=beyond)


def _trimmed(masses: FloatArray) -> tuple[int, FloatArray]:
    """Cut both ends, of at most TRUNCATED mass; returns the number of cells cut below, and the rest."""
    rising, falling = np.cumsum(masses), np.cumsum(masses[::-1])
    first = int(np.searchsorted(rising, TRUNCATED / 2, side="right"))
    last = masses.size - int(np.searchsorted(falling, TRUNCATED / 2, side="right"))
    return first, masses[first:last]
