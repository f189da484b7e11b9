"""FirstRows: at most K rows of each person over the life of a counter, the first ones in the order of periods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpqr.data.arrays import IntArray, WordArray
from dpqr.data.packing import Packing
from dpqr.data.period import PeriodRows
from dpqr.io.tables.arrow_arrays import mask
from dpqr.io.tables.period_filter import PeriodFilter
from dpqr.io.tables.persons.bounding import Bounded
from dpqr.io.tables.row_encoder import RowEncoder


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRows:
    """Ranks rows by their periods, before and after `Bounding` keeps K of each person.

    periods: numbers the counter's periods, from 0. since: the first one whose rows this release counts.

    **Privacy.** A row's rank is 2 p in period p, and 2 p + 1 where it is not counted in this release: its period was
    before `since`, or a rule of the domain leaves it out. `Bounding` keeps the K lowest ranks of each person, and of
    these only counted rows are used: min(counted rows of p, max(0, K - rows of earlier periods)) of period p, whatever
    the key. That is the bound that `Counter` proves to hold for the whole life. Of rows before `since` nothing but
    person and date is looked at, so they can neither break a rule `fail` nor be counted.
    """

    periods: PeriodFilter
    since: int

    @classmethod
    def of(cls, rows: PeriodRows | None, columns: Sequence[str]) -> FirstRows | None:
        """None where each release bounds its rows by itself. columns: of the batches, in their order."""
        if rows is None or rows.first is None:
            return None
        since = (rows.since or rows.period).index(rows.first)
        return cls(periods=PeriodFilter.of(rows, columns), since=since)

    def ranked(self, own: Any, rows: RowEncoder, packing: Packing) -> tuple[WordArray, frozenset[str]]:
        """Code a batch that holds rows of the counter's periods alone, each of somebody.

        Returns: its rows, shape (1 + words a row, rows): the rank, then the packed codes, 0 where a row is not counted;
        and the columns whose `fail` rule was broken.
        """
        numbers = self.periods.numbers(own)
        inside = numbers >= self.since
        coded = rows.encode(own if inside.all() else own.filter(mask(inside)))
        counted: IntArray = np.flatnonzero(inside)
        if coded.places is not None:
            counted = counted[coded.places]
        found = np.zeros((1 + len(packing.groups), len(numbers)), dtype=np.uint64)
        found[0] = 2 * numbers + 1
        found[0, counted] -= np.uint64(1)
        found[1:, counted] = packing.pack(coded.codes, coded.rows)
        return found, coded.failed

    def counted(self, bounded: Bounded) -> Bounded:
        """The rows that are used, without their ranks."""
        used = bounded.rows[0] % 2 == 0
        return replace(bounded, rows=bounded.rows[1:, used], owners=bounded.owners[used])
