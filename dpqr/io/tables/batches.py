"""Batches: one pass over every file of a table, in batches of the columns that are read, of text or in Arrow form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from dpqr.data.domain import Domain
from dpqr.data.unit import PrivacyUnit
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.parquet.table import Accepts, parquet_batches
from dpqr.io.tables.records import Records
from dpqr.io.tables.row_encoder import RowEncoder
from dpqr.io.tables.source import TableFile, TableSource
from dpqr.io.tables.structure import wanted_columns
from dpqr.io.tables.text.csv_table import csv_batches
from dpqr.mechanisms.noisy_answers import RECORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """A table that can be walked over. progress: is given newly read bytes, never rows."""

    source: TableSource
    domain: Domain
    unit: PrivacyUnit
    limits: Limits
    progress: Callable[[int], None] = lambda _: None

    def walk(self) -> Iterator[tuple[Records, RowEncoder]]:
        """Every batch of every file, with what encodes it: the domain's columns, then the count or unit column."""
        wanted = wanted_columns(self.source, self.domain, self.unit)
        cap = None if self.source.count_column is None else RECORDS
        for file in self.source.files():
            rows = RowEncoder.of(self.domain, text=file.kind == "csv", count_cap=cap)
            with closing(self._of_file(file, wanted)) as batches:
                for batch in batches:
                    yield batch, rows

    def _of_file(self, file: TableFile, wanted: dict[str, Accepts]) -> Any:
        if file.kind == "csv":
            return csv_batches(file, tuple(wanted), self.limits, self.progress)
        return parquet_batches(file, wanted, self.limits, self.progress, spelt=self.unit.column)
