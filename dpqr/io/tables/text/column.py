"""TextColumn: texts of one column become codes of one attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.data.attribute import Attribute
from dpqr.io.tables.fault_codes import Encoded, FaultCodes
from dpqr.io.tables.text.encoders import TextEncoder, text_encoder

_KNOWN = 2**12
"""Texts beside those of the attribute's own cells that are remembered."""


@dataclass(slots=True, kw_only=True)
class TextColumn:
    """One attribute's encoder, and the texts that stand for null.

    A text's code depends on nothing else, so codes of texts that recur are remembered from batch to batch. What is
    remembered is private, and bounded, for a column may have another text in every row.
    """

    encoder: TextEncoder
    null: int
    missing: frozenset[str]
    most: int
    _codes: dict[str, int] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, attribute: Attribute) -> TextColumn:
        missing, null = frozenset(attribute.missing), FaultCodes.of(attribute).null
        return cls(encoder=text_encoder(attribute), null=null, missing=missing, most=_KNOWN + attribute.size)

    def encode(self, cells: Sequence[str]) -> Encoded:
        codes = self._known(cells)
        if codes is None:
            codes = self._anew(cells)
        return Encoded(codes, clean=bool((codes >= 0).all()))

    def _anew(self, cells: Sequence[str]) -> IntArray:
        """Codes of cells not all of which are remembered; where few of them are alike, none is worth it."""
        distinct = set(cells)
        if 2 * len(distinct) > len(cells):
            return self._coded(cells)
        fresh = distinct - self._codes.keys()
        if len(self._codes) + len(fresh) > self.most:
            self._codes, fresh = {}, distinct
        texts = list(fresh)
        self._codes.update(zip(texts, self._coded(texts).tolist(), strict=True))
        return self._looked_up(cells)

    def _coded(self, texts: Sequence[str]) -> IntArray:
        if self.missing.isdisjoint(texts):
            return self.encoder.encode(texts).codes
        codes = np.full(len(texts), self.null, dtype=np.int64)
        places = [place for place, text in enumerate(texts) if text not in self.missing]
        codes[places] = self.encoder.encode([texts[place] for place in places]).codes
        return codes

    def _known(self, cells: Sequence[str]) -> IntArray | None:
        """The cells' codes; None where one of them is not remembered."""
        try:
            return self._looked_up(cells)
        except KeyError:
            return None

    def _looked_up(self, cells: Sequence[str]) -> IntArray:
        return np.fromiter(map(self._codes.__getitem__, cells), dtype=np.int64, count=len(cells))
