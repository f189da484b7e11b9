"""Dominating pairs: the worst two output laws that one draw can have on neighbours, on a grid of losses.

A pair (P, Q) dominates a mechanism M if sup over events E of Pr[M(x) in E] - e^a Pr[M(x') in E] is at most that of
P against Q, for all neighbours x, x' and every real a. Pairs compose, whatever a later draw depends on: the product
of dominating pairs dominates the draws together (Zhu, Dong and Wang 2022, Theorem 10). By the same induction a pair
may come from any list in any order, for the law of a sum of losses is a convolution, which is commutative.

A pair is stored as the law of its loss ln(P / Q) under P, moved to multiples of a step. A loss between two multiples is
split between them so that neither its mass under P nor the one under Q changes. Merging the two gives the old pair
back, so the new one dominates it (Doroshenko et al. 2022, "Connect the dots"). All pairs here are symmetric: (Q, P) has
the same law of losses, so one direction covers both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import singledispatch
from typing import Protocol

import numpy as np
from msgspec import Struct

from dpqr.kernel.accountants.losses import pure_epsilon, squared_mu
from dpqr.kernel.accountants.numerics import golden_section
from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.events import DiscreteLaplaceEvent, ExponentialEvent, RoundedGaussianEvent

MOST_SHIFT = 2**16
"""Beyond this sensitivity the pure pair stands in for a shift, whose law would take too long to write down."""
ROUNDING = 2.0**-48
NODES = 8
"""Of the rule that integrates a normal density over one cell of the grid."""


class LossLaw(Struct, frozen=True, kw_only=True):
    """logs[k] = ln Pr[loss = (lowest + k) step] under P, each mass within a relative 2^-40, or its place rounded up.

    beyond: at least the mass of larger losses, which are left out.
    """

    lowest: int
    logs: FloatArray
    beyond: float = 0.0


class Pair(Protocol):
    """epsilon: the largest loss."""

    @property
    def epsilon(self) -> Fraction: ...

    def losses(self, step: float) -> LossLaw: ...


class PurePair(Struct, frozen=True, kw_only=True):
    """Randomised response, which dominates every epsilon-DP draw (Kairouz, Oh and Viswanath 2015, Theorem 3.1).

    Loss +epsilon with probability 1 / (1 + e^-epsilon), else -epsilon.
    """

    epsilon: Fraction

    def losses(self, step: float) -> LossLaw:
        loss = np.array([float(self.epsilon), -float(self.epsilon)])
        honest = -math.log1p(math.exp(-loss[0]))
        return _on_grid(loss, np.array([honest, honest - loss[0]]), step)


class RangedPair(Struct, frozen=True, kw_only=True):
    """The worst draw of epsilon-bounded range: losses on [-epsilon, epsilon], of density e^(a/2) / (4 sinh(epsilon/2)).

    Proof. Bounded range: for neighbours there is a t in [0, epsilon] with all losses in [t - epsilon, t] (Durfee and
    Rogers 2019). Of such laws the one on the two ends is the worst, for 1 - e^(a - loss) at its positive part is convex
    in the ratio Q/P, whose mean under P is 1. It gives loss t the P-mass q = (e^epsilon - e^t) / (e^epsilon - 1)
    (Dong, Durfee and Rogers 2020), and so the curve, for t - epsilon <= a <= t,

        q (1 - e^(a-t)) = (e^epsilon + e^a - e^t - e^(a+epsilon-t)) / (e^epsilon - 1),

    largest over t at t = (a + epsilon) / 2, where it is (e^(epsilon/2) - e^(a/2))^2 / (e^epsilon - 1). Another t may be
    in force on every path, but none exceeds this curve at any a; below -epsilon all curves are 1 - e^a. As a function
    of r = e^a it is convex, so it is the curve of a pair, with loss density r^2 times its second derivative: the above.

    On the grid: with epsilon rounded up to K steps (a larger epsilon is a weaker claim), splitting gives the multiple k
    the mass e^(k step/2) tanh(step/4) / sinh(epsilon/2), half of it at k = K and k = -K.

    Statement P36 of the guide's topic proofs.
    """

    epsilon: Fraction

    def losses(self, step: float) -> LossLaw:
        ends = max(1, math.ceil(self.epsilon / Fraction(step)))
        top = ends * step
        places = np.arange(-ends, ends + 1, dtype=np.float64)
        scale = math.log(math.tanh(step / 4)) + math.log(2) - math.log(-math.expm1(-top))
        logs = (places - ends) * (step / 2) + scale
        logs[[0, -1]] -= math.log(2)
        return LossLaw(lowest=-ends, logs=logs)


class ShiftPair(Struct, frozen=True, kw_only=True):
    """Discrete Laplace noise of `scale` on one integer that a neighbour moves by at most `shift`.

    Loss (|x - shift| - |x|) / scale at noise x. The largest shift is the worst: the ratio falls in x, so the best event
    is some {x <= c}, and Pr[x <= c] - e^a Pr[x <= c - d] grows with d. A shift of 1 is randomised response.
    """

    shift: int
    scale: Fraction

    @property
    def epsilon(self) -> Fraction:
        return self.shift / self.scale

    def losses(self, step: float) -> LossLaw:
        decay = 1 / float(self.scale)
        places = np.arange(self.shift + 1, dtype=np.float64)
        logs = math.log(-math.expm1(-decay)) - math.log1p(math.exp(-decay)) - places * decay
        logs[[0, -1]] -= math.log(-math.expm1(-decay))
        return _on_grid((self.shift - 2 * places) * decay, logs, step)


class GaussianPair(Struct, frozen=True, kw_only=True):
    """N(mu, 1) and N(0, 1), which dominate every mu-GDP draw (Dong, Roth and Su 2019, Proposition 2.12 and Corollary
    2.13): loss N(mu^2 / 2, mu^2).

    Rounded Gaussian noise is mu-GDP for mu = L2 sensitivity / deviation (`squared_mu`). The product of such pairs is
    the pair of the sum of mu^2 (Corollary 3.3 there), so one pair stands for all Gaussian draws of a run, wherever
    choices stand between them.

    On the grid: the mass of a cell [j, j + 1) step is split between its ends by the mean of 1 - e^-r at distances r
    above j. Both are integrals of the density over the cell, by Gauss and Legendre's rule: terms are positive, so
    floats lose no digits, and with cells of at most mu / 5 its own error is below 10^-18 of the mass. Losses more than
    `reach` deviations below the mean are raised to that place, which only makes the law worse; those more than it above
    are `beyond`.
    """

    squared_mu: Fraction
    reach: float = 12.0

    @property
    def mu(self) -> float:
        return math.sqrt(self.squared_mu) * (1 + ROUNDING)

    @property
    def epsilon(self) -> Fraction:
        """The largest loss that is not `beyond`."""
        return Fraction(self.mu * (self.mu / 2 + self.reach))

    def losses(self, step: float) -> LossLaw:
        mean, mu = self.mu**2 / 2, self.mu
        first, last = math.floor((mean - self.reach * mu) / step), math.ceil((mean + self.reach * mu) / step)
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        above = (nodes + 1) * (step / 2)
        places = (np.arange(first, last)[:, None] * step + above - mean) / mu
        densities = np.exp(-(places**2) / 2) * (weights * step / (2 * mu * math.sqrt(2 * math.pi)))
        masses, raised = densities.sum(axis=1), densities @ (np.expm1(-above) / np.expm1(-step)) * (1 + ROUNDING)
        tail = math.exp(-(self.reach**2) / 2)
        split = np.zeros(masses.size + 1)
        split[1:], split[0] = raised, tail
        split[:-1] += np.maximum(masses - raised, 0.0)
        return LossLaw(lowest=first, logs=np.log(split), beyond=tail)


@singledispatch
def dominating_pair(event: object) -> Pair | None:
    """The pair of one event; None where no pair is known (discrete Gaussian noise, sums under a filter).

    Raises:
        BudgetRefused: an unpriced type.
    """
    epsilon = pure_epsilon(event)
    return None if epsilon is None else PurePair(epsilon=epsilon)


@dominating_pair.register
def _of_exponential(event: ExponentialEvent) -> Pair:
    return RangedPair(epsilon=event.epsilon)


@dominating_pair.register
def _of_rounded_gaussian(event: RoundedGaussianEvent) -> Pair:
    return GaussianPair(squared_mu=squared_mu(event) or Fraction(0))


@dominating_pair.register
def _of_laplace(event: DiscreteLaplaceEvent) -> Pair:
    """One integer that moves has a curve of its own; where several do, only eps-DP is claimed."""
    if event.coordinates == 1 and 1 < event.sensitivity <= MOST_SHIFT:
        return ShiftPair(shift=event.sensitivity, scale=event.scale)
    return PurePair(epsilon=event.sensitivity / event.scale)


def _on_grid(losses: FloatArray, logs: FloatArray, step: float) -> LossLaw:
    """Atoms moved to multiples of `step`: of a loss r above the multiple j, (1 - e^-r) / (1 - e^-step) goes to j + 1.

    That share is rounded up by more than the floats can be off, and moving more of a loss up only makes it worse.
    """
    below = np.floor(losses / step)
    above = losses - below * step
    slack = ROUNDING * (np.abs(below) + 2)
    share = np.clip(np.expm1(-above) / np.expm1(-step) + slack, 0.0, 1.0)
    lowest = int(below.min())
    with np.errstate(divide="ignore"):
        parts = np.concatenate([logs + np.log1p(-share), logs + np.log(share)])
    places = np.concatenate([below, below + 1]).astype(np.int64) - lowest
    merged = np.full(int(places.max()) + 1, -np.inf)
    np.logaddexp.at(merged, places, parts)
    return LossLaw(lowest=lowest, logs=merged)


# Sums of losses: the law of many independent privacy losses added up, nearly without slack.
#
# The law of the sum is computed by dp-accounting's convolution, with its errors bounded. Floats and their Fourier
# transforms are exact to some 10^-15 of the whole mass only, far above the deltas that matter. So all laws are tilted
# first, Pr[l] -> Pr[l] e^(theta l) / M(theta), which makes losses near epsilon the likely ones, and tilted back
# afterwards: absolute errors of the transform become errors relative to Chernoff's bound of delta.

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


class LossSum(Struct, frozen=True, kw_only=True, eq=False):
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


def compose_losses(pairs: Mapping[Pair, int], step: float, delta: float) -> LossSum | None:
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
        scale = math.fsum(count * _log_mass(_tilted_logs(law, step, tilt)) for law, count in laws)
        return (scale + _log_peak(tilt) - aim) / tilt

    return math.exp(golden_section(epsilon, top - 30, top, SEARCH_STEPS))


def _log_peak(tilt: float) -> float:
    """ln of the largest (1 - e^-x) e^(-tilt x) over x > 0."""
    return -tilt * math.log1p(1 / tilt) - math.log1p(tilt)


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
        # Both ends are cut, of at most TRUNCATED mass.
        power = np.maximum(power, 0.0)
        first = int(np.searchsorted(np.cumsum(power), TRUNCATED / 2, side="right"))
        last = power.size - int(np.searchsorted(np.cumsum(power[::-1]), TRUNCATED / 2, side="right"))
        longest = max(longest, power.size, logs.size)
        total = np.maximum(fftconvolve(total, power[first:last]), 0.0)
        lowest += law.lowest * count + int(start) + first
        scale += log_mass * count
    draws = sum(count for _, count in laws)
    transforms = math.sqrt(2 * max(total.size, longest)) * (draws + 8 * len(laws)) * TRANSFORM
    error = transforms + 2 * len(laws) * TRUNCATED + draws * longest * NEGLIGIBLE
    beyond = math.fsum(law.beyond * count for law, count in laws)
    return LossSum(step=step, lowest=lowest, tilted=total, tilt=tilt, scale=scale, error=error, beyond=beyond)


# Adaptive choices: the curve of draws of bounded range among which an adversary picks each next one, and of Gaussian
# noise beside them.
#
# `RangedPair` dominates one draw whatever its range is, so for small epsilon its losses spread more than those of
# any real draw: variance about epsilon^2 / 3, where losses on the ends of one interval of length epsilon have
# epsilon^2 / 4 at most. Here the interval of each draw is chosen by what was released before, and the worst choice
# is computed.

MAX_STEPS_PER_RANGE, TOTAL_STEPS_PER_RANGE, MIN_STEPS_PER_RANGE = 240, 960, 24
"""Steps of the grid in one range, at most; in all ranges together, where COARSEST allows it; and in one at least. What
the grid adds to delta falls with the square of the steps in one."""
MOST_WORK = 2**27
"""Terms of the recursion; beyond it there is no curve."""
MOST_LOSS = 300.0
"""Of all choices together, so that no float overflows."""
NOISE_STEPS = 40
"""Of the grid in mu, the deviation of the normal loss."""
ROUNDING_OF_CHOICES = 1 + 2.0**-20
"""Covers the rounding of all terms, which are positive: below 2^-49 a choice."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AdaptiveChoices:
    """count draws of epsilon-bounded range (exponential mechanisms), each chosen by all that was released before.

    normal: of all Gaussian draws among them; None: there are none.

    Privacy:
        V_k(a) is the largest Pr[M(x) in E] - e^a Pr[M(x') in E] over events E, all neighbours x and x', either way
        round, and all M of k such draws. V_0(a) = max(0, 1 - e^a). The losses of one draw lie in [t - epsilon, t] for a
        t that the history fixes (with x and x' exchanged: in [t' - epsilon, t'], t' = epsilon - t), and of such laws
        the one on the two ends is the worst for every curve that is convex in e^a (`RangedPair`). V_{k-1} is: it is a
        supremum of p - e^a q. So with q = (e^epsilon - e^t) / (e^epsilon - 1)

            V_k(a) = max over t in [0, epsilon] of q V_{k-1}(a - t) + (1 - q) V_{k-1}(a - t + epsilon)

        (Dong, Durfee and Rogers 2020, on adaptive composition; real-valued scores and two candidates attain it).

        Beside other draws of pairs that are fixed beforehand, whatever the history, with independent losses that add up
        to L, the curve is at most the mean of V_k(a - L); any order among the choices is covered, an adaptive one and
        an early end too. Proof by induction on the number of draws: if the next draw is a choice, its worst t before L
        is known is no worse than the worst t for each L; if it is another one, its pair is the worst for every curve
        that is convex in e^a, which a mean of such curves is.

        On the grid: `values` are at least V_k at multiples of the step, epsilon rounded up to a multiple. Between
        them V_k, convex in r = e^a, lies below the chord in r. For u = e^t between two points of the grid both chords
        make the bracket A + B u - c / u, which exceeds the larger of its ends by at most
        c (1 / sqrt(u_1) - 1 / sqrt(u_2))^2 if c > 0, and by nothing if not. c is that of `values`, convex or not.
        Statement P10 of the guide's topic proofs.

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
            return float(self._at(np.array([below]))[0]) * ROUNDING_OF_CHOICES
        step = self.normal.mu / NOISE_STEPS
        law = self.normal.losses(step)
        places = np.arange(law.logs.size, dtype=np.float64) + law.lowest
        return float(np.exp(law.logs) @ self._at(below - places * step)) * ROUNDING_OF_CHOICES + law.beyond

    def _at(self, places: FloatArray) -> FloatArray:
        """At least V_k at each place."""
        last = len(self._values) - 1
        inside = places / self._step + last / 2
        left = np.clip(np.floor(inside), 0, last - 1).astype(np.int64)
        share = np.expm1((inside - left) * self._step) / math.expm1(self._step)
        chords = self._values[left] + np.clip(share, 0.0, 1.0) * (self._values[left + 1] - self._values[left])
        return np.where(inside < 0, -np.expm1(np.minimum(places, 0.0)), chords)


def _steps(count: int) -> int:
    """Of the grid in the range of one of so many choices."""
    return min(MAX_STEPS_PER_RANGE, max(MIN_STEPS_PER_RANGE, TOTAL_STEPS_PER_RANGE // count))


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
