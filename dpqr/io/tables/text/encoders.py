"""Text encoders: the cells of one column of a text table become codes of one attribute.

Total functions, as the encoders of typed columns are. What they compare with is made once a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase
from typing import Protocol

import numpy as np

from dpqr.data.arrays import AnyArray
from dpqr.data.attribute import Attribute, Codes, Labels
from dpqr.io.tables import cuts
from dpqr.io.tables.fault_codes import Encoded, FaultCodes
from dpqr.io.tables.text.cells import day, moment, numbers, parsed

_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


class TextEncoder(Protocol):
    """Codes of one kind of axis."""

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Codes of texts, none of which stands for null."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelTexts:
    """Exact text (folded: in lower case)."""

    places: Mapping[str, int]
    folded: bool
    faults: FaultCodes

    def encode(self, texts: Sequence[str]) -> Encoded:
        if self.folded:
            texts = [text.translate(_LOWER) for text in texts]
        places = np.array([self.places.get(text, -1) for text in texts], dtype=np.int64)
        return self.faults.settle(places, len(self.places), places)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeTexts:
    """Whole numbers 0 .. size-1; other whole numbers are outside, fractions unparsable. 3.0 is 3."""

    size: int
    faults: FaultCodes

    def encode(self, texts: Sequence[str]) -> Encoded:
        values, good = numbers(texts)
        return self.faults.whole(values, self.size).spoilt(~good, self.faults.unparsable)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberTexts:
    """Numbers by bins, each as the float64 nearest to it."""

    cuts: AnyArray
    size: int
    faults: FaultCodes

    def encode(self, texts: Sequence[str]) -> Encoded:
        values, good = numbers(texts)
        placed = self.faults.settle(cuts.place_floats(values, self.cuts), self.size, values)
        return placed.spoilt(~good, self.faults.unparsable)


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentTexts:
    """Days or moments by bins."""

    parse: Callable[[str], int | None]
    cuts: list[int]
    size: int
    faults: FaultCodes

    def encode(self, texts: Sequence[str]) -> Encoded:
        values, good = parsed(texts, self.parse, np.int64)
        placed = self.faults.settle(cuts.place_whole(values, self.cuts), self.size, values)
        return placed.spoilt(~good, self.faults.unparsable)


def text_encoder(attribute: Attribute) -> TextEncoder:
    """The encoder of an attribute's kind of axis."""
    axis, faults = attribute.axis, FaultCodes.of(attribute)
    if isinstance(axis, Labels):
        places = {label: place for place, label in enumerate(axis.values)}
        return LabelTexts(places=places, folded=axis.folded, faults=faults)
    if isinstance(axis, Codes):
        return CodeTexts(size=axis.size, faults=faults)
    if axis.kind == "number":
        return NumberTexts(cuts=cuts.float_cuts(axis, np.dtype(np.float64)), size=axis.size, faults=faults)
    parse = day if axis.kind == "date" else moment
    return MomentTexts(parse=parse, cuts=cuts.whole_cuts(axis), size=axis.size, faults=faults)
