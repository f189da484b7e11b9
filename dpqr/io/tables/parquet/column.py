"""TypedColumn: Arrow arrays of one column become codes of one attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpqr.data.attribute import Attribute
from dpqr.io.tables.fault_codes import Encoded, FaultCodes
from dpqr.io.tables.parquet.encoders import Encoder, encoder


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """One attribute's encoder, with what every kind shares: nulls and dictionaries."""

    encoder: Encoder
    null: int

    @classmethod
    def of(cls, attribute: Attribute) -> TypedColumn:
        return cls(encoder(attribute), FaultCodes.of(attribute).null)

    def encode(self, cells: Any) -> Encoded:
        from pyarrow import types

        if types.is_dictionary(cells.type):
            return self._looked_up(self.encode(cells.dictionary), cells.indices)
        if not cells.null_count:
            return self.encoder.encode(cells)
        codes = np.full(len(cells), self.null, dtype=np.int64)
        present = cells.is_valid()
        if cells.null_count < len(cells):
            codes[present.to_numpy(zero_copy_only=False)] = self.encoder.encode(cells.filter(present)).codes
        return Encoded(codes, clean=False)

    def _looked_up(self, table: Encoded, indices: Any) -> Encoded:
        """Rows by their dictionary entries. An entry that no row uses has no effect on any row's code."""
        codes = np.append(table.codes.astype(np.int64), self.null)
        places = indices.cast("int64").fill_null(len(table.codes)).to_numpy()
        return Encoded(codes[places], clean=table.clean and indices.null_count == 0)
