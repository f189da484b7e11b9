"""Perceptron: a real vector on the universe, moved along the query (Dwork and Roth 2014, section 5.2; re-derived)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.models.hypothesis import SignedVector
from dpqr.strategies.problem import Footprint, Level, Problem
from dpqr.strategies.updates.interface import DENSE_LIMIT, SingleQuery, on_domain
from dpqr.strategies.updates.record_count import records_total
from dpqr.workload.block import QueryBlock
from dpqr.workload.matrix import Identity
from dpqr.workload.workload import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Perceptron:
    """D <- D -+ step f; |D - x/n|^2 <= (|x|_2/|x|_1)^2 <= 1 bounds how often.

    With a level (`theory`), as printed: start 0, step a/|X| along f. Sharp: start uniform, step 4a/|X| along
    g = f - mean(f). Without a level each newest block is answered by a projection of D (Kaczmarz), without a bound and
    with no memory but D: multiplicative weights with replay is more accurate.

    Attributes:
        cells: the largest universe that is kept cell by cell.

    >>> Perceptron().cumulative
    False
    """

    name: ClassVar[str] = "perceptron"

    cells: int = DENSE_LIMIT

    @property
    def trust(self) -> tuple[str, ...]:
        return ()

    @property
    def cumulative(self) -> bool:
        return False

    def start(self, problem: Problem) -> SignedVector:
        """Zero as printed; else the uniform vector."""
        refusal = self.footprint(problem).refusal
        if refusal is not None:
            raise InfeasiblePlan(refusal)
        printed = problem.level is not None and problem.level.variant == "printed"
        fill = 0.0 if printed else 1.0 / problem.domain.size
        return _vector(np.full(problem.domain.shape, fill), float(problem.n or 0))

    def update(self, problem: Problem, hypothesis: SignedVector, history: Sequence[Measurement]) -> SignedVector:
        """The next vector; `hypothesis` is left as it was."""
        if problem.level is not None:
            return _step(problem.level, hypothesis, SingleQuery.newest(problem, history))
        total = records_total(problem, history, _vector(hypothesis.cells, 1.0).answer)
        state = _vector(hypothesis.cells, max(total, 0.0))
        if total <= 0.0:
            return state
        for block, values in zip(history[-1].blocks, history[-1].values, strict=True):
            gaps = (values - state.answer(block)) / total
            move = on_domain(block.adjoint(gaps / _squared_norm(block, state.cells.size)), block.axes, state.cells.ndim)
            state = _vector(state.cells + move, total)
        return state

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """floor(|X|/a^2) as printed; floor((|X| - 1)/(4 a^2)) in the sharp variant.

        Proof, printed: |D - x/n|^2 starts at most at 1, and a step s along f lowers it by at least 2 s a - s^2 |f|^2
            with |f|^2 <= |X|: a^2/|X| at s = a/|X|. Sharp: it starts at most at 1 - 1/|X|; D and x/n keep the same sum,
            so g has the same gap as f, and |g|^2 <= |X|/4: 4 a^2/|X| a step.
        """
        cells = problem.domain.size
        bound = Fraction(cells) if level.variant == "printed" else Fraction(cells - 1, 4)
        return math.floor(bound / level.value**2)

    def mistakes_carried(self, problem: Problem, level: Level, finest: Level) -> int | None:
        """The same: |D - x/n|^2 falls by 4 b^2/|X| (as printed b^2/|X|) in an update at level b >= a."""
        return self.mistakes(problem, level)

    def mistakes_distinct(self, problem: Problem, level: Level) -> int | None:
        """|x/n|^2 is 1/n then: floor(|X|/(n a^2)) as printed, floor((|X|/n - 1)/(4 a^2)) in the sharp variant.

        No public fact says that records are distinct, so `theory` never relies on it.
        """
        cells, records = problem.domain.size, problem.n
        if records is None or records > cells:
            return None
        share = Fraction(cells, records)
        bound = share if level.variant == "printed" else (share - 1) / 4
        return math.floor(bound / level.value**2)

    def footprint(self, problem: Problem) -> Footprint:
        """Old and new vector, and the step."""
        size = problem.domain.size
        if size > self.cells:
            refusal = (
                f"the domain has {size} cells, and the perceptron keeps at most {self.cells} cell by cell; "
                "leave columns out of the domain file or merge bins"
            )
            return Footprint(bytes=0, refusal=refusal)
        return Footprint(bytes=3 * 8 * size)

    def fits(self, problem: Problem, measured: Sequence[QueryBlock], candidate: Sequence[QueryBlock]) -> bool:
        """Always: the hypothesis does not grow with what was measured."""
        return True


def _step(level: Level, hypothesis: SignedVector, query: SingleQuery) -> SignedVector:
    """One step as the source has it."""
    cells = hypothesis.cells
    row = query.coefficients
    sign = -1.0 if query.value < float((row * cells).sum()) else 1.0
    if level.variant == "printed":
        return _vector(cells + (sign * float(level.value) / cells.size) * row, hypothesis.total)
    move = (sign * 4.0 * float(level.value) / cells.size) * (row - row.mean())
    return _vector(cells + move, hypothesis.total)


def _squared_norm(block: QueryBlock, cells: int) -> float:
    """An upper bound on |M|_2^2 on the whole universe: largest column sum times largest row sum of |M|.

    Exact for a marginal and for one 0/1 predicate, where the step is the projection itself; elsewhere the step falls
    short and never overshoots.
    """
    columns = math.prod(factor.matrix.column_norm(1) for factor in block.factors)
    rows = 1
    for matrix in (factor.matrix for factor in block.factors):
        if not isinstance(matrix, Identity):
            rows *= max(int(np.abs(matrix.row(index)).sum()) for index in range(matrix.rows))
    return float(max(columns, 1)) * float(max(rows, 1)) * (cells / block.cells)


def _vector(cells: FloatArray, total: float) -> SignedVector:
    cells.flags.writeable = False
    return SignedVector(cells=cells, total=total)
