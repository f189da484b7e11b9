"""The last axis: one more code for each row, after those of the domain, for learners.

Parts: which of several disjoint parts of the table a record belongs to. Slots: at which step of a stream a record is
learned from.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.io.tables.persons.bounding import Bounded
from dpqr.io.tables.row_encoder import CodedRows
from dpqr.noise.bits import uniforms_below
from dpqr.noise.source import NoiseSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Draws one of `count` parts, uniformly and for each unit apart.

    **Privacy** A unit's part depends on nothing else, so between neighbours the draws of all others can be made alike
    and one part differs: under add-remove the part that the unit came to, under replace the one part that both of
    them drew. A shuffle into equal parts could move other records when one comes or goes.
    """

    count: int
    noise: NoiseSource

    def of_rows(self, coded: CodedRows) -> IntArray:
        """A part for each kept row of the next batch."""
        return uniforms_below(self.count, coded.rows, self.noise)

    def of_persons(self, bounded: Bounded) -> IntArray:
        """A part for each row of the next group of persons, the same for all rows of a person."""
        drawn: IntArray = uniforms_below(self.count, bounded.persons, self.noise)[bounded.owners]
        return drawn


KEY = 1 << 62


@dataclass(slots=True, kw_only=True)
class Slots:
    """One of `count` slots for each row: rows have the one of their place among all rows read, those included that a
    rule drops and the malformed ones, which leave theirs empty. Persons have `most` slots each, one after the other,
    their rows in the order of their codes; which ones is drawn, for a place in a file would tell how many rows others
    have.

    **Privacy** (replace; `count` is public.) Rows: a row that takes another one's place takes its slot, or leaves it
    empty, and moves no other. Persons: their places are a uniform permutation, whatever numbers they came in with, so
    that of the tables' common persons can be made alike, and whoever replaces a person takes that one's slots. A
    person's rows are sorted among themselves only.
    """

    count: int
    most: int
    noise: NoiseSource
    _read: int = 0
    _places: IntArray | None = field(default=None, repr=False)

    def of_rows(self, coded: CodedRows) -> IntArray:
        """A slot for each kept row of the next batch."""
        found = (self._read + coded.origins) % self.count  # more rows than declared end in an error once all are read
        self._read += coded.read
        return np.asarray(found, dtype=np.int64)

    def of_persons(self, bounded: Bounded) -> IntArray:
        """A slot for each row of the next group of persons."""
        persons = self.count // self.most
        if self._places is None:
            self._places = _permutation(persons, self.noise)
        mine = self._places[(self._read + np.arange(bounded.persons)) % persons]
        self._read += bounded.persons
        ordered = np.lexsort((*bounded.rows, bounded.owners))
        owners = bounded.owners[ordered]
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        ranks = np.arange(len(owners)) - np.repeat(starts, np.diff(starts, append=len(owners)))
        found = np.empty(len(owners), dtype=np.int64)
        found[ordered] = mine[owners] * self.most + ranks
        return found


def _permutation(count: int, noise: NoiseSource) -> IntArray:
    """Uniform: the order of distinct uniform keys."""
    while True:
        keys = uniforms_below(KEY, count, noise)
        if len(np.unique(keys)) == count:
            return np.argsort(keys)
