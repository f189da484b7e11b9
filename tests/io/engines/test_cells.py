"""Counts go to rows, are added up by cell, and come back as the same counts."""

import pyarrow as pa
import pytest

from dpqr.data.attribute import Attribute, Codes
from dpqr.data.domain import Domain
from dpqr.errors import DataError
from dpqr.io.engines.cells import counted_again, failure_rows, rows_of
from dpqr.io.tables.counting import Counting
from dpqr.io.tables.limits import Limits
from dpqr.testing import check_engine


class Carried:
    """An Arrow table whose parts are carried as rows."""

    name, public = "carried", None

    def __init__(self, table):
        self._table, self.names = table, tuple(table.schema.names)

    def kind(self, name):
        return self._table.schema.field(name).type

    def count(self, asked):
        batches = self._table.select(list(asked.columns)).to_batches(max_chunksize=30)
        parts = [batches] if asked.unit.column is not None else [[batch] for batch in batches]
        found = [row for part in parts for row in rows_of(asked.counted(lambda part=part: part))]
        return counted_again(pa.Table.from_batches(found, next(failure_rows("")).schema), asked)


def test_what_is_carried_is_what_was_counted() -> None:
    check_engine(Carried, rows=100)


ASKED = Counting(domain=Domain((Attribute(name="k", axis=Codes(3)),)), limits=Limits(records=5))


def of(*codes):
    return ASKED.counted(lambda: [pa.record_batch({"k": pa.array(codes, pa.int32())})])


def test_a_part_that_failed_ends_in_its_words() -> None:
    rows = [*rows_of(of(1)), *failure_rows("constant words")]
    with pytest.raises(DataError, match="constant words"):
        counted_again(pa.Table.from_batches(rows), ASKED)


def test_the_limit_on_records_holds_for_the_sum() -> None:
    rows = [*rows_of(of(0, 1, 2)), *rows_of(of(0, 1, 2))]
    with pytest.raises(DataError, match="more records than the declared limit"):
        counted_again(pa.Table.from_batches(rows), ASKED)
