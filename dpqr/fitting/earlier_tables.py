"""Earlier tables: noisy marginals that an earlier release has published, as weak evidence of the table of today."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpqr.data.arrays import Axes
from dpqr.fitting.evidence import Evidence, lower_order, summed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EarlierTables:
    """Marginals of an earlier release over the same domain.

    sha256: of the release. records: that it has counted, more than 0. tables: with the deviation of their noise.

    Privacy:
        Post-processing of published noisy answers.

    >>> import numpy as np
    >>> table = Evidence(key=(0,), axes=(0,), values=np.array([60.0, 40.0]), deviation=1.0)
    >>> earlier = EarlierTables(sha256="", records=100.0, tables=(table,))
    >>> today = Evidence(key=(0,), axes=(0,), values=np.array([160.0, 40.0]), deviation=1.0)
    >>> [weak.values.tolist() for weak in earlier.aged([today], 200.0)]
    [[120.0, 80.0]]
    """

    sha256: str
    records: float
    tables: tuple[Evidence, ...]

    def aged(self, seen: Sequence[Evidence], total: float) -> tuple[Evidence, ...]:
        """The tables at today's number of records, their deviations raised by how much the records have changed.

        Change, as a variance of the cells of a table: what the squares of its distances from the same table of today
        leave beyond both noises; of a table that was not measured today, its mean square times the largest relative
        change of its columns. At least what two samples of as many records differ by. A table of no measured column is
        left out.

        Args:
            seen: today's evidence. total: N, records.

        Returns:
            One entry for each table that is kept, in records.

        Privacy:
            Post-processing of released values.
        """
        measured = {one.axes: one for one in seen if one.block is None}
        columns = {one.axes: one for one in lower_order(seen, 1)}
        scaled = (_times(table, total / self.records) for table in self.tables)
        return tuple(
            replace(table, deviation=math.sqrt(table.deviation**2 + change))
            for table in scaled
            if (change := _change(table, measured, columns, total)) is not None
        )


def _times(table: Evidence, factor: float) -> Evidence:
    return replace(table, values=table.values * factor, deviation=table.deviation * factor)


def _change(
    table: Evidence, measured: dict[Axes, Evidence], columns: dict[Axes, Evidence], total: float
) -> float | None:
    """Variance of the cells of a table from then to today, in records squared; None: nothing shows it."""
    sampling = 2.0 * total / table.values.size
    today = measured.get(table.axes)
    if today is not None:
        return max(_beyond(table, today), sampling) + _chance(table, today)
    sides = [(summed(table, (axis,)), columns.get((axis,))) for axis in table.axes]
    shown = [_relative(then, now) for then, now in sides if now is not None]
    if len(shown) < len(sides):
        return None
    size = max(float((table.values**2).mean()) - table.deviation**2, 0.0)
    return max(max(shown) * size, sampling)


def _beyond(then: Evidence, now: Evidence) -> float:
    """Mean square distance, less both noises."""
    return float(((then.values - now.values) ** 2).mean()) - then.deviation**2 - now.deviation**2


def _chance(then: Evidence, now: Evidence) -> float:
    """One deviation of the mean square of both noises."""
    return (then.deviation**2 + now.deviation**2) * math.sqrt(2.0 / then.values.size)


def _relative(then: Evidence, now: Evidence) -> float:
    return max(_beyond(then, now), 0.0) / max(float((now.values**2).mean()), 1e-300)
