"""MaximumEntropy: the fit of the practical schedules as an update rule of the book's loop in stages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import msgspec
import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import FloatArray, IntArray, freeze
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.values import replace
from dpqr.models.fit.descent import NewtonFit
from dpqr.models.fit.evidence import SMALLEST_DEVIATION
from dpqr.models.piecewise import PiecewiseDistribution
from dpqr.strategies.problem import Footprint, Level, Problem
from dpqr.strategies.updates.interface import floor_of_log, on_domain
from dpqr.strategies.updates.multiplicative_weights import Distribution, MultiplicativeWeights
from dpqr.strategies.updates.record_count import records_total
from dpqr.workload.block import QueryBlock
from dpqr.workload.ranges import Ranges
from dpqr.workload.workload import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class MaximumEntropy:
    """The maximum-entropy fit to all measurements, at every level; on a junction tree, so the domain may have any size.

    No mistake bound is proved, and a certificate rests on none (`schedules.anytime`): no alpha is certain beforehand.

    What an exact projection would have. Let C_t be the distributions whose answers are within the noise N of all
    measured ones, D_t the one in C_t of least KL(D || U), U uniform. On the good event x/n lies in every C_t, so
    KL(D_t || U) <= KL(x/n || U) <= log|X|. As C_(t+1) lies in C_t,
        KL(D_(t+1) || U) >= KL(D_t || U) + KL(D_(t+1) || D_t)                                       (Csiszar 1975),
    and where a round's answer was 6 N from D_t and is N from D_(t+1) at most, the last term is at least 2 (5 N / n)^2
    (Pinsker). So there are at most log|X| / (2 a^2) updates, a = 5 alpha / 8, as for `sharp` multiplicative weights.
    The fit weighs each residual by its noise instead, and ends at a tolerance: hence `expected_mistakes`, and no proof.

    References:
        Csiszar 1975 (I-divergence geometry of probability distributions); Hardt and Rothblum 2010.

    >>> MaximumEntropy().name
    'maximum-entropy'
    """

    name: ClassVar[str] = "maximum-entropy"
    cumulative: ClassVar[bool] = True

    fit: MultiplicativeWeights = field(default_factory=MultiplicativeWeights)

    @property
    def trust(self) -> tuple[str, ...]:
        return ()

    def start(self, problem: Problem) -> Distribution:
        """The uniform distribution, over the cells that the public facts allow."""
        return self.fit.start(_at_no_level(problem))

    def applies_constraints(self, problem: Problem) -> bool:
        return self.fit.applies_constraints(_at_no_level(problem))

    def update(self, problem: Problem, hypothesis: Distribution, history: Sequence[Measurement]) -> Distribution:
        """The fit to all measurements."""
        return self.fit.update(_at_no_level(problem), hypothesis, history)

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """None: no bound is proved."""
        return None

    def expected_mistakes(self, problem: Problem, level: Level) -> int | None:
        """That of an exact projection."""
        return floor_of_log(problem.domain.size, Fraction(1, 2) / level.value**2)

    def caution(self, problem: Problem, level: Level) -> str:
        return "the fit weighs residuals by their noise, and a mistake bound is proved of an exact projection only"

    def footprint(self, problem: Problem) -> Footprint:
        """That of the fit."""
        return self.fit.footprint(_at_no_level(problem))

    def fits(self, problem: Problem, measured: Sequence[QueryBlock], candidate: Sequence[QueryBlock]) -> bool:
        """Whether the junction tree has room for the candidate too."""
        return self.fit.fits(_at_no_level(problem), measured, candidate)


def _at_no_level(problem: Problem) -> Problem:
    """Multiplicative weights refit all measurements where no level is set."""
    return replace(problem, level=None)


# Piecewise weights: the maximum-entropy fit to single queries, on the pieces on which all their coefficients are
# constant.


class PiecewiseTuning(Struct, frozen=True, kw_only=True):
    """Limits of memory; `regularisation` is set by `python tests/benchmarks/dense.py --schedule queries`."""

    whole: int = 64  # cells of an attribute that is kept cell by cell from the start, at most
    ranges: int = 2 * 140 + 1  # runs that a larger attribute is cut into by the most rounds of `--schedule queries`
    regularisation: float = 0.1  # deviations of residual per unit of potential
    pieces: int = 2**18  # at most
    queries: int = 2**10  # measured ones, at most
    entries: int = 2**26  # coefficients of these on those, at most (half a gigabyte)


TUNING = PiecewiseTuning()


Edges = tuple[IntArray, ...]
"""One rising array per attribute, from 0 to its number of cells."""


def refine_edges(edges: Edges, block: QueryBlock) -> Edges:
    """The edges, and those at which the coefficients of a block change."""
    finer = list(edges)
    for factor in block.factors:
        for position, axis in enumerate(factor.axes):
            if len(finer[axis]) > factor.sizes[position]:
                continue
            if isinstance(factor.matrix, Ranges) and len(factor.axes) == 1:
                changes = np.concatenate([factor.matrix.starts, factor.matrix.stops])
            else:
                # Coefficients, shape (rows, sizes), and where they change along this attribute in any row.
                rows = factor.matrix.table(0, factor.matrix.rows).reshape(-1, *factor.sizes)
                steps = np.diff(rows, axis=position + 1) != 0
                others = tuple(other for other in range(rows.ndim) if other != position + 1)
                changes = np.flatnonzero(steps.any(axis=others)) + 1
            finer[axis] = np.union1d(finer[axis], changes)
    return tuple(finer)


def coefficients(block: QueryBlock, edges: Edges) -> FloatArray:
    """A one-row block's coefficient on every piece, flat.

    Returns:
        Shape (pieces,), pieces in C order.
    """
    whole = np.ones([1] * len(edges))
    for factor in block.factors:
        # Coefficients at the first cell of every run.
        matrix, firsts = factor.matrix, [edges[axis][:-1] for axis in factor.axes]
        if isinstance(matrix, Ranges) and len(firsts) == 1:
            own: FloatArray = ((firsts[0] >= matrix.starts[0]) & (firsts[0] < matrix.stops[0])).astype(np.float64)
        else:
            own = matrix.row(0).reshape(factor.sizes)[np.ix_(*firsts)].astype(np.float64)
        whole = whole * on_domain(own, factor.axes, len(edges))
    return np.broadcast_to(whole, [len(own) - 1 for own in edges]).reshape(-1)


def volumes(edges: Edges) -> FloatArray:
    """Each piece's share of all cells, flat."""
    whole = np.ones(1)
    for own in edges:
        whole = np.multiply.outer(whole, np.diff(own) / own[-1]).reshape(-1)
    return whole


def parents(coarse: Edges, fine: Edges) -> IntArray:
    """For every piece of `fine` the piece of `coarse` that contains it, flat indices.

    Returns:
        Shape (pieces of `fine`,).
    """
    index = np.zeros(1, dtype=np.int64)
    for old, new in zip(coarse, fine, strict=True):
        own = np.searchsorted(old, new[:-1], side="right") - 1
        index = (index[:, None] * (len(old) - 1) + own).reshape(-1)
    return index


def count(edges: Edges) -> int:
    """Number of pieces."""
    return math.prod(len(own) - 1 for own in edges)


class _Memory(Struct, frozen=True, kw_only=True):
    """The measurements so far, answers in the unit of the query's largest coefficient.

    Attributes:
        seen: how many were read.
        design: coefficients on the pieces, shape (queries, pieces).
        answers, deviations, tilts: shape (queries,).
    """

    seen: int = 0
    design: FloatArray = msgspec.field(default_factory=lambda: np.zeros((0, 0)))
    answers: FloatArray = msgspec.field(default_factory=lambda: np.zeros(0))
    deviations: FloatArray = msgspec.field(default_factory=lambda: np.zeros(0))
    tilts: FloatArray = msgspec.field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class PiecewiseWeights:
    """The maximum-entropy fit to every measured query: the limit of multiplicative weights under replay (`NewtonFit`).

    For few measured queries over a large universe: a round's work grows with the pieces that they leave (2 T + 1 on one
    ordered attribute), never with the universe. It reads up to `TUNING.queries` queries; a block with more rows than
    are left is not read, and `fits` says so.

    >>> PiecewiseWeights().name
    'piecewise-weights'
    """

    name: ClassVar[str] = "piecewise-weights"

    fit: NewtonFit = field(default_factory=NewtonFit)

    @property
    def trust(self) -> tuple[str, ...]:
        return ()

    @property
    def cumulative(self) -> bool:
        return True

    def start(self, problem: Problem) -> PiecewiseDistribution:
        """The uniform distribution."""
        refusal = self.footprint(problem).refusal
        if refusal is not None:
            raise InfeasiblePlan(refusal)
        edges = _starting_edges(problem)
        return _distribution(edges, volumes(edges), float(problem.n or 0), _Memory(design=np.zeros((0, count(edges)))))

    def update(
        self, problem: Problem, hypothesis: PiecewiseDistribution, history: Sequence[Measurement]
    ) -> PiecewiseDistribution:
        """The fit to all of `history`; `hypothesis` is left as it was."""
        edges, memory = hypothesis.edges, hypothesis.memory
        for block, value, deviation in _queries(history[memory.seen :], len(memory.answers)):
            finer = refine_edges(edges, block)
            if count(finer) * (len(memory.answers) + 1) > TUNING.entries:
                continue
            # One more query: a row of the design, after every other row was copied to the finer pieces.
            largest = float(max(block.largest_coefficient, 1))
            split = memory.design if count(finer) == count(edges) else memory.design[:, parents(edges, finer)]
            memory = replace(
                memory,
                design=np.concatenate([split, coefficients(block, finer)[None] / largest]),
                answers=np.append(memory.answers, value / largest),
                deviations=np.append(memory.deviations, deviation / largest),
                tilts=np.append(memory.tilts, 0.0),
            )
            edges = finer
        base = volumes(edges)
        total = max(records_total(problem, history, replace(hypothesis, total=1.0, _cache={}).answer), 0.0)
        scale = max(total, 1.0)
        tilts, masses = self.fit.run(
            memory.design, base, memory.answers / scale, TUNING.regularisation * memory.deviations / scale, memory.tilts
        )
        return _distribution(edges, masses, total, replace(memory, seen=len(history), tilts=freeze(tilts)))

    def fits(self, problem: Problem, measured: Sequence[QueryBlock], candidate: Sequence[QueryBlock]) -> bool:
        """Whether all rows of both can be read."""
        rows, edges = 0, _starting_edges(problem)
        for block in (*measured, *candidate):
            rows += block.rows if block.factors else 0
            if rows > TUNING.queries:
                return False
            edges = refine_edges(edges, block)
        return count(edges) * rows <= TUNING.entries

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """None: no bound is proved; `theory` takes multiplicative-weights."""
        return None

    def footprint(self, problem: Problem) -> Footprint:
        """The coefficients of all queries that `--schedule queries` can measure, twice, and the workload's answers."""
        runs = [size if size <= TUNING.whole else min(size, TUNING.ranges) for size in problem.domain.shape]
        pieces = int(np.prod(runs, dtype=object))
        if pieces > TUNING.pieces:
            refusal = (
                f"the columns could be cut into {pieces} pieces by what is measured, and piecewise weights keeps at "
                f"most {TUNING.pieces}; ask about fewer columns, or use --update multiplicative-weights"
            )
            return Footprint(bytes=0, refusal=refusal)
        return Footprint(bytes=8 * (2 * TUNING.ranges // 2 * pieces + 6 * problem.workload.rows))


def _starting_edges(problem: Problem) -> Edges:
    sizes = problem.domain.shape
    return tuple(np.arange(size + 1) if size <= TUNING.whole else np.array([0, size]) for size in sizes)


def _queries(history: Sequence[Measurement], known: int) -> Iterator[tuple[QueryBlock, float, float]]:
    """Every measured query by itself: its answer and the deviation of its noise, in its block's grid."""
    for measurement in history:
        deviation = max(measurement.law.deviation, SMALLEST_DEVIATION)
        for block, values in zip(measurement.blocks, measurement.values, strict=True):
            known += block.rows if block.factors else 0
            if not block.factors or known > TUNING.queries:
                continue
            for index in range(block.rows):
                yield (block if block.rows == 1 else block.row(index)), float(values[index]), deviation


def _distribution(edges: Edges, masses: FloatArray, total: float, memory: _Memory) -> PiecewiseDistribution:
    shaped = masses.reshape([len(own) - 1 for own in edges])
    return PiecewiseDistribution(edges=edges, masses=freeze(shaped), total=total, memory=memory)
