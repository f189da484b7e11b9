"""Anchor: a small file outside the ledger that says how far it had come, so that going back is found.

What the chain alone cannot tell is whether its end is missing, or whether another chain was put in its place. The
anchor holds the number of entries and the seal of the last one. A ledger agrees with it if its chain, cut at that
number, ends in that seal: so an anchor may lag (a crash between the commit and the anchor's renewal leaves it one
entry behind), and an anchor that is ahead, or off the chain, means rollback, truncation, an edit or a swap.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from dpqr.errors import LedgerError, UsageFault
from dpqr.io.directory_sync import sync_directory
from dpqr.io.ledger.chain import Stretch
from dpqr.io.ledger.entry_codec import canonical

FORMAT = "dpqr anchor/1"
LONGEST = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How far a ledger had come: its number of entries, and the seal of the last one."""

    entries: int
    seal: str

    @classmethod
    def of(cls, chain: Stretch) -> Mark:
        return cls(entries=chain.length, seal=chain.seal_after(chain.length))


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """The file that keeps one ledger's mark.

    It is renewed in two steps: `draft` writes the new mark beside it, before the ledger commits, so that a full disk
    is met while nothing is spent; `publish` renames it, after the commit and under the ledger's lock.
    Errors: LedgerError; UsageFault for a path that is no place for a file.
    """

    path: Path

    def read(self) -> Mark | None:
        """The mark, or None where there is no anchor yet."""
        try:
            if not stat.S_ISREG(os.lstat(self.path).st_mode):
                raise UsageFault(f"--anchor {self.path}: is no regular file; give the path of a file")
            text = self._text()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageFault(f"--anchor {self.path}: cannot be read ({error.strerror}); mend its permissions") from None
        return self._parsed(text)

    def check(self, chain: Stretch, mark: Mark | None) -> None:
        """LedgerError unless the chain goes through the mark, which may not lie before the stretch."""
        if mark is None:
            if chain.length:
                raise LedgerError(
                    f"the anchor {self.path} is missing, so a rollback of the ledger would not be found; restore it, "
                    "or write a new one with `dpqr budget anchor` if you trust the ledger as it is"
                )
            return
        if mark.entries > chain.length:
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
        document = canonical({"dpqr": FORMAT, "entries": mark.entries, "seal": mark.seal}) + "\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            descriptor = os.open(self._draft, flags, 0o600)
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(document.encode())
                opened.flush()
                os.fsync(opened.fileno())
        except OSError as error:
            raise LedgerError(
                f"the anchor {self.path} cannot be renewed ({error.strerror}), so nothing was spent; make it writable"
            ) from None

    def publish(self) -> None:
        """Put the draft in the anchor's place, whole or not at all."""
        try:
            os.replace(self._draft, self.path)
            sync_directory(self.path.parent)
        except OSError as error:
            raise LedgerError(
                f"the ledger holds the entry, but its anchor {self.path} could not be renewed ({error.strerror}); "
                "nothing was opened, and what was reserved stays spent"
            ) from None

    @property
    def _draft(self) -> Path:
        """One name for all: only the holder of the ledger's lock writes it, and a killed job leaves one at most."""
        return self.path.with_name(f".{self.path.name}.draft")

    def _text(self) -> bytes:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with os.fdopen(os.open(self.path, flags), "rb") as opened:
            return opened.read(LONGEST + 1)

    def _parsed(self, text: bytes) -> Mark:
        try:
            document = json.loads(text)
            mark = Mark(entries=document["entries"], seal=document["seal"])
            if text.decode() != canonical({"dpqr": FORMAT, "entries": mark.entries, "seal": mark.seal}) + "\n":
                raise ValueError("not an anchor")
            if isinstance(mark.entries, bool) or not isinstance(mark.entries, int) or mark.entries < 1:
                raise ValueError("not a count")
        except (ValueError, KeyError, TypeError, RecursionError):
            raise LedgerError(f"the anchor {self.path} is damaged or is no anchor of dpqr; restore it") from None
        return mark
