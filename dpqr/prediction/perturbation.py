"""Perturbation: the figures of objective perturbation that a price buys, and the loss that goes with them. Public
facts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from dpqr.kernel.accountants.analytic import free_curvature, most_rho, tapered_price
from dpqr.kernel.accountants.losses import log_above
from dpqr.kernel.events import GaussianObjectiveEvent, PerturbedObjectiveEvent
from dpqr.kernel.noise.public import public_generator
from dpqr.prediction.learned_functions import FINENESS, weights_sensitivity
from dpqr.prediction.learners.features import FeatureMap
from dpqr.prediction.learners.losses import ExactHinge, ExactPinball, Hinge, Pinball, Sided, Tapered, TaperedCorner
from dpqr.prediction.learners.perturbed import PerturbedLearner
from dpqr.prediction.learners.solver import FEATURE_NORM
from dpqr.prediction.perturbed_functions import LARGEST_PULL, SENSITIVITY

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Perturbation:
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
