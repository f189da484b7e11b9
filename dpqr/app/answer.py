"""Answer: new questions on a released model, from the release's files alone. Free: post-processing of what was paid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dpqr import __version__
from dpqr.app.checks_of_record import files as require_same_files
from dpqr.app.evidence import Evidence, NotChecked, VerifyRequest
from dpqr.app.interactive_state import placed
from dpqr.app.planning import read_documents
from dpqr.construction.answered import AnsweredBlock, answered
from dpqr.construction.later import later_answers
from dpqr.construction.loop import Outcome, released
from dpqr.construction.release import Release
from dpqr.data.arrays import IntArray
from dpqr.errors import DocumentError, DpqrError, InfeasiblePlan, UsageFault
from dpqr.hypotheses.hypothesis import prepare
from dpqr.io.outputs.read_answers import all_answers, block_records
from dpqr.io.outputs.read_release import ReleaseFiles, read_release
from dpqr.strategies.plan import Plan
from dpqr.strategies.updates.dense_members import DENSE_LIMIT
from dpqr.workload.block import QueryBlock
from dpqr.workload.same_questions import same_rows

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

    notes: what a reader must know of single answers.
    """

    blocks: tuple[AnsweredBlock, ...]
    released: frozenset[str]
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Plain JSON values."""
        answers = [record for block in self.blocks for record in block_records(block)]
        return {"answers": answers, "released": sorted(self.released), "notes": list(self.notes)}


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
        blocks, notes = _asked(request.queries, made.plan)
        outcome = Outcome(hypothesis=made.hypothesis, transcript=made.transcript, errors=made.errors)
        return _answers(_InMemory(made, outcome), blocks, notes)
    with TemporaryDirectory(prefix="dpqr-answer-") as scratch:
        kept = _OnDisk(request.release, Evidence(VerifyRequest(release=request.release), Path(scratch)))
        blocks, notes = _asked(request.queries, kept.plan)
        return _answers(kept, blocks, notes)


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


class _OnDisk:
    """A release on disk: its record, which repeats its model, and the answers that it has published."""

    def __init__(self, place: str, evidence: Evidence) -> None:
        self.files: ReleaseFiles = read_release(place)
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


def _asked(queries: str | dict[str, Any], plan: Plan) -> tuple[tuple[QueryBlock, ...], tuple[str, ...]]:
    """The questions over the release's domain, and the notes on them."""
    domain = plan.problem.domain
    try:
        document = read_documents(queries, domain, strict=True)
    except DocumentError as error:
        columns = ", ".join(map(repr, domain.names))
        raise DocumentError(f"{error}\nthe release holds the columns {columns}, in its own cells") from None
    blocks = placed(document.workload.blocks, document.domain.names, domain.names)
    for block in blocks:
        if block.cells > DENSE_LIMIT:
            raise InfeasiblePlan(
                f"query {block.name!r}: looks at {block.cells} cells together, and {DENSE_LIMIT} are possible; "
                "ask about fewer columns"
            )
    return blocks, tuple(note for note in document.notes if note not in plan.notes)


def _answers(kept: _InMemory | _OnDisk, blocks: Sequence[QueryBlock], notes: tuple[str, ...]) -> Later:
    known = {block.name: _known(block, kept.plan) for block in blocks}
    own = kept.own({found[0] for found in known.values() if found})
    new = [replace(block, name=f"{NEW}{block.name}") for block in blocks if known[block.name] is None]
    made: dict[str, AnsweredBlock] = {}
    if new:
        later = later_answers(kept.plan, kept.outcome, new, kept.factors)
        made = {each.block.name: answered(each, kept.plan.problem.domain) for each in later.answers}
        notes = (*notes, *(f"{name.removeprefix(NEW)}: {reason}" for name, reason in later.unknown.items()))
    found = []
    for block in blocks:
        place = known[block.name]
        one = made[f"{NEW}{block.name}"] if place is None else own[place[0]].chosen(place[1])
        found.append(replace(one, name=block.name))
    names = frozenset(name for name, place in known.items() if place is not None)
    return Later(blocks=tuple(found), released=names, notes=notes)


def _known(block: QueryBlock, plan: Plan) -> tuple[str, IntArray] | None:
    """The block of the release that asks the same, and its rows; None: there is none."""
    same = ((each.name, same_rows(block, each)) for each in plan.problem.workload.blocks)
    return next(((name, rows) for name, rows in same if rows is not None), None)
