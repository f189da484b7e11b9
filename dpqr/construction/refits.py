"""Refits: by how much the released answers would be off, had the release's own rows been the table.

A parametric bootstrap. The same blocks are measured again, with new public noise of the same laws, around the counts of
the release's synthetic rows; the update rule refits; its answers are compared with those counts. What a search left out
has left no trace in the rows: `dpqr.construction.error_factors` scales the errors of unmeasured blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpqr.construction.loop import Outcome
from dpqr.data.arrays import FloatArray
from dpqr.data.histogram import SparseHistogram
from dpqr.hypotheses.hypothesis import Hypothesis, Sampleable, prepare
from dpqr.noise.discrete_laplace import DiscreteLaplace
from dpqr.noise.public import public_laplaces, public_normals
from dpqr.plugins import is_builtin
from dpqr.strategies.plan import Plan
from dpqr.strategies.problem import Problem
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement, rounded


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Set by `python tests/benchmarks/error_bars.py`; figures: tests/benchmarks/RESULTS.md."""

    most: int = 6  # refits
    fewest: int = 2  # refits of a large workload: many answers of a size make up for few refits
    work: int = 2**21  # answers that all refits give and measure together, about
    block: int = 100  # answers that take as long as the least block
    own: int = 5  # refits from which an answer's own error is looked at beside that of its size
    rows: int = 2**18  # synthetic rows, at most; more records are hardly rougher than the hypothesis


TUNING = Tuning()
LARGEST = 2**61
"""Of an answer, in its grid."""

Answered = Callable[[QueryBlock], FloatArray]
"""Answers to a block, in units of its grid, shape (rows,)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RefitError:
    """Of one block, in records (or the summed column's unit).

    each: root mean square error of every answer, shape (rows,); where there are enough refits the larger of its own and
    that of the block's answers of similar size. total: mean L1 error of the block.
    """

    each: FloatArray
    total: float


def can_refit(plan: Plan) -> str | None:
    """Why the errors of a plan's answers cannot be estimated by refits; None: they can. Public."""
    rule = plan.roles.update
    if not is_builtin(rule):
        return f"update rule {rule.name!r} is a third party's"
    if plan.problem.level is not None or not rule.cumulative:
        return "the update rule follows the measurements one by one, so a refit would take as long as the run"
    return None


def refit_errors(plan: Plan, outcome: Outcome, shown: Hypothesis) -> Mapping[str, RefitError]:
    """Errors of all answers of a plan that `can_refit`, by the block's name.

    Args:
        outcome: of the run.
        shown: its hypothesis, as it is released.

    Privacy:
        Post-processing, with public randomness: of the plan's seed, and of the numbers after it, one a measurement.
    """
    blocks, history = plan.problem.workload.blocks, outcome.transcript.measurements
    if not history:
        return {}
    count = refit_count(blocks, history)
    counted = _stand_in(shown, plan.problem)
    squares = {block.name: np.zeros(block.rows) for block in blocks}
    totals = dict.fromkeys(squares, 0.0)
    for number in range(count):
        seed = plan.problem.seed + 1 + number * len(history)
        refitted = _refitted(plan, outcome.hypothesis, _measured_again(history, counted, seed))
        prepare(refitted, blocks)
        for block in blocks:
            off = refitted.answer(block) - counted(block)
            totals[block.name] += float(np.abs(off).sum()) / count
            squares[block.name] += off * off
    return {
        block.name: RefitError(
            each=_larger(squares[block.name] / count, counted(block), count) * float(block.scale),
            total=totals[block.name] * float(block.scale),
        )
        for block in blocks
    }


def refit_count(blocks: Sequence[QueryBlock], history: Sequence[Measurement]) -> int:
    """How many refits, from public sizes."""
    work = sum(block.rows + TUNING.block for block in blocks)
    work += sum(block.rows + TUNING.block for one in history for block in one.blocks)
    return max(TUNING.fewest, min(TUNING.most, TUNING.work // work))


def _stand_in(hypothesis: Hypothesis, problem: Problem) -> Answered:
    """The counts that take the table's place: of synthetic rows, else of the hypothesis itself."""
    if not isinstance(hypothesis, Sampleable) or hypothesis.total > TUNING.rows:
        return hypothesis.answer
    codes = hypothesis.rows(max(0, round(hypothesis.total)), problem.seed)
    table = SparseHistogram(problem.domain.shape, codes, np.ones(len(codes), dtype=np.int64))
    table.prefetch([block.axes for block in problem.workload.blocks])
    return lambda block: block.answer(table).astype(np.float64)


def _measured_again(history: Sequence[Measurement], counted: Answered, seed: int) -> list[Measurement]:
    """The same blocks, with new noise of the same laws, rounded. The seeds from this one on, one a measurement."""
    return [_drawn(one, counted, seed + place) for place, one in enumerate(history)]


def _drawn(measured: Measurement, counted: Answered, seed: int) -> Measurement:
    draws = public_laplaces if isinstance(measured.law, DiscreteLaplace) else public_normals
    ends = np.cumsum([block.rows for block in measured.blocks])
    parts = np.split(draws(seed, int(ends[-1])) * measured.law.deviation, ends[:-1])
    pairs = zip(measured.blocks, parts, strict=True)
    values = tuple(rounded(counted(block) + part, LARGEST) for block, part in pairs)
    return Measurement(blocks=measured.blocks, values=values, law=measured.law)


def _refitted(plan: Plan, hypothesis: Any, history: Sequence[Measurement]) -> Hypothesis:
    """Potentials are a warm start that changes no answer; other rules start anew."""
    rule, problem = plan.roles.update, plan.problem
    first = hypothesis if hasattr(hypothesis, "potentials") else rule.start(problem)
    refitted: Hypothesis | None = rule.update(problem, first, history)
    return hypothesis if refitted is None else refitted


def _larger(squares: FloatArray, counts: FloatArray, refits: int) -> FloatArray:
    """The root of the larger of each answer's own mean square, and the mean of those of its size, by powers of two."""
    sizes = np.log2(1.0 + np.abs(counts)).astype(np.int64)
    alike = (np.bincount(sizes, squares) / np.maximum(np.bincount(sizes), 1))[sizes]
    found: FloatArray = np.sqrt(np.maximum(squares, alike) if refits >= TUNING.own else alike)
    return found
