"""Learners of perturbed objectives, and the figures of objective perturbation that a price buys."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.data.histogram import Counts, occupied
from dpqr.data.unit import PrivacyUnit
from dpqr.mechanisms.learned_functions import FINENESS, weights_sensitivity
from dpqr.mechanisms.perturbed_functions import LARGEST_PULL, SENSITIVITY
from dpqr.noise.public import public_generator
from dpqr.prediction.examples import BLOCK, Examples, Rows
from dpqr.prediction.features import FeatureMap
from dpqr.prediction.losses import Hinge, Loss, Pinball, Sided
from dpqr.prediction.solver import FEATURE_NORM, Objective, Solver
from dpqr.privacy.accountants.analytic import most_rho
from dpqr.privacy.accountants.losses import log_above
from dpqr.privacy.events import GaussianObjectiveEvent, PerturbedObjectiveEvent

CLOSING = Fraction(1, 64)
"""Share of epsilon for the closing noise."""
EXACTNESS = Fraction(1, 2**15)
"""The solver's tolerance in gradients of one row."""
DETERMINANT = Fraction(1, 4)
"""Largest share of epsilon for the determinant."""
WIDEST = Fraction(1)
"""Rounding of a corner."""
GUESSED_RECORDS = 10_000
FORECAST_ROWS = 2**10
MOST_CHANGES = 16
"""Records of a neighbour up to which a normal pull is offered: its bound has a term for each of their sets."""
MOST_FORECAST = 512
"""Widest features whose moments are forecast, or released."""


PullEvent = PerturbedObjectiveEvent | GaussianObjectiveEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """An objective plus <pull, f>. Private.

    Attributes:
        base: sum_i weight_i L(<f, x_i>, y_i) + penalty ||f||^2.
        loss: L.
        extended: whether gradients are summed in extended precision.
    """

    base: Objective
    loss: Loss
    pull: FloatArray
    extended: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.base.shape

    def size(self, gradient: FloatArray) -> float:
        return self.base.size(gradient)

    def inner(self, one: FloatArray, two: FloatArray) -> float:
        return self.base.inner(one, two)

    def value(self, point: FloatArray) -> float:
        return self.base.value(point) + float(self.pull @ point)

    def gradient(self, point: FloatArray) -> FloatArray:
        if not self.extended:
            return self.base.gradient(point) + self.pull
        long: Any = point.astype(np.longdouble)
        total = 2 * self.base.penalty * long + self.pull
        for block in self.base.rows.blocks():
            vectors: Any = block.vectors.astype(np.longdouble)
            total += (block.weights * self.loss.slope(vectors @ long, block.targets)) @ vectors
        return np.asarray(total, dtype=np.float64)

    def newton_step(self, point: FloatArray, gradient: FloatArray) -> FloatArray:
        return self.base.newton_step(point, gradient)

    def rounding(self, point: FloatArray, weight: float) -> float:
        """A bound on the error of a computed gradient, as `gradient_error` has it, at this point and for this table."""
        unit = float(np.finfo(np.longdouble if self.extended else np.float64).eps)
        norm, width = float(np.linalg.norm(point)), self.shape[1]
        summed = float(self.loss.lipschitz) * (BLOCK + 64) * weight + 4 * self.base.penalty * norm
        return unit * (summed + weight * float(self.loss.smoothness) * (width * norm + 8))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PerturbedLearner:
    """argmin sum_i L(f(x_i), y_i) + (strength / 2) ||f||^2 + <pull, f>, for a loss with a bounded second derivative.

    The losses are summed, not averaged, so no number of records is needed.

    Attributes:
        examples: how rows are read.
        loss: L.
        strength: of the regularisation.
        unit: neighbours, and rows per person.

    Privacy:
        See `PerturbedWeights`. `fit` is within `tolerance` of the minimiser for every table: Newton's method or, where
        it does not arrive, a number of gradient steps that is proved to, whose last point is checked by a gradient
        with its rounding. Where a table has so many rows that double precision cannot show it, gradients are summed
        in extended precision. Which it was is never reported.

    >>> from dpqr.data.attribute import Attribute, Codes
    >>> from dpqr.data.domain import Domain
    >>> from dpqr.data.histogram import DenseHistogram
    >>> from dpqr.prediction.features import CellFeatures
    >>> features = CellFeatures(domain=Domain((Attribute(name="a", axis=Codes(2)),)))
    >>> examples = Examples(features=features, axis=1, values=np.array([-1.0, 1.0]))
    >>> from dpqr.prediction.losses import Logistic
    >>> learner = PerturbedLearner(examples=examples, loss=Logistic(), strength=Fraction(2), unit=PrivacyUnit())
    >>> weights = learner.fit(DenseHistogram(np.array([[20, 0], [0, 20]])), np.zeros(3))
    >>> (features.of(np.array([[0], [1]])) @ weights > 0).tolist()
    [False, True]
    """

    examples: Examples
    loss: Sided
    strength: Fraction
    unit: PrivacyUnit

    @property
    def width(self) -> int:
        return self.examples.features.width

    @property
    def units(self) -> int:
        return self.unit.rows

    @property
    def changes(self) -> int:
        return self.unit.changes

    @property
    def gradient(self) -> Fraction:
        return self.loss.lipschitz * self.changes

    @property
    def opposite(self) -> Fraction:
        return self.loss.opposite / self.loss.lipschitz

    @property
    def curvature(self) -> Fraction:
        return self.loss.smoothness * FEATURE_NORM**2 / self.strength

    @property
    def tolerance(self) -> Fraction:
        return EXACTNESS * self.loss.lipschitz / self.strength

    def fit(self, counts: Counts, pull: FloatArray) -> FloatArray:
        codes, records = occupied(counts)
        return self.learn(self.examples.rows(codes, records.astype(np.float64)), pull)

    def learn(self, rows: Rows, pull: FloatArray) -> FloatArray:
        """w from weighted rows. Private."""
        weight = float(rows.weights.sum())
        smoothness = Fraction(weight) * self.loss.smoothness + self.strength
        start = Fraction(weight) * self.loss.start + Fraction(float(pull @ pull)) / self.strength
        solver = Solver(modulus=self.strength, smoothness=smoothness, start=start, tolerance=self.tolerance)
        base = Objective(rows=rows, loss=self.loss, penalty=float(self.strength) / 2)
        objective = Pulled(base=base, loss=self.loss, pull=pull)
        found = solver.minimise(objective)
        if objective.rounding(found, weight) <= solver.needed:
            return found
        return solver.minimise(Pulled(base=base, loss=self.loss, pull=pull, extended=True))


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
        kept = strength / (strength + records * self.loss.usual_curvature * shares)
        return noise * math.sqrt(float(shares @ kept**2) / float(shares.sum()))

    def deviation(self, event: PullEvent) -> float:
        """Of a coordinate of the pull, in units of `gradient`."""
        if isinstance(event, GaussianObjectiveEvent):
            return math.sqrt(event.variance) / FINENESS / self.changes
        return float(event.scale) * math.sqrt(self.width + 1) / FINENESS


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
    curved = float(paid_curvature(DETERMINANT * epsilon)) * loss.usual_curvature
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
