"""Learners of perturbed objectives."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Counts, occupied_cells
from dpqr.kernel.arrays import AnyArray, FloatArray
from dpqr.kernel.unit import PrivacyUnit
from dpqr.prediction.learners.examples import BLOCK, ExampleBatch, Examples, TrainingRows, pairwise_sum
from dpqr.prediction.learners.losses import Loss, Sided, Tapered
from dpqr.prediction.learners.solver import FEATURE_NORM, Objective, Solver

EXACTNESS = Fraction(1, 2**15)
"""The solver's tolerance in gradients of one row."""
PIECE = 2**5
"""Products that are summed one after the other in extended precision."""
EXTENDED = bool(np.finfo(np.longdouble).nmant >= 63)
"""Whether numpy's `longdouble` has a roundoff of 2^-64 here; public."""


class PerturbedObjective(Struct, frozen=True, kw_only=True):
    """An objective plus <pull, f>. Private.

    Attributes:
        base: sum_i weight_i L(<f, x_i>, y_i) + penalty ||f||^2.
        loss: L, whose width and tau are the doubles that it computes with.
        pull: shape (width,).
    """

    base: Objective
    loss: Loss
    pull: FloatArray

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
        return self.base.gradient(point) + self.pull

    def newton_step(self, point: FloatArray, gradient: FloatArray) -> FloatArray:
        return self.base.newton_step(point, gradient)

    def rounding(self, norm: float, weight: float, *, extended: bool = False) -> float:
        """What rounding adds to `gradient` at a point of this norm where that bounds the distance from the minimiser.

        Slopes a_i are computed at z_i + e_i in place of z_i = <f, x_i>, |e_i| <= E, and sums are wrong by S. With r the
        computed gradient, d the distance of f from the minimiser f*, s_i* the slopes there and v_i = z_i - z_i*,
            modulus d^2 + sum_i (a_i - s_i*) v_i <= (||r|| + S) d.
        A slope that rises by at most `smoothness` has (a - s*) (v + e) >= (a - s*)^2 / smoothness (Nesterov 2018,
        Theorem 2.1.5), so each term of the sum is at least -smoothness e_i^2 / 4, and
            modulus d <= ||r|| + S + (E / 2) (weight smoothness modulus)^(1/2):
        the error of a prediction counts by the root of the number of records.

        Args:
            weight: of all rows together.
            extended: of `Near`, with sums of PIECE products that are added in pairs, at most 2^8 of them a block; else
                of doubles, in sums of BLOCK rows.
        """
        unit, width, modulus = 2.0**-64 if extended else 2.0**-53, self.shape[1], 2 * self.base.penalty
        rows, columns = (PIECE + 8, PIECE + 8) if extended else (BLOCK, width)
        linear = modulus * norm + float(np.linalg.norm(self.pull))
        sums = unit * (float(self.loss.lipschitz) * weight * (rows + 64) + 8 * linear) + 2.0**-53 * modulus * norm
        apart = 2 * unit * (columns + 8) * (norm + 1)
        return sums + apart / 2 * math.sqrt(weight * float(self.loss.smoothness) * modulus)


class Near(Struct, frozen=True, kw_only=True):
    """The same objective as a function of the step from a point, with gradients in extended precision. Private.

    The point's own predictions do not change from step to step, so steps far below its last digit still count.
    """

    pulled: PerturbedObjective
    point: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        return self.pulled.shape

    def size(self, gradient: FloatArray) -> float:
        return self.pulled.size(gradient)

    def inner(self, one: FloatArray, two: FloatArray) -> float:
        return self.pulled.inner(one, two)

    def gradient(self, step: FloatArray) -> FloatArray:
        parts = (self._part(block, step) for block in self.pulled.base.rows.blocks())
        near: Any = self.point.astype(np.longdouble)
        total: Any = pairwise_sum(parts) + 2 * self.pulled.base.penalty * (near + step) + self.pulled.pull
        return np.asarray(total, dtype=np.float64)

    def newton_step(self, step: FloatArray, gradient: FloatArray) -> FloatArray:
        return self.pulled.newton_step(self.point + step, gradient)

    def _part(self, block: ExampleBatch, step: FloatArray) -> Any:
        """The sum of the gradients of a block's rows."""
        vectors: Any = block.vectors.astype(np.longdouble)
        predicted = in_pieces(vectors, self.point) + in_pieces(vectors, step)
        slopes = block.weights * self.pulled.loss.slope(predicted, block.targets)
        return in_pieces(vectors.T, slopes)


def in_pieces(matrix: Any, vector: AnyArray) -> Any:
    """matrix vector, as a sum, in pairs, of the sums of PIECE products each."""
    starts = range(0, max(1, len(vector)), PIECE)
    return pairwise_sum(matrix[:, at : at + PIECE] @ vector[at : at + PIECE] for at in starts)


class PerturbedLearner(Struct, frozen=True, kw_only=True, eq=False):
    """argmin sum_i L(f(x_i), y_i) + (strength / 2) ||f||^2 + <pull, f>, for a loss with a bounded second derivative.

    The losses are summed, not averaged, so no number of records is needed.

    Attributes:
        examples: how rows are read.
        loss: L.
        strength: of the regularisation.
        unit: neighbours, and rows per person.

    Privacy:
        See `PerturbedWeights`. `fit` is within `tolerance` of the minimiser, which the gradient at the point shows with
        all rounding counted (`PerturbedObjective.rounding`), for every table of at most 2^36 records, the most that a
        run takes.
        Newton's method finds such a point or, where it does not, a number of gradient steps that is proved to. Where a
        table has too many rows for doubles (2^25 or so), gradients are computed in extended precision about the point
        that doubles found (`Near`): at 2^36 records and at most 2^12 features its rounding takes less than half of the
        tolerance, whatever the table (`tests/prediction/learners/test_perturbed.py`). Which it was is never reported.

    >>> from dpqr.domain.attribute import Attribute, Codes
    >>> from dpqr.domain.domain import Domain
    >>> from dpqr.domain.histogram import DenseHistogram
    >>> from dpqr.prediction.learners.features import CellFeatures
    >>> features = CellFeatures(domain=Domain((Attribute(name="a", axis=Codes(2)),)))
    >>> examples = Examples(features=features, axis=1, values=np.array([-1.0, 1.0]))
    >>> from dpqr.prediction.learners.losses import Logistic
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
        """Losses that come, or are replaced, between neighbours."""
        return self.unit.rows

    @property
    def changes(self) -> int:
        """Records that come or go between neighbours, one after the other; each has its share of `gradient`."""
        return self.unit.changes

    @property
    def gradient(self) -> Fraction:
        """How far the gradient of the sum of losses moves in L2 between neighbours, at any point."""
        return self.loss.lipschitz * self.changes

    @property
    def opposite(self) -> Fraction:
        """Largest slope of the sign that has the smaller one, for one target, as a share of the largest slope."""
        return self.loss.opposite / self.loss.lipschitz

    @property
    def curvature(self) -> Fraction:
        """Largest second derivative of a loss on a row, over the strength."""
        return self.loss.smoothness * FEATURE_NORM**2 / self.strength

    @property
    def tapered(self) -> bool:
        """Whether that is at most 4 p (1 - p) `curvature` where the slope is at p of the way between its ends."""
        return isinstance(self.loss, Tapered)

    @property
    def tolerance(self) -> Fraction:
        """Largest distance of `fit` from the minimiser, for every pull and every table. Public."""
        return EXACTNESS * self.loss.lipschitz / self.strength

    def fit(self, counts: Counts, pull: FloatArray) -> FloatArray:
        codes, records = occupied_cells(counts)
        return self.learn(self.examples.rows(codes, records.astype(np.float64)), pull)

    def learn(self, rows: TrainingRows, pull: FloatArray) -> FloatArray:
        """w from weighted rows. Private."""
        weight = float(rows.weights.sum())
        smoothness = Fraction(weight) * self.loss.smoothness + self.strength
        start = Fraction(weight) * self.loss.start + Fraction(float(pull @ pull)) / self.strength
        solver = Solver(modulus=self.strength, smoothness=smoothness, start=start, tolerance=self.tolerance)
        base = Objective(rows=rows, loss=self.loss, penalty=float(self.strength) / 2)
        objective = PerturbedObjective(base=base, loss=self.loss, pull=pull)
        found, sure = solver.reached(objective)
        if sure and objective.rounding(float(np.linalg.norm(found)), weight) <= solver.needed:
            return found
        return found + solver.refine(Near(pulled=objective, point=found))
