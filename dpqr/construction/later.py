"""Later: answers of a released model to questions that its run was not asked. Nothing is drawn, so nothing is paid."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dpqr.construction.assembled import assembled_answers
from dpqr.construction.block_answers import BlockAnswers, known_errors
from dpqr.construction.figures import FigureAnswers, figure_answers
from dpqr.construction.intervals import NO_BASIS
from dpqr.construction.loop import Outcome, released
from dpqr.construction.refits import can_refit, refit_errors
from dpqr.construction.release import answers_of, tests_of
from dpqr.construction.soundness import require_answers
from dpqr.construction.summed import summed_answers
from dpqr.data.arrays import Axes, FloatArray
from dpqr.errors import InfeasiblePlan
from dpqr.hypotheses.hypothesis import prepare
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
    blocks, history, shown = asked.blocks, outcome.transcript.measurements, released(plan, outcome)
    later = replace(plan, problem=replace(plan.problem, workload=asked))
    looked = _Looked.of(plan, outcome, factors)
    tests = {figure.blocks[0]: figure.tested for figure in asked.figures if figure.tested is not None}
    prepare(shown, blocks)
    summed, apart = summed_answers(later, history), assembled_answers(later, outcome.transcript)
    answers = tuple(answers_of(block, shown, apart, summed, history) for block in blocks)
    for each in answers:
        _require_joined(each, looked)
        require_answers(shown, each.estimate / float(each.block.scale), plan.roles.update.name, each.block)
    unknown = {block.name: looked.apart(block) for block in blocks if looked.factor(block) is None}
    known = known_errors(answers, history)
    others = [each.block for each in answers if each.block.name not in {**unknown, **known} and _open(each)]
    missing = can_refit(plan) if others else None
    errors: dict[str, FloatArray] = {}
    if missing is not None:
        unknown |= {block.name: f"errors are not estimated: {missing}" for block in others}
    elif others and history:
        beside = [tests[block.name] for block in others if block.name in tests]
        found = refit_errors(plan, outcome, shown, beside, asked=others, most=TUNING.refits)
        for block in others:
            errors |= {
                each.name: found[each.name].each * (looked.factor(block) or 1.0)
                for each in (block, tests.get(block.name))
                if each is not None
            }
    answers = tuple(each.with_error(known | errors, summed) for each in answers)
    tested = {
        name: tests_of(block, later, shown, errors.get(block.name), summed.get(name), history)
        for name, block in tests.items()
    }
    named = {each.block.name: each for each in answers}
    figures = tuple(
        _bare(made) if unknown.keys() & set(made.figure.blocks) else made
        for made in (figure_answers(figure, named, {}, tested) for figure in asked.figures)
    )
    return LaterAnswers(answers=answers, figures=figures, unknown=unknown)


def _bare(figure: FigureAnswers) -> FigureAnswers:
    """A figure of answers whose errors are not known: no error, and no interval."""
    none, no = np.full(figure.estimate.shape, np.nan), np.zeros(figure.estimate.shape, dtype=np.bool_)
    basis = np.full(figure.estimate.shape, NO_BASIS, dtype=np.int8)
    return replace(figure, error=none, lower=none, upper=none, basis=basis, small=no, sure=no)


def _open(answers: BlockAnswers) -> bool:
    """Whether some error has no closed form."""
    return bool(np.isnan(answers.error).any())


def _require_joined(answers: BlockAnswers, looked: _Looked) -> None:
    """InfeasiblePlan where a model of single tables holds none for a question."""
    if np.isnan(answers.estimate).any():
        raise InfeasiblePlan(f"{answers.block.name}: {looked.apart(answers.block)}; this model cannot answer it")


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
