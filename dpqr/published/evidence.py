"""Evidence: what a release consists of, read from its files or made again, each when it is first asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa
from msgspec import Struct, UnsetType

from dpqr.kernel.arrays import AnyArray, FloatArray
from dpqr.kernel.errors import DocumentError, GoalMissed, UsageFault
from dpqr.kernel.events import Composition
from dpqr.kernel.values import replace
from dpqr.ledger.budgets import configured_ledger
from dpqr.ledger.location import NO_ANCHOR
from dpqr.ledger.record import Record, is_export, read_export
from dpqr.published.repeat import plan_from_record, repeat_release, repeated_session, replay_loop, write_repeated
from dpqr.releases.answers.answered import Earlier
from dpqr.releases.answers.errors import FACTOR
from dpqr.releases.files.answer_tables import handed_over
from dpqr.releases.files.atomic import RECORD, read_record
from dpqr.releases.files.read_release import ReleaseFiles, read_release, read_table
from dpqr.releases.files.release_files import ERROR
from dpqr.releases.loop import Outcome
from dpqr.releases.questions import Questions
from dpqr.releases.record.parts import parsed_events
from dpqr.releases.record.plan_document import seal_document
from dpqr.releases.record.release_document import ReleaseRecord, parsed_record
from dpqr.releases.result import FinishedRun
from dpqr.releases.sentences import SESSION
from dpqr.strategies.plan import Plan
from dpqr.tables.engines.address import is_address
from dpqr.workload.figures import UNFULFILLED

Made = TypeVar("Made")
PROOFS, PROVED = ("versions", "hashes", "sha256"), (0, 4)
"""Keys that came together, and the first version that has them, which can be verified whole."""
_TEXT_OR_BLANK = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')


class VerifyRequest(Struct, frozen=True, kw_only=True):
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


UNFULFILLED_NOTED = (0, 17)
"""The version from which on plans note that missing values fulfil no comparison of a proportion."""
CUT_AT_ZERO = (0, 12)
"""The version of dpqr from which on intervals begin at 0 where no true answer is negative."""


def is_since(version: object, first: tuple[int, int]) -> bool:
    """Whether a record's version of dpqr is `first` or later; one that is not read as numbers is no older one."""
    numbers = str(version).split(".")
    return not all(each.isascii() and each.isdecimal() for each in numbers) or tuple(map(int, numbers)) >= first


class NotChecked(Exception):
    """Why a check could not be made. It found nothing, for or against."""


class NotRepeated(NotChecked):
    """Why a figure cannot be repeated bit for bit. accepted: the state of its check where a tolerance is accepted: "ok"
    of figures within it, "not checked" of rows that are drawn from such figures; None of what no tolerance accepts."""

    def __init__(self, reason: str, *, accepted: Literal["ok", "not checked"] | None = None) -> None:
        super().__init__(reason)
        self.accepted = accepted


class ReleaseEvidence:
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
        require_same_text(found, self.path / RECORD)
        if any(name in found for name in PROOFS) and seal_document(found) != found:
            raise GoalMissed(f"{self.path / RECORD}: was changed after its sha256 was written into it; restore it")
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
            made = plan_from_record(self.planned_from, self.path)
        except (DocumentError, UsageFault) as fault:
            raise GoalMissed(f"the request in the record cannot be planned: {fault}") from None
        notes, before = self.record.plan.notes, not is_since(self.record.version, UNFULFILLED_NOTED)
        if lacking := [
            note for note in made.notes if note not in notes and not (before and note.endswith(UNFULFILLED))
        ]:
            raise GoalMissed(f"the record leaves out what its plan notes: {lacking[0]}")
        return replace(made, notes=notes)

    @cached_property
    def repeated(self) -> FinishedRun:
        """The release that the recorded draws give. GoalMissed where they give none."""
        questions = self.questions
        if questions is None:
            again = self._drawn_again(lambda: repeat_release(self.record, self.plan))
            again = replace(again, earlier=self._earlier)
        else:
            events = self.events(self.document["events"])
            again = self._drawn_again(lambda: repeated_session(self.record, questions, events))
        if is_since(self.record.version, CUT_AT_ZERO):
            return again
        return replace(again, answers=tuple(replace(each, from_zero=False) for each in again.answers))

    @cached_property
    def outcome(self) -> Outcome:
        """Where the loop ended with the recorded draws. GoalMissed where they are not those of the plan."""
        return self._drawn_again(lambda: replay_loop(self.record, self.plan))

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
        write_repeated(self.repeated, self.record, directory)
        return directory, read_record(directory)

    @cached_property
    def answers(self) -> Sameness:
        """The answers that were released beside those that were made again. GoalMissed where they differ."""
        name, planned = self.record.files[0], {block.name: block.deviation for block in self.plan.forecast}
        least = min(planned.values(), default=0.0)
        noise = [np.full(block.rows, planned.get(block.name, least)) for block in self.plan.problem.workload.blocks]
        if self.record.person_tables:
            noise += [np.full(table.rows, table.deviation) for table in self.plan.person_forecast]
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


def require_same_text(document: Any, path: Path) -> None:
    """GoalMissed unless a file holds the JSON text that dpqr writes for the document, blanks between its parts aside.

    A text may differ and mean the same: 1e-5 and 1E-5, a letter and its escape, a key that is stated twice.
    """
    text = _TEXT_OR_BLANK.sub(r"\1", path.read_text(encoding="utf-8"))
    if text != json.dumps(document, ensure_ascii=False, separators=(",", ":")):
        raise GoalMissed(f"{path}: is not written as dpqr writes it")


# Sameness: figures that were computed again, compared with those of a release.
#
# On the versions and the processor that made a release they are equal bit for bit. Elsewhere sums may be added up in
# another order, and figures differ:
#
# | figure                      | tolerance     | why |
# |-----------------------------|---------------|-----|
# | computed in closed form     | ROUNDING      | 2^33 units of double precision; a millionth of a record |
# | estimate                    | FIT deviations of the block's planned noise, or FIT errors: a fit stops where it is |
# |                             | exact for answers 0.2 deviations off the noisy ones; two ends lie up to twice that |
# |                             | apart (`MaximumEntropyFit.tolerance`) |
# | error, and what it rests on | a factor SPREAD; or too large by SPREAD deviations of that noise, too small by FIT: |
# |                             | it is the root mean square of a few refits, around rows of which each follows from |
# |                             | those before. Whoever forges a record would gain by a small one alone |
# | shares of averaged models   | SHARE, in the sentence that names them |
# | end of an interval          | what these allow together, and 1 record where its ends are rounded to whole ones |

ROUNDING = 1e-6
"""Largest difference of two figures: of their size, where that is above 1."""
FIT = 0.5
"""Of the deviation of planned noise, or of an answer's error where that is larger."""
SPREAD = 3.0
SHARE = 0.05
"""Of a model's share of an average."""
_AVERAGE, _SHARES = "estimates are the weighted mean", re.compile(r"(?<= )([01]\.\d\d)(?=[,;.])")
"""How the sentence that names the models begins, and the shares in it."""
ROUGH = ("$.error_bars.",)
"""Where a record holds what errors rest on."""


class Sameness(Struct, frozen=True, kw_only=True):
    """compared: values, or rows. near: those that are equal within the tolerance alone.

    >>> Sameness(compared=1231).words("answers"), Sameness(compared=10, near=2).words("answers")
    ('1,231 answers equal bit for bit', '8 of 10 answers equal bit for bit, the others within the tolerance')
    """

    compared: int
    near: int = 0

    def words(self, noun: str) -> str:
        """What was found."""
        if not self.near:
            return f"{self.compared:,} {noun} equal bit for bit"
        equal = self.compared - self.near
        return f"{equal:,} of {self.compared:,} {noun} equal bit for bit, the others within the tolerance"


def same_documents(kept: Any, made: Any, path: str = "$") -> Sameness:
    """Compare two JSON values. GoalMissed names the first place where they differ."""
    found = list(_differences(kept, made, path))
    return Sameness(compared=len(found), near=sum(found))


def same_answers(kept: Path, made: Path, noise: FloatArray) -> Sameness:
    """Compare two files of answers, row by row. noise: planned deviation of each row's block, shape (rows,).

    Raises: GoalMissed, with the first column and row that differ.
    """
    old, new = _both(kept, made)
    allowed, near = _allowed(old, new, noise), np.zeros(len(old), dtype=bool)
    for name in old.column_names:
        equal = _equal(old[name], new[name])
        close = equal if name not in allowed else equal | (_apart(old, new, name) <= allowed[name])
        if not close.all():
            row = int(np.argmin(close))
            stands, given = old[name][row].as_py(), new[name][row].as_py()
            raise GoalMissed(f"{kept.name}, row {row + 1}, {name}: {stands!r} stands there, the draws give {given!r}")
        near |= ~equal
    return Sameness(compared=len(old), near=int(near.sum()))


def same_rows(kept: Path, made: Path) -> Sameness:
    """Compare two files of synthetic data, of the same columns and length. near: rows that differ."""
    old, new = _both(kept, made)
    other = np.zeros(len(old), dtype=bool)
    for name in old.column_names:
        other |= ~_equal(old[name], new[name])
    return Sameness(compared=len(old), near=int(other.sum()))


def _both(kept: Path, made: Path) -> tuple[pa.Table, pa.Table]:
    old, new = read_table(kept), read_table(made)
    if old.schema.names != new.schema.names or len(old) != len(new):
        raise GoalMissed(f"{kept.name} holds {_size(old)}, and the draws give {_size(new)}")
    return old, new


def _size(table: pa.Table) -> str:
    return f"{len(table):,} rows of {', '.join(table.schema.names)}"


def _allowed(old: pa.Table, new: pa.Table, noise: FloatArray) -> dict[str, FloatArray]:
    """The largest difference of each figure, shape (rows,)."""
    figures = {name: np.abs(_floats(new, name)) for name in ("estimate", "measured", "noise_deviation", ERROR)}
    rounding = {name: ROUNDING * np.fmax(1, figures[name]) for name in figures}
    fit = np.fmax(FIT * np.fmax(figures[ERROR], noise), rounding["estimate"])
    stated = np.abs(_floats(old, ERROR))
    fits = np.where(stated < figures[ERROR], FIT, SPREAD) * noise
    spread = np.fmax((SPREAD - 1) * np.fmin(figures[ERROR], stated), fits)
    ends = _apart(old, new, "estimate") + FACTOR * _apart(old, new, ERROR)
    whole = np.where(_apart(old, new, "estimate") > 0, 1.0, 0.0)
    end = np.where(np.isnan(ends), 0, ends) + 2 * np.fmax(rounding["estimate"], rounding["measured"]) + whole
    return {**rounding, "estimate": fit, ERROR: spread, "lower": end, "upper": end}


def _floats(table: pa.Table, name: str) -> FloatArray:
    return np.asarray(table[name].cast(pa.float64()).to_numpy(), dtype=np.float64)


def _apart(old: pa.Table, new: pa.Table, name: str) -> FloatArray:
    return np.abs(_floats(old, name) - _floats(new, name))


def _equal(old: pa.ChunkedArray, new: pa.ChunkedArray) -> AnyArray:
    """Which values are the same, shape (rows,)."""
    if pa.types.is_floating(old.type) and pa.types.is_floating(new.type):
        one, other = (np.asarray(each.to_numpy(), dtype=np.float64) for each in (old, new))
        return np.asarray((one == other) | (np.isnan(one) & np.isnan(other)))
    return np.array([one == other for one, other in zip(old.to_pylist(), new.to_pylist(), strict=True)], dtype=bool)


def _differences(kept: Any, made: Any, path: str) -> Iterator[bool]:
    """For each plain value whether it differs within the tolerance."""
    if isinstance(kept, dict) and isinstance(made, dict):
        for key in dict.fromkeys((*kept, *made)):
            yield from _differences(kept.get(key, _Nothing), made.get(key, _Nothing), f"{path}.{key}")
    elif isinstance(kept, list) and isinstance(made, list) and len(kept) == len(made):
        for place, (one, other) in enumerate(zip(kept, made, strict=True)):
            yield from _differences(one, other, f"{path}[{place}]")
    elif type(kept) is type(made) and kept == made:
        yield False
    elif _close(kept, made, rough=path.startswith(ROUGH)):
        yield True
    else:
        raise GoalMissed(f"{path}: {_shown(kept)} stands there, and the draws give {_shown(made)}")


def _close(kept: Any, made: Any, *, rough: bool) -> bool:
    if isinstance(kept, str) and isinstance(made, str) and _AVERAGE in kept.lower():
        old, new = (_SHARES.split(text) for text in (kept, made))
        apart = (abs(float(one) - float(other)) for one, other in zip(old[1::2], new[1::2], strict=False))
        return old[::2] == new[::2] and max(apart, default=1.0) <= SHARE
    if not (isinstance(kept, float) and isinstance(made, float)):
        return False
    within = abs(kept - made) <= ROUNDING * max(1, abs(made))
    return within or (rough and max(kept, made) <= SPREAD * min(kept, made))


class _Nothing:
    """Where one of the two has no such key."""


def _shown(value: Any) -> str:
    text = "nothing" if value is _Nothing else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
