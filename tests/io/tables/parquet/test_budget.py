import os

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.forged_parquet import table_bytes

from dpqr.errors import DataError
from dpqr.io.tables import limits
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.parquet import budget as parquet_budget
from dpqr.io.tables.parquet.budget import ParquetBudget
from dpqr.io.tables.parquet.footer import read_footer
from dpqr.io.tables.source import TableFile

KB = 2**10


def weighed(tmp_path, columns, coded=(), stated=Limits(), **options):  # noqa: B008 (frozen)
    """Rows at a time of every row group, and the budget after them."""
    path = tmp_path / "t.parquet"
    path.write_bytes(table_bytes(columns, **options))
    names = parquet.read_schema(path).names
    file = TableFile(path=str(path), kind="parquet", delimiter=",", bytes=path.stat().st_size)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        budget = ParquetBudget(file=file, descriptor=descriptor, coded=set(coded), limits=stated)
        return [budget.rows(group) for group in read_footer(descriptor, names, set(names)).groups], budget
    finally:
        os.close(descriptor)


@pytest.fixture
def small(monkeypatch):
    """A house in which a megabyte is much."""
    monkeypatch.setattr(parquet_budget, "PAGE_BYTES", 1000 * KB)
    monkeypatch.setattr(parquet_budget, "BATCH_BYTES", 1000 * KB)
    monkeypatch.setattr(parquet_budget, "_SMALL", KB)
    monkeypatch.setattr(limits, "_FREE_BYTES", 1000 * KB)


def test_narrow_rows_come_in_whole_batches(tmp_path) -> None:
    rows, budget = weighed(tmp_path, {"a": np.arange(5000)}, row_group_size=1000, stated=Limits(batch_rows=700))
    assert rows == [700] * 5
    assert budget.unpacked >= 5000 * 8


def test_wide_rows_come_in_few(tmp_path, small) -> None:
    rows, _ = weighed(tmp_path, {"a": ["x" * 10 * KB] * 80}, use_dictionary=False, compression="none")
    assert 90 <= rows[0] <= 100


def test_a_text_out_of_a_dictionary_may_stand_in_every_row(tmp_path, small) -> None:
    columns = {"a": ["x" * 100 * KB, *["y"] * 999]}
    assert weighed(tmp_path, columns)[0] == [9]
    assert weighed(tmp_path, columns, coded=["a"])[0] == [19], "by the average of its entries, where it stays one"


def test_a_text_written_as_differences_may_be_as_long_as_its_page(tmp_path, small) -> None:
    options = {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}
    rows, _ = weighed(tmp_path, {"a": ["x" * 50 * KB, *["x"] * 999]}, **options)
    assert rows[0] <= 1000 // 50


def test_large_pages_are_refused(tmp_path, small) -> None:
    options = {"use_dictionary": False, "data_page_size": 10**8}
    text = ["x" * 60 * KB] * 10
    weighed(tmp_path, {"a": text}, **options)
    with pytest.raises(DataError, match="pages that unpack to more than"):
        weighed(tmp_path, {"a": text * 2}, **options)
    with pytest.raises(DataError, match="pages that unpack to more than"):
        weighed(tmp_path, {"a": text, "b": text}, **options)


def test_what_unpacks_to_much_more_than_its_size(tmp_path, small) -> None:
    options = {"use_dictionary": False, "compression": "zstd", "data_page_size": 100 * KB}
    with pytest.raises(DataError, match="unpacks to more than 100 times its size; state --max-bytes"):
        weighed(tmp_path, {"a": np.zeros(300 * KB)}, **options)
    weighed(tmp_path, {"a": np.zeros(300 * KB)}, stated=Limits(bytes=2**30), **options)
    with pytest.raises(DataError, match="more bytes than the declared limit"):
        weighed(tmp_path, {"a": np.zeros(300 * KB)}, stated=Limits(bytes=2**20), **options)


def test_every_batch_copies_the_dictionary(tmp_path) -> None:
    columns = {"a": ["x" * 100 * KB, *["y"] * 999]}
    once, often = (weighed(tmp_path, columns, stated=Limits(batch_rows=rows))[1].unpacked for rows in (1000, 10))
    assert often - once > 90 * 100 * KB


def test_tiny_pages_are_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(parquet_budget, "_MANY_PAGES", 4)
    options = {"use_dictionary": False, "data_page_size": 1, "write_batch_size": 1, "compression": "none"}
    with pytest.raises(DataError, match="consists of tiny pages"):
        weighed(tmp_path, {"a": np.zeros(500, dtype=np.int32)}, write_statistics=False, **options)


def pieces(budget, texts, indices):
    column = pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(texts))
    batch = pa.record_batch({"a": pa.array(range(len(indices))), "who": column})
    return list(budget.pieces(batch, "who"))


def test_texts_of_the_unit_column_are_spelt_out_in_pieces(tmp_path, small) -> None:
    _, budget = weighed(tmp_path, {"a": [1]}, stated=Limits(bytes=2**40 - 1))
    found = pieces(budget, ["x" * 100 * KB, "y"], [0, 1] * 50)
    assert sum(piece.num_rows for piece in found) == 100
    assert max(piece.num_rows for piece in found) == 10
    assert budget.unpacked > 50 * 100 * KB


def test_texts_of_the_unit_column_that_come_to_too_much(tmp_path, small) -> None:
    _, budget = weighed(tmp_path, {"a": [1]})
    with pytest.raises(DataError, match="unpacks to more than 100 times its size"):
        pieces(budget, ["x" * 100 * KB], [0] * 100)
    _, budget = weighed(tmp_path, {"a": [1]}, stated=Limits(row_bytes=99 * KB))
    assert len(pieces(budget, ["x" * 100 * KB], [0] * 100)) == 1, "malformed rows, whose texts nobody spells out"


def test_long_texts_in_small_batches_are_counted_too(tmp_path, small) -> None:
    _, budget = weighed(tmp_path, {"a": [1]})
    pieces(budget, ["x" * 100 * KB], [0] * 9)
    with pytest.raises(DataError, match="unpacks to more than 100 times its size"):
        pieces(budget, ["x" * 100 * KB], [0] * 9)
