"""Whole numbers by bins: thresholds in a column's own type, and a table of the codes of all numbers between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray
from dpqr.io.tables.cell_values import Encoded, FaultCodes, narrow, places_among


@dataclass(frozen=True, eq=False)
class WholeNumbers:
    """Codes of whole numbers of one type. thresholds: of that type, in rising order; those above all of its numbers are
    left out. faults: their codes. size: how many bins there are."""

    thresholds: AnyArray
    faults: FaultCodes
    size: int

    @classmethod
    def of(cls, cuts: Sequence[int], kind: np.dtype[Any], faults: FaultCodes) -> WholeNumbers:
        """cuts: the lower ends of the bins, and what lies above the last one; they may exceed the type."""
        bounds = np.iinfo(kind)
        reachable = [max(cut, int(bounds.min)) for cut in cuts if cut <= int(bounds.max)]
        return cls(np.array(reachable, dtype=kind), faults, len(cuts) - 1)

    def codes(self, values: AnyArray) -> Encoded:
        """Codes of numbers of the type: from the table, several times faster, where it is not longer than the batch."""
        if not len(self.thresholds) or self._highest - self._lowest >= len(values):
            return self.faults.settle(places_among(self.thresholds, values), self.size, values)
        if values.min() < self._lowest or values.max() > self._highest:
            values = values.clip(self._lowest, self._highest)
        offsets = values.view(self._first.dtype) - self._first
        codes = self._table.take(offsets.view(np.int64) if offsets.itemsize == 8 else offsets)
        return Encoded(codes, clean=bool(codes.min() >= 0))

    @cached_property
    def _table(self) -> AnyArray:
        """Codes of the numbers from `_lowest` to `_highest`."""
        offsets = np.arange(self._highest - self._lowest + 1, dtype=self._first.dtype)
        numbers = (offsets + self._first).view(self.thresholds.dtype)
        return narrow(self.faults.settle(places_among(self.thresholds, numbers), self.size, numbers).codes)

    @cached_property
    def _lowest(self) -> int:
        """All numbers below it have its code."""
        return max(int(self.thresholds[0]) - 1, int(np.iinfo(self.thresholds.dtype).min))

    @cached_property
    def _highest(self) -> int:
        """All numbers above it have its code."""
        return int(self.thresholds[-1])

    @cached_property
    def _first(self) -> AnyArray:
        """The lowest number, shape (1,), unsigned: then no difference of two numbers of a type overflows."""
        return np.array([self._lowest], dtype=self.thresholds.dtype).view(f"u{self.thresholds.itemsize}")
