"""PeriodFilter: the records of a batch whose date lies in one period; all others are as if they were not there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any

from dpqr.data.attribute import Attribute, Bins
from dpqr.data.period import PeriodRows
from dpqr.io.tables.arrow_arrays import is_text, mask
from dpqr.io.tables.encoders import Column
from dpqr.io.tables.row_encoder import Records

_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodFilter:
    """Keeps the records of one period. place: of the date column in a batch; days: reads it, as one bin of dates.

    Privacy:
        Whether a record is kept is a function of its own date cell alone: a date by its day, a moment by the day of its
        instant (UTC where it has an offset), ISO 8601 text likewise. Neither a domain's spelling nor its missing texts
        change that, so no document moves a record from one period to another. A record whose date is null or
        unreadable is in no period, and so is a malformed one, of which no date is known: they are counted nowhere, not
        as left out either, for otherwise one record would enter the releases of many periods.
    """

    place: int
    days: Column = field(repr=False)

    @classmethod
    def of(cls, rows: PeriodRows, columns: Sequence[str]) -> PeriodFilter:
        """columns: of the batches, in their order."""
        edges = tuple(Fraction(2 * day - 1, 2) for day in whole_days(rows))
        bins = Bins(edges, integral=True, kind="date")
        days = Column.of(Attribute(name=rows.column, axis=bins), text=False)
        return cls(place=tuple(columns).index(rows.column), days=days)

    def records(self, batch: Records) -> Records:
        """The records of the period, in their order."""
        inside = self.days.encode(batch.rows.column(self.place)).codes == 0
        return Records(batch.rows if inside.all() else batch.rows.filter(mask(inside)))


def whole_days(rows: PeriodRows) -> tuple[int, int]:
    """The first day, and the first day after the last, since 1970-01-01."""
    return (rows.start - _EPOCH).days, (rows.period.end - _EPOCH).days


def date_refusal(kind: Any) -> str | None:
    """None if the period's column may have the Arrow type `kind`, or else the types that it may have, in words."""
    from pyarrow import types

    fits = types.is_date(kind) or types.is_timestamp(kind) or is_text(kind)
    return None if fits else "dates, timestamps or ISO text (the period's column)"
