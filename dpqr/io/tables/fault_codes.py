"""Fault codes: what the declared rules make of a cell that does not fit its column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import AnyArray
from dpqr.data.attribute import Attribute, Fault, Rule

DROPPED = -1
FAILED = -2


@dataclass(frozen=True, slots=True)
class Encoded:
    """One code a row: a cell of the attribute, or DROPPED or FAILED. `clean`: certainly none of the latter two."""

    codes: AnyArray
    clean: bool

    def spoilt(self, where: AnyArray, code: int) -> Encoded:
        """The same codes with `code` wherever `where` is true."""
        if not where.any():
            return self
        return Encoded(np.where(where, code, self.codes), clean=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultCodes:
    """The code of each fault of one attribute; None for `outside` and `infinite` means the nearest cell (clip)."""

    null: int
    unparsable: int
    nan: int
    infinite: int | None
    outside: int | None

    @classmethod
    def of(cls, attribute: Attribute) -> FaultCodes:
        def code(fault: Fault) -> int:
            rule = attribute.rule(fault)
            if rule is Rule.CELL:
                return attribute.own_cell(fault)
            return FAILED if rule is Rule.FAIL else DROPPED

        def nearest(fault: Fault) -> int | None:
            return None if attribute.rule(fault) is Rule.CLIP else code(fault)

        return cls(
            null=code("null"),
            unparsable=code("unparsable"),
            nan=code("nan"),
            infinite=nearest("infinite"),
            outside=nearest("outside"),
        )

    def settle(self, places: AnyArray, size: int, values: AnyArray) -> Encoded:
        """Replace every place below 0 or from `size` on by the code of its fault.

        places: int64, changed in place. values: what the places were found for; only floats can be NaN or infinite.
        """
        astray = np.flatnonzero(places.view(np.uint64) >= size)
        if not astray.size:
            return Encoded(places, clean=True)
        ends = np.where(places[astray] < 0, 0, size - 1)
        codes = ends if self.outside is None else np.full(astray.size, self.outside)
        if values.dtype.kind == "f":
            codes = np.where(np.isinf(values[astray]), ends if self.infinite is None else self.infinite, codes)
            codes = np.where(np.isnan(values[astray]), self.nan, codes)
        places[astray] = codes
        return Encoded(places, clean=False)

    def whole(self, values: AnyArray, size: int) -> Encoded:
        """Codes 0 .. size - 1 that are written as floating-point numbers; fractions are unparsable."""
        values = values.astype(np.float64, copy=False)
        fraction = (np.floor(values) != values) & ~np.isnan(values)
        places = np.where(np.isnan(values), -1, values).clip(-1, size).astype(np.int64)
        return self.settle(places, size, values).spoilt(fraction, self.unparsable)
