"""Answer: new questions on a released model, from the release's files alone. Free: post-processing of what was paid."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dpqr import __version__
from dpqr.app.planning.planning import read_documents
from dpqr.app.verifying.checks_of_record import files as require_same_files
from dpqr.app.verifying.evidence import Evidence, NotChecked, VerifyRequest, release_files
from dpqr.construction.answers.answered import AnsweredBlock, answered
from dpqr.construction.later import later_answers
from dpqr.construction.loop import Outcome, released
from dpqr.construction.release import Release
from dpqr.data.arrays import IntArray
from dpqr.errors import DocumentError, DpqrError, InfeasiblePlan, UsageFault
from dpqr.hypotheses.hypothesis import prepare
from dpqr.io.outputs.answer_tables.figures_table import table_of_figures
from dpqr.io.outputs.releases.read_answers import all_answers, block_records, read_figures
from dpqr.io.outputs.releases.read_release import ReleaseFiles
from dpqr.strategies.plan import Plan
from dpqr.strategies.updates.dense_members import DENSE_LIMIT
from dpqr.workload.block import QueryBlock
from dpqr.workload.figures import Figure
from dpqr.workload.same_questions import same_rows
from dpqr.workload.stacking import placed
from dpqr.workload.workload import Workload

NEW = "asked later: "
"""Before a question's name, so that it is none of the release's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRequest:
    """Questions on a release: its directory, or one in memory. queries: a document, SQL, or the path of one."""

    release: str | Release
    queries: str | dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """Answers of a release to new questions. released: names of those that it had answered itself, bit for bit.

    figures: rows of their table. notes: what a reader must know of single answers.
    """

    blocks: tuple[AnsweredBlock, ...]
    figures: tuple[dict[str, Any], ...]
    released: frozenset[str]
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Plain JSON values."""
        answers = [record for block in self.blocks for record in block_records(block)]
        figures = {"figures": list(self.figures)} if self.figures else {}
        return {"answers": answers, **figures, "released": sorted(self.released), "notes": list(self.notes)}


def answer(request: AnswerRequest) -> Later:
    """Answers to questions over the release's own domain, whose cells stay as they are.

    Raises:
        UsageFault: no release, or one whose model cannot be repeated here.
        GoalMissed: its files were changed.
        DocumentError, InfeasiblePlan: questions that its model cannot be asked.

    Privacy:
        Post-processing of the record and the noisy draws in it: nothing is paid, and no table is there.
    """
    if isinstance(request.release, Release):
        made = request.release
        asked, notes = _asked(request.queries, made.plan)
        outcome = Outcome(hypothesis=made.hypothesis, transcript=made.transcript, errors=made.errors)
        return _answers(_InMemory(made, outcome), asked, notes)
    with TemporaryDirectory(prefix="dpqr-answer-") as scratch:
        kept = _OnDisk(request.release, Evidence(VerifyRequest(release=request.release), Path(scratch)))
        asked, notes = _asked(request.queries, kept.plan)
        return _answers(kept, asked, notes)


@dataclass(frozen=True, slots=True)
class _InMemory:
    """A release of this process."""

    made: Release
    outcome: Outcome

    @property
    def plan(self) -> Plan:
        return self.made.plan

    @property
    def factors(self) -> Mapping[str, float]:
        return self.made.bars.factors

    def own(self, names: set[str]) -> dict[str, AnsweredBlock]:
        domain = self.plan.problem.domain
        return {each.block.name: answered(each, domain) for each in self.made.answers if each.block.name in names}

    def own_figures(self, names: set[str]) -> dict[str, list[dict[str, Any]]]:
        domain, held = self.plan.problem.domain, [one for one in self.made.figures if one.figure.name in names]
        return {one.figure.name: table_of_figures((one,), domain).records() for one in held}


class _OnDisk:
    """A release on disk: its record, which repeats its model, and the answers that it has published."""

    def __init__(self, place: str, evidence: Evidence) -> None:
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
        self._require_same(found)
        return found

    def own(self, names: set[str]) -> dict[str, AnsweredBlock]:
        return {block.name: block for block in all_answers(self.files) if block.name in names} if names else {}

    def own_figures(self, names: set[str]) -> dict[str, list[dict[str, Any]]]:
        rows = read_figures(self.files) if names else []
        return {name: [row for row in rows if row["figure"] == name] for name in names}

    def _require_same(self, found: Outcome) -> None:
        shown, blocks = released(self.plan, found), self.plan.problem.workload.blocks
        prepare(shown, blocks)
        for block, kept in zip(blocks, all_answers(self.files), strict=True):
            estimate = np.asarray(shown.answer(block)) * float(block.scale)
            if not np.allclose(estimate, kept.estimate, rtol=1e-6, atol=1e-6 * max(1.0, abs(shown.total))):
                raise self._otherwise(UsageFault(f"the draws give other answers to {block.name!r} here"))

    def _otherwise(self, fault: DpqrError) -> DpqrError:
        """Another version of dpqr may rightly make another release of the same draws."""
        made_by = str(self.files.record.get("version"))
        if made_by == __version__:
            return fault
        return UsageFault(
            f"{self.files.path}: dpqr {made_by} made it and can repeat its model; {__version__} does otherwise: {fault}"
        )


def _asked(queries: str | dict[str, Any], plan: Plan) -> tuple[Workload, tuple[str, ...]]:
    """The questions over the release's domain, and the notes on them."""
    domain = plan.problem.domain
    try:
        document = read_documents(queries, domain, strict=True)
    except DocumentError as error:
        columns = ", ".join(map(repr, domain.names))
        raise DocumentError(f"{error}\nthe release holds the columns {columns}, in its own cells") from None
    names, held = document.domain.names, document.workload
    blocks = placed(held.blocks, names, domain.names)
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
            tested=None if figure.tested is None else placed((figure.tested,), names, domain.names)[0],
        )
        for figure in held.figures
    )
    return Workload(blocks, figures), tuple(note for note in document.notes if note not in plan.notes)


def _answers(kept: _InMemory | _OnDisk, asked: Workload, notes: tuple[str, ...]) -> Later:
    known = {block.name: _known(block, kept.plan) for block in asked.blocks}
    figures = {figure.name: _known_figure(figure, asked, kept.plan) for figure in asked.figures}
    behind = {name for figure in asked.figures for name in figure.blocks}
    shown = [block for block in asked.blocks if block.name not in behind]
    own = kept.own({place[0] for block in shown if (place := known[block.name])})
    new = _new(asked, known, figures, behind)
    answers: dict[str, AnsweredBlock] = {}
    rows = kept.own_figures({name for name in figures.values() if name is not None})
    if new is not None:
        domain = kept.plan.problem.domain
        later = later_answers(kept.plan, kept.outcome, new, kept.factors)
        answers = {each.block.name: answered(each, domain) for each in later.answers}
        rows |= {one.figure.name: table_of_figures((one,), domain).records() for one in later.figures}
        notes = (*notes, *(f"{name.removeprefix(NEW)}: {reason}" for name, reason in later.unknown.items()))
    found = []
    for block in shown:
        place = known[block.name]
        one = answers[NEW + block.name] if place is None else own[place[0]].chosen(place[1])
        found.append(replace(one, name=block.name))
    same = {block.name for block in shown if known[block.name]} | {name for name, held in figures.items() if held}
    return Later(
        blocks=tuple(found),
        figures=tuple({**row, "figure": name} for name, held in figures.items() for row in rows[held or NEW + name]),
        released=frozenset(same),
        notes=notes,
    )


def _new(
    asked: Workload,
    known: Mapping[str, tuple[str, IntArray] | None],
    figures: Mapping[str, str | None],
    behind: Collection[str],
) -> Workload | None:
    """What the model is asked: blocks that the release has not answered, and those of figures that it has not; None:
    nothing. All names are new."""
    left = [figure for figure in asked.figures if figures[figure.name] is None]
    needed = {name for figure in left for name in figure.blocks}
    needed |= {name for name, place in known.items() if place is None and name not in behind}
    if not needed:
        return None
    blocks = tuple(replace(block, name=NEW + block.name) for block in asked.blocks if block.name in needed)
    renamed = tuple(
        replace(
            figure,
            name=NEW + figure.name,
            blocks=tuple(NEW + name for name in figure.blocks),
            tested=None if figure.tested is None else replace(figure.tested, name=NEW + figure.tested.name),
        )
        for figure in left
    )
    return Workload(blocks, renamed)


def _known(block: QueryBlock, plan: Plan) -> tuple[str, IntArray] | None:
    """The block of the release that asks the same, and its rows; None: there is none."""
    same = ((each.name, same_rows(block, each)) for each in plan.problem.workload.blocks)
    return next(((name, rows) for name, rows in same if rows is not None), None)


def _known_figure(figure: Figure, asked: Workload, plan: Plan) -> str | None:
    """The figure of the release that is the same function of the same answers; None: there is none."""
    mine = {block.name: block for block in asked.blocks}
    theirs = {block.name: block for block in plan.problem.workload.blocks}
    for each in plan.problem.workload.figures:
        pairs = zip(figure.blocks, each.blocks, strict=False)
        alike = (each.kind, each.formula, each.by) == (figure.kind, figure.formula, figure.by)
        if alike and np.array_equal(each.rows, figure.rows) and all(_straight(mine[a], theirs[b]) for a, b in pairs):
            return each.name
    return None


def _straight(one: QueryBlock, other: QueryBlock) -> bool:
    """Whether two blocks ask the same in the same order."""
    rows = same_rows(one, other)
    return rows is not None and bool((np.diff(rows) == 1).all())
