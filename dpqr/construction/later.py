"""Later: answers of a released model to questions that its run was not asked. Nothing is drawn, so nothing is paid."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dpqr.construction.answers.assembled import assembled_answers
from dpqr.construction.answers.block_answers import BlockAnswers, known_errors
from dpqr.construction.answers.figures import FigureAnswers
from dpqr.construction.answers.intervals import NO_BASIS
from dpqr.construction.answers.refits import can_refit, refit_errors
from dpqr.construction.answers.summed import summed_answers
from dpqr.construction.loop import Outcome, released
from dpqr.construction.release import figures_of, sound_answers, tested_errors, tests_of
from dpqr.data.arrays import Axes, FloatArray
from dpqr.errors import InfeasiblePlan
from dpqr.hypotheses.hypothesis import Hypothesis, prepare
from dpqr.hypotheses.linear_estimate import LinearEstimate
from dpqr.strategies.plan import Plan
from dpqr.workload.block import QueryBlock
from dpqr.workload.contrasts import is_interaction
from dpqr.workload.recovery import is_strategy
from dpqr.workload.same_questions import spans
from dpqr.workload.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Set by `python tests/benchmarks/later.py`; figures: tests/benchmarks/RESULTS.md."""

    refits: int = 8  # at most: a question has few answers to share an error with


TUNING = Tuning()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LaterAnswers:
    """answers: of each block, and the figures that rest on them. unknown: by the block's name, why its error is not
    known."""

    answers: tuple[BlockAnswers, ...]
    figures: tuple[FigureAnswers, ...]
    unknown: Mapping[str, str]


def later_answers(plan: Plan, outcome: Outcome, asked: Workload, factors: Mapping[str, float]) -> LaterAnswers:
    """Answers of the model where a run ended, with errors as far as the run's draws show them.

    | the cells that a question looks at                         | error                                             |
    |------------------------------------------------------------|---------------------------------------------------|
    | lie in one table that was measured                         | refits with new noise; proved where `summed` is   |
    | lie in a block of the workload that was not measured       | the same, times that block's factor               |
    | were never measured or looked at together                  | none: what the model joins, nobody has compared   |

    Args:
        asked: over the plan's domain, the names of its blocks distinct and none of the plan's workload's.
        factors: of the workload's unmeasured blocks, by name (`ErrorBars.factors`).

    Privacy:
        Post-processing of released values, with public randomness. An interval holds for a question that was chosen
        without a look at the noisy answers.
    """
    history, shown = outcome.transcript.measurements, released(plan, outcome)
    later = replace(plan, problem=replace(plan.problem, workload=asked))
    looked = _Looked.of(plan, outcome, factors)
    prepare(shown, asked.blocks)
    _require_joined(asked, shown, looked)
    summed = summed_answers(later, history)
    answers = sound_answers(later, shown, assembled_answers(later, outcome.transcript), summed, history)
    unknown = {block.name: looked.apart(block) for block in asked.blocks if looked.factor(block) is None}
    known = known_errors(answers, history)
    others = [each.block for each in answers if each.block.name not in {**unknown, **known} and _open(each)]
    missing = can_refit(plan) if others else None
    if missing is not None:
        unknown |= {block.name: f"errors are not estimated: {missing}" for block in others}
    errors = {} if missing is not None else _refitted(later, outcome, shown, others, looked)
    answers = tuple(each.with_error(known | errors, summed) for each in answers)
    tested = partial(tested_errors, plan=later, hypothesis=shown, history=history, errors=errors, summed=summed)
    figures = (
        _bare(made) if unknown.keys() & set(made.figure.blocks) else made
        for made in figures_of(later, answers, (), tested)
    )
    return LaterAnswers(answers=answers, figures=tuple(figures), unknown=unknown)


def _refitted(
    later: Plan, outcome: Outcome, shown: Hypothesis, others: Sequence[QueryBlock], looked: _Looked
) -> dict[str, FloatArray]:
    """Errors by refits, of blocks and of functions of their answers that figures need."""
    if not others:
        return {}
    tests = {name: block for name, block in tests_of(later, ()).items() if name in {each.name for each in others}}
    found = refit_errors(later, outcome, shown, tuple(tests.values()), asked=others, most=TUNING.refits)
    factors = {each.name: looked.factor(each) or 1.0 for each in others}
    factors |= {test.name: factors[name] for name, test in tests.items()}
    return {name: error.each * factors[name] for name, error in found.items()}


def _bare(figure: FigureAnswers) -> FigureAnswers:
    """A figure of answers whose errors are not known: no error, and no interval."""
    none, no = np.full(figure.estimate.shape, np.nan), np.zeros(figure.estimate.shape, dtype=np.bool_)
    basis = np.full(figure.estimate.shape, NO_BASIS, dtype=np.int8)
    return replace(figure, error=none, lower=none, upper=none, basis=basis, small=no, sure=no)


def _open(answers: BlockAnswers) -> bool:
    """Whether some error has no closed form."""
    return bool(np.isnan(answers.error).any())


def _require_joined(asked: Workload, shown: Hypothesis, looked: _Looked) -> None:
    """InfeasiblePlan where a model of single tables holds none for a question."""
    for block in asked.blocks if isinstance(shown, LinearEstimate) else ():
        if np.isnan(shown.answer(block)).any():
            raise InfeasiblePlan(f"{block.name}: {looked.apart(block)}; this model cannot answer it")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Looked:
    """What a run looked at. tables: attributes of the measured blocks from which all cells over them can be estimated.

    others: the other measured blocks. asked: attributes and factor of the workload's unmeasured blocks.
    """

    names: tuple[str, ...]
    tables: tuple[frozenset[int], ...]
    others: tuple[QueryBlock, ...]
    asked: tuple[tuple[frozenset[int], float], ...]

    @classmethod
    def of(cls, plan: Plan, outcome: Outcome, factors: Mapping[str, float]) -> _Looked:
        blocks = [block for one in outcome.transcript.measurements for block in one.blocks]
        whole = [block for block in blocks if block.is_marginal or is_interaction(block) or is_strategy(block)]
        tables = {frozenset(block.axes) for block in whole}
        asked = [(each, factors[each.name]) for each in plan.problem.workload.blocks if each.name in factors]
        return cls(
            names=plan.problem.domain.names,
            tables=tuple(tables),
            others=tuple(block for block in blocks if frozenset(block.axes) not in tables),
            asked=tuple((frozenset(each.axes), factor) for each, factor in asked),
        )

    def factor(self, block: QueryBlock) -> float | None:
        """By how much refits underestimate a block's error; None: nothing that was released shows it."""
        if self._met(block.axes) or any(spans(measured, block) for measured in self.others):
            return 1.0
        around = [(len(axes), factor) for axes, factor in self.asked if axes.issuperset(block.axes)]
        least = min(around, default=(0, 0.0))[0]
        return max((factor for size, factor in around if size == least), default=None)

    def apart(self, block: QueryBlock) -> str:
        """Which attributes of a block no table holds together."""
        sizes = range(1, len(block.axes) + 1)
        some = (axes for size in sizes for axes in itertools.combinations(sorted(block.axes), size))
        missed = next((axes for axes in some if not self._met(axes)), ())
        columns = " and ".join(repr(self.names[axis]) for axis in missed)
        if len(missed) == 1:
            return f"the cells of {columns} were not measured one by one, so nothing released shows the error"
        return f"{columns} were never measured together, so the model assumes how they depend, and no error is known"

    def _met(self, axes: Axes) -> bool:
        return any(table.issuperset(axes) for table in self.tables)
