"""Records: a part of a table, as the rows that can be read and the places of those that cannot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray, IntArray

NONE: IntArray = np.zeros(0, dtype=np.int64)


def mask(chosen: AnyArray) -> Any:
    """One truth value a row, as an Arrow array."""
    import pyarrow as pa

    return pa.array(chosen)


@dataclass(frozen=True, slots=True)
class Records:
    """Some records of a table, in the table's order. Private.

    rows: the well-formed ones, an Arrow batch. malformed: the places of the others among all of them,
    in rising order.

    **Privacy** Whether a record is malformed depends on that record alone: on what the grammar of the format makes of
    it. So neighbouring tables, whose lists of records differ in one record, differ in one place.
    """

    rows: Any = field(repr=False)
    malformed: IntArray = field(default_factory=lambda: NONE, repr=False)

    @property
    def count(self) -> int:
        """All of them."""
        return int(self.rows.num_rows) + len(self.malformed)
