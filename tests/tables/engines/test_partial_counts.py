"""Counts become values, are added up in any order and in several steps, and come back as the same counts."""

from functools import partial

import pyarrow as pa
import pytest

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DataError
from dpqr.tables.counting import Counting
from dpqr.tables.engines.engine import add_counts, encode_counts
from dpqr.tables.limits import Limits
from dpqr.testing import check_engine

SECRET = "row of Bob"


class Carried:
    """An Arrow table whose parts are carried as values and added up in a tree."""

    name, public = "carried", None

    def __init__(self, table):
        self._table, self.names = table, tuple(table.schema.names)

    def kind(self, name):
        return self._table.schema.field(name).type

    def count(self, asked):
        batches = self._table.select(list(asked.columns)).to_batches(max_chunksize=30)
        parts = [batches] if asked.unit.column is not None else [[batch] for batch in batches]
        values = [encode_counts(partial(asked.counted, lambda part=part: part)) for part in parts]
        sums = [encode_counts(partial(add_counts, values[start::2], asked)) for start in range(2)]
        return add_counts(sums, asked)


def test_what_is_carried_is_what_was_counted() -> None:
    check_engine(Carried, rows=100)


ASKED = Counting(domain=Domain((Attribute(name="k", axis=Codes(3)),)), limits=Limits(records=5))


def of(*codes):
    return encode_counts(lambda: ASKED.counted(lambda: [pa.record_batch({"k": pa.array(codes, pa.int32())})]))


def failing():
    raise ValueError(SECRET)


def test_a_part_that_failed_ends_in_constant_words_through_every_step() -> None:
    failed = encode_counts(failing)
    assert SECRET.encode() not in failed
    step = encode_counts(lambda: add_counts([of(1), failed, of(2)], ASKED))
    with pytest.raises(DataError, match="counting a part of the table failed"):
        add_counts([of(0), step], ASKED)


def test_the_limit_on_records_holds_for_the_sum() -> None:
    with pytest.raises(DataError, match="more records than the declared limit"):
        add_counts([of(0, 1, 2), of(0, 1, 2)], ASKED)
