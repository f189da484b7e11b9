"""Objective perturbation: the mechanisms, in which the objective gets the noise, and the figures that a price buys.

>>> class Fixed:
...     width, units, gradient, strength, changes = 1, 1, Fraction(1), Fraction(8), 1
...     curvature, tolerance, opposite = Fraction(1, 32), Fraction(1, 2**13), Fraction(0)
...     tapered = False
...     def fit(self, counts, pull):
...         return -pull / 8
>>> weights = PerturbedWeights(learner=Fixed(), scale=Fraction(SENSITIVITY), closing=Fraction(2**26))
>>> weights.event.units, weights.penalty
(1, Fraction(4, 1))
>>> normal = GaussianPerturbedWeights(learner=Fixed(), variance=Fraction(SENSITIVITY**2), closing=Fraction(2**26))
>>> normal.event.changes, normal.penalty
(1, Fraction(4, 1))
"""

from __future__ import annotations

import math
from fractions import Fraction
from math import isqrt
from statistics import NormalDist
from typing import final

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Counts
from dpqr.kernel.accountants.analytic import free_curvature, most_rho, tapered_price
from dpqr.kernel.accountants.losses import log_above
from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.events import GaussianObjectiveEvent, PerturbedObjectiveEvent
from dpqr.kernel.noise.gaussian import SMALLEST_VARIANCE, RoundedGaussian
from dpqr.kernel.noise.public import public_generator
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.noise.spherical_laplace import LARGEST_SCALE, SphericalLaplace
from dpqr.kernel.values import replace
from dpqr.mechanisms.noisy_answers import refuse_noise
from dpqr.prediction.learned_functions import FINENESS, step, weights_sensitivity
from dpqr.prediction.learners.features import FeatureMap
from dpqr.prediction.learners.losses import ExactHinge, ExactPinball, Hinge, Pinball, Sided, Tapered, TaperedCorner
from dpqr.prediction.learners.perturbed import PerturbedLearner
from dpqr.prediction.learners.solver import FEATURE_NORM

SENSITIVITY = FINENESS + 1
"""Of a gradient, in grid steps; one more covers rows of norm 1 + 2^-40."""
LARGEST_PULL = 1 << 36
"""Largest scale of a pull, or deviation of a coordinate: a norm beyond 2^51 steps has a probability below exp(-10,000)
(`SphericalLaplace`; 2^15 deviations of at most 2^12 normal coordinates)."""


class _Closed(Struct, frozen=True, kw_only=True, eq=False):
    """A learner of a pulled objective, and the closing noise that covers solver and rounding.

    closing: scale of the closing noise, in steps of its own grid.

    Privacy:
        What is released is not the exact minimiser w(b) for the drawn pull b: b is rounded, by half a step a
        coordinate, which moves the minimiser by at most `shift` (strong convexity), and the solver ends within its
        tolerance. Given w(b), the computed weights are a function of the table within r = `wrong` of w(b), for each of
        two neighbours, hence within 2 r of each other: closing noise for that distance makes them (`closing`)-DP given
        w(b), and both draws compose (Dwork and Roth 2014, Theorem 3.16). This is how approximate minima perturbation
        ends (Iyengar and others 2019).

        The steps of the grid, g = 2 r / 2^20: the weights of both neighbours, as doubles, are within 2 r <= (2^20 + 1)
        g of each other (g is a double: one step), and `nearest` rounds them to it by half a step a coordinate at either
        end, sqrt(width) steps together: `weights_sensitivity`. Nothing else is lost: the quotient by g is exact. A
        double's would be off by 2^-53 of itself at either end, 2^-52 ||w(b)|| / g in L2. The pull is unbounded, and
        ||w(b)|| / g is near 2^62 for 2^12 coordinates at epsilon 2e-5: up to some thousand steps, which no scale of the
        closing noise could cover that is fixed before b is drawn.
        Statement P13 of the guide's topic proofs.
    """

    learner: PerturbedLearner
    closing: Fraction

    @property
    def closing_epsilon(self) -> Fraction:
        return Fraction(weights_sensitivity(self.learner.width)) / self.closing

    @property
    def unit(self) -> Fraction:
        """The step of the pull's grid, times FINENESS."""
        return self.learner.gradient

    @property
    def shift(self) -> Fraction:
        """How far the rounding of the pull moves the minimiser: half a step a coordinate, and half a step for its
        floating-point form, which is off by 2^-52 of its norm at most."""
        return self.unit * (isqrt(self.learner.width) + 2) / (2 * FINENESS * self.learner.strength)

    @property
    def wrong(self) -> Fraction:
        """r."""
        return self.learner.tolerance + self.shift

    @property
    def grid(self) -> float:
        """The step of the released weights."""
        return step(2 * self.wrong)

    @property
    def penalty(self) -> Fraction:
        """lambda, of the sum of losses."""
        return self.learner.strength / 2

    def _released(self, value: Counts, drawn: IntArray, noise: NoiseSource) -> IntArray:
        """The weights for a drawn pull, on their grid, with closing noise."""
        pull = np.asarray(drawn * (float(self.unit) / FINENESS), dtype=np.float64)
        weights = nearest(self.learner.fit(value, pull), self.grid)
        return weights + SphericalLaplace(self.closing, self.learner.width).sample(noise)


def nearest(values: FloatArray, grid: float) -> IntArray:
    """Return the nearest multiples of the grid's step, as integers modulo 2^64, in exact arithmetic.

    Modulo 2^64, for what is added to them is too: the released integers are the same function of the exact sum for all
    tables.

    >>> nearest(np.array([2.0**62 + 2.0**10]), 1.0 - 2.0**-53).tolist()
    [4611686018427389440]
    """
    step, steps = grid.as_integer_ratio()
    found = []
    for value in values.tolist():
        units, share = value.as_integer_ratio()
        above, below = units * steps, share * step
        found.append((2 * above + below) // (2 * below))
    return np.array([(each + 2**63) % 2**64 - 2**63 for each in found], dtype=np.int64)


@final
class PerturbedWeights(_Closed, frozen=True, kw_only=True, eq=False):
    """The weights of a perturbed objective, on a grid, plus closing noise that covers solver and rounding.

    Attributes:
        scale: of the pull, in grid steps of gradient / FINENESS.

    Privacy:
        Let b be the pull before it is rounded to its grid, of density proportional to exp(-||b||_2 / s), and w(b) the
        exact minimiser. b = -strength w - sum_i grad L_i(w), so b and w determine each other, and the density of w is
        that of b there times det(strength + sum_i L_i'' x_i x_i^T): slopes are Lipschitz, so w to b is so either way,
        L'' exists almost everywhere (Rademacher), and that is enough for the change of variables. Add-remove of a row:
        b moves by a gradient at most, a factor of exp(gradient / s); the determinant gains a factor between 1 and 1 +
        curvature (the matrix determinant lemma). Replace: two gradients, and a factor within 1 + curvature either way,
        as one comes and one goes. k rows: k times each. So w(b) is (gradient / s + units log(1 + curvature))-DP.
        (Chaudhuri, Monteleoni and Sarwate 2011, Theorem 9; Kifer, Smith and Thakurta 2012, for sums over a private
        number of rows.) The closing noise: `_Closed`.
        Statement P13 of the guide's topic proofs.
    """

    scale: Fraction

    def __post_init__(self) -> None:
        refuse_noise(self.scale, LARGEST_PULL, "a scale of")
        refuse_noise(self.closing, LARGEST_SCALE, "a scale of")

    @property
    def event(self) -> PerturbedObjectiveEvent:
        return PerturbedObjectiveEvent(
            sensitivity=SENSITIVITY,
            scale=self.scale,
            coordinates=self.learner.width,
            units=self.learner.units,
            curvature=self.learner.curvature,
            closing=self.closing_epsilon,
        )

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        return self._released(value, SphericalLaplace(self.scale, self.learner.width).sample(noise), noise)


@final
class GaussianPerturbedWeights(_Closed, frozen=True, kw_only=True, eq=False):
    """The same with a pull of independent normal coordinates.

    Attributes:
        variance: of a coordinate of the pull, in squared grid steps of one record's largest gradient, G / FINENESS.

    Privacy:
        Let P and Q be the laws of w(b) on neighbours of which the second has a records that the first lacks, and lacks
        d of it, a + d = k = `changes`. Under Q the second table's pull v at w is normal of variance s^2 a coordinate,
        and the first one's is v + D, D the sum of the gradients of the arrivals less those of the departures. So
            log(Q / P) = log(det ratio) + (2 <v, D> + ||D||^2) / (2 s^2),
        and the determinant grows by at most (1 + curvature)^a (w to b is onto and Lipschitz either way, which is enough
        for the area formula; the price counts k, not a). Each record's part of D is x times its slope, on a
        segment that does not depend on w, from a vector of norm G at most to one of norm o G on the other side of 0, o
        = `opposite`: 0 where the loss slopes one way for each target, as logistic and hinge do, min(tau, 1 - tau) /
        max(tau, 1 - tau) for the quantile loss. For each v the second term is convex in D, so, however D depends on w,
        it is at most its largest value where each part is at an end: at one of 2^k sums e, where it has the law of the
        loss of the Gaussian mechanism at mu = ||e|| / s, whose curve rises in mu, or is 0 where e is. With epsilon' =
        epsilon - k log(1 + curvature) >= 0 (1 - e^(epsilon' - max))_+ is at most the sum of its values there:
            delta(epsilon) <= sum_(j = 0)^k C(k, j) curve((j + (k - j) o) G / s, epsilon'),
        the curve of Balle and Wang 2018, Theorem 8. For one record and o = 0 that is the Gaussian mechanism's own. The
        (pure) closing noise adds its epsilon (`_Closed`). Published bounds (Kifer, Smith and Thakurta 2012;
        Redberg, Koskela and Wang 2023) count both tails, as for o = 1.

        One record (k = 1) of a tapered loss, c = curvature, mu = G / s: the determinant costs less (ours). Let the
        slope be at p of the way from its end o G to its end G, where the second term is b and a. It is convex in p,
        so log(Q / P) <= log(1 + 4 c p (1 - p)) + p a + (1 - p) b <= 4 c p (1 - p) + p a + (1 - p) b = h. Both ends are
        linear in the part z of v along x: a = (2 z G + G^2) / (2 s^2), b = (o^2 G^2 - 2 z o G) / (2 s^2), so a - b =
        (1 + o) (a - o mu^2 / 2), and, for o > 0, b - a = (1 + o) (b / o - mu^2 / 2). Let 4 f =
        (1 + o) (epsilon' - o mu^2 / 2) >= 0 and K = c (1 - f / c)^2, 0 where c <= f: the largest value of (1 - p) (4 c
        p - 4 f), or 0. Where a >= epsilon', a - b >= 4 f, so h = a + (1 - p) (4 c p - (a - b)) <= a + K. Where b >=
        epsilon', b - a >= 4 f too, as b / o - mu^2 / 2 >= epsilon' - o mu^2 / 2 for epsilon' >= o mu^2 / 2, so h <= b +
        K, with p and 1 - p exchanged. Elsewhere h is at most its value at the z, up or down as h rises, at which an end
        reaches epsilon': at most epsilon' + K. So Q / P <= e^K max(e^epsilon', e^a, e^b) for each v, and
        delta(epsilon' + K) is at most the sum of the two curves at epsilon'. A shorter row has c ||x||^2 for c and mu
        ||x|| for mu, so no larger c, and no smaller f. Where the record goes, the determinant falls, and costs
        nothing. In rho, and for k > 1, it is paid as above.

        In rho, one record, mu = G / s and nu = o mu at its ends, c = curvature, H the hockey-stick divergence, at every
        order a > 1. (i) More records against fewer: given the part of v across x, the slope falls in the part u along x
        (w moves against a pull, and L is convex), so D = g(u) decreases, from G to -o G or from o G to -G, and is a
        mixture of functions that are at the first end below a threshold and at the second above. exp is convex, so
        E exp((a - 1)(2 u g + g^2) / (2 s^2)) is at most its largest value for one of these. That falls as the threshold
        rises up to minus the ends' mean, and then rises, so it is largest without a threshold,
        exp(a (a - 1) mu^2 / 2). With the determinant D_a <= a mu^2 / 2 + log(1 + c). (ii) Fewer against more:
        E_Q (P / Q)^a = 1 + a (a - 1) integral_1^inf (y^(a-2) H_y(P, Q) + y^(-a-1) H_y(Q, P)) dy. By the curves above
        H_y(P, Q) <= K(y) and H_y(Q, P) <= min(1, K(max(1, y / (1 + c)))), K the sum of the ends' curves, for each of
        which it is exp(a (a - 1) mu^2 / 2) (for y < 1 + c: H_y(Q, P) <= H_1(Q, P) = H_1(P, Q) <= K(1), as H_1 is the
        total variation); the second integral exceeds K's by at most c. As e^p + e^q - 1 and e^p + q are at most
        e^(p + q) for p, q >= 0, D_a <= a ((mu^2 + nu^2) / 2 + c). Both: ((mu^2 + nu^2) / 2 + c)-zCDP. k records: a path
        of k tables, so k^2 times that (Bun and Steinke 2016, Proposition 1.9).
        Statement P14 of the guide's topic proofs.
    """

    variance: Fraction

    def __post_init__(self) -> None:
        refuse_noise(self.variance, LARGEST_PULL**2, "a variance of", SMALLEST_VARIANCE)
        refuse_noise(self.closing, LARGEST_SCALE, "a scale of")

    @property
    def unit(self) -> Fraction:
        """G."""
        return self.learner.gradient / self.learner.changes

    @property
    def event(self) -> GaussianObjectiveEvent:
        return GaussianObjectiveEvent(
            squared_sensitivity=SENSITIVITY**2,
            variance=self.variance,
            changes=self.learner.changes,
            curvature=self.learner.curvature,
            closing=self.closing_epsilon,
            opposite=self.learner.opposite,
            tapered=self.learner.tapered,
        )

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        return self._released(value, RoundedGaussian(self.variance).sample(self.learner.width, noise), noise)


# The figures of objective perturbation that a price buys, and the loss that goes with them. Public facts.

CLOSING = Fraction(1, 64)
"""Share of epsilon for the closing noise."""
DETERMINANT = Fraction(1, 4)
"""Largest share of epsilon for the determinant."""
TAPERED = Fraction(1, 16)
"""The same where a tapered loss pays only for curvature beyond `free_curvature`."""
WIDEST = Fraction(1)
"""Rounding of a corner."""
TAPERED_SHARE = Fraction(1, 4)
"""Width of a tapered corner, over that of a rounded one that adds nearly as much to the mean loss: the narrowest and
the widest are cut at this share."""
HINGE_DENSITY = 1 / 4
"""Public guess at the density of scores at the corner: as if they had a standard deviation of 1.6."""
TARGETS = NormalDist(sigma=1 / 5)
"""Public guess at targets around a prediction of their median. The corner lies at a quantile of them."""
MOST_CHANGES = 16
"""Records of a neighbour up to which a normal pull is offered: its bound has a term for each of their sets."""
MOST_FORECAST = 512
"""Widest features whose moments are forecast, or released."""
GUESSED_RECORDS = 10_000
FORECAST_ROWS = 2**10


PullEvent = PerturbedObjectiveEvent | GaussianObjectiveEvent


class Perturbation(Struct, frozen=True, kw_only=True):
    """What objective perturbation needs to know of a problem; all of it is public.

    Attributes:
        width: number of weights.
        gradient, units, changes: see `PerturbedLearner`.
        loss: whose corner may be wider than the learner's (`round_corner`).
        reach: public guess at the norm of a good function, which the strength balances against the noise.
        moments: eigenvalues of the mean of x x^T over rows drawn uniformly from the domain, for the forecast.
        records: declared; None: GUESSED_RECORDS.
        delta: of the run, which a normal pull uses whole; 0: there is none.
    """

    width: int
    gradient: Fraction
    units: int
    changes: int
    loss: Sided
    reach: float
    moments: tuple[float, ...] = ()
    records: int | None = None
    delta: Fraction = Fraction(0)

    @classmethod
    def of(
        cls, learner: PerturbedLearner, reach: float, shape: tuple[int, ...], records: int | None, delta: Fraction
    ) -> Perturbation:
        """Of a learner of any strength; shape: of the domain of its features."""
        return cls(
            width=learner.width,
            gradient=learner.gradient,
            units=learner.units,
            changes=learner.changes,
            loss=learner.loss,
            reach=reach,
            moments=uniform_moments(learner.examples.features, shape),
            records=records,
            delta=delta,
        )

    @property
    def normal(self) -> bool:
        """Whether a normal pull is offered."""
        return self.delta > 0 and self.changes <= MOST_CHANGES

    @property
    def tapers(self) -> bool:
        """Whether a normal pull pays little for the determinant (`GaussianPerturbedWeights`)."""
        return self.changes == 1 and isinstance(self.loss, Tapered)

    def event(self, epsilon: Fraction) -> PerturbedObjectiveEvent | None:
        """What `epsilon` buys; None: the pull is too large for its sampler."""
        balanced = self._balanced(self.width * float(self.gradient / epsilon))
        curvature = min(balanced, paid_curvature(DETERMINANT * epsilon / self.units))
        closing = CLOSING * epsilon
        left = epsilon - closing - self.units * log_above(curvature)
        if left < Fraction(SENSITIVITY, LARGEST_PULL):
            return None
        return PerturbedObjectiveEvent(
            sensitivity=SENSITIVITY,
            scale=SENSITIVITY / left,
            coordinates=self.width,
            units=self.units,
            curvature=curvature,
            closing=closing,
        )

    def gaussian_event(self, epsilon: Fraction) -> GaussianObjectiveEvent | None:
        """What `epsilon` and delta buy with a normal pull, by its curve; None: as for `event`."""
        opposite, closing = self.loss.opposite / self.loss.lipschitz, CLOSING * epsilon
        share = TAPERED if self.tapers else DETERMINANT
        start = epsilon - closing - share * epsilon
        rho = most_rho(start, self.delta, self.changes, opposite)
        free = free_curvature(start, rho, opposite) if self.tapers else Fraction(0)
        part = share * epsilon / self.changes
        most = tapered_curvature(part, free) if self.tapers else paid_curvature(part)
        pull = float(self.loss.lipschitz) * math.sqrt(self.width / (2 * rho))
        curvature = min(self._balanced(pull), most)
        paid = self.changes * log_above(curvature)
        if self.tapers:
            paid = min(paid, tapered_price(curvature, free))
        left = most_rho(epsilon - closing - paid, self.delta, self.changes, opposite)
        if not self.tapers or free_curvature(epsilon - closing - paid, left, opposite) >= free:
            rho = left
        variance = SENSITIVITY**2 / (2 * rho)
        if variance > LARGEST_PULL**2:
            return None
        return GaussianObjectiveEvent(
            squared_sensitivity=SENSITIVITY**2,
            variance=variance,
            changes=self.changes,
            curvature=curvature,
            closing=closing,
            opposite=opposite,
            tapered=isinstance(self.loss, Tapered),
        )

    def _balanced(self, pull: float) -> Fraction:
        """Curvature of the strength that balances the mean norm of the pull against `reach`."""
        return self.loss.smoothness * FEATURE_NORM**2 / Fraction(f"{pull / self.reach:.1e}")

    def strength(self, event: PullEvent) -> Fraction:
        """Of the regularisation."""
        return self.loss.smoothness * FEATURE_NORM**2 / event.curvature

    def scale_of_closing(self, event: PullEvent) -> Fraction:
        """Of the closing noise."""
        return Fraction(weights_sensitivity(self.width)) / event.closing

    def spread(self, event: PullEvent | None) -> float:
        """Expected noise of a prediction in units of gradient / strength, by the forecast; infinite: nothing is bought.

        The pull moves the minimiser by (strength + n L'' E x x^T)^(-1) pull. The forecast takes the loss' usual L''
        and rows that are uniform on the domain.
        """
        if event is None:
            return math.inf
        noise = self.deviation(event)
        if not self.moments:
            return noise
        strength, shares = float(self.strength(event)), np.array(self.moments)
        records = GUESSED_RECORDS if self.records is None else self.records
        kept = strength / (strength + records * usual_curvature(self.loss) * shares)
        return noise * math.sqrt(float(shares @ kept**2) / float(shares.sum()))

    def deviation(self, event: PullEvent) -> float:
        """Of a coordinate of the pull, in units of `gradient`."""
        if isinstance(event, GaussianObjectiveEvent):
            return math.sqrt(event.variance) / FINENESS / self.changes
        return float(event.scale) * math.sqrt(self.width + 1) / FINENESS


def usual_curvature(loss: Sided) -> float:
    """Public guess at the mean of L'' over rows near a good function: half of the largest, or the corner's density.

    >>> [round(usual_curvature(loss), 2) for loss in (Hinge(), Pinball(), Pinball(tau=Fraction(9, 10)))]
    [0.25, 1.99, 0.88]
    """
    half, corner = float(loss.smoothness) / 2, loss.corner if isinstance(loss, TaperedCorner) else loss
    if isinstance(corner, Pinball | ExactPinball):
        return min(half, TARGETS.pdf(TARGETS.inv_cdf(float(corner.tau))))
    return min(half, HINGE_DENSITY) if isinstance(corner, Hinge | ExactHinge) else half


def paid_curvature(epsilon: Fraction) -> Fraction:
    """The curvature whose `log_above` is `epsilon`, on two digits.

    >>> float(log_above(paid_curvature(Fraction(1, 4))))
    0.24696629213483146
    """
    part = float(epsilon)
    return Fraction(f"{6 * part / (3 - 2 * part + math.sqrt((2 * part - 3) ** 2 + 6 * part)):.1e}")


def tapered_curvature(epsilon: Fraction, free: Fraction) -> Fraction:
    """A curvature whose `tapered_price` is `epsilon` or less by up to a tenth of the curvature, on two digits.

    >>> tapered_curvature(Fraction(1, 2), Fraction(1))
    Fraction(19, 10)
    """
    exact = float(free + epsilon / 2) + math.sqrt(epsilon * (free + epsilon / 4))
    return Fraction(f"{0.95 * exact:.1e}")


def round_corner(loss: Sided, reach: float, records: int | None, epsilon: Fraction) -> Sided:
    """The loss with its corner rounded as widely as that costs no more than the strength that a narrow one asks for.

    Rounding over w adds density w^2 / 6 to the mean loss, and strength = smoothness / curvature, at a curvature that
    DETERMINANT of a record's `epsilon` pays for, costs strength reach^2 / (2 n) of it, smoothness = 1 / (2 w): their
    sum is least at w^3 = 3 reach^2 / (4 n curvature density).

    Args:
        records: n, declared; None: GUESSED_RECORDS.
    """
    if not isinstance(loss, Hinge | Pinball):
        return loss
    curved = float(paid_curvature(DETERMINANT * epsilon)) * usual_curvature(loss)
    width = (3 * reach**2 / (4 * (records or GUESSED_RECORDS) * curved)) ** (1 / 3)
    return replace(loss, width=min(max(Fraction(f"{width:.1e}"), loss.width), WIDEST))


def round_corner_logistic(loss: Sided, reach: float, records: int | None, epsilon: Fraction) -> Sided:
    """The same by a logistic curve, where one record's `epsilon` pays little for the determinant.

    Over w it adds density pi^2 w^2 / 6 to the mean loss, and strength = smoothness / curvature costs strength reach^2 /
    (2 n) of it, smoothness = 1 / (4 w), at the curvature that TAPERED of one record's `epsilon` pays for: their sum is
    least at w^3 = 3 reach^2 / (8 pi^2 n density curvature).
    """
    if not isinstance(loss, Hinge | Pinball):
        return loss
    free = free_curvature((1 - TAPERED) * epsilon, Fraction(0), loss.opposite / loss.lipschitz)
    curved = usual_curvature(loss) * float(tapered_curvature(TAPERED * epsilon, free))
    width = (3 * reach**2 / (8 * math.pi**2 * (records or GUESSED_RECORDS) * curved)) ** (1 / 3)
    corner = ExactHinge() if isinstance(loss, Hinge) else ExactPinball(tau=loss.tau)
    narrowest, widest = TAPERED_SHARE * loss.width, TAPERED_SHARE * WIDEST
    return TaperedCorner(corner=corner, width=min(max(Fraction(f"{width:.1e}"), narrowest), widest))


def uniform_moments(features: FeatureMap, shape: tuple[int, ...]) -> tuple[float, ...]:
    """Eigenvalues of the mean of x x^T over rows that are uniform on a domain of this shape; public.

    Empty beyond MOST_FORECAST features.
    """
    if features.width > MOST_FORECAST:
        return ()
    drawn = public_generator(0)
    vectors = features.of(np.stack([drawn.integers(size, size=FORECAST_ROWS) for size in shape], axis=1))
    return tuple(np.maximum(np.linalg.eigvalsh(vectors.T @ vectors / FORECAST_ROWS), 0.0).tolist())
