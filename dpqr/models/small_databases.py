"""Hypotheses of the median mechanism: a `Net` of small databases, or a `PolytopeSample` of consistent histograms."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dpqr.kernel.arrays import AnyArray, FloatArray, IntArray
from dpqr.kernel.noise.public import public_generator
from dpqr.kernel.values import replace
from dpqr.workload.block import QueryBlock


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Net:
    """All databases of `size` records that are consistent with the answers so far.

    Attributes:
        members: records per cell, one column per member, shape (|X|, members), a small integer type; cells in C order,
            so that a query adds a few long rows.
        total: the records that the hypothesis stands for.

    >>> net = Net(members=every_database(1, 2), size=1, total=10.0, shape=(2,))
    >>> net.members.tolist()
    [[0, 1], [1, 0]]
    """

    members: AnyArray
    size: int
    total: float
    shape: tuple[int, ...]
    _cache: dict[QueryBlock, IntArray] = field(default_factory=dict, repr=False)

    def answer(self, block: QueryBlock) -> FloatArray:
        """Return the members' median answers, scaled from `size` to `total` records; shape (block.rows,)."""
        answers: FloatArray = self.medians(block).astype(np.float64) * (self.total / self.size)
        return answers

    def medians(self, block: QueryBlock) -> IntArray:
        """Return the lower median over the members, in records of a member; exact, shape (block.rows,).

        Any median serves the halving argument: at least half of the members answer no less, at least half no more.
        """
        if block not in self._cache:
            middle = (self.members.shape[1] - 1) // 2
            answers = (self.member_answers(row) for row in coefficients_on(block, self.shape))
            medians = [int(np.partition(answer, middle)[middle]) for answer in answers]
            self._cache[block] = np.array(medians, dtype=np.int64)
        return self._cache[block]

    def member_answers(self, row: IntArray) -> AnyArray:
        """Return every member's answer to one query, given by its coefficients on the cells; shape (members,)."""
        bound = self.size * int(np.abs(row).max(initial=0))
        answers = np.zeros(self.members.shape[1], dtype=_smallest_type(bound))
        for cell in np.flatnonzero(row):
            answers += self.members[cell] * answers.dtype.type(row[cell])
        return answers

    def only(self, kept: AnyArray) -> Net:
        """Return the net of the members with a true flag in `kept`, shape (members,)."""
        return Net(members=self.members[:, kept], size=self.size, total=self.total, shape=self.shape)


def every_database(size: int, cells: int) -> AnyArray:
    """Return all databases of `size` records on `cells` cells as columns: shape (cells, C(size + cells - 1, size))."""
    kind = _smallest_type(size)
    left = np.array([size], dtype=kind)
    columns: list[AnyArray] = []
    for _ in range(cells - 1):
        choices = left.astype(np.int64) + 1
        starts = np.repeat(np.cumsum(choices) - choices, choices)
        counts = (np.arange(int(choices.sum())) - starts).astype(kind)
        columns = [np.repeat(column, choices) for column in columns]
        left = np.repeat(left, choices) - counts
        columns.append(counts)
    return np.stack([*columns, left])


def coefficients_on(block: QueryBlock, shape: tuple[int, ...]) -> IntArray:
    """Return each query's coefficients on all cells of a small universe, int64, shape (block.rows, |X|)."""
    order = sorted(block.axes)
    absent = tuple(axis for axis in range(len(shape)) if axis not in order)
    rows = []
    for unit in np.eye(block.rows, dtype=np.int64):
        tensor = block.adjoint(unit).transpose([block.axes.index(axis) for axis in order])
        rows.append(np.broadcast_to(np.expand_dims(tensor, absent), shape).reshape(-1))
    return np.stack(rows)


def rounding_size(cells: int, level: Fraction) -> int:
    """Return the smallest m > |X| / (4a): every distribution has a database of m records within a, for all queries.

    Proof. Round m p by largest remainder: k = the sum of the remainders r_i is whole, and the k largest are rounded
    up. A query in [0, 1] moves by at most the mass that is added, (1/m) times the sum over rounded-up cells of
    1 - r_i. The k largest of |X| remainders have at least the mean k/|X| each on average, so that sum is at most
    k - k^2/|X| <= |X|/4. Hence every query moves by at most |X|/(4m) < a. It is attained for even |X| (all
    remainders 1/2 and the query of the rounded-up cells), so no smaller m is proved by rounding.
    """
    return int(Fraction(cells) / (4 * level) // 1) + 1


def _smallest_type(bound: int) -> type[np.signedinteger]:
    for kind in (np.int8, np.int16, np.int32):
        if bound <= np.iinfo(kind).max:
            return kind
    return np.int64


CUT_SEED = 1_000_003
"""Separates the random streams of consecutive seeds from those of consecutive cuts."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PolytopeSample:
    """Distributions p on the cells with normals p <= bounds, sampled by hit-and-run (Smith 1984).

    Why: the halving rule needs "half of all consistent databases". If they cannot be listed, points of their polytope
    represent them. Mixing after so many steps is not proved, so the mistake bound is a heuristic here.

    Attributes:
        points: shape (count, |X|), each non-negative with sum 1.
        normals: (cuts, |X|).
        bounds: (cuts,).
        steps: hit-and-run steps of every point after a cut.

    >>> PolytopeSample.simplex((3,), 9.0, count=5, steps=2, seed=1).points.shape
    (5, 3)
    """

    points: FloatArray
    normals: FloatArray
    bounds: FloatArray
    total: float
    shape: tuple[int, ...]
    seed: int
    steps: int
    _cache: dict[QueryBlock, FloatArray] = field(default_factory=dict, repr=False)

    @classmethod
    def simplex(cls, shape: tuple[int, ...], total: float, *, count: int, steps: int, seed: int) -> PolytopeSample:
        """Draw `count` uniform distributions as normalised exponential draws (exact, without a walk)."""
        cells = int(np.prod(shape, dtype=np.int64))
        points = public_generator(seed).standard_exponential((count, cells))
        points /= points.sum(axis=1, keepdims=True)
        empty = np.zeros((0, cells))
        return cls(points=points, normals=empty, bounds=np.zeros(0), total=total, shape=shape, seed=seed, steps=steps)

    def answer(self, block: QueryBlock) -> FloatArray:
        """Return medians over the points, in units of the block's grid (records); shape (block.rows,)."""
        if block not in self._cache:
            answers = coefficients_on(block, self.shape) @ self.points.T
            self._cache[block] = np.median(answers, axis=1) * self.total
        return self._cache[block]

    def cut(self, normals: FloatArray, bounds: FloatArray) -> PolytopeSample | None:
        """Add the constraints normals p <= bounds; None if no distribution satisfies all."""
        normals = np.concatenate([self.normals, normals])
        bounds = np.concatenate([self.bounds, bounds])
        inside = (self.points @ normals.T < bounds).all(axis=1)
        starts = self.points[inside] if inside.any() else _inner_point(normals, bounds)
        if starts is None:
            return None
        points = np.resize(starts, self.points.shape)
        generator = public_generator(self.seed + CUT_SEED * len(bounds))
        # Hit and run: every point moves to a uniform position on a random line through it, inside the polytope.
        for _ in range(self.steps):
            directions = generator.standard_normal(points.shape)
            directions -= directions.mean(axis=1, keepdims=True)
            slack = np.concatenate([points, np.maximum(bounds - points @ normals.T, 0.0)], axis=1)
            speed = np.concatenate([-directions, directions @ normals.T], axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                reach = slack / speed
            ahead = np.where(speed > 0, reach, np.inf).min(axis=1)
            behind = np.where(speed < 0, reach, -np.inf).max(axis=1)
            lengths = behind + (ahead - behind) * generator.random(len(points))
            points = np.maximum(points + lengths[:, None] * directions, 0.0)
            points /= points.sum(axis=1, keepdims=True)
        return replace(self, points=points, normals=normals, bounds=bounds, _cache={})


def _inner_point(normals: FloatArray, bounds: FloatArray) -> FloatArray | None:
    """Return an inner point, shape (1, |X|), by a linear program that maximises the smallest slack; None if none."""
    from scipy.optimize import linprog

    cells = normals.shape[1]
    above_zero = np.hstack([-np.eye(cells), np.full((cells, 1), 1.0 / cells)])
    below_bounds = np.hstack([normals, np.ones((len(bounds), 1))])
    optimum = linprog(
        np.append(np.zeros(cells), -1.0),
        A_ub=np.vstack([above_zero, below_bounds]),
        b_ub=np.append(np.zeros(cells), bounds),
        A_eq=np.append(np.ones(cells), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * cells + [(None, 1)],
    )
    if optimum.x is None or optimum.x[-1] <= 1e-12:
        return None
    inner: FloatArray = np.maximum(optimum.x[:-1], 0.0)[None, :]
    inner /= inner.sum()
    return inner
