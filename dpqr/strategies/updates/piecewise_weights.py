"""Piecewise weights: multiplicative weights with replay of all single queries, on the pieces that they leave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from dpqr.data.arrays import FloatArray, frozen
from dpqr.errors import InfeasiblePlan
from dpqr.hypotheses.piecewise import PiecewiseDistribution
from dpqr.strategies.footprint import Footprint
from dpqr.strategies.problem import Level, Problem
from dpqr.strategies.updates.evidence import SMALLEST_DEVIATION
from dpqr.strategies.updates.newton_fit import NewtonFit
from dpqr.strategies.updates.pieces import Edges, coefficients, count, parents, refined, volumes
from dpqr.strategies.updates.total import records_total
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

WHOLE = 64
"""Attributes of at most so many cells are kept cell by cell from the start."""

RANGES = 2 * 140 + 1
"""Runs that a larger attribute is cut into by the most rounds of `--schedule queries`."""

LEANING = 0.1
"""Deviations of residual that a potential of size one costs: real histograms lie far from the uniform distribution, and
at 1 the fit stops short of what was measured. (Prefixes and ranges over 1,024 cells of three public histograms: errors
are 1.28 times as large at 1, 1.02 times at 0.05.)"""

PIECES = 2**18
QUERIES = 2**10
ENTRIES = 2**26
"""Most pieces, measured queries, and coefficients of these on those (half a gigabyte)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Memory:
    """What was measured: coefficients on the pieces, answers and their deviations, a tilt each.

    Answers are in the unit of the query's largest coefficient. seen: measurements that were looked at.
    """

    seen: int = 0
    design: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    answers: FloatArray = field(default_factory=lambda: np.zeros(0))
    deviations: FloatArray = field(default_factory=lambda: np.zeros(0))
    tilts: FloatArray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class PiecewiseWeights:
    """The maximum-entropy fit to every measured query: what multiplicative weights tends to under replay (`NewtonFit`).

    For few measured queries over a large universe: a round's work grows with the pieces that they leave (2 T + 1 on
    one ordered attribute), never with the universe.
    It reads up to QUERIES queries; of a block with more rows than are left nothing is read, and `fits` tells so.
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
            finer = refined(edges, block)
            if count(finer) * (len(memory.answers) + 1) > ENTRIES:
                continue
            memory, edges = _with(memory, edges, finer, block, value, deviation), finer
        base = volumes(edges)
        total = max(records_total(problem, history, replace(hypothesis, total=1.0, _kept={}).answer), 0.0)
        scale = max(total, 1.0)
        tilts, masses = self.fit.run(
            memory.design, base, memory.answers / scale, LEANING * memory.deviations / scale, memory.tilts
        )
        return _distribution(edges, masses, total, replace(memory, seen=len(history), tilts=frozen(tilts)))

    def fits(self, problem: Problem, measured: Sequence[QueryBlock], candidate: Sequence[QueryBlock]) -> bool:
        """Whether all rows of both can be read."""
        rows, edges = 0, _starting_edges(problem)
        for block in (*measured, *candidate):
            rows += block.rows if block.factors else 0
            if rows > QUERIES:
                return False
            edges = refined(edges, block)
        return count(edges) * rows <= ENTRIES

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """No bound is proved for it: `theory` takes multiplicative-weights."""
        return None

    def footprint(self, problem: Problem) -> Footprint:
        """The coefficients of all queries that `--schedule queries` can measure, twice, and the workload's answers."""
        runs = [size if size <= WHOLE else min(size, RANGES) for size in problem.domain.shape]
        pieces = int(np.prod(runs, dtype=object))
        if pieces > PIECES:
            refusal = (
                f"the columns could be cut into {pieces} pieces by what is measured, and piecewise weights keeps at "
                f"most {PIECES}; ask about fewer columns, or use --update multiplicative-weights"
            )
            return Footprint(bytes=0, refusal=refusal)
        return Footprint(bytes=8 * (2 * RANGES // 2 * pieces + 6 * problem.workload.rows))


def _starting_edges(problem: Problem) -> Edges:
    sizes = problem.domain.shape
    return tuple(np.arange(size + 1) if size <= WHOLE else np.array([0, size]) for size in sizes)


def _queries(history: Sequence[Measurement], known: int) -> Iterator[tuple[QueryBlock, float, float]]:
    """Every measured query by itself, its answer and the deviation of its noise, in its block's grid."""
    for measurement in history:
        deviation = max(measurement.law.deviation, SMALLEST_DEVIATION)
        for block, values in zip(measurement.blocks, measurement.values, strict=True):
            known += block.rows if block.factors else 0
            if not block.factors or known > QUERIES:
                continue
            for index in range(block.rows):
                yield (block if block.rows == 1 else block.row(index)), float(values[index]), deviation


def _with(memory: _Memory, coarse: Edges, fine: Edges, block: QueryBlock, value: float, deviation: float) -> _Memory:
    """One more query: a row of the design, after every other row was carried over to the finer pieces."""
    largest = float(max(block.largest_coefficient, 1))
    split = memory.design if count(fine) == count(coarse) else memory.design[:, parents(coarse, fine)]
    return replace(
        memory,
        design=np.concatenate([split, coefficients(block, fine)[None] / largest]),
        answers=np.append(memory.answers, value / largest),
        deviations=np.append(memory.deviations, deviation / largest),
        tilts=np.append(memory.tilts, 0.0),
    )


def _distribution(edges: Edges, masses: FloatArray, total: float, memory: _Memory) -> PiecewiseDistribution:
    shaped = masses.reshape([len(own) - 1 for own in edges])
    return PiecewiseDistribution(edges=edges, masses=frozen(shaped), total=total, memory=memory)
