"""The hash chain of a ledger's entries, and the anchor that finds a rollback of it.

Each entry is sealed by the SHA-256 of its text and of the seal before it. The chain alone cannot show that its end is
missing, or that another chain was put in its place. The anchor is a small file outside the ledger that holds the number
of entries and the seal of the last one. A ledger agrees with its anchor if its chain, cut at that number, ends in that
seal. So an anchor may lag: a crash between the commit and the anchor's renewal leaves it one entry behind. An anchor
that is ahead, or off the chain, means rollback, truncation, an edit or a swap.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from dpqr.kernel.errors import LedgerError, UsageFault
from dpqr.kernel.files import sync_directory
from dpqr.ledger.codec import canonical, decode_entry
from dpqr.ledger.refusals import has_moved

BEGINNING = ""
_CLAIM = b"dpqr: a claim"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One stored entry: its canonical text, and the seal of the chain up to it (64 hexadecimal digits).

    job: the role of a database that has appended it, where that is not the ledger's owner; it is in no seal.
    """

    text: str
    seal: str
    job: str = field(default="", compare=False)


class ChainSegment(Struct, frozen=True, kw_only=True):
    """The chain from entry `first` on, in order; `before` is the seal that its first link goes on from."""

    first: int = 0
    before: str = BEGINNING
    links: tuple[Link, ...] = ()

    @property
    def length(self) -> int:
        """Entries of the whole chain, those before the segment too."""
        return self.first + len(self.links)

    @property
    def rejected(self) -> frozenset[int]:
        """Numbers of the entries that the ledger's owner has rejected, by entries of the segment."""
        found: set[int] = set()
        for link in self.links:
            if '"entry":"reject"' in link.text and not link.job:
                with suppress(LedgerError):  # a bad entry that holds these words; no rejection
                    found.update(decode_entry(link.text, link.seal).rejected)
        return frozenset(found)

    @property
    def of_jobs(self) -> frozenset[int]:
        """Numbers of the entries that a role of jobs has appended."""
        return frozenset(number for number, link in enumerate(self.links, start=self.first) if link.job)

    def after(self, entries: int) -> ChainSegment:
        """What follows the first so many entries, from `first` on."""
        return ChainSegment(first=entries, before=self.seal_after(entries), links=self.links[entries - self.first :])

    def seal_after(self, entries: int) -> str:
        """The chain's seal after its first so many entries, from `first` on."""
        return self.links[entries - self.first - 1].seal if entries > self.first else self.before


def seal(previous: str, text: str) -> str:
    """The seal of an entry after the one sealed by `previous` (BEGINNING for the first)."""
    return digest(f"{previous}\n{text}")


def digest(text: str) -> str:
    """SHA-256, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def claim_of(key: bytes) -> str:
    """What a transcript states before its run is paid under this key, in hexadecimal digits; it tells nothing of it."""
    return hmac.new(key, _CLAIM, hashlib.sha256).hexdigest()


def chain_segment(rows: Sequence[tuple[object, ...]], first: int = 0, before: str = BEGINNING) -> ChainSegment:
    """Rows (number, text, seal), as they are stored, in the order of their numbers, from entry `first` on.

    A row may have a fourth part, the role that has appended it.

    LedgerError where one is missing or was changed. Only an anchor finds rows that are missing at the end.
    """
    found: list[Link] = []
    previous = before
    for expected, (number, text, stored, *role) in enumerate(rows, start=first):
        if number != expected:
            raise LedgerError(f"the ledger is damaged: entry {expected} is missing; restore it from a backup")
        if not isinstance(text, str) or not isinstance(stored, str) or stored != seal(previous, text):
            raise LedgerError(
                f"the ledger was edited or is damaged: entry {number} does not match its seal; restore it from a backup"
            )
        previous = stored
        found.append(Link(text=text, seal=stored, job="".join(map(str, role))))
    return ChainSegment(first=first, before=before, links=tuple(found))


ANCHOR_FORMAT = "dpqr anchor/1"
LONGEST_ANCHOR = 4096
"""Bytes of an anchor that are read."""


class Mark(Struct, frozen=True, kw_only=True):
    """How far a ledger had come: its number of entries, and the seal of the last one."""

    entries: int
    seal: str

    @classmethod
    def of(cls, chain: ChainSegment) -> Mark:
        return cls(entries=chain.length, seal=chain.seal_after(chain.length))


class Anchor(Struct, frozen=True, kw_only=True):
    """The file that holds one ledger's mark.

    It is renewed in two steps: `draft` writes the new mark beside it, before the ledger commits, so that a full disk
    is met while nothing is spent; `publish` renames it, after the commit. Where the commit has given back the ledger's
    lock (PostgreSQL), the next job may publish first, and the anchor then lags by an entry until it is renewed.
    Raises: LedgerError; UsageFault for a path that is no place for a file.
    """

    path: Path

    def read(self) -> Mark | None:
        """The mark, or None where there is no anchor yet."""
        try:
            if not stat.S_ISREG(os.lstat(self.path).st_mode):
                raise UsageFault(f"--anchor {self.path}: is no regular file; give the path of a file")
            flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            with os.fdopen(os.open(self.path, flags), "rb") as opened:
                text = opened.read(LONGEST_ANCHOR + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageFault(f"--anchor {self.path}: cannot be read ({error.strerror}); fix its permissions") from None
        try:
            document = json.loads(text)
            mark = Mark(entries=document["entries"], seal=document["seal"])
            if text.decode() != canonical({"dpqr": ANCHOR_FORMAT, "entries": mark.entries, "seal": mark.seal}) + "\n":
                raise ValueError("not an anchor")
            if isinstance(mark.entries, bool) or not isinstance(mark.entries, int) or mark.entries < 1:
                raise ValueError("not a count")
        except (ValueError, KeyError, TypeError, RecursionError):
            raise LedgerError(f"the anchor {self.path} is damaged or is no anchor of dpqr; restore it") from None
        return mark

    def check(self, chain: ChainSegment, mark: Mark | None) -> None:
        """LedgerError unless the chain goes through the mark, which may not lie before the segment."""
        if mark is None:
            if chain.length:
                raise LedgerError(
                    f"the anchor {self.path} is missing, so a rollback of the ledger would not be found; restore it, "
                    "or write a new one with `dpqr budget anchor` if you trust the ledger as it is"
                )
            return
        if mark.entries > chain.length:
            # Where the chain ends in a move, the anchor has gone on with it.
            last = decode_entry(chain.links[-1].text, chain.links[-1].seal) if chain.links else None
            if last is not None and last.kind == "move":
                raise has_moved(last.note)
            raise LedgerError(
                f"the ledger was rolled back or cut: the anchor {self.path} knows {mark.entries} entries and the "
                f"ledger holds {chain.length}; restore the newest copy of the ledger"
            )
        if chain.seal_after(mark.entries) != mark.seal:
            raise LedgerError(
                f"the ledger is another one than the anchor {self.path} knows, or was rewritten; restore the right one"
            )

    def draft(self, mark: Mark) -> None:
        """Write the next mark beside the anchor, durably."""
        document = canonical({"dpqr": ANCHOR_FORMAT, "entries": mark.entries, "seal": mark.seal}) + "\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            descriptor = os.open(self._draft(mark.entries), flags, 0o600)
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(document.encode())
                opened.flush()
                os.fsync(opened.fileno())
        except OSError as error:
            raise LedgerError(
                f"the anchor {self.path} cannot be renewed ({error.strerror}), so nothing was spent; make it writable"
            ) from None

    def publish(self, mark: Mark) -> None:
        """Put the draft in the anchor's place, whole or not at all, and remove older ones that killed jobs have left.

        Where a later job was faster, its mark stays.
        """
        try:
            if not self._is_behind(mark):
                # A later job may publish, and remove this draft, after this one has looked.
                try:
                    os.replace(self._draft(mark.entries), self.path)
                except FileNotFoundError:
                    if not self._is_behind(mark):
                        raise
            drafts = re.compile(rf"\.{re.escape(self.path.name)}\.(\d+)\.draft")
            for name in os.listdir(self.path.parent):
                if (found := drafts.fullmatch(name)) and int(found[1]) < mark.entries:
                    self.path.with_name(name).unlink(missing_ok=True)
            sync_directory(self.path.parent)
        except OSError as error:
            raise LedgerError(
                f"the ledger holds the entry, but its anchor {self.path} could not be renewed ({error.strerror}); "
                "nothing was opened, and what was reserved stays spent"
            ) from None

    def _is_behind(self, mark: Mark) -> bool:
        """Whether the anchor knows more entries already."""
        known = self.read()
        return known is not None and known.entries > mark.entries

    def _draft(self, entries: int) -> Path:
        """One name for each mark: only the holder of the ledger's lock writes it."""
        return self.path.with_name(f".{self.path.name}.{entries}.draft")
