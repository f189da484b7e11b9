"""Multiplicative weights: a distribution over the universe, moved by exponential steps (Dwork and Roth 2014, 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.errors import InfeasiblePlan
from dpqr.hypotheses.dense_distribution import DenseDistribution
from dpqr.strategies.footprint import Footprint
from dpqr.strategies.problem import Level, Problem
from dpqr.strategies.updates.descent import MEMORY
from dpqr.strategies.updates.entropy_fit import EntropyFit
from dpqr.strategies.updates.evidence import gather
from dpqr.strategies.updates.logarithm import floor_of_log
from dpqr.strategies.updates.single_query import SingleQuery, on_domain
from dpqr.strategies.updates.total import records_total
from dpqr.workload.block import QueryBlock
from dpqr.workload.measurement import Measurement

DENSE_LIMIT = 2**24
"""Cells up to which a distribution is kept cell by cell (128 MiB an array)."""

LOGS = "logs"


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiplicativeWeights:
    """D_i <- D_i exp(-+ eta f(i)), renormalised; or the fixed point of such steps on all measurements at once.

    With a level (`theory`): one step a round on the newest measurement, eta = a/2 as printed, 4a in the sharp variant.
    Without: with `replay` the maximum-entropy fit to every measurement so far (the state that replaying them for ever
    would tend to, but for the noise; EntropyFit); else one step a measured block with eta = gap/2, as MWEM has it
    (Hardt, Ligett and McSherry 2012).

    The number of records is problem.n under `replace`. Under `add-remove` without a level it comes from the measured
    blocks (a declared n0 serves until one tells it); before any of them it is 0, and so is every answer: the first
    selection then looks for the largest counts, which is private like any other.

    cells: the largest universe that is kept cell by cell.
    """

    name: ClassVar[str] = "multiplicative-weights"

    replay: bool = True
    cells: int = DENSE_LIMIT
    fit: EntropyFit = field(default_factory=EntropyFit)

    @property
    def trust(self) -> tuple[str, ...]:
        return ()

    @property
    def cumulative(self) -> bool:
        return self.replay

    def start(self, problem: Problem) -> DenseDistribution:
        """The uniform distribution."""
        refusal = self.footprint(problem).refusal
        if refusal is not None:
            raise InfeasiblePlan(refusal)
        return DenseDistribution.uniform(problem.domain.shape, float(problem.n or 0))

    def update(
        self, problem: Problem, hypothesis: DenseDistribution, history: Sequence[Measurement]
    ) -> DenseDistribution:
        """The next distribution; `hypothesis` is left as it was."""
        if problem.level is not None:
            return _step(problem.level, hypothesis, SingleQuery.newest(problem, history))
        one_record = DenseDistribution(probabilities=hypothesis.probabilities, total=1.0)
        total = records_total(problem, history, one_record.answer)
        if self.replay:
            return self._fitted(problem, hypothesis, history, total)
        return _steps(hypothesis, history[-1], max(total, 0.0))

    def _fitted(
        self, problem: Problem, hypothesis: DenseDistribution, history: Sequence[Measurement], total: float
    ) -> DenseDistribution:
        """The fit at `total`; a total below one record says nothing of the shape beyond what one record would."""
        evidence = gather(history, problem.domain.shape)
        cells, potentials = self.fit.run(evidence, problem.domain.shape, max(total, 1.0), hypothesis.potentials)
        return DenseDistribution(probabilities=cells, total=max(total, 0.0), potentials=potentials)

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """floor(4 log|X| / a^2) as printed; floor(log|X| / (2 a^2)) in the sharp variant.

        Proof of the sharp one: with potential KL(x/n || D), a step eta against f with gap at least a lowers it by
        at least eta a - eta^2/8 (Hoeffding's lemma for f in [0, 1]), largest, 2 a^2, at eta = 4a; it starts at most
        at log|X| and is never negative. For a > 1/4 eta = 4a stays right: the lemma holds for every eta.
        """
        factor = Fraction(4) if level.variant == "printed" else Fraction(1, 2)
        return floor_of_log(problem.domain.size, factor / level.value**2)

    def footprint(self, problem: Problem) -> Footprint:
        """Eight tensors of the universe's size at the fit's peak, and the descent's memory of every measured answer.

        As if every query of the workload was measured once: what will be is not known before the run.
        """
        size = problem.domain.size
        if size > self.cells:
            refusal = (
                f"the domain has {size} cells, and multiplicative weights keeps at most {self.cells} cell by cell; "
                "leave columns out of the domain file or merge bins"
            )
            return Footprint(bytes=0, refusal=refusal)
        return Footprint(bytes=8 * (8 * size + 2 * (MEMORY + 4) * problem.workload.rows))


def _step(level: Level, hypothesis: DenseDistribution, query: SingleQuery) -> DenseDistribution:
    """One step as the source has it, on the logs of the weights: no weight can vanish for good by underflow."""
    cells = hypothesis.probabilities
    rate = float(level.value) * (0.5 if level.variant == "printed" else 4.0)
    told = float((query.coefficients * cells).sum())
    sign = -1.0 if query.value < told else 1.0
    known = hypothesis.potentials.get(LOGS)
    logs = np.log(np.maximum(cells, np.finfo(np.float64).tiny)) if known is None else known
    return _exponential(logs + (sign * rate) * query.coefficients, hypothesis.total)


def _steps(hypothesis: DenseDistribution, measured: Measurement, total: float) -> DenseDistribution:
    """One MWEM step a block: D_i <- D_i exp(f(i) (v - f(D)) / 2), rows of one block at once.

    Rows that share cells share the step: it is divided by the largest column sum, so that no cell moves further than
    one query alone would move it.
    """
    state = DenseDistribution(probabilities=hypothesis.probabilities, total=total, potentials=hypothesis.potentials)
    for block, values in zip(measured.blocks, measured.values, strict=True):
        if block.factors and total > 0.0:
            state = _block_step(state, block, values - state.answer(block))
    return state


def _block_step(state: DenseDistribution, block: QueryBlock, gaps: FloatArray) -> DenseDistribution:
    spread = float(np.prod([float(factor.matrix.column_norm(1)) for factor in block.factors]))
    largest = float(max(block.largest_coefficient, 1))
    move = block.adjoint(gaps / (2.0 * state.total * max(spread, 1.0) * largest))
    known = state.potentials.get(LOGS)
    logs = np.log(np.maximum(state.probabilities, np.finfo(np.float64).tiny)) if known is None else known
    return _exponential(logs + on_domain(move, block.axes, logs.ndim), state.total)


def _exponential(logs: FloatArray, total: float) -> DenseDistribution:
    logs = logs - logs.max()
    logs.flags.writeable = False
    cells = np.exp(logs)
    cells /= cells.sum()
    cells.flags.writeable = False
    return DenseDistribution(probabilities=cells, total=total, potentials={LOGS: logs})
