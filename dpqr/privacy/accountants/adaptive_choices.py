"""Adaptive choices: the curve of draws of bounded range among which an adversary picks each next one, and of Gaussian
noise beside them.

`RangedPair` dominates one draw whatever its range is, so its losses spread more than those of any real draw: variance
epsilon^2 / 3, where losses on the ends of one interval of length epsilon have epsilon^2 / 4 at most. Here the interval
of each draw is chosen by what was released before, and the worst choice is computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.privacy.accountants.dominating_pairs import GaussianPair

FINEST, FINE, COARSEST = 240, 960, 24
"""Steps of the grid in one range, at most; in all ranges together; and in one at least. What the grid adds to delta
falls with the square of the steps in one."""
MOST_WORK = 2**27
"""Terms of the recursion; beyond it there is no curve."""
MOST_LOSS = 300.0
"""Of all choices together, so that no float overflows."""
NOISE_STEPS = 40
"""Of the grid in mu, the deviation of the normal loss."""
RELATIVE = 1 + 2.0**-20
"""Covers the rounding of all terms, which are positive: below 2^-49 a choice."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AdaptiveChoices:
    """count draws of epsilon-bounded range (exponential mechanisms), each chosen by all that was released before.

    normal: of all Gaussian draws among them; None: there are none.

    Privacy:
        V_k(a) is the largest Pr[x in E] - e^a Pr[x' in E] that k such draws can reach. V_0(a) = max(0, 1 - e^a). The
        losses of one draw lie in [t - epsilon, t] for a t that the history fixes, and of such laws the one on the two
        ends is the worst for every curve that is convex in e^a (`RangedPair`), which V_k is. So with
        q = (e^epsilon - e^t) / (e^epsilon - 1)

            V_k(a) = max over t in [0, epsilon] of q V_{k-1}(a - t) + (1 - q) V_{k-1}(a - t + epsilon)

        (Dong, Durfee and Rogers 2020, section 5; it is attained, so it is the tight curve of adaptive choices).

        Beside other draws whose pairs have losses that add up to L, of any order among the choices, the curve is at
        most the mean of V_k(a - L). Proof by induction on the number of draws: if the next draw is a choice, its worst
        t before L is known is no worse than the worst t for each L; if it is another one, its pair is the worst for
        every curve that is convex in e^a, which a mean of such curves is.

        On the grid: `values` are at least V_k at multiples of the step, epsilon rounded up to a multiple. Between
        them V_k, convex in r = e^a, lies below the chord in r. For u = e^t between two points of the grid both chords
        make the bracket A + B u - c / u, which exceeds the larger of its ends by at most
        c (1 / sqrt(u_1) - 1 / sqrt(u_2))^2 if c > 0, and by nothing else.

    >>> round(AdaptiveChoices(epsilon=Fraction(1, 10), count=1).delta(Fraction(0)), 4)  # tanh(epsilon / 4)
    0.025
    """

    epsilon: Fraction
    count: int
    normal: GaussianPair | None = None
    _step: float = field(init=False)
    _values: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        steps = _steps(self.count)
        step = math.nextafter(float(self.epsilon) / steps, math.inf)
        ends = (self.count + 1) * steps
        values = np.maximum(-np.expm1(np.arange(-ends, ends + 1) * step), 0.0)
        for _ in range(self.count):
            values[steps:-steps] = _worst(values, step, steps)
        object.__setattr__(self, "_step", step)
        object.__setattr__(self, "_values", values)

    @staticmethod
    def feasible(epsilon: Fraction, count: int) -> bool:
        """Whether the recursion is short enough."""
        return count * epsilon <= MOST_LOSS and 2 * (count * _steps(count)) ** 2 <= MOST_WORK

    def delta(self, epsilon: Fraction) -> float:
        """At least the curve at epsilon."""
        below = float(epsilon) * (1 - 2.0**-52)
        if self.normal is None:
            return float(self._at(np.array([below]))[0]) * RELATIVE
        step = self.normal.mu / NOISE_STEPS
        law = self.normal.losses(step)
        places = np.arange(law.logs.size, dtype=np.float64) + law.lowest
        return float(np.exp(law.logs) @ self._at(below - places * step)) * RELATIVE + law.beyond

    def _at(self, places: FloatArray) -> FloatArray:
        """At least V_k at each place."""
        last = len(self._values) - 1
        inside = places / self._step + last / 2
        left = np.clip(np.floor(inside), 0, last - 1).astype(np.int64)
        share = np.expm1((inside - left) * self._step) / math.expm1(self._step)
        chords = self._values[left] + np.clip(share, 0.0, 1.0) * (self._values[left + 1] - self._values[left])
        return np.where(inside < 0, -np.expm1(places), chords)


def _steps(count: int) -> int:
    """Of the grid in the range of one of so many choices."""
    return min(FINEST, max(COARSEST, FINE // count))


def _worst(values: FloatArray, step: float, steps: int) -> FloatArray:
    """The right side of the recursion at all points but `steps` at either end, one range."""
    size, whole = values.size - 2 * steps, math.expm1(steps * step)
    falls = values[:-1] - values[1:]
    best, excess = np.zeros(size), np.zeros(size)
    for rise in range(steps + 1):
        upper = math.exp(rise * step) * math.expm1((steps - rise) * step) / whole
        low, high = steps - rise, 2 * steps - rise
        found = upper * values[low : low + size] + math.expm1(rise * step) / whole * values[high : high + size]
        np.maximum(best, found, out=best)
        if rise < steps:
            near = math.exp((rise + 1) * step) * falls[low - 1 : low - 1 + size]
            far = math.exp((rise + 1 - steps) * step) * falls[high - 1 : high - 1 + size]
            bend = math.exp(-rise * step) * math.expm1(-step / 2) ** 2
            np.maximum(excess, (near - far) * bend, out=excess)
    return best + excess * (math.exp(steps * step) / whole / math.expm1(step))
