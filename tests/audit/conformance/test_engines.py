"""The conformance kit of engines: ours pass, and wrong ones are found out."""

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import compute
from support.cases import slowly, thinned

from dpqr.tables.engines.known import engine_at
from dpqr.tables.frames import in_memory
from dpqr.testing import check_engine

MANY = 300_000
"""Rows that come in more than two batches of any source (of DuckDB's: 2**17 rows)."""


def part(rows):
    """Rows of a part: some fifty parts, none below a hundred. Each part holds counts of its own until all are added."""
    return max(100, rows // 50)


class Table:
    """An Arrow table as an engine that counts in parts, with whole persons in each."""

    name, public = "table", None

    def __init__(self, table):
        self._table, self.names = table, tuple(table.schema.names)

    def kind(self, name):
        return self._table.schema.field(name).type

    def count(self, asked):
        batches = self._table.select(list(asked.columns)).to_batches(max_chunksize=part(self._table.num_rows))
        if asked.unit.columns:
            return asked.counted(lambda: batches)
        return asked.together(asked.counted(lambda batch=batch: [batch]) for batch in batches)


class Pandas:
    name, public = "pandas", None

    def __init__(self, table):
        self._frame = in_memory(table.to_pandas(types_mapper=pd.ArrowDtype))
        self.names, self.kind = self._frame.names, self._frame.kind
        self._part = part(table.num_rows)

    def count(self, asked):
        return asked.counted(lambda: self._frame.batches(tuple(asked.columns), self._part))


def in_duckdb(folder):
    def made(table):
        path = str(folder / f"{table.num_rows}.duckdb")
        with duckdb.connect(path) as connection:
            connection.register("given", table)
            connection.execute("CREATE TABLE t AS SELECT * FROM given")
        return engine_at((f"duckdb:{path}?table=t",))

    return made


@pytest.mark.parametrize("rows", [100, *slowly(MANY)])
@pytest.mark.parametrize("made", thinned([Table, Pandas], 2))
def test_tables_in_memory(made, rows) -> None:
    check_engine(made, rows=rows)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [100, MANY])
def test_duckdb(tmp_path, rows) -> None:
    check_engine(in_duckdb(tmp_path), rows=rows)


class ForgetsNothing(Table):
    """Nulls of whole numbers become 0."""

    def count(self, asked):
        table = self._table.select(list(asked.columns))
        if "whole" in asked.columns:
            filled = table["whole"].fill_null(0)
            table = table.set_column(table.schema.names.index("whole"), "whole", filled)
        return asked.counted(table.to_batches)


class Twice(Table):
    """A batch that was tried again counts twice."""

    def count(self, asked):
        batches = self._table.select(list(asked.columns)).to_batches()
        return asked.counted(lambda: [*batches, *batches])


class Cut(Table):
    """Persons are cut into parts, so that each part keeps K rows of them."""

    def count(self, asked):
        batches = self._table.select(list(asked.columns)).to_batches(max_chunksize=20)
        return asked.together(asked.counted(lambda batch=batch: [batch]) for batch in batches)


class Shifted(Table):
    """Moments of a zone come in the time of the server, an hour off."""

    def count(self, asked):
        table = self._table.select(list(asked.columns))
        if "instant" in asked.columns:
            moved = compute.subtract(table["instant"].cast(pa.int64()), 3_600_000_000).cast(table["instant"].type)
            table = table.set_column(table.schema.names.index("instant"), "instant", moved)
        return asked.counted(table.to_batches)


class Quoting(Table):
    def count(self, asked):
        raise ValueError("the kit may quote, for its rows are made up")


class Nothing:
    name = "nothing"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "words"),
    [
        (ForgetsNothing, r"pairs: counts: other integers by \(name, whole\)"),
        (Twice, r"pairs: read: 200 and not 100"),
        (Cut, r"1 of each person: (units|dropped|counts)"),
        (Shifted, r"pairs: counts: other integers by \(name, instant\)"),
        (Quoting, "errors: ValueError: the kit may quote"),
        (lambda _: Nothing(), "protocol: the engine lacks public"),
    ],
)
def test_a_wrong_engine_is_found_out(made, words) -> None:
    with pytest.raises(AssertionError, match=words):
        check_engine(made, rows=100)
