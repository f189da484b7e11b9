"""Evidence: what a release consists of, read from its files or made again, each when it is first asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from msgspec import UnsetType

from dpqr.app.paying.budget import configured_ledger
from dpqr.app.verifying.repeat import planned_again, repeated, replayed, write_again
from dpqr.app.verifying.repeat_session import repeated_session
from dpqr.construction.answers.cumulative import Earlier
from dpqr.construction.loop import Outcome
from dpqr.construction.questions.replay import Questions
from dpqr.construction.release import Release
from dpqr.construction.sentences import SESSION
from dpqr.errors import DocumentError, GoalMissed, UsageFault
from dpqr.io.ledger.addresses import is_address
from dpqr.io.ledger.export_file import is_export, read_export
from dpqr.io.ledger.location import NO_ANCHOR
from dpqr.io.ledger.record import Record
from dpqr.io.outputs.answer_tables.cumulative_table import handed_over
from dpqr.io.outputs.records.document_parts import parsed_events
from dpqr.io.outputs.records.plan_document import sealed
from dpqr.io.outputs.records.record import RECORD, read_record
from dpqr.io.outputs.records.record_form import ReleaseRecord, parsed_record
from dpqr.io.outputs.records.sameness import Sameness, same_answers
from dpqr.io.outputs.releases.read_release import ReleaseFiles, read_release
from dpqr.privacy.events import Composition
from dpqr.strategies.plan import Plan

Made = TypeVar("Made")
PROOFS, PROVED = ("versions", "hashes", "sha256"), (0, 4)
"""Keys that came together, and the first version that has them, which can be verified whole."""
_TEXT_OR_BLANK = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRequest:
    """A release that somebody checks. release: its directory. ledger, anchor: of the ledger that paid, or its export;
    plan: the locked plan that it should follow; None: not given. usual: the ledger is a setting, of other releases
    too: one that no ledger paid for is not held against it. tolerance: what cannot be repeated here bit for bit is
    accepted."""

    release: str
    ledger: str | None = None
    anchor: str | None = None
    plan: str | None = None
    usual: bool = False
    tolerance: bool = False


def release_files(place: str) -> ReleaseFiles:
    """A release on disk. Raises: UsageFault where there is none; DocumentError where it is damaged."""
    if not (Path(place) / RECORD).is_file():
        raise UsageFault(f"{place}: is no release directory; give one that dpqr release has made")
    return read_release(place)


def is_since(version: object, first: tuple[int, int]) -> bool:
    """Whether a record's version of dpqr is `first` or later; one that is not read as numbers is no older one."""
    numbers = str(version).split(".")
    return not all(each.isascii() and each.isdecimal() for each in numbers) or tuple(map(int, numbers)) >= first


class NotChecked(Exception):
    """Why a check could not be made. It found nothing, for or against."""


class NotRepeated(NotChecked):
    """Why this machine cannot repeat a figure bit for bit. within: it is equal within the tolerance."""

    def __init__(self, reason: str, *, within: bool = False) -> None:
        super().__init__(reason)
        self.within = within


class Evidence:
    """A release and what it can be held against. scratch: a directory for the files that are made again."""

    def __init__(self, request: VerifyRequest, scratch: Path) -> None:
        self.request, self.path, self._scratch = request, Path(request.release), scratch

    @cached_property
    def document(self) -> dict[str, Any]:
        """release.json. UsageFault where there is none; GoalMissed for what dpqr has not written."""
        try:
            found = read_release(str(self.path)).record
        except DocumentError as fault:
            raise GoalMissed(str(fault)) from None
        require_written(found, self.path / RECORD)
        if any(name in found for name in PROOFS) and sealed(found) != found:
            raise GoalMissed(f"{self.path / RECORD}: is not what its seal was made of")
        return found

    @cached_property
    def record(self) -> ReleaseRecord:
        """The same by its parts."""
        try:
            return parsed_record(self.document, str(self.path / RECORD))
        except DocumentError as fault:
            raise GoalMissed(str(fault)) from None

    def events(self, parts: Any) -> Composition:
        """Events of the record."""
        try:
            return parsed_events(parts)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise GoalMissed(f"{self.path / RECORD}: states events that dpqr does not know") from None

    @property
    def of_session(self) -> bool:
        """Whether people chose the questions one at a time."""
        return bool(self.document["plan"]["schedule"]["name"] == SESSION)

    @property
    def questions(self) -> Questions | None:
        """Of a session, what its answers follow from."""
        return self.record.questions or None

    @property
    def planned_from(self) -> Any:
        """The documents and options that the release was planned from. NotChecked where the record holds none."""
        stated = self.document["plan"]
        found = self.questions.request if self.questions else stated.get("request")
        if found is None and self.of_session:
            raise NotRepeated("dpqr 0.6 and 0.7 kept no questions of a session, so there is nothing to repeat it from")
        if found is None:
            raise NotRepeated("the record holds no documents to plan it from; dpqr 0.1 to 0.3 kept none")
        return found

    @cached_property
    def walked(self) -> Record:
        """The whole ledger, or its export. Raises: as `walked_ledger`."""
        return walked_ledger(self.request)

    @cached_property
    def plan(self) -> Plan:
        """The plan, made again from the public request that the record holds.

        It notes what the record notes: more than its request gives, for that does not say how files were called.
        Of a session it is made from what that was opened with.
        """
        if self.questions:
            return self.repeated.plan
        try:
            made = planned_again(self.planned_from, self.path)
        except (DocumentError, UsageFault) as fault:
            raise GoalMissed(f"the request in the record cannot be planned: {fault}") from None
        notes = self.record.plan.notes
        if lacking := [note for note in made.notes if note not in notes]:
            raise GoalMissed(f"the record leaves out what its plan notes: {lacking[0]}")
        return replace(made, notes=notes)

    @cached_property
    def repeated(self) -> Release:
        """The release that the recorded draws give. GoalMissed where they give none."""
        if self.questions is None:
            again = self._drawn_again(lambda: repeated(self.record, self.plan))
            return replace(again, earlier=self._earlier)
        events, questions = self.events(self.document["events"]), self.questions
        return self._drawn_again(lambda: repeated_session(self.record, questions, events))

    @cached_property
    def outcome(self) -> Outcome:
        """Where the loop ended with the recorded draws. GoalMissed where they are not those of the plan."""
        return self._drawn_again(lambda: replayed(self.record, self.plan))

    @property
    def _earlier(self) -> Earlier | None:
        """Of a counter: what the release before has handed over, as this one states it."""
        turn, stated = self.plan.problem.turn, self.record.cumulative
        if turn is None or isinstance(stated, UnsetType):
            return None
        after, before = stated.after, turn.before
        if (after.period if after else None) != (before.name if before else None):
            raise GoalMissed("the release goes on from another one of its counter than the one before it")
        if after is None:
            return Earlier()
        try:
            counts = handed_over(read_release(str(self.path)), turn.counter.tree, turn.number)
        except DocumentError as fault:
            raise GoalMissed(str(fault)) from None
        return Earlier(counts=counts, period=after.period, sha256=after.sha256)

    def _drawn_again(self, repeat: Callable[[], Made]) -> Made:
        try:
            return repeat()
        except (ValueError, TypeError, LookupError, ArithmeticError) as fault:  # forged draws may have any form
            raise GoalMissed(f"the recorded draws cannot be repeated ({type(fault).__name__})") from None

    @cached_property
    def made(self) -> tuple[Path, Any]:
        """The directory of the files that were made again, and their record."""
        directory = self._scratch / "release"
        write_again(self.repeated, self.record, directory)
        return directory, read_record(directory)

    @cached_property
    def answers(self) -> Sameness:
        """The answers that were released beside those that were made again. GoalMissed where they differ."""
        name, planned = self.record.files[0], {block.name: block.deviation for block in self.plan.forecast}
        least = min(planned.values(), default=0.0)
        noise = [np.full(block.rows, planned.get(block.name, least)) for block in self.plan.problem.workload.blocks]
        return same_answers(self.path / name, self.made[0] / name, np.concatenate(noise))


def walked_ledger(request: VerifyRequest) -> Record:
    """The ledger that is given, or its export, from the first entry on. Raises: NotChecked where none is given;
    LedgerError where it is damaged."""
    given = request.ledger
    if given is None:
        raise NotChecked("give the ledger that paid, or its export")
    if not is_address(given) and is_export(Path(given)):
        return read_export(Path(given))
    return configured_ledger(given, request.anchor or NO_ANCHOR).verify()


def require_written(document: Any, path: Path) -> None:
    """GoalMissed unless a file holds the JSON text that dpqr writes for the document, blanks between its parts aside.

    A text may differ and mean the same: 1e-5 and 1E-5, a letter and its escape, a key that is stated twice.
    """
    text = _TEXT_OR_BLANK.sub(r"\1", path.read_text(encoding="utf-8"))
    if text != json.dumps(document, ensure_ascii=False, separators=(",", ":")):
        raise GoalMissed(f"{path}: is not written as dpqr writes it")
