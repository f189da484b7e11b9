"""Gradient descent: empirical risk without a penalty, stable because the descent stops early."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Counts, occupied_cells
from dpqr.kernel.arrays import AnyArray, FloatArray, IntArray
from dpqr.kernel.errors import UsageFault
from dpqr.prediction.learners.examples import BLOCK, Examples, LossScale, TrainingRows, pairwise_sum
from dpqr.prediction.learners.features import FeatureMap
from dpqr.prediction.learners.losses import Loss, Square
from dpqr.prediction.learners.solver import ULP, Objective, evaluation_error
from dpqr.prediction.learners.stable import ARITHMETIC, LipschitzLearner, RidgeRegression, opposed_pulls

MOST_STEPS = 2**12
"""Passes over the table; a descent that would need more of them stops earlier."""


class GradientDescent(Struct, frozen=True, kw_only=True, eq=False):
    """f_{t+1} = the projection of f_t - eta grad F(f_t) onto ||f|| <= R, F(f) = (u / m0) sum L(f(x_i), y_i), f_0 = 0.

    Attributes:
        examples: how rows are read.
        loss: L, convex and smooth.
        radius: R.
        horizon: eta times the number of steps, as wanted; `reached` is what MOST_STEPS allow.
        scale: m0 and u.

    Privacy:
        Let s = `reached` and G >= |L'| on the ball: C_L, or 2 (R + 1) for squares. A step of at most 2 / smoothness of
        F makes no distance larger (F is convex; so is the ball, and a projection is no expansion), for every table, as
        the losses together weigh at most `heaviest`. Between neighbours grad F differs, at any one point, by
        at most what `LossScale.distance` has: replace 2 kappa G / m (of squares 2 D(R) / m, `opposed_pulls`),
        add-remove (1 + eta) kappa G / m0 a record. So the functions end at most s times that apart: replace 2 s G / m,
        which is R / sqrt(m) at the printed s = R sqrt(m) / (2 G) (Rana 2019, Corollary 4; Hardt, Recht and Singer 2016,
        Theorem 3.8). The number of steps is public and fixed. Rounding of a step is not stretched by later ones; all of
        it is charged at either end, and so is `evaluation_error`.
        Statement P18 of the guide's topic proofs.
    """

    examples: Examples
    loss: Loss
    radius: Fraction
    horizon: Fraction
    scale: LossScale
    penalty: ClassVar[Fraction] = Fraction(0)
    """There is none."""

    @property
    def features(self) -> FeatureMap:
        return self.examples.features

    @property
    def slope(self) -> Fraction:
        """G."""
        return 2 * (self.radius + 1) if isinstance(self.loss, Square) else self.loss.lipschitz

    @property
    def steps(self) -> int:
        return min(MOST_STEPS, math.ceil(self.horizon / self._longest))

    @property
    def reached(self) -> Fraction:
        """s: eta times the number of steps."""
        return min(self.horizon, MOST_STEPS * self._longest)

    @property
    def distance(self) -> Fraction:
        if isinstance(self.loss, Square) and self.scale.replaced:
            return 2 * self.reached * opposed_pulls(self.radius) / self.scale.records
        return self.scale.distance(self.slope, 1 / self.reached)

    @property
    def norm(self) -> Fraction:
        return self.radius

    @property
    def tolerance(self) -> Fraction:
        """Rounding of all steps: of a gradient (as `gradient_error`), of the step, and of the projection."""
        heaviest, width = self.scale.heaviest, self.features.width
        gradient = heaviest * (self.slope * (BLOCK + 64) + self.loss.smoothness * (width * self.radius + 8))
        moved = self.steps * self.radius + self.reached * heaviest * self.slope
        return ULP * (self.reached * gradient + (width + 8) * moved)

    @property
    def bound(self) -> Fraction:
        wrong = self.tolerance + evaluation_error(self.features.width, self.norm + self.tolerance)
        return (self.distance + 2 * wrong) * ARITHMETIC

    @property
    def _longest(self) -> Fraction:
        """The longest step: 2 / smoothness keeps distances for every table, 1 / smoothness is what the rate of descent
        needs where the losses together weigh 1."""
        return 1 / (self.loss.smoothness * max(Fraction(1), self.scale.heaviest / 2))

    def fit(self, counts: Counts) -> FloatArray:
        return self.learn(self.examples.read(counts, self.scale))

    def learn(self, rows: TrainingRows) -> FloatArray:
        """w from weighted rows. Private."""
        objective = Objective(rows=rows, loss=self.loss, penalty=0.0)
        weights, length, radius = np.zeros(rows.width), float(self.reached / self.steps), float(self.radius)
        for _ in range(self.steps):
            weights = weights - length * objective.gradient(weights)
            weights *= min(1.0, radius / max(float(np.linalg.norm(weights)), radius))
        return weights


# Online least squares: one gradient step per record, in the records' order.

THETA = Fraction(3, 4)
MOST_DENOMINATOR = 1000
ROUNDED_UP = 1 + Fraction(1, 2**40)
"""Covers the rounding of a power in double precision."""


class Steps(Struct, frozen=True, kw_only=True):
    """Step sizes eta_t = (t + offset)^-theta and penalties lambda_t = (t + offset)^(theta - 1).

    Raises:
        UsageFault: unless 1/2 < theta < 1 and offset^theta >= kappa^2 + 1 = 2. Then 0 <= A_t <= 1 - eta_t lambda_t for
            every step's operator, which all bounds rely on.

    >>> Steps().start
    3
    """

    theta: Fraction = THETA
    offset: int | None = None

    def __post_init__(self) -> None:
        if not Fraction(1, 2) < self.theta < 1 or self.theta.denominator > MOST_DENOMINATOR:
            raise UsageFault("--theta must lie between 0.5 and 1, with three decimals at most, for example 0.75")
        if self.offset is not None and not self._far(self.offset):
            raise UsageFault(f"--t0 {self.offset}: t0^theta must be at least 2; give {self._least} or more")

    @property
    def start(self) -> int:
        """t0: stated, or the smallest that is allowed."""
        return self._least if self.offset is None else self.offset

    @property
    def _least(self) -> int:
        return next(offset for offset in (2, 3, 4) if self._far(offset))

    def _far(self, offset: int) -> bool:
        """offset^theta >= 2, exactly."""
        return offset >= 4 or offset**self.theta.numerator >= 2**self.theta.denominator


USUAL_STEPS = Steps()


class OnlineLearner(Struct, frozen=True, kw_only=True, eq=False):
    """f_{t+1} = f_t - eta_t [(f_t(x_t) - y_t) K(x_t, .) + lambda_t f_t], f_0 = 0, |y| <= M = 1, kappa = 1.

    Attributes:
        examples: how rows are read.
        steps: eta and lambda.
        slots: number of steps. An empty slot, or one whose rows have no target, only shrinks f.
        rows: K, how many slots one unit's rows fill.
        column: axis of the domain whose cell is a row's slot, the step being the mean of its rows' steps; None: the
            last axis of the counts is the slot, of one row each.
        added: whether records come and go, or are replaced.

    Privacy:
        A slot per row: replace only, for one more record would move all later ones. N = slots - 1 + t0. Let a neighbour
        have another row in slot i, or none. Both runs share all other steps, whose operators shrink distances:
        prod_{j > i} (1 - eta_j lambda_j) = prod (j + t0 - 1) / (j + t0) = (i + t0) / N. At step i they part by at most
        eta_i D(||f_i||), D(R) <= R + 2 what two records can pull differently (`opposed_pulls`), and
        ||f_i|| <= M / sqrt(2 lambda_i). So they end n^-theta D(n^((1 - theta) / 2) / sqrt(2)) n / N apart, n = i + t0,
        which grows with n: the last slot is the worst one, and the bound at n = N holds for every position (Nie and
        Wang 2017, JCC, Definition 2, lets the last record change only). Their own constant
        2 kappa (kappa^2 + 1) M N^(1 - 2 theta), by the same argument for every position, is used where it is smaller.
        K times that for K slots, one after the other.
        A column of slots: a record comes to its slot or leaves it, and no other moves. A mean of steps from one f has
        the norms and the contraction of each of them. One more record beside b others changes the step by the distance
        of two pulls over b + 1, at most eta D(||f||) / 2, or by eta (||f|| + 1) where b = 0, which is more. So
        N^-theta (N^((1 - theta) / 2) / sqrt(2) + 1), or half of the printed constant; twice that under replace, where
        a record leaves one slot for another.
        Rounding of a step is shrunk like any other change; all of it together, N (width + 16) ulp of the largest norm,
        is charged at either end, and so is `evaluation_error`.
        Statement P19 of the guide's topic proofs.
    """

    examples: Examples
    steps: Steps
    slots: int
    rows: int = 1
    column: int | None = None
    added: bool = False

    @property
    def features(self) -> FeatureMap:
        return self.examples.features

    @property
    def penalty(self) -> Fraction:
        """lambda of the last step; nothing depends on it."""
        return Fraction(f"{self._last ** -(1 - float(self.steps.theta)):.1e}")

    @property
    def distance(self) -> Fraction:
        theta, last = float(self.steps.theta), float(self._last)
        norm = last ** ((1 - theta) / 2) / math.sqrt(2)
        if self.column is not None:
            moved = min(2 * last ** (1 - 2 * theta), last**-theta * (norm + 1))
            return (1 if self.added else 2) * self.rows * Fraction(moved) * ROUNDED_UP
        printed, sharp = 4 * last ** (1 - 2 * theta), last**-theta * float(opposed_pulls(Fraction(norm)))
        return self.rows * Fraction(min(printed, sharp)) * ROUNDED_UP

    @property
    def bound(self) -> Fraction:
        norm = Fraction(self._last ** ((1 - float(self.steps.theta)) / 2)) + 1
        summed_rows = 0 if self.column is None else BLOCK + 64
        rounding = ULP * self._last * (self.features.width + 16 + summed_rows) * norm
        return self.distance + 2 * (rounding + evaluation_error(self.features.width, norm))

    @property
    def _last(self) -> int:
        return self.slots - 1 + self.steps.start

    def fit(self, counts: Counts) -> FloatArray:
        codes, records = occupied_cells(counts)
        if self.column is not None:
            return self._by_column(codes, records, self.column)
        codes = codes[self.examples.labelled(codes)]
        codes = codes[np.argsort(codes[:, -1], kind="stable")]
        axis, theta, start = self.examples.axis, float(self.steps.theta), self.steps.start
        weights, done = np.zeros(self.features.width), 0
        for at in range(0, len(codes), BLOCK):
            block = codes[at : at + BLOCK]
            block = block[block[:, -1] < self.slots]
            vectors = self.features.of(np.delete(block[:, :-1], axis, axis=1))
            targets = self.examples.values[block[:, axis]]
            # Steps in the order of slots; `done` of them have been passed.
            for vector, target, slot in zip(vectors, targets.tolist(), block[:, -1].tolist(), strict=True):
                weights = weights * self._shrunk(done, slot)
                size = (slot + start) ** -theta
                error = float(vector @ weights) - target
                weights = weights * (1 - 1 / (slot + start)) - (size * error) * vector
                done = slot + 1
        return weights * self._shrunk(done, self.slots)

    def _by_column(self, codes: AnyArray, records: IntArray, column: int) -> FloatArray:
        """One step per slot, the mean of the steps of its rows; 0 where no slot has any, for a table without a row that
        is learned from may end no run."""
        mine = self.examples.labelled(codes) & (codes[:, column] < self.slots)
        codes, records = codes[mine], records[mine]
        order = np.argsort(codes[:, column], kind="stable")
        found, starts = np.unique(codes[order, column], return_index=True)
        weights, done = np.zeros(self.features.width), 0
        for slot, rows in zip(found.tolist(), np.split(order, starts)[1:], strict=True):
            weights = weights * self._shrunk(done, slot)
            read = self.examples.rows(codes[rows], records[rows] / records[rows].sum())
            pull = pairwise_sum((b.weights * (b.vectors @ weights - b.targets)) @ b.vectors for b in read.blocks())
            start = slot + self.steps.start
            weights = weights * (1 - 1 / start) - start ** -float(self.steps.theta) * pull
            done = slot + 1
        return weights * self._shrunk(done, self.slots)

    def _shrunk(self, done: int, slot: int) -> float:
        """The factor that the empty slots from `done` on leave of f before `slot`."""
        start = self.steps.start
        return 1.0 if slot <= done else (done + start - 1) / (slot + start - 1)


# Averaged learners: the mean of stable learners on disjoint parts of the table.

PartLearner = LipschitzLearner | RidgeRegression | GradientDescent


class Averaged(Struct, frozen=True, kw_only=True, eq=False):
    """(1 / r) sum_j f_j, f_j learned from part j alone: the last axis of the counts is a record's part.

    Attributes:
        learner: of a part, for a public number of its records; the real one is private (`LossScale.part`).
        parts: r.

    Privacy:
        Each unit draws its part by itself, so between neighbours one part differs, given the draws of all others. Its
        function moves by at most gamma = `learner.distance` in norm, and their mean by gamma / r: Rana 2019, Lemma 2. A
        member with a bound of its own thus moves an average by less than the 2 M / r of any clipped one (`Aggregate`).
        A solver's tolerance and rounding are charged for the members of all parts, at either end, so nothing rests on
        two runs being equal to the last digit; and so are the sum over parts and `evaluation_error`.
        Statement P20 of the guide's topic proofs.
    """

    learner: PartLearner
    parts: int

    @property
    def features(self) -> FeatureMap:
        return self.learner.features

    @property
    def penalty(self) -> Fraction:
        return self.learner.penalty

    @property
    def distance(self) -> Fraction:
        return self.learner.distance / self.parts

    @property
    def bound(self) -> Fraction:
        members = self.learner.bound - self.learner.distance
        return (self.distance + members + 2 * evaluation_error(self.parts, self.learner.norm)) * ARITHMETIC

    def fit(self, counts: Counts) -> FloatArray:
        codes, records = occupied_cells(counts)
        order = np.argsort(codes[:, -1], kind="stable")
        ends = np.cumsum(np.bincount(codes[:, -1].astype(np.int64), minlength=self.parts))[:-1]
        total = np.zeros(self.features.width)
        for mine in np.split(order, ends):
            weights = self.learner.scale.weights(records[mine])
            total += self.learner.learn(self.learner.examples.rows(codes[mine], weights))
        return total / self.parts
