"""The transcript file: JSON lines beside the output, each on the disk before anything depends on it.

One job holds the file at a time, and empty files of killed jobs are removed. The file is public: its draws are
released. What makes it trustworthy is not the file but the ledger, which holds the running hash of its lines.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, final

from msgspec import UNSET, Struct, field

from dpqr.kernel.errors import DataError, GoalMissed, LedgerError, UsageFault
from dpqr.kernel.events import PrivacyEvent
from dpqr.kernel.files import PIECE, fill, sync_directory, write_whole
from dpqr.kernel.noise.source import SystemNoise
from dpqr.ledger.chain import BEGINNING, claim_of, seal
from dpqr.ledger.codec import JSON, canonical, encode_events
from dpqr.ledger.ledger import Reservation, Run
from dpqr.releases.draws import Blocks, Plain, RecordedDraw
from dpqr.releases.fingerprints import blocks_digest
from dpqr.releases.record.release_document import ReleaseRecord, RoundPart
from dpqr.strategies.schedules.split import DROPPED
from dpqr.tables.engines.known import local_files
from dpqr.tables.source import TableSource

if TYPE_CHECKING:
    from dpqr.ledger.chained_ledger import ChainedLedger

try:
    import fcntl
except ImportError:  # such systems are left to the ledger, which lets one job at most make each draw
    fcntl = None  # type: ignore[assignment]

TRIES = 100
"""How often a file is opened anew that another job was about to remove."""

OLD = 60.0
"""Seconds after which an empty file is no job's any more that is between opening and holding it."""

REHEARSAL_BYTES = 256
"""Bytes that a rehearsed line takes."""

LARGEST = 2**30
"""Bytes of a transcript that is read."""


def claim_file(path: Path) -> int:
    """The file, opened, new where there is none, and held against all others until it is closed.

    UsageFault where another job holds it, or where no file can be. A killed job holds nothing any more; a file that
    its last holder removed meanwhile is made anew.
    """
    for _ in range(TRIES):
        descriptor = _opened(path)
        locked = _locked(descriptor)
        if locked and _is_at(descriptor, path):
            return descriptor
        os.close(descriptor)
        if not locked:
            break
    raise UsageFault(f"another job is releasing to the same --out (it holds {path}); wait, or choose another --out")


def tidy(path: Path) -> None:
    """Remove old empty files like `path` that killed jobs have left in its directory; one that is held is in use."""
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(path.parent) as listed:
        for entry in listed:
            if entry.name.startswith(".") and entry.name.endswith(path.suffix) and entry.name != path.name:
                _remove_if_empty(entry)


def _opened(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags, 0o600)
        sync_directory(path.parent)
    except OSError as error:
        raise UsageFault(f"the transcript {path} cannot be opened ({error.strerror}); choose another --out") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UsageFault(f"the transcript {path} is no regular file; move it away, or choose another --out")
    return descriptor


def _locked(descriptor: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _remove_if_empty(entry: os.DirEntry[str]) -> None:
    status = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode) or status.st_size or time.time() - status.st_mtime < OLD:
        return
    descriptor = os.open(entry.path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        if _locked(descriptor) and _is_at(descriptor, Path(entry.path)) and not os.fstat(descriptor).st_size:
            os.unlink(entry.path)
    finally:
        os.close(descriptor)


class TranscriptFile(Struct, kw_only=True):
    """Whole lines only; what follows the last of them was cut off by a crash and is cut away with the next change.

    lines: without their ends. Raises: UsageFault where the place is none; LedgerError for what is no transcript.
    """

    path: Path
    _descriptor: int
    lines: list[str] = field(default_factory=list)
    _digests: list[str] = field(default_factory=list)
    _size: int = 0
    _room: int = 0

    def __post_init__(self) -> None:
        given, self.lines = self.lines, []
        for line in given:
            self._add(line)

    @property
    def digest(self) -> str:
        """Running hash of all lines."""
        return self.digest_of(len(self.lines))

    def digest_of(self, count: int) -> str:
        """Running hash of the first `count` lines; the same rule as the ledger's chain."""
        return self._digests[count - 1] if count else BEGINNING

    def document(self, number: int) -> JSON:
        """One line as JSON."""
        try:
            found = json.loads(self.lines[number])
        except (ValueError, RecursionError, IndexError):
            found = None
        if not isinstance(found, dict):
            raise LedgerError(f"the transcript {self.path} is damaged or was edited; nothing can be continued from it")
        return found

    def append(self, document: Any) -> None:
        """Add a line; on the disk when this returns."""
        line = canonical(document)
        with self._faults("written"):
            if _length(line) > self._room:
                self._truncate(self._size)
            self._write(f"{line}\n".encode())
        self._room = max(self._room - _length(line), 0)
        self._add(line)

    def set_aside(self, size: int) -> None:
        """Fill the file where the next lines go, so that lines of `size` bytes together need no space. A reader takes
        that for a line that was cut off."""
        with self._faults("written"):
            self._truncate(self._size)
            fill(self._descriptor, size)
        self._room = size

    def rehearse(self) -> None:
        """Write and sync as `append` does, and add nothing."""
        with self._faults("written"):
            self._write(PIECE[: min(self._room, REHEARSAL_BYTES)])

    def trim(self) -> None:
        """Give back what was set aside and not used."""
        with self._faults("written"):
            self._truncate(self._size)
        self._room = 0

    def cut(self, count: int) -> None:
        """Keep the first `count` lines."""
        kept = sum(_length(line) for line in self.lines[:count])
        with self._faults("written"):
            self._truncate(kept)
            os.fsync(self._descriptor)
        del self.lines[count:], self._digests[count:]
        self._size, self._room = kept, 0

    def remove(self) -> None:
        """The run needs it no more."""
        with self._faults("removed"):
            self.path.unlink(missing_ok=True)

    def _add(self, line: str) -> None:
        self._digests.append(seal(self.digest, line))
        self.lines.append(line)
        self._size += _length(line)

    def _write(self, content: bytes) -> None:
        os.lseek(self._descriptor, self._size, os.SEEK_SET)
        write_whole(self._descriptor, content)
        os.fsync(self._descriptor)

    def _truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)
        os.lseek(self._descriptor, size, os.SEEK_SET)

    @contextmanager
    def _faults(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UsageFault(f"the transcript {self.path} cannot be {what} ({error.strerror}); fix that") from None


@contextmanager
def open_transcript(path: Path) -> Iterator[TranscriptFile]:
    """The transcript at `path`, new and empty where there is none; nobody else holds it meanwhile.

    A file that is still empty at the end is removed: nothing was begun. Empty ones of killed jobs, beside it, too.
    """
    tidy(path)
    descriptor = claim_file(path)
    try:
        file = TranscriptFile(path=path, _descriptor=descriptor, lines=_read(descriptor, path))
        try:
            yield file
        finally:
            if not file.lines:
                file.remove()
    finally:
        os.close(descriptor)


def _read(descriptor: int, path: Path) -> list[str]:
    if os.fstat(descriptor).st_size > LARGEST:
        raise LedgerError(f"the transcript {path} is larger than any that dpqr writes; it was edited")
    with os.fdopen(os.dup(descriptor), "rb") as opened:
        whole, _, _ = opened.read().rpartition(b"\n")
    try:
        return whole.decode("utf-8").split("\n") if whole else []
    except UnicodeDecodeError:
        raise LedgerError(f"the transcript {path} is damaged or was edited") from None


def _length(line: str) -> int:
    return len(line.encode()) + 1


# LedgerJournal: draws in a transcript file whose running hash the ledger holds.
#
# A run's job draws a key, which the ledger takes with the reservation. Behind the ledger's lock, when nothing but the
# commit is left, the file claims on the disk what is paid under that key. So what is refused leaves no claim, and a
# kill or a broken connection at the commit leaves one that finds what was paid, or nothing that was. The claim is a
# keyed hash that tells nothing of the key: nobody can forge one of another run without the ledger's own keys, and a
# copy of one finds the same run, whose draws are made once.
#
# The order for each draw: the ledger learns that it begins, and on which transcript; it is made; its value goes to
# the file and to the disk, under a seal that takes the reservation's key; the ledger learns the new hash. A crash
# between the last two loses nothing: the line whose seal fits is that of the begun draw. A crash before them loses the
# draw: it is paid, and its line says that it is lost. It is not made again, for nobody knows whether it was seen; and
# noise that the ledger's key would give again would be none for whoever reads the ledger or a copy of it. So the file
# cannot be shortened, edited, or exchanged for an older copy, and no draw can be made until it pleases.

FORMAT, NAMED = "transcript/2", "transcript/1"
"""The header holds the claim, and the line of the table names the entry. By dpqr 0.14 the header names the entry."""
HEADER, TABLE = 0, 1
BEFORE = 2
"""Lines before the first draw: what the run is, and the mark of its table."""
SEALED = "seal"
_DRAWN = b"dpqr: a draw"

TUNED_ELSEWHERE = (
    "strategies are tuned in floating point, which may end elsewhere with another processor or library; "
    "continue the release where it was begun (it stays paid, and waits)"
)
"""Said wherever a killed release would go on otherwise than it began."""


class LedgerJournal(Struct, kw_only=True):
    """`Journal` of one run. key: of its reservation, which seals its lines; number: draws that were asked for so far;
    known: draws of the past; lost: whether any of them was."""

    file: TranscriptFile
    ledger: ChainedLedger
    paid: Reservation
    key: bytes
    known: int = 0
    number: int = 0
    lost: bool = False
    _event: Any = None
    _of: str = ""

    @property
    def begun(self) -> bool:
        """Whether any draw was begun, as far as this job knows."""
        return self.known > 0 or self._event is not None

    def same_table(self, mark: str | None) -> bool:
        """Whether the run was begun with the table of this mark; one that has marked none is begun with it now.

        **Privacy.** The file holds the mark under a random salt, anew whenever a table is marked. Until the first draw
        the ledger knows no hash of the file, so its line may be taken out and another table be marked: unsalted, two
        such lines would be equal for equal tables, and any number of guesses of a table could be tried for nothing.
        """
        if len(self.file.lines) <= TABLE:
            salt = SystemNoise().words(4).tobytes().hex()
            named = {"entry": self.paid.number, "receipt": self.paid.receipt}
            self.file.append({"table": _salted(mark, salt), "salt": salt, **named})
            return True
        marked = self.file.document(TABLE)
        found, made = marked.get("table"), _salted(mark, str(marked["salt"]) if "salt" in marked else None)
        return isinstance(found, str) and made is not None and hmac.compare_digest(found, made)

    def past(self, event: PrivacyEvent, blocks: Blocks) -> RecordedDraw | None:
        if self.number >= self.known:
            return None
        drawn = self.file.document(BEFORE + self.number)
        if drawn.get("draw") != self.number:
            raise LedgerError(f"the transcript {self.file.path} is damaged: draw {self.number} stands elsewhere")
        if drawn.get("event") != _plain(event):
            raise _elsewhere(f"draw {self.number} was another one than would be made here")
        if drawn.get("value") is not None and drawn.get("of") != blocks_digest(blocks):
            raise _elsewhere(f"draw {self.number} measured other sums of cells than would be measured here")
        self.number += 1
        self.lost |= drawn.get("value") is None
        return RecordedDraw(value=drawn.get("value"))

    def begin(self, event: PrivacyEvent, blocks: Blocks) -> None:
        self._event, self._of = _plain(event), blocks_digest(blocks)
        self.ledger.begin(self.paid, event, number=self.number, transcript=self.file.digest)

    def record(self, value: Plain) -> None:
        self._record({"draw": self.number, "event": self._event, "of": self._of, "value": value})
        self.number += 1

    def lose(self, event: PrivacyEvent) -> None:
        """The draw after the known ones was begun and lost."""
        lost, self.number = {"draw": self.known, "event": _plain(event), "value": None}, self.known
        self._record(lost)
        self.number, self.known = 0, self.known + 1

    def find(self, event: PrivacyEvent) -> bool:
        """Whether the line after the known ones is the one that the begun draw has written; it is known then.

        Privacy:
            The draw was made once, and its line is taken as it is or not at all. Nobody without the key can write one.
        """
        place = BEFORE + self.known
        try:
            line = self.file.document(place)
            stated = str(line.pop(SEALED, "")).encode()
            written = hmac.compare_digest(stated, self._seal(line, place).encode())
        except (LedgerError, ValueError, RecursionError):  # no JSON, or what no job has written
            return False
        if not written or (line.get("draw"), line.get("event")) != (self.known, _plain(event)):
            return False
        self.file.cut(place + 1)
        self.ledger.record(self.paid, number=self.known, transcript=self.file.digest)
        self.known += 1
        return True

    def _record(self, line: JSON) -> None:
        self.file.append({**line, SEALED: self._seal(line, len(self.file.lines))})
        self.ledger.record(self.paid, number=self.number, transcript=self.file.digest)

    def _seal(self, line: JSON, place: int) -> str:
        """Of a line after so many others."""
        text = b"\n".join((_DRAWN, self.file.digest_of(place).encode(), canonical(line).encode()))
        return hmac.new(self.key, text, hashlib.sha256).hexdigest()


def _elsewhere(found: str) -> UsageFault:
    return UsageFault(f"--resume: {found}\n{TUNED_ELSEWHERE}")


def _salted(mark: str | None, salt: str | None) -> str | None:
    """A table's mark as the file holds it. salt: None: of a run that dpqr 0.11 began. Returns: None without a mark."""
    return mark if mark is None or salt is None else hmac.new(mark.encode(), salt.encode(), hashlib.sha256).hexdigest()


def begin_journal(
    file: TranscriptFile,
    ledger: ChainedLedger,
    dataset: str,
    pay: Callable[[bytes, Callable[[], object]], Reservation],
) -> LedgerJournal:
    """A new run's journal; `pay` reserves under a key, and has the file claim it just before it does.

    Raises: those of `pay`. Where a claim is left, the answer to a payment may have been lost.
    """
    from dpqr.ledger.chained_ledger import new_key

    key = new_key()
    header = {"dpqr": FORMAT, "ledger": ledger.identity, "dataset": dataset, "claim": claim_of(key)}
    paid = pay(key, partial(file.append, header))
    return LedgerJournal(file=file, ledger=ledger, paid=paid, key=key)


def run_of(file: TranscriptFile, ledger: ChainedLedger) -> Run | None:
    """The run that the file is the transcript of, as the ledger knows it; None: it is settled, or was never paid.

    LedgerError where the ledger knows no such run.
    """
    stated = (file.document(TABLE) if len(file.lines) > TABLE else {}) | file.document(HEADER)
    dataset, number, receipt, claim = (stated.get(name) for name in ("dataset", "entry", "receipt", "claim"))
    if stated.get("dpqr") in (FORMAT, NAMED) and isinstance(dataset, str):
        if isinstance(receipt, str):
            return ledger.run(dataset, number if isinstance(number, int) else -1, receipt)
        if isinstance(claim, str):
            return ledger.claimed_run(dataset, claim, str(stated.get("ledger")))
    raise LedgerError(f"{file.path} is no transcript of dpqr; move it away, or choose another --out")


def continue_journal(file: TranscriptFile, ledger: ChainedLedger, run: Run) -> LedgerJournal:
    """The journal of a run that died. LedgerError unless the file is what the ledger knows of.

    A draw that was begun and is not known to be recorded is lost, unless its line lies there under its seal.
    """
    journal = LedgerJournal(file=file, ledger=ledger, paid=run.reservation, key=ledger.key(run.reservation))
    if not run.transcript:
        file.cut(BEFORE)
        return journal
    lines = BEFORE + run.recorded
    if len(file.lines) < lines or file.digest_of(lines) != run.transcript:
        raise LedgerError(
            f"the transcript {file.path} was shortened, edited or copied: the ledger knows another one of "
            f"{run.recorded} draws; restore it, or remove it to give the run up, which stays paid"
        )
    journal.known = run.recorded
    if run.lost is not None and journal.find(run.lost):
        return journal
    file.cut(lines)
    if run.lost is not None:
        journal.lose(run.lost)
    return journal


def _plain(event: PrivacyEvent) -> JSON:
    return encode_events(((event, 1),))[0]


# RecordJournal: the draws of a finished release, taken from its record, for a run that repeats it without a table.


@final
class RecordJournal:
    """`Journal` in which every draw is of the past: first the count of what was left out and the tables of persons,
    then the rounds, then the errors of the answers, then what was paid and lost.

    Raises: GoalMissed where the run asks for another draw than the record holds.
    """

    def __init__(
        self,
        rounds: Sequence[Plain | None],
        after: Sequence[Plain | None] = (),
        dropped: Plain | None = None,
        persons: list[list[int]] | None = None,
    ) -> None:
        self._dropped, self._persons = dropped, persons
        self._number, self._rounds, self._left = 0, len(rounds), iter([*rounds, *after])

    @classmethod
    def of(cls, record: ReleaseRecord) -> RecordJournal:
        """The draws of a release."""
        rounds = [value for finished in record.transcript for value in _values(finished)]
        after: list[Plain | None] = [[list(drawn.values)] for drawn in record.errors.draws] if record.errors else []
        lost = sum(event.get("count", 0) for event in record.events) - len(rounds) - len(after)
        dropped: Plain | None = [[record.dropped.estimate]] if record.dropped else None
        tables = record.person_tables
        persons = [list(table.values) for table in tables.measured] if tables else None
        return cls(rounds, [*after, *[None] * lost], dropped, persons)

    def past(self, event: PrivacyEvent, blocks: Blocks) -> RecordedDraw:
        if blocks == (DROPPED,):
            return RecordedDraw(value=self._dropped)
        if blocks and blocks[0].most_cells is not None:
            if self._persons is not None and [*map(len, self._persons)] != [block.rows for block in blocks]:
                raise GoalMissed("the record's tables of persons are not those of the plan")
            return RecordedDraw(value=self._persons)
        value = self._next()
        in_loop = self._number <= self._rounds
        rows = [len(each) for each in value] if isinstance(value, list | tuple) else []  # none of a choice
        if in_loop and value is not None and rows != [block.rows for block in blocks]:
            raise GoalMissed(f"draw {self._number} of the record is not what the plan draws there")
        return RecordedDraw(value=value)

    def _next(self) -> Plain | None:
        try:
            value = next(self._left)
        except StopIteration:
            raise GoalMissed(f"the record ends after draw {self._number}, and the plan goes on") from None
        self._number += 1
        return value

    def finish(self) -> None:
        """GoalMissed where the record holds draws that the plan does not make."""
        if any(value is not None for value in self._left):
            raise GoalMissed(f"the plan ends after draw {self._number}, and the record goes on")

    def begin(self, event: PrivacyEvent, blocks: Blocks) -> NoReturn:
        """Nothing is drawn: `past` knows every draw, or refuses it."""
        raise AssertionError("a repeated run draws nothing")

    def record(self, value: Plain) -> NoReturn:
        """Nothing is drawn."""
        raise AssertionError("a repeated run draws nothing")


def _values(finished: RoundPart) -> Iterator[Plain | None]:
    """The draws of a round: a choice where two were paid, and a measurement; None where a crash has lost it. Or the
    one sum of errors; nothing where nothing was paid."""
    if finished.error_sum is not UNSET or not finished.charges:
        yield from () if finished.error_sum is UNSET else (finished.error_sum,)
        return
    if len(finished.charges) > 1:
        yield finished.choice
    yield None if finished.measured is None else [list(block.values) for block in finished.measured]


# Table mark: by what a run that is continued knows that the table is the one it was begun with.

CHUNK = 2**20
"""Bytes of a table that are read at a time."""


def table_mark(source: TableSource, key: bytes) -> str | None:
    """HMAC-SHA256 of the table's files, or of its content in memory, and of how they are read, under a key that never
    leaves the ledger.

    Of an engine's files the names count too, for parts of a path may be columns there. None for standard input, streams
    and what no local files hold, which cannot be read twice. Raises: DataError.

    **Privacy.** A plain digest would let anybody who guesses the table in full test the guess. Under a random key
    that nobody else has, the mark is indistinguishable from random bits, whatever the table; no two reservations
    share a key, and the marks of one are salted (`LedgerJournal.same_table`), so two marks do not tell whether the
    table has changed between them; and the key is erased when the run is settled. What can be learned from a continued
    run is one bit, whether two tables are the same. The release is a function of one table, by the curator's
    declaration, and on one table the bit is constant: it says nothing of neighbours. Where the declaration is false,
    the run is refused, and closed with all that it has reserved: so there is one such bit at most for each reservation,
    seen by nobody but the holder of both tables and of the ledger.
    """
    if not source.repeatable:
        return None
    stated = [] if source.encoding is None else [source.encoding]
    mark = hmac.new(key, canonical([source.delimiter, source.count_column, *stated]).encode(), hashlib.sha256)
    try:
        for file in source.files():
            mark.update(file.frame.digest() if file.frame is not None else _file_digest(file.path))
        for path in (local_files(source.engine) if source.engine else None) or ():
            mark.update(hashlib.sha256(os.fsencode(path)).digest() + _file_digest(path))
    except OSError:
        raise DataError("the table cannot be read; check its files and their permissions") from None
    return mark.hexdigest()


def _file_digest(path: str) -> bytes:
    found = hashlib.sha256()
    with open(path, "rb") as opened:
        while chunk := opened.read(CHUNK):
            found.update(chunk)
    return found.digest()
