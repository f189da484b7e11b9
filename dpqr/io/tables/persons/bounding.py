"""Bounding: at most K rows of each person, chosen by a keyed hash.

A person's coded rows are put in order, and the i-th of them has the i-th word of a hash of the secret key and the
person's name as its ticket; the rows with the K smallest tickets are kept. So the choice is a function of the key and
of that person's rows alone, in whatever order, batches, files and engines the rows come: who counts a part of the table
again, with the same key, keeps the same rows. Without the key every set of K rows is equally likely, equal rows being
as many rows as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray, IntArray, WordArray
from dpqr.errors import DataError
from dpqr.io.tables.arrow_arrays import mask
from dpqr.io.tables.limits import TOO_MANY_PERSONS
from dpqr.io.tables.persons.person import as_text, distinct
from dpqr.io.tables.tallies import merged
from dpqr.noise.source import keyed_words


def smallest_tickets(owners: IntArray, persons: Any, most: int, key: bytes, ranks: WordArray | None = None) -> AnyArray:
    """Which rows are among the `most` of their owner with the smallest tickets, shape (rows,).

    owners: shape (rows,), places among `persons` (an Arrow array), rising; the rows of each are in order. ranks: of
    rows, rising for each owner; rows of a lower rank come before others, whatever their tickets.
    """
    kept = np.ones(len(owners), dtype=bool)
    sizes = np.bincount(owners, minlength=len(persons))
    crowded = np.flatnonzero(sizes > most)
    if not crowded.size:
        return kept
    rows = np.flatnonzero((sizes > most)[owners])
    names, sizes = as_text(persons.filter(mask(sizes > most))).to_pylist(), sizes[crowded]
    tickets = keyed_words(key, names, sizes.tolist())
    places = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    runs = owners[rows] if ranks is None else _runs(owners[rows], ranks[rows])
    kept[rows[_by_ticket(runs, tickets)[places >= most]]] = False
    return kept


def _runs(owners: IntArray, ranks: WordArray) -> IntArray:
    """A number for each run of rows of one owner and rank, rising."""
    changed = (owners[1:] != owners[:-1]) | (ranks[1:] != ranks[:-1])
    return np.concatenate([[0], np.cumsum(changed)])


def _by_ticket(owners: IntArray, tickets: WordArray) -> AnyArray:
    """Rows by owner, then by ticket, then as they stand. Owners and leading digits are one word, sorted several
    times faster; where two of these are equal, everything is sorted."""
    digits = np.uint64(64 - max(1, int(owners.max()).bit_length()))
    joined = (owners.astype(np.uint64) << digits) | (tickets >> (np.uint64(64) - digits))
    order: AnyArray = np.argsort(joined)
    return order if (np.diff(joined[order]) != 0).all() else np.lexsort((tickets, owners))


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
    """Persons in the order in which they came, with the number of rows read of each; their distinct rows in order, the
    owner's number as the first word, and how many of each."""

    persons: Any
    read: IntArray
    rows: WordArray
    counts: IntArray

    @property
    def bytes(self) -> int:
        return sum(int(each.nbytes) for each in (self.persons, self.read, self.rows, self.counts))


@dataclass(slots=True)
class Bounding:
    """Rows come in batches; those that wait are merged in when they are as many as the rows held.

    most: K. words: 64-bit words of one packed row. memory: bytes that a run may need at its peak. key: secret, and
    independent of all rows. ranked: whether the first word is a rank; rows of a lower rank are kept before others.

    **Privacy.** Fix the key. A person's kept rows are a function of that person's rows, of which they are at most K.
    So for two tables that differ in one person the kept rows differ by at most K rows come or gone, or K in place of K
    others: what `sensitivity` counts with. This holds for every key and whatever the hash is; and what is DP for each
    key is so for the mixture over keys (pure, approximate and concentrated DP alike: the divergences are jointly
    quasi-convex). That the hash is a pseudorandom function makes the choice fair, and the kept rows a uniform sample.
    Rules of the domain come first: they look at one row at a time, so a person's rows that pass them are a function of
    that person's rows only, and the K that are kept are K that can be counted.
    """

    most: int
    words: int
    memory: int
    key: bytes = field(repr=False)
    ranked: bool = False
    _held: _Held | None = None
    _waiting: list[tuple[Any, IntArray, WordArray]] = field(default_factory=list)
    _pending: int = 0

    def add(self, people: Any, passed: IntArray, rows: WordArray) -> None:
        """Take a batch: every row's person (without nulls), the places of the rows that passed the domain's rules,
        and the packed codes of these. Raises: DataError where the declared memory does not hold the persons.
        """
        self._waiting.append((people, passed, rows))
        self._pending += max(len(people), PEAK * int(people.nbytes) // _ROW)
        if self._pending >= max(self.memory // _ROW, 0 if self._held is None else len(self._held.counts)):
            self._merge()

    def finish(self) -> Bounded:
        """The outcome; nothing may be added after it."""
        self._merge()
        held = self._held
        if held is None:
            nothing = np.zeros((self.words, 0), dtype=np.uint64)
            return Bounded(rows=nothing, owners=np.zeros(0, dtype=np.int64), persons=0, lost=0)
        rows = np.repeat(np.arange(len(held.counts)), held.counts)
        owners = held.rows[0].astype(np.int64)[rows]
        ranks = held.rows[1, rows] if self.ranked else None
        chosen = smallest_tickets(owners, held.persons, self.most, self.key, ranks)
        rows, owners = rows[chosen], owners[chosen]
        kept = np.bincount(owners, minlength=len(held.read))
        lost = np.minimum(held.read - kept, self.most).sum()
        return Bounded(rows=held.rows[1:, rows], owners=owners, persons=len(held.read), lost=int(lost))

    def _merge(self) -> None:
        if not self._waiting:
            return
        held = self._joined()
        if PEAK * held.bytes > self.memory:
            raise DataError(TOO_MANY_PERSONS)
        self._held = held

    def _joined(self) -> _Held:
        """The rows held and those that wait. Persons held keep their numbers: the distinct ones come in the order of
        their first rows."""
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
        rows = np.concatenate([places[None, passed].astype(np.uint64), self._packed()])
        counts = np.ones(len(passed), dtype=np.int64)
        self._waiting, self._pending = [], 0
        if held is not None:
            rows, counts = np.concatenate([held.rows, rows], axis=1), np.concatenate([held.counts, counts])
        rows, counts = merged(rows, counts)
        return _Held(persons=known, read=read, rows=rows, counts=counts)

    def _packed(self) -> WordArray:
        return np.concatenate([each[2] for each in self._waiting], axis=1)
