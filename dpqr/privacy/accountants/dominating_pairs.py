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
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Protocol

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.privacy.accountants.losses import pure_epsilon, squared_mu
from dpqr.privacy.events import DiscreteLaplaceEvent, ExponentialEvent, RoundedGaussianEvent

MOST_SHIFT = 2**16
"""Beyond this sensitivity the pure pair stands in for a shift, whose law would take too long to write down."""
ROUNDING = 2.0**-48
NODES = 8
"""Of the rule that integrates a normal density over one cell of the grid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossLaw:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PurePair:
    """Randomised response, which dominates every epsilon-DP draw (Kairouz, Oh and Viswanath 2015, Theorem 3.1).

    Loss +epsilon with probability 1 / (1 + e^-epsilon), else -epsilon.
    """

    epsilon: Fraction

    def losses(self, step: float) -> LossLaw:
        loss = np.array([float(self.epsilon), -float(self.epsilon)])
        honest = -math.log1p(math.exp(-loss[0]))
        return _on_grid(loss, np.array([honest, honest - loss[0]]), step)


@dataclass(frozen=True, slots=True, kw_only=True)
class RangedPair:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftPair:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianPair:
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
