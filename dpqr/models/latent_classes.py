"""LatentClasses: a mixture of products. Few numbers join many columns that follow a few hidden ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeGuard

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Packing
from dpqr.kernel.arrays import Axes, CodeArray, FloatArray, IntArray, freeze
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.public import public_generator, public_normals
from dpqr.models.factored import LARGEST_LISTING, systematic_draws
from dpqr.models.fit.descent import Descent
from dpqr.models.fit.evidence import LinearMeasurement, lower_order
from dpqr.workload.block import QueryBlock
from dpqr.workload.matrix import IntMatrix


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LatentClasses:
    """A histogram of `total` records: p(x) = sum over the classes of a share times the columns' laws in that class.

    Attributes:
        shares: of the classes, sum 1, shape (classes,), read-only.
        laws: for each attribute the probabilities of its cells in every class, shape (cells, classes), read-only.
        total: records, at least 0.
        point: parameters of the fit, the start of a fit to similar answers. They never change an answer.

    References:
        Lazarsfeld and Henry 1968, "Latent structure analysis".

    >>> two = np.eye(2)
    >>> LatentClasses(shares=np.array([0.5, 0.5]), laws=(two, two), total=8.0).marginal((0, 1)).tolist()
    [[4.0, 0.0], [0.0, 4.0]]
    """

    shares: FloatArray
    laws: tuple[FloatArray, ...]
    total: float
    point: FloatArray = field(default_factory=lambda: np.zeros(0), repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of all attributes."""
        return tuple(len(law) for law in self.laws)

    def marginal(self, axes: Axes) -> FloatArray:
        """Return records, shape = sizes of `axes` in that order; () for the total."""
        if len(axes) == 2:  # by far the most are
            return (self.laws[axes[0]] * (self.shares * self.total)) @ self.laws[axes[1]].T
        first, last = axes[:-1], axes[-1:]
        cells = products([self.laws[axis] for axis in first], self.shares * self.total)
        table: FloatArray = cells @ self.laws[last[0]].T if last else cells.sum(axis=1)
        return table.reshape([len(self.laws[axis]) for axis in axes])

    def answer(self, block: QueryBlock) -> FloatArray:
        """Answers in units of the block's grid (records), shape (block.rows,)."""
        answers: FloatArray = block.answer(self)
        return answers

    def weights(self) -> FloatArray:
        """Return records per cell, shape = domain shape. InfeasiblePlan above LARGEST_LISTING cells."""
        cells = math.prod(self.shape)
        if cells > LARGEST_LISTING:
            raise InfeasiblePlan(
                f"the domain has {cells} cells, too many to list one by one (at most {LARGEST_LISTING}); "
                "ask for synthetic rows instead"
            )
        return self.marginal(tuple(range(len(self.laws))))

    def rows(self, count: int, seed: int) -> CodeArray:
        """Draw `count` synthetic records in random order: the class, then every column by its law in that class."""
        generator = public_generator(seed)
        classes = np.sort(systematic_draws(self.shares[None, :], np.zeros(count, dtype=np.int64), generator))
        codes = np.zeros((count, len(self.laws)), dtype=Packing(self.shape).code_type, order="F")
        starts = np.searchsorted(classes, np.arange(self.shares.size + 1))
        for axis, law in enumerate(self.laws):
            drawn = systematic_draws(law.T, classes, generator)
            # Within a class the columns are independent, so each gets an order of its own.
            for start, stop in pairwise(starts):
                drawn[start:stop] = generator.permutation(drawn[start:stop])
            codes[:, axis] = drawn
        return codes[generator.permutation(count)]


def products(laws: Sequence[FloatArray], shares: FloatArray) -> FloatArray:
    """The mass of every combination of cells in every class, shape (combinations, classes).

    shares: of the classes, or of combinations of other columns' cells in each, which vary slowest.
    """
    cells = np.atleast_2d(shares)
    for law in laws:
        cells = (cells[:, None, :] * law).reshape(-1, shares.shape[-1])
    return cells


# The fit: least squares over the classes' parameters.


class LatentClassTuning(Struct, frozen=True, kw_only=True):
    """Figures: `python tests/benchmarks/hidden_classes.py`. From 0.2 to 1, `apart` hardly matters."""

    steps: int = 60  # of the descent, at most
    damped: float = 0.03  # part of the mean curvature that is added to each
    settled: float = 1e-3  # of the gradient of half the squared residuals, in deviations, at which it ends
    rounds: int = 5  # of the power method that finds where classes are split
    apart: float = 0.5  # largest logarithm by which the two halves of a class first differ


TUNING = LatentClassTuning()


class LatentClassFit(Struct, frozen=True, kw_only=True, eq=False):
    """The classes whose answers are nearest to noisy ones: minimises half the sum of squared residuals, each in
    deviations of its noise.

    Parameters are the logarithms of laws and shares, up to a constant each. There is no regulariser: too many classes
    follow the noise, and whoever fits them weighs them by noise that the fit has not seen (`dpqr.models.averaging`).

    The function is not convex. A fit begins with one class, whose laws are the one-way marginals. `split` then makes
    two of each class, along the directions in which half the squared residuals fall fastest, and the descent goes on.

    Privacy:
        Post-processing of released answers, with public randomness where the power method starts.

    >>> table = LinearMeasurement(key=(0, 1), axes=(0, 1), values=np.diag([50.0, 50.0]), deviation=1.0)
    >>> one = LatentClassFit.of([table], (2, 2), 100.0)
    >>> one.fitted(one.split(one.first())).marginal((0, 1)).round(0).tolist()
    [[50.0, 0.0], [0.0, 50.0]]
    """

    evidence: tuple[LinearMeasurement, ...]
    total: float
    places: tuple[slice, ...]
    starts: IntArray
    sizes: IntArray
    pairs: tuple[_Pairs, ...]
    singles: _Singles
    rowwise: tuple[_Rowwise, ...]
    others: tuple[_Other, ...]

    @classmethod
    def of(cls, evidence: Sequence[LinearMeasurement], shape: tuple[int, ...], total: float) -> LatentClassFit:
        """A fit to evidence.

        Args:
            evidence: marginals and other blocks, in records.
            shape: cells of each attribute.
            total: N, records, more than 0.
        """
        ends = np.cumsum((0, *shape))
        places = tuple(slice(int(start), int(stop)) for start, stop in pairwise(ends))
        return cls(
            evidence=tuple(seen for seen in evidence if seen.order),
            total=total,
            places=places,
            starts=ends[:-1],
            sizes=np.array(shape),
            pairs=_beside(evidence, places, total),
            singles=_Singles.of(evidence, places, total),
            rowwise=tuple(_Rowwise.of(seen, seen.block, places, total) for seen in evidence if _by_rows(seen.block)),
            others=tuple(
                _Other(
                    seen=seen,
                    columns=tuple(places[axis] for axis in seen.axes),
                    shape=tuple(shape[axis] for axis in seen.axes),
                    values=seen.values.reshape(-1) / total,
                    weight=(total / seen.deviation) ** 2,
                )
                for seen in evidence
                if seen.order and not _by_rows(seen.block) and (seen.block is not None or seen.order > 2)
            ),
        )

    def first(self) -> FloatArray:
        """Parameters of one class: the one-way marginals; even cells where nothing was measured."""
        logs = np.zeros(self.places[-1].stop)
        for seen in lower_order(self.evidence, 1):
            cells = np.maximum(seen.values, seen.deviation)
            logs[self.places[seen.axes[0]]] = np.log(cells / cells.sum())
        return np.append(logs, 0.0)

    def fitted(self, start: FloatArray, steps: int = TUNING.steps) -> LatentClasses:
        """The fit from these parameters.

        Args:
            start: of as many classes as are fitted, shape ((cells + 1) times classes,).
            steps: of the descent, at most.
        """
        curvatures = self._curvatures(start)
        point = Descent(tolerance=TUNING.settled, steps=steps).run(self.loss, start, lambda vector: vector / curvatures)
        laws, shares = self.unpacked(point)
        each = tuple(freeze(laws[place].copy()) for place in self.places)
        return LatentClasses(shares=freeze(shares), laws=each, total=self.total, point=freeze(point))

    def _curvatures(self, point: FloatArray) -> FloatArray:
        """Of the loss along each parameter, over their mean, about: the squared slopes of all measured cells over their
        variances, each measurement taken for the table of its columns. A descent by them needs a third of the steps.
        Their mean is 1, for a first step has about the length of 1 then: near a saddle no other scale is known."""
        laws, shares = self.unpacked(point)
        squares = laws**2
        # By column and class, the squared length of the law; the sum over all tables of those of the other columns.
        lengths = np.add.reduceat(squares, self.starts, axis=0)
        beside, whole = np.zeros_like(lengths), np.zeros_like(shares)
        for seen in self.evidence:
            weight, own = (self.total / seen.deviation) ** 2, [lengths[axis] for axis in seen.axes]
            for place, axis in enumerate(seen.axes):
                beside[axis] += weight * math.prod((*own[:place], *own[place + 1 :]))
            whole += weight * math.prod(own)
        each: FloatArray = shares**2 * np.vstack([squares * beside.repeat(self.sizes, axis=0), whole])
        return (each / (each.mean() or 1.0) + TUNING.damped).reshape(-1)

    def unpacked(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The laws of all columns, one below the other, shape (cells, classes), and the shares, shape (classes,)."""
        free = point.reshape(self.places[-1].stop + 1, -1)
        laws = np.exp(free[:-1] - self._each(np.maximum, free[:-1]))
        laws /= self._each(np.add, laws)
        shares = np.exp(free[-1] - free[-1].max())
        return laws, shares / shares.sum()

    def _each(self, operation: np.ufunc, cells: FloatArray) -> FloatArray:
        """The sum (or largest) over each column's cells, at every cell of it."""
        found: FloatArray = operation.reduceat(cells, self.starts, axis=0).repeat(self.sizes, axis=0)
        return found

    def loss(self, point: FloatArray) -> tuple[float, FloatArray]:
        """Half the sum of squared residuals, in deviations, and its gradient."""
        laws, shares = self.unpacked(point)
        squares, slopes, slope_shares = 0.0, np.zeros_like(laws), np.zeros_like(shares)
        for pair in self.pairs:
            own, others = laws[pair.own], laws[pair.others]
            mass = own * shares
            gaps = mass @ others.T - pair.values
            pulled = gaps * pair.weights
            squares += float(np.einsum("ij,ij->", gaps, pulled))
            moved = pulled @ others
            slope_shares += np.einsum("ij,ij->j", own, moved)
            slopes[pair.own] += moved * shares
            slopes[pair.others] += pulled.T @ mass
        single = laws[self.singles.cells]
        short = single @ shares - self.singles.values
        drawn = short * self.singles.weights
        squares += float(short @ drawn)
        slope_shares += drawn @ single
        slopes[self.singles.cells] += np.multiply.outer(drawn, shares)
        for answers in self.rowwise:
            squares += answers.add_slopes(laws, shares, slopes, slope_shares)
        for other in self.others:
            squares += self._add_slopes(other, laws, shares, slopes, slope_shares)
        # Through the softmax.
        slopes = laws * (slopes - self._each(np.add, laws * slopes))
        slope_shares = shares * (slope_shares - float(shares @ slope_shares))
        return 0.5 * squares, np.append(slopes.reshape(-1), slope_shares)

    def _add_slopes(
        self, other: _Other, laws: FloatArray, shares: FloatArray, slopes: FloatArray, slope_shares: FloatArray
    ) -> float:
        """Squared residuals of answers over any number of columns; their slopes are added in place."""
        *own, last = [laws[place] for place in other.columns]
        # The products of no column, of the first, of the first two, ...
        before = [np.ones((1, shares.size))]
        for law in own:
            before.append(products([law], before[-1]))
        mass = before[-1] * shares
        gaps = other.seen.apply((mass @ last.T).reshape(other.shape)) - other.values
        pulled = other.seen.adjoint(gaps * other.weight).reshape(-1, len(last))
        slopes[other.columns[-1]] += pulled.T @ mass
        moved = pulled @ last
        slope_shares += np.einsum("ij,ij->j", before[-1], moved)
        moved = moved * shares
        # Back through the products, the last factor first.
        for place in reversed(range(1, len(own))):
            split = moved.reshape(len(before[place]), len(own[place]), -1)
            slopes[other.columns[place]] += np.einsum("ik,ijk->jk", before[place], split)
            moved = np.einsum("jk,ijk->ik", own[place], split)
        if own:
            slopes[other.columns[0]] += moved
        return float(gaps @ gaps) * other.weight

    def split(self, point: FloatArray) -> FloatArray:
        """Parameters of twice as many classes, from which a descent begins.

        Let the two halves of class k have the laws F (1 + t_k) and F (1 - t_k). To second order the pairs of columns
        then gain share_k (F t_k)(F t_k)', so half the squared residuals fall fastest along the leading eigenvectors of
        F R F, R the residuals over their variances and F the columns' mean laws. One for each class, the leading ones
        for the largest classes, found by the power method.
        """
        laws, shares = self.unpacked(point)
        mean, residuals = (laws @ shares)[:, None], []
        pairs = _beside(lower_order(self.evidence, 2), self.places, self.total)
        for pair in pairs:
            gaps = pair.values - (laws[pair.own] * shares) @ laws[pair.others].T
            residuals.append(gaps * pair.weights)

        def pulled(vectors: FloatArray) -> FloatArray:
            moved, scaled = np.zeros_like(vectors), mean * vectors
            for pair, gaps in zip(pairs, residuals, strict=True):
                moved[pair.own] += gaps @ scaled[pair.others]
                moved[pair.others] += gaps.T @ scaled[pair.own]
            return mean * moved

        free = point.reshape(len(laws) + 1, -1)
        count = min(shares.size, len(laws))
        vectors = np.linalg.qr(public_normals(shares.size, len(laws) * count).reshape(-1, count))[0]
        for _ in range(TUNING.rounds):
            vectors = np.linalg.qr(pulled(vectors))[0]
        values, turn = np.linalg.eigh(vectors.T @ pulled(vectors))
        vectors = vectors @ turn[:, np.argsort(-values)]
        steps = np.zeros_like(free)
        steps[:-1, np.argsort(-shares, kind="stable")[:count]] = vectors / np.abs(vectors).max(axis=0) * TUNING.apart
        return np.concatenate([free + steps, free - steps], axis=1).reshape(-1)


class _Pairs(Struct, frozen=True, kw_only=True, eq=False):
    """Measured tables of one attribute with others, side by side, so that they are fitted together.

    own: the attribute's cells among all cells. others: those of the other attributes, shape (columns,), or where they
    are in one run a slice, which numpy need not copy. values: parts of all records, shape (own cells, columns).
    weights: inverse variances of these, shape (columns,).
    """

    own: slice
    others: IntArray | slice
    values: FloatArray
    weights: FloatArray


class _Singles(Struct, frozen=True, kw_only=True, eq=False):
    """Measured one-way marginals, together: the cells among all, values and weights as of pairs, shape (cells,)."""

    cells: IntArray
    values: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, evidence: Sequence[LinearMeasurement], places: Sequence[slice], total: float) -> _Singles:
        held, numbers = (
            [seen for seen in evidence if seen.block is None and seen.order == 1],
            np.arange(places[-1].stop),
        )
        return cls(
            cells=np.concatenate([numbers[:0], *(numbers[places[seen.axes[0]]] for seen in held)]),
            values=np.concatenate([np.zeros(0), *(seen.values / total for seen in held)]),
            weights=np.repeat([(total / seen.deviation) ** 2 for seen in held], [seen.values.size for seen in held]),
        )


class _Rowwise(Struct, frozen=True, kw_only=True, eq=False):
    """Measured answers that are products of sums over single columns in every class: no table of the columns is made.

    factors: of every column its cells among all, and the coefficients of every answer on them. values, weight: as of
    `_Other`.
    """

    factors: tuple[tuple[slice, IntMatrix], ...]
    values: FloatArray
    weight: float

    @classmethod
    def of(cls, seen: LinearMeasurement, block: QueryBlock, places: Sequence[slice], total: float) -> _Rowwise:
        return cls(
            factors=tuple((places[factor.axes[0]], factor.matrix) for factor in block.factors),
            values=seen.values / total,
            weight=(total / seen.deviation) ** 2,
        )

    def add_slopes(self, laws: FloatArray, shares: FloatArray, slopes: FloatArray, slope_shares: FloatArray) -> float:
        """Squared residuals; their slopes are added in place."""
        sums = [matrix.apply(laws[cells]) for cells, matrix in self.factors]
        answers = math.prod(sums)
        gaps = answers @ shares - self.values
        pulled = gaps * self.weight
        slope_shares += pulled @ answers
        for place, (cells, matrix) in enumerate(self.factors):
            others = math.prod((*sums[:place], *sums[place + 1 :]))
            slopes[cells] += matrix.adjoint(np.multiply.outer(pulled, shares) * others)
        return float(gaps @ pulled)


class _Other(Struct, frozen=True, kw_only=True, eq=False):
    """Measured answers over any number of columns.

    columns: the cells of each among all cells. shape: their numbers. values: parts of all records, shape (answers,).
    weight: inverse variance of these.
    """

    seen: LinearMeasurement
    columns: tuple[slice, ...]
    shape: tuple[int, ...]
    values: FloatArray
    weight: float


def _by_rows(block: QueryBlock | None) -> TypeGuard[QueryBlock]:
    """Whether every answer is a product of sums over single columns."""
    return block is not None and block.rowwise and all(len(factor.axes) == 1 for factor in block.factors)


def _beside(evidence: Sequence[LinearMeasurement], places: Sequence[slice], total: float) -> tuple[_Pairs, ...]:
    """The measured pairs, by their first attribute."""
    by_first: dict[int, list[LinearMeasurement]] = {}
    for seen in evidence:
        if seen.block is None and seen.order == 2:
            by_first.setdefault(seen.axes[0], []).append(seen)
    cells = np.arange(places[-1].stop)
    found = []
    for axis, held in by_first.items():
        others = np.concatenate([cells[places[seen.axes[1]]] for seen in held])
        together = (np.diff(others) == 1).all()
        pairs = _Pairs(
            own=places[axis],
            others=slice(int(others[0]), int(others[-1]) + 1) if together else others,
            values=np.concatenate([seen.values for seen in held], axis=1) / total,
            weights=np.concatenate([np.full(seen.values.shape[1], (total / seen.deviation) ** 2) for seen in held]),
        )
        found.append(pairs)
    return tuple(found)
