"""Perturbation: the figures of objective perturbation that a price buys, and the loss that goes with them. Public
facts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from dpqr.mechanisms.learned_functions import FINENESS, weights_sensitivity
from dpqr.mechanisms.perturbed_functions import LARGEST_PULL, SENSITIVITY
from dpqr.noise.public import public_generator
from dpqr.prediction.learners.features import FeatureMap
from dpqr.prediction.learners.losses import Hinge, Pinball, Sided
from dpqr.prediction.learners.perturbed import PerturbedLearner
from dpqr.prediction.learners.solver import FEATURE_NORM
from dpqr.privacy.accountants.analytic import most_rho
from dpqr.privacy.accountants.losses import log_above
from dpqr.privacy.events import GaussianObjectiveEvent, PerturbedObjectiveEvent

CLOSING = Fraction(1, 64)
"""Share of epsilon for the closing noise."""
DETERMINANT = Fraction(1, 4)
"""Largest share of epsilon for the determinant."""
WIDEST = Fraction(1)
"""Rounding of a corner."""
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
        gradient, units, changes: see `Perturbed`.
        loss: whose corner may be wider than the learner's (`widened`).
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

    def event(self, epsilon: Fraction) -> PerturbedObjectiveEvent | None:
        """What `epsilon` buys; None: the pull is too large for its sampler."""
        curvature = self._curvature(self.width * float(self.gradient / epsilon), epsilon / self.units)
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
        opposite = self.loss.opposite / self.loss.lipschitz
        start = most_rho(epsilon, self.delta, self.changes, opposite)
        pull = float(self.loss.lipschitz) * math.sqrt(self.width / (2 * start))
        curvature = self._curvature(pull, epsilon / self.changes)
        closing = CLOSING * epsilon
        left = epsilon - closing - self.changes * log_above(curvature)
        variance = SENSITIVITY**2 / (2 * most_rho(left, self.delta, self.changes, opposite))
        if variance > LARGEST_PULL**2:
            return None
        return GaussianObjectiveEvent(
            squared_sensitivity=SENSITIVITY**2,
            variance=variance,
            changes=self.changes,
            curvature=curvature,
            closing=closing,
            opposite=opposite,
        )

    def _curvature(self, pull: float, epsilon: Fraction) -> Fraction:
        """Of the strength that balances the mean norm of the pull against `reach`, at most what DETERMINANT of a
        record's `epsilon` pays for."""
        strength = Fraction(f"{pull / self.reach:.1e}")
        return min(self.loss.smoothness * FEATURE_NORM**2 / strength, paid_curvature(DETERMINANT * epsilon))

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
    half = float(loss.smoothness) / 2
    if isinstance(loss, Pinball):
        return min(half, TARGETS.pdf(TARGETS.inv_cdf(float(loss.tau))))
    return min(half, HINGE_DENSITY) if isinstance(loss, Hinge) else half


def paid_curvature(epsilon: Fraction) -> Fraction:
    """The curvature whose `log_above` is `epsilon`, on two digits.

    >>> float(log_above(paid_curvature(Fraction(1, 4))))
    0.24696629213483146
    """
    part = float(epsilon)
    return Fraction(f"{6 * part / (3 - 2 * part + math.sqrt((2 * part - 3) ** 2 + 6 * part)):.1e}")


def widened(loss: Sided, reach: float, records: int | None, epsilon: Fraction) -> Sided:
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


def uniform_moments(features: FeatureMap, shape: tuple[int, ...]) -> tuple[float, ...]:
    """Eigenvalues of the mean of x x^T over rows that are uniform on a domain of this shape; public.

    Empty beyond MOST_FORECAST features.
    """
    if features.width > MOST_FORECAST:
        return ()
    drawn = public_generator(0)
    vectors = features.of(np.stack([drawn.integers(size, size=FORECAST_ROWS) for size in shape], axis=1))
    return tuple(np.maximum(np.linalg.eigvalsh(vectors.T @ vectors / FORECAST_ROWS), 0.0).tolist())
