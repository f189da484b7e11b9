"""PeriodFilter: the records of a batch whose date is read; all others are as if they were not there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.data.attribute import Attribute, Bins
from dpqr.data.period import PeriodRows
from dpqr.io.tables.arrow_arrays import is_text, mask
from dpqr.io.tables.encoders import Column
from dpqr.io.tables.row_encoder import Records

_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodFilter:
    """Keeps the records of one period, or of several in a row.

    place: of the date column in a batch; days: reads it, as bins of dates; bins: how many.

    Privacy:
        Whether a record is kept is a function of its own date cell alone: a date by its day, a moment by the day of its
        instant (UTC where it has an offset), ISO 8601 text likewise. Neither a domain's spelling nor its missing texts
        change that, so no document moves a record from one period to another. A record whose date is null or
        unreadable is in no period, and so is a malformed one, of which no date is known: they are counted nowhere, not
        as left out either, for otherwise one record would enter the releases of many periods.
    """

    place: int
    bins: int
    days: Column = field(repr=False)

    @classmethod
    def of(cls, rows: PeriodRows, columns: Sequence[str]) -> PeriodFilter:
        """columns: of the batches, in their order."""
        edges = tuple(Fraction(2 * (day - _EPOCH).days - 1, 2) for day in rows.days)
        bins = Bins(edges, integral=True, kind="date")
        days = Column.of(Attribute(name=rows.column, axis=bins), text=False)
        return cls(place=tuple(columns).index(rows.column), bins=len(edges) - 1, days=days)

    def records(self, batch: Records) -> Records:
        """The records in the bins, in their order."""
        numbers = self.numbers(batch.rows)
        inside = (numbers >= 0) & (numbers < self.bins)
        return Records(batch.rows if inside.all() else batch.rows.filter(mask(inside)))

    def numbers(self, rows: Any) -> IntArray:
        """The bin of each row of an Arrow batch, from 0; anything else where it is in none."""
        return self.days.encode(rows.column(self.place)).codes.astype(np.int64, copy=False)


def date_refusal(kind: Any) -> str | None:
    """None if the period's column may have the Arrow type `kind`, or else the types that it may have, in words."""
    from pyarrow import types

    fits = types.is_date(kind) or types.is_timestamp(kind) or is_text(kind)
    return None if fits else "dates, timestamps or ISO text (the period's column)"
