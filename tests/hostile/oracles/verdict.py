"""The verdict on an attempt: what differs between its tables, and whether that was announced and paid for.

What is paid for is taken out of the comparison at the gate: every draw is made on an empty table, with fixed noise. So
all else must be equal to the byte, on any two tables: exit codes, messages, progress, names, sizes, modes and contents
of files, the ledger's entries and balances.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from hostile.oracles.attempt import Attempt, Seen, Table, seen
from support.command_desk import Desk

STAYS_PAID = "the reserved budget stays spent"
BROKEN_CONTRACT = 5


@dataclass(frozen=True, kw_only=True)
class Trial:
    """An attempt that was made. found: what was seen on each table. plan: what a dry run of its first command says."""

    attempt: Attempt
    found: tuple[Seen, ...]
    plan: str

    @property
    def difference(self) -> str | None:
        """The first thing in which two of the tables differ."""
        first = self.found[0]
        other = next((each for each in self.found if each.all != first.all), None)
        return None if other is None else f"{self.attempt.learns}: {_difference(first, other)}"

    @property
    def idle(self) -> str | None:
        """Why the attempt asks for nothing: it ends otherwise than it means to, or tells no bit."""
        ended = tuple(code for code, _, _ in self.found[0].ended)
        if ended not in (self.attempt.codes, len(ended) * self.attempt.codes):
            return f"it ends with {self.found[0].ended}"
        if self.attempt.bit is not None and self.difference is None:
            return f"it announces {self.attempt.bit!r}, and all tables look alike"
        return None

    @property
    def leak(self) -> str | None:
        """What it learns for free, in a sentence; None: nothing.

        Free is what differs between tables, unless it is one bit that is announced, and paid for in full where a
        ledger pays.
        """
        if self.difference is None:
            return None
        if self.attempt.bit is None:
            return self.difference
        if len({repr(each.all) for each in self.found}) > 2:
            return f"more than one bit of {self.difference}"
        return self._unpaid() or self._unannounced(self.attempt.bit)

    def _unpaid(self) -> str | None:
        refunds = [refund for each in self.found for refund in each.refunds]
        if refunds:
            return f"refunded ({refunds[0]}), {self.difference}"
        if len({each.reserved for each in self.found}) > 1:
            return f"not reserved alike, {self.difference}"
        return None

    def _unannounced(self, bit: str) -> str | None:
        """A sentence unless the bit is named wherever it must be."""
        for code, _, err in (ended for each in self.found for ended in each.ended):
            if self.attempt.budget is not None and code == BROKEN_CONTRACT and STAYS_PAID not in err:
                return f"the message does not say that the budget stays spent: {err!r}, {self.difference}"
            if code == 0 and bit not in _words(err):
                return f"the receipt does not announce it, {self.difference}"
        return None if bit in _words(self.plan) else f"the plan does not announce it, {self.difference}"


def tried(attempt: Attempt, path: Path) -> Trial:
    """Make the attempt on each of its tables, and where it must find none, on none. path: an empty directory."""
    none = [Table(name=attempt.tables[0].name)] if attempt.unopened else []
    found = tuple(seen(attempt, table, path / str(place)) for place, table in enumerate([*attempt.tables, *none]))
    return Trial(attempt=attempt, found=found, plan="" if attempt.bit is None else _planned(attempt, path / "0"))


def _planned(attempt: Attempt, path: Path) -> str:
    """What the first command says as a dry run, of a table that is not there."""
    os.chdir(path)
    first = next(step for step in attempt.steps if not callable(step))
    again = ("--if-exists", "replace") if "--out" in first else ()  # the attempt has made it
    return Desk(path).run(*("absent.csv" if word == "DATA" else word for word in first), "--dry-run", *again).out


def _words(text: str) -> str:
    return " ".join(text.split())


def _difference(first: Seen, other: Seen) -> str:
    for one, two in zip(first.ended, other.ended, strict=True):
        for what, left, right in zip(("exit codes", "standard output", "standard error"), one, two, strict=True):
            if left != right:
                return f"{what}: {_lines(str(left), str(right))}"
    for name in sorted({*first.files, *other.files}):
        here, there = first.files.get(name), other.files.get(name)
        if here != there:
            return f"the file {name}: {here!r:.300} or {there!r:.300}"
    here, there = ("\n".join(each.ledger) for each in (first, other))
    return f"the ledger: {_lines(here, there)}"


def _lines(left: str, right: str) -> str:
    pairs = zip_longest(left.splitlines(), right.splitlines())
    return next(f"{one!r} or {two!r}" for one, two in pairs if one != two)
