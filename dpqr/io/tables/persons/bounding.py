"""Bounding: at most K rows of each person, kept by an exact random choice, in memory free of all rows that are lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpqr.data.arrays import IntArray, WordArray
from dpqr.errors import DataError
from dpqr.io.tables.persons.person import distinct
from dpqr.io.tables.persons.tickets import fresh_tickets, smallest_tickets
from dpqr.noise.source import NoiseSource

PEAK = 6
"""Memory at its peak, in units of what is held between batches: rows that wait, their copies, and the sort."""

_ROW = 512
"""Bytes allowed for a row that waits, so that merging does not start before it pays; long names count as more rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """What bounding leaves of one group of persons. Private.

    rows: packed codes of the kept rows, shape (words a row, rows). owners: whose each of them is, as a number below
    persons. persons: how many were seen, those without any row that the domain's rules let pass among them. lost: rows
    that the rules or the bound left out, of each person at most K counted.
    """

    rows: WordArray
    owners: IntArray
    persons: int
    lost: int


@dataclass(slots=True, kw_only=True)
class _Held:
    """Persons in the order in which they came, with the number of rows read of each; the rows kept so far."""

    persons: Any
    read: IntArray
    owners: IntArray
    tickets: WordArray
    rows: WordArray

    @property
    def bytes(self) -> int:
        arrays = (self.persons, self.read, self.owners, self.tickets, self.rows)
        return sum(int(each.nbytes) for each in arrays)


@dataclass(slots=True)
class Bounding:
    """Rows come in batches; those that wait are merged in when they are as many as the rows held.

    most: K. memory: bytes that a run may need at its peak. words: 64-bit words of one packed row.

    **Privacy.** A person's kept rows are a uniform choice of at most K of that person's rows (see `tickets`), made
    independently of all other rows. So for two tables that differ in one person, the choices of all others can be
    made alike, and then the kept rows differ by at most K rows come or gone, or K in place of K others: what
    `sensitivity` counts with. Whatever is DP for each way that the others' choices fall is so for their mixture
    (pure, approximate and concentrated DP alike: the divergences are jointly quasi-convex). Rules of the domain come
    first: they look at one row at a time, so a person's rows that pass them are a function of that person's rows
    only, and the K that are kept are K that can be counted.
    """

    most: int
    words: int
    memory: int
    noise: NoiseSource
    _held: _Held | None = None
    _waiting: list[tuple[Any, IntArray, WordArray]] = field(default_factory=list)
    _pending: int = 0

    def add(self, people: Any, passed: IntArray, rows: WordArray) -> None:
        """Take a batch: every row's person (without nulls), the places of the rows that passed the domain's rules,
        and the packed codes of these. Errors: DataError where the declared memory does not hold the persons.
        """
        self._waiting.append((people, passed, rows))
        self._pending += max(len(people), PEAK * int(people.nbytes) // _ROW)
        if self._pending >= max(self.memory // _ROW, 0 if self._held is None else len(self._held.owners)):
            self._merge()

    def finish(self) -> Bounded:
        """The outcome; nothing may be added after it."""
        self._merge()
        held = self._held
        if held is None:
            nothing = np.zeros((self.words, 0), dtype=np.uint64)
            return Bounded(rows=nothing, owners=np.zeros(0, dtype=np.int64), persons=0, lost=0)
        kept = np.bincount(held.owners, minlength=len(held.read))
        lost = np.minimum(held.read - kept, self.most).sum()
        return Bounded(rows=held.rows, owners=held.owners, persons=len(held.read), lost=int(lost))

    def _merge(self) -> None:
        if not self._waiting:
            return
        merged = self._joined()
        kept, tickets = smallest_tickets(merged.owners, merged.tickets, self.most, self.noise)
        if kept.all():
            merged.tickets = tickets
        else:
            merged.owners, merged.tickets, merged.rows = merged.owners[kept], tickets[:, kept], merged.rows[:, kept]
        if PEAK * merged.bytes > self.memory:
            raise DataError(
                "the table's persons need more memory than the declared limit; raise --max-memory, or give the table "
                "as files where it comes by standard input"
            )
        self._held = merged

    def _joined(self) -> _Held:
        """The rows held and those that wait, which draw their tickets now. Persons held keep their numbers: the
        distinct ones come in the order of their first rows."""
        held = self._held
        people = [each[0] for each in self._waiting]
        known, places = distinct([held.persons, *people] if held else people)
        old = 0 if held is None else len(held.read)
        read = np.zeros(len(known), dtype=np.int64)
        if held is not None:
            read[:old] = held.read
        np.add.at(read, places[old:], 1)
        starts = np.cumsum([old, *map(len, people)])
        passed = np.concatenate([each[1] + start for each, start in zip(self._waiting, starts, strict=False)])
        rows = [each[2] for each in self._waiting]
        owners, levels = places[passed], 1 if held is None else len(held.tickets)
        tickets = fresh_tickets(len(owners), levels, self.noise)
        self._waiting, self._pending = [], 0
        if held is None:
            joined = np.concatenate(rows, axis=1)
            return _Held(persons=known, read=read, owners=owners, tickets=tickets, rows=joined)
        return _Held(
            persons=known,
            read=read,
            owners=np.concatenate([held.owners, owners]),
            tickets=np.concatenate([held.tickets, tickets], axis=1),
            rows=np.concatenate([held.rows, *rows], axis=1),
        )
