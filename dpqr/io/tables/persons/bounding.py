"""Bounding: at most K rows of each person, kept by an exact random choice, in memory free of all rows that are lost.

Every row holds a ticket, a uniform real number in [0, 1) of which only the first binary digits are drawn, 64 at a
time; a person's rows with the smallest tickets are kept. Tickets are independent of each other and of all else, and
are compared only with those of the same person, so every set of K of a person's rows is equally likely, whatever
other persons have, in whatever order and files the rows come. Where the digits drawn so far leave two rows of one
person equal, more are drawn, so ties have no say. Digits of rows that stay are kept: a row that comes later meets the
same tickets, and rows that are lost by now would be lost in the end too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray, IntArray, WordArray
from dpqr.errors import DataError
from dpqr.io.tables.persons.person import distinct
from dpqr.noise.source import NoiseSource


def fresh_tickets(count: int, levels: int, noise: NoiseSource) -> WordArray:
    """The first 64 times `levels` digits of `count` tickets, shape (levels, count)."""
    return noise.words(levels * count).reshape(levels, count)


def smallest_tickets(owners: IntArray, tickets: WordArray, most: int, noise: NoiseSource) -> tuple[AnyArray, WordArray]:
    """Which rows are among the `most` of their owner with the smallest tickets.

    owners: shape (rows,), numbers from 0; tickets: shape (levels, rows), leading digits first. Returns a mask of
    shape (rows,) and the tickets, with a further level where that was needed to tell two rows apart.
    """
    kept = np.ones(len(owners), dtype=bool)
    crowded = np.flatnonzero(np.bincount(owners)[owners] > most) if len(owners) else np.zeros(0, dtype=np.int64)
    if not crowded.size:
        return kept, tickets
    while (order := _strict_order(owners[crowded], tickets[:, crowded])) is None:
        tickets = np.concatenate([tickets, fresh_tickets(len(owners), 1, noise)])
    ordered = crowded[order]
    runs = owners[ordered]
    starts = np.flatnonzero(np.diff(runs, prepend=-1))
    rank = np.arange(len(runs)) - np.repeat(starts, np.diff(starts, append=len(runs)))
    kept[ordered[rank >= most]] = False
    return kept, tickets


def _strict_order(owners: IntArray, tickets: WordArray) -> AnyArray | None:
    """Rows by owner, then by ticket; None where two rows of one owner have equal tickets.

    One word of owner and leading digits is sorted first, which is several times faster; where it ties, everything is.
    """
    digits = np.uint64(64 - max(1, int(owners.max()).bit_length()))
    key = (owners.astype(np.uint64) << digits) | (tickets[0] >> (np.uint64(64) - digits))
    order: AnyArray = np.argsort(key)
    if (np.diff(key[order]) != 0).all():
        return order
    order = np.lexsort((*tickets[::-1], owners))
    rows = np.concatenate([owners[None, order].astype(np.uint64), tickets[:, order]])
    equal = (rows[:, 1:] == rows[:, :-1]).all(axis=0)
    return None if equal.any() else order


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
        and the packed codes of these. Raises: DataError where the declared memory does not hold the persons.
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
