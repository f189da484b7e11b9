import os

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.forged_parquet import I32, PACKED, VALUES, chunk_facts, forged, table_bytes, with_page

from dpqr.kernel.errors import DataError
from dpqr.tables import limits
from dpqr.tables import parquet as parquet_budget
from dpqr.tables.files import TableFile
from dpqr.tables.limits import Limits
from dpqr.tables.parquet import BadParquet, ParquetBudget, ParquetPage, chunk_pages, read_footer

NUMBERS = {"a": np.arange(1000, dtype=np.int64)}
TEXTS = {"a": [f"name {each % 10}" for each in range(1000)]}


def pages(tmp_path, data):
    (tmp_path / "t.parquet").write_bytes(data)
    descriptor = os.open(tmp_path / "t.parquet", os.O_RDONLY)
    try:
        footer = read_footer(descriptor, ["a"], {"a"})
        return [page for group in footer.groups for chunk in group.chunks for page in chunk_pages(descriptor, chunk)]
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_plain_pages(tmp_path, version, compression) -> None:
    data = table_bytes(
        NUMBERS, use_dictionary=False, data_page_size=1000, write_batch_size=100, data_page_version=version
    )
    found = pages(tmp_path, data)
    assert sum(page.values for page in found) == 1000
    assert all(8 * page.values <= page.unpacked <= 8 * page.values + 16 for page in found)
    assert len(found) > 3
    assert all(page.data and not page.prefixed for page in found)


def test_a_dictionary_comes_first(tmp_path) -> None:
    first, *others = pages(tmp_path, table_bytes(TEXTS))
    assert first == ParquetPage(unpacked=10 * 10, values=10, data=False, prefixed=False)
    assert [page.data for page in others] == [True]


def test_texts_as_differences(tmp_path) -> None:
    data = table_bytes(
        TEXTS, use_dictionary=False, column_encoding="DELTA_BYTE_ARRAY", data_page_size=1000, write_batch_size=100
    )
    found = pages(tmp_path, data)
    assert len(found) > 1
    assert sum(page.values for page in found) == 1000
    assert [(page.data, page.prefixed) for page in found] == [(True, True)] * len(found)


def set_to(number, value):
    return lambda header: header[number].__setitem__(1, value)


PAGES = {
    "a negative size": set_to(2, -1),
    "a negative packed size": set_to(3, -1),
    "a page beyond its chunk": set_to(3, 10**6),
    "a size of 64 bits": lambda header: header.update({2: [6, 5]}),
    "no size": lambda header: header.pop(2),
    "no values": lambda header: header[5][1].pop(1),
    "no header of its kind": lambda header: header.pop(5),
    "too many fields": lambda header: header.update({50 + each: [I32, 1] for each in range(200)}),
}


@pytest.mark.parametrize("change", PAGES.values(), ids=PAGES)
def test_bad_headers(tmp_path, change) -> None:
    with pytest.raises(BadParquet):
        pages(tmp_path, with_page(table_bytes(NUMBERS, use_dictionary=False), change))


def test_what_a_header_asks_for_is_told(tmp_path) -> None:
    """The footer of this file is sound; its page claims to unpack to a gigabyte."""
    (page,) = pages(tmp_path, with_page(table_bytes(NUMBERS, use_dictionary=False), set_to(2, 2**30)))
    assert page.unpacked == 2**30


def test_a_dictionary_of_more_values_than_bytes(tmp_path) -> None:
    def change(header):
        header[7][1][1][1] = 10**6

    with pytest.raises(BadParquet):
        pages(tmp_path, with_page(table_bytes(TEXTS), change))


def test_a_long_header_is_read_to_its_end(tmp_path) -> None:
    def change(header):
        header[99] = [8, b"x" * 5000]

    assert pages(tmp_path, with_page(table_bytes(NUMBERS, use_dictionary=False), change))[0].values == 1000

    def endless(header):
        header[99] = [8, b"x" * 2**21]

    with pytest.raises(BadParquet):
        pages(tmp_path, with_page(table_bytes(NUMBERS, use_dictionary=False), endless))


@pytest.mark.parametrize(("field", "value"), [(VALUES, 10**9), (PACKED, 2**62)])
def test_chunks_that_claim_more_than_there_is(tmp_path, field, value) -> None:
    def change(footer):
        chunk_facts(footer)[field][1] = value
        chunk_facts(footer)[VALUES][1] = 10**9

    with pytest.raises(BadParquet):
        pages(tmp_path, forged(table_bytes(NUMBERS), change))


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
