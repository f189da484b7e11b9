"""Later: answers of a released model to questions that its run was not asked. Nothing is drawn, so nothing is paid."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from msgspec import Struct

from dpqr import __version__
from dpqr.kernel.arrays import Axes, FloatArray, IntArray
from dpqr.kernel.errors import DocumentError, DpqrError, InfeasiblePlan, UsageFault
from dpqr.kernel.values import replace
from dpqr.models.hypothesis import Hypothesis, LinearEstimate, prepare
from dpqr.published.checks import files as require_same_files
from dpqr.published.evidence import NotChecked, ReleaseEvidence, VerifyRequest, release_files
from dpqr.releases.answers.answered import AnsweredBlock, BlockAnswers, answered_block, distance_errors
from dpqr.releases.answers.errors import NO_BASIS, raised_errors
from dpqr.releases.answers.figures import FigureAnswers
from dpqr.releases.answers.noisy import assembled_answers, summed_answers
from dpqr.releases.answers.refits import can_refit, refit_errors
from dpqr.releases.files.read_release import ReleaseFiles, all_answers, block_records, read_figures
from dpqr.releases.files.release_files import table_of_figures
from dpqr.releases.loop import Outcome, released_hypothesis
from dpqr.releases.planning import read_documents, refuse_persons
from dpqr.releases.result import FinishedRun, figures_of, sound_answers, tested_errors, tests_of
from dpqr.releases.sentences import MADE_UP
from dpqr.strategies.plan import Plan
from dpqr.strategies.updates.interface import DENSE_LIMIT
from dpqr.workload.block import QueryBlock
from dpqr.workload.figures import Figure
from dpqr.workload.related_blocks import follows_from, map_to_columns, same_rows
from dpqr.workload.strategy_matrices import is_interaction, is_strategy
from dpqr.workload.workload import Workload


class DerivedAnswerTuning(Struct, frozen=True, kw_only=True):
    """Set by `python tests/benchmarks/later.py`; figures: tests/benchmarks/RESULTS.md."""

    refits: int = 8  # at most: a question has few answers to share an error with


TUNING = DerivedAnswerTuning()


class ModelAnswers(Struct, frozen=True, kw_only=True, eq=False):
    """answers: of each block, and the figures that rest on them. unknown: by the block's name, why its error is not
    known."""

    answers: tuple[BlockAnswers, ...]
    figures: tuple[FigureAnswers, ...]
    unknown: Mapping[str, str]


def answer_from_model(plan: Plan, outcome: Outcome, workload: Workload, factors: Mapping[str, float]) -> ModelAnswers:
    """Answers of the model where a run ended, with errors as far as the run's draws show them.

    | the cells that a question looks at                         | error                                             |
    |------------------------------------------------------------|---------------------------------------------------|
    | lie in one table that was measured                         | refits with new noise; proved where `summed` is   |
    | lie in a block of the workload that was not measured       | the same, times that block's factor               |
    | were never measured or looked at together                  | none: what the model joins, nobody has compared   |

    Args:
        workload: over the plan's domain, the names of its blocks distinct and none of the plan's workload's.
        factors: of the workload's unmeasured blocks, by name (`ErrorBars.factors`).

    Privacy:
        Post-processing of released values, with public randomness. An interval holds for a question that was chosen
        without a look at the noisy answers.
    """
    history, shown = outcome.transcript.measurements, released_hypothesis(plan, outcome)
    later = replace(plan, problem=replace(plan.problem, workload=workload))
    looked = _MeasuredColumns.of(plan, outcome, factors)
    prepare(shown, workload.blocks)
    # A model of single tables may hold no answer to a question.
    for block in workload.blocks if isinstance(shown, LinearEstimate) else ():
        if np.isnan(shown.answer(block)).any():
            raise InfeasiblePlan(f"{block.name}: {looked.apart(block)}; this model cannot answer it")
    summed = summed_answers(later, history)
    answers = sound_answers(later, shown, assembled_answers(later, outcome.transcript), summed, history)
    unknown = {block.name: looked.apart(block) for block in workload.blocks if looked.factor(block) is None}
    known = distance_errors(answers, history)
    # Those of whose errors some has no closed form.
    others = [
        each.block for each in answers if each.block.name not in {**unknown, **known} and np.isnan(each.error).any()
    ]
    missing = can_refit(plan) if others else None
    if missing is not None:
        unknown |= {block.name: f"errors are not estimated: {missing}" for block in others}
    errors = {} if missing is not None else _refit_errors(later, outcome, shown, others, looked)
    answers = tuple(each.with_error(known | errors, summed) for each in answers)
    tested = partial(tested_errors, plan=later, hypothesis=shown, history=history, errors=errors, summed=summed)
    figures = (
        _bare(made) if unknown.keys() & set(made.figure.blocks) else made
        for made in figures_of(later, answers, (), tested)
    )
    return ModelAnswers(answers=answers, figures=tuple(figures), unknown=unknown)


def _refit_errors(
    later: Plan, outcome: Outcome, shown: Hypothesis, others: Sequence[QueryBlock], looked: _MeasuredColumns
) -> dict[str, FloatArray]:
    """Errors by refits, of blocks and of functions of their answers that figures need."""
    if not others:
        return {}
    tests = {name: block for name, block in tests_of(later, ()).items() if name in {each.name for each in others}}
    found = refit_errors(later, outcome, shown, tuple(tests.values()), answered=others, most=TUNING.refits)
    factors = {each.name: looked.factor(each) or 1.0 for each in others}
    factors |= {test.name: factors[name] for name, test in tests.items()}
    blocks = {each.name: each for each in (*others, *tests.values())}
    return {name: raised_errors(error.each, blocks[name], shown, factors[name]) for name, error in found.items()}


def _bare(figure: FigureAnswers) -> FigureAnswers:
    """A figure of answers whose errors are not known: no error, and no interval."""
    none, no = np.full(figure.estimate.shape, np.nan), np.zeros(figure.estimate.shape, dtype=np.bool_)
    basis = np.full(figure.estimate.shape, NO_BASIS, dtype=np.int8)
    return replace(figure, error=none, lower=none, upper=none, basis=basis, small=no, sure=no)


class _MeasuredColumns(Struct, frozen=True, kw_only=True, eq=False):
    """What a run looked at. tables: attributes of the measured blocks from which all cells over them can be estimated.

    others: the other measured blocks. unmeasured: attributes and factor of the workload's unmeasured blocks.
    """

    names: tuple[str, ...]
    tables: tuple[frozenset[int], ...]
    others: tuple[QueryBlock, ...]
    unmeasured: tuple[tuple[frozenset[int], float], ...]

    @classmethod
    def of(cls, plan: Plan, outcome: Outcome, factors: Mapping[str, float]) -> _MeasuredColumns:
        blocks = [block for one in outcome.transcript.measurements for block in one.blocks]
        whole = [block for block in blocks if block.is_marginal or is_interaction(block) or is_strategy(block)]
        tables = {frozenset(block.axes) for block in whole}
        unmeasured = [(each, factors[each.name]) for each in plan.problem.workload.blocks if each.name in factors]
        return cls(
            names=plan.problem.domain.names,
            tables=tuple(tables),
            others=tuple(block for block in blocks if frozenset(block.axes) not in tables),
            unmeasured=tuple((frozenset(each.axes), factor) for each, factor in unmeasured),
        )

    def factor(self, block: QueryBlock) -> float | None:
        """By how much refits underestimate a block's error; None: nothing that was released shows it."""
        if self._met(block.axes) or any(follows_from(measured, block) for measured in self.others):
            return 1.0
        around = [(len(axes), factor) for axes, factor in self.unmeasured if axes.issuperset(block.axes)]
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


# Answer: new questions on a released model, from the release's files alone. Free: post-processing of what was paid.

NEW_QUERY_PREFIX = "asked later: "
"""Before a question's name, so that it is none of the release's."""


class AnswerRequest(Struct, frozen=True, kw_only=True):
    """Questions on a release: its directory, or one in memory. queries: a document, SQL, or the path of one."""

    release: str | FinishedRun
    queries: str | dict[str, Any]


class DerivedAnswers(Struct, frozen=True, kw_only=True):
    """Answers of a release to new questions. released: names of those that it had answered itself, bit for bit.

    figures: rows of their table. notes: what a reader must know of single answers.
    """

    blocks: tuple[AnsweredBlock, ...]
    figures: tuple[dict[str, object], ...]
    released: frozenset[str]
    notes: tuple[str, ...]

    def document(self) -> dict[str, object]:
        """Plain JSON values."""
        answers = [record for block in self.blocks for record in block_records(block)]
        figures = {"figures": list(self.figures)} if self.figures else {}
        return {"answers": answers, **figures, "released": sorted(self.released), "notes": list(self.notes)}


def answer(request: AnswerRequest) -> DerivedAnswers:
    """Answers to questions over the release's own domain, whose cells stay as they are.

    Raises:
        UsageFault: no release, or one whose model cannot be repeated here.
        GoalMissed: its files were changed.
        DocumentError, InfeasiblePlan: questions that its model cannot be asked.

    Privacy:
        Post-processing of the record and the noisy draws in it: nothing is paid, and no table is there.
    """
    if isinstance(request.release, FinishedRun):
        made = request.release
        workload, notes = _compile_queries(request.queries, made.plan)
        notes = (*((MADE_UP,) if made.rehearsal else ()), *notes)
        outcome = Outcome(hypothesis=made.hypothesis, transcript=made.transcript, errors=made.errors)
        return _answers(_InMemory(made, outcome), workload, notes)
    with TemporaryDirectory(prefix="dpqr-answer-") as scratch:
        kept = _OnDisk(request.release, ReleaseEvidence(VerifyRequest(release=request.release), Path(scratch)))
        workload, notes = _compile_queries(request.queries, kept.plan)
        notes = (*((MADE_UP,) if kept.files.record.get("rehearsal") else ()), *notes)
        return _answers(kept, workload, notes)


class _InMemory(Struct, frozen=True):
    """A release of this process."""

    made: FinishedRun
    outcome: Outcome

    @property
    def plan(self) -> Plan:
        return self.made.plan

    @property
    def factors(self) -> Mapping[str, float]:
        return self.made.bars.factors

    def own(self, names: set[str]) -> dict[str, AnsweredBlock]:
        domain = self.plan.problem.domain
        return {each.block.name: answered_block(each, domain) for each in self.made.answers if each.block.name in names}

    def own_figures(self, names: set[str]) -> dict[str, list[dict[str, object]]]:
        domain, held = self.plan.problem.domain, [one for one in self.made.figures if one.figure.name in names]
        return {one.figure.name: table_of_figures((one,), domain).records() for one in held}


class _OnDisk:
    """A release on disk: its record, which repeats its model, and the answers that it has published."""

    def __init__(self, place: str, evidence: ReleaseEvidence) -> None:
        self.files: ReleaseFiles = release_files(place)
        self._evidence = evidence
        try:
            require_same_files(evidence)
            self.plan = evidence.plan
        except NotChecked as reason:
            raise UsageFault(f"{place}: holds no model that can be asked: {reason}") from None
        except DpqrError as fault:
            raise self._otherwise(fault) from None

    @property
    def factors(self) -> Mapping[str, float]:
        bars = self.files.record.get("error_bars")
        return bars["factors"] if bars else {}

    @property
    def outcome(self) -> Outcome:
        """Where the run ended. UsageFault where the draws give other estimates here than the release's."""
        try:
            found = self._evidence.outcome
        except DpqrError as fault:
            raise self._otherwise(fault) from None
        shown, blocks = released_hypothesis(self.plan, found), self.plan.problem.workload.blocks
        prepare(shown, blocks)
        for block, kept in zip(blocks, all_answers(self.files), strict=True):
            estimate = np.asarray(shown.answer(block)) * float(block.scale)
            if not np.allclose(estimate, kept.estimate, rtol=1e-6, atol=1e-6 * max(1.0, abs(shown.total))):
                raise self._otherwise(UsageFault(f"the draws give other answers to {block.name!r} here"))
        return found

    def own(self, names: set[str]) -> dict[str, AnsweredBlock]:
        return {block.name: block for block in all_answers(self.files) if block.name in names} if names else {}

    def own_figures(self, names: set[str]) -> dict[str, list[dict[str, object]]]:
        rows = read_figures(self.files) if names else []
        return {name: [row for row in rows if row["figure"] == name] for name in names}

    def _otherwise(self, fault: DpqrError) -> DpqrError:
        """Another version of dpqr may rightly make another release of the same draws."""
        made_by = str(self.files.record.get("version"))
        if made_by == __version__:
            return fault
        return UsageFault(
            f"{self.files.path}: dpqr {made_by} made it and can repeat its model; {__version__} does otherwise: {fault}"
        )


def _compile_queries(queries: str | dict[str, object], plan: Plan) -> tuple[Workload, tuple[str, ...]]:
    """The questions over the release's domain, and the notes on them."""
    domain = plan.problem.domain
    try:
        document = refuse_persons(
            read_documents(queries, domain, strict=True), "a release answers later questions from its rows alone"
        )
    except DocumentError as error:
        columns = ", ".join(map(repr, domain.names))
        raise DocumentError(
            f"{error}\nthe release holds the columns {columns}, in its own cells", error.faults, error.more
        ) from None
    names, held = document.domain.names, document.workload
    blocks = map_to_columns(held.blocks, names, domain.names)
    for block in blocks:
        if block.cells > DENSE_LIMIT:
            raise InfeasiblePlan(
                f"query {block.name!r}: looks at {block.cells} cells together, and {DENSE_LIMIT} are possible; "
                "ask about fewer columns"
            )
    figures = tuple(
        replace(
            figure,
            by=tuple(domain.names.index(names[axis]) for axis in figure.by),
            tested=None if figure.tested is None else map_to_columns((figure.tested,), names, domain.names)[0],
        )
        for figure in held.figures
    )
    return Workload(blocks, figures), tuple(note for note in document.notes if note not in plan.notes)


def _answers(kept: _InMemory | _OnDisk, workload: Workload, notes: tuple[str, ...]) -> DerivedAnswers:
    known = {block.name: _released_block(block, kept.plan) for block in workload.blocks}
    figures = {figure.name: _released_figure(figure, workload, kept.plan) for figure in workload.figures}
    behind = {name for figure in workload.figures for name in figure.blocks}
    shown = [block for block in workload.blocks if block.name not in behind]
    own = kept.own({place[0] for block in shown if (place := known[block.name])})
    new = _unanswered_queries(workload, known, figures, behind)
    answers: dict[str, AnsweredBlock] = {}
    rows = kept.own_figures({name for name in figures.values() if name is not None})
    if new is not None:
        domain = kept.plan.problem.domain
        later = answer_from_model(kept.plan, kept.outcome, new, kept.factors)
        answers = {each.block.name: answered_block(each, domain) for each in later.answers}
        rows |= {one.figure.name: table_of_figures((one,), domain).records() for one in later.figures}
        notes = (
            *notes,
            *(f"{name.removeprefix(NEW_QUERY_PREFIX)}: {reason}" for name, reason in later.unknown.items()),
        )
    found = []
    for block in shown:
        place = known[block.name]
        one = answers[NEW_QUERY_PREFIX + block.name] if place is None else own[place[0]].chosen(place[1])
        found.append(replace(one, name=block.name))
    same = {block.name for block in shown if known[block.name]} | {name for name, held in figures.items() if held}
    return DerivedAnswers(
        blocks=tuple(found),
        figures=tuple(
            {**row, "figure": name} for name, held in figures.items() for row in rows[held or NEW_QUERY_PREFIX + name]
        ),
        released=frozenset(same),
        notes=notes,
    )


def _unanswered_queries(
    workload: Workload,
    known: Mapping[str, tuple[str, IntArray] | None],
    figures: Mapping[str, str | None],
    behind: Collection[str],
) -> Workload | None:
    """What the model is asked: blocks that the release has not answered, and those of figures that it has not; None:
    nothing. All names are new."""
    left = [figure for figure in workload.figures if figures[figure.name] is None]
    needed = {name for figure in left for name in figure.blocks}
    needed |= {name for name, place in known.items() if place is None and name not in behind}
    if not needed:
        return None
    blocks = tuple(
        replace(block, name=NEW_QUERY_PREFIX + block.name) for block in workload.blocks if block.name in needed
    )
    renamed = tuple(
        replace(
            figure,
            name=NEW_QUERY_PREFIX + figure.name,
            blocks=tuple(NEW_QUERY_PREFIX + name for name in figure.blocks),
            tested=None
            if figure.tested is None
            else replace(figure.tested, name=NEW_QUERY_PREFIX + figure.tested.name),
        )
        for figure in left
    )
    return Workload(blocks, renamed)


def _released_block(block: QueryBlock, plan: Plan) -> tuple[str, IntArray] | None:
    """The block of the release that asks the same, and its rows; None: there is none."""
    same = ((each.name, same_rows(block, each)) for each in plan.problem.workload.blocks)
    return next(((name, rows) for name, rows in same if rows is not None), None)


def _released_figure(figure: Figure, workload: Workload, plan: Plan) -> str | None:
    """The figure of the release that is the same function of the same answers; None: there is none."""
    mine = {block.name: block for block in workload.blocks}
    theirs = {block.name: block for block in plan.problem.workload.blocks}
    for each in plan.problem.workload.figures:
        pairs = zip(figure.blocks, each.blocks, strict=False)
        alike = (each.kind, each.formula, each.by) == (figure.kind, figure.formula, figure.by)
        if alike and np.array_equal(each.rows, figure.rows) and all(_same_order(mine[a], theirs[b]) for a, b in pairs):
            return each.name
    return None


def _same_order(one: QueryBlock, other: QueryBlock) -> bool:
    """Whether two blocks ask the same in the same order."""
    rows = same_rows(one, other)
    return rows is not None and bool((np.diff(rows) == 1).all())
