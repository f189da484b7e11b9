"""Outcomes: everything that many runs gave away, as integers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import IntArray

Numbers = tuple[int, ...]
Shown = tuple[Numbers, Numbers, Numbers]
"""One run's outcome: context, measured, derived; see `Outcomes`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcomes:
    """One row a run; shapes (runs, any).

    context: what the meaning of the measured numbers hangs on (choices made, whether the run stopped).
    measured: numbers that are independent of each other given the context, as far as anybody knows.
    derived: what the run computed from those and gave away too. It should tell nothing new: that is the test.
    """

    context: IntArray
    measured: IntArray
    derived: IntArray

    @classmethod
    def of(cls, shown: Sequence[Shown]) -> Outcomes:
        context, measured, derived = ([one[part] for one in shown] for part in range(3))
        return cls(context=_rows(context), measured=_rows(measured), derived=_rows(derived))

    @classmethod
    def joined(cls, parts: Iterable[Outcomes]) -> Outcomes:
        kept = list(parts)
        return cls(
            context=np.concatenate([part.context for part in kept]),
            measured=np.concatenate([part.measured for part in kept]),
            derived=np.concatenate([part.derived for part in kept]),
        )

    def __len__(self) -> int:
        return len(self.context)

    def halves(self) -> tuple[Outcomes, Outcomes]:
        """The first half of the runs and as many of the others."""
        half = len(self) // 2
        return self._part(0, half), self._part(half, 2 * half)

    def _part(self, start: int, stop: int) -> Outcomes:
        parts = (self.context, self.measured, self.derived)
        context, measured, derived = (rows[start:stop] for rows in parts)
        return Outcomes(context=context, measured=measured, derived=derived)


def _rows(numbers: list[Numbers]) -> IntArray:
    return np.array(numbers, dtype=np.int64).reshape(len(numbers), len(numbers[0]))
