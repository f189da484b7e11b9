import io
import os

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.cases import in_one_test
from support.forged_parquet import (
    BINARY,
    FIRST_PAGE,
    GROUP_ROWS,
    GROUPS,
    I32,
    I64,
    LIST,
    PACKED,
    ROWS,
    STRUCT,
    TRUE,
    VALUES,
    chunk_facts,
    footer_of,
    forged,
    table_bytes,
    with_footer,
    with_page,
    written_struct,
)

from dpqr.kernel.errors import DataError
from dpqr.tables import limits
from dpqr.tables import parquet as parquet_budget
from dpqr.tables import parquet as parquet_footer
from dpqr.tables.files import TableFile
from dpqr.tables.limits import Limits
from dpqr.tables.parquet import BadParquet, BadThrift, Compact, ParquetBudget, ParquetPage, chunk_pages, read_footer

WHOLE = {1: (I32, Compact.whole)}
INNER = {5: (STRUCT, lambda at: at.struct(WHOLE))}


def told(fields, taken):
    return Compact(written_struct(fields)).struct(taken)


def test_the_fields_that_are_asked_for() -> None:
    fields = {
        1: [I32, -7],
        2: [BINARY, b"a name"],
        3: [LIST, [STRUCT, [{1: [TRUE, True]}, {}]]],
        4: [LIST, [TRUE, []]],
        5: [STRUCT, {2: [I64, 2**40], 1: [I32, 9]}],
    }
    assert told(fields, {}) == {}
    assert told(fields, {**WHOLE, **INNER}) == {1: -7, 5: {1: 9}}


def test_short_forms_of_field_numbers() -> None:
    assert Compact(bytes([0x15, 0x0E, 0x15, 0x10, 0])).struct({**WHOLE, 2: (I32, Compact.whole)}) == {1: 7, 2: 8}


@in_one_test(
    "data",
    [
        written_struct({1: [I64, 5]}),
        written_struct({1: [I32, 5]})[:-1] * 2 + b"\0",
        bytes([0x1B, 0, 0]),
        bytes([0x15, *[0xFF] * 10, 0, 0]),
        b"\x2c" * 40,
        b"\x29\x19" + b"\x19" * 40,
        bytes([0x25, 0] * 200),
    ],
)
def test_what_no_footer_holds_is_refused(data) -> None:
    with pytest.raises((BadThrift, IndexError)):
        Compact(data).struct(WHOLE)


def test_bytes_that_end_too_early_and_a_list_that_claims_more_than_there_is() -> None:
    whole = written_struct({1: [I32, 300], 2: [BINARY, b"abc"], 3: [LIST, [I32, [1]]]})
    for length in range(12):
        with pytest.raises(IndexError):
            Compact(whole[:length]).struct(WHOLE)
    with pytest.raises(IndexError):
        Compact(bytes([0x29, 0xF1, 0xFF, 0xFF, 0xFF, 0xFF, 0x07, 0])).struct({})


TABLE = {"a": np.arange(1000), "b": [f"t{each % 7}" for each in range(1000)], "c": [[each] for each in range(1000)]}
LEAVES = ["a", "b", "c.list.element"]


def found(tmp_path, data, leaves=LEAVES, wanted=("a", "b")):
    (tmp_path / "t.parquet").write_bytes(data)
    descriptor = os.open(tmp_path / "t.parquet", os.O_RDONLY)
    try:
        return read_footer(descriptor, leaves, set(wanted))
    finally:
        os.close(descriptor)


@in_one_test("delta", [False, True])
def test_it_says_what_the_library_says(tmp_path, delta) -> None:
    encoding = {"use_dictionary": False, "column_encoding": dict.fromkeys(LEAVES, "PLAIN") | {"b": "DELTA_BYTE_ARRAY"}}
    data = table_bytes(TABLE, row_group_size=300, **(encoding if delta else {}))
    known = parquet.read_metadata(io.BytesIO(data))
    footer = found(tmp_path, data)
    assert (footer.rows, [group.rows for group in footer.groups]) == (1000, [300, 300, 300, 100])
    for place, group in enumerate(footer.groups):
        assert [chunk.name for chunk in group.chunks] == ["a", "b"]
        for column, chunk in enumerate(group.chunks):
            other = known.row_group(place).column(column)
            assert chunk.values == other.num_values
            assert chunk.unpacked == other.total_uncompressed_size
            assert chunk.packed == other.total_compressed_size
            assert chunk.first == other.data_page_offset
            assert chunk.dictionary == (other.dictionary_page_offset if other.has_dictionary_page else None)
            assert chunk.texts == (other.physical_type == "BYTE_ARRAY")
            assert chunk.delta == any("DELTA" in each for each in other.encodings)


def test_columns_go_by_their_order_and_not_by_what_chunks_call_themselves(tmp_path) -> None:
    data = forged(table_bytes(TABLE), lambda footer: chunk_facts(footer, 0, 1).update({3: [9, [8, [b"z"]]]}))
    assert [chunk.name for chunk in found(tmp_path, data).groups[0].chunks] == ["a", "b"]


def set_group_rows(footer, rows):
    footer[GROUPS][1][1][0][GROUP_ROWS][1] = rows


FORGERIES = {
    "negative rows": lambda footer: footer[ROWS].__setitem__(1, -1),
    "a group of negative rows": lambda footer: set_group_rows(footer, -5),
    "negative values": lambda footer: chunk_facts(footer)[VALUES].__setitem__(1, -1),
    "no page": lambda footer: chunk_facts(footer).pop(FIRST_PAGE),
    "a page before the file": lambda footer: chunk_facts(footer)[FIRST_PAGE].__setitem__(1, -9),
    "no facts": lambda footer: footer[GROUPS][1][1][0][1][1][1][0].pop(3),
    "rows of another type": lambda footer: footer.update({ROWS: [I32, 7]}),
    "a column too many": lambda footer: footer[GROUPS][1][1][0][1][1][1].append({}),
}


@in_one_test("change", FORGERIES.values())
def test_forgeries(tmp_path, change) -> None:
    with pytest.raises(BadParquet):
        found(tmp_path, forged(table_bytes(TABLE), change))


def test_more_chunks_than_any_table_needs(tmp_path, monkeypatch) -> None:
    data = table_bytes(TABLE, row_group_size=100)
    monkeypatch.setattr(parquet_footer, "MOST_CHUNKS", 30)
    assert len(found(tmp_path, data).groups) == 10
    monkeypatch.setattr(parquet_footer, "MOST_CHUNKS", 29)
    with pytest.raises(BadParquet):
        found(tmp_path, data)


def test_what_has_no_footer(tmp_path) -> None:
    footer, before = footer_of(table_bytes({"a": [1]}))
    whole = with_footer(before, footer)
    for data in (b"", b"PAR1", whole[:-1], whole[:-8] + b"\xff\xff\xff\x7fPAR1", whole[:-8] + b"\0\0\0\0PAR1"):
        with pytest.raises(BadParquet):
            found(tmp_path, data, ["a"], ["a"])


def test_lists_that_disagree_end_no_process(tmp_path) -> None:
    """pyarrow's own objects of a chunk abort here: statistics of sizes with one level too many."""
    data = table_bytes({"a": ["x", None]})

    def change(footer):
        chunk_facts(footer)[16] = [12, {3: [9, [6, [1, 1, 1]]]}]

    assert found(tmp_path, forged(data, change), ["a"], ["a"]).rows == 2
    with pytest.raises(OSError, match="mismatch"):
        parquet.ParquetFile(pa.BufferReader(forged(data, change))).read()


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


@in_one_test("version", ["1.0", "2.0"])
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


@in_one_test("change", PAGES.values())
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


@in_one_test(("field", "value"), [(VALUES, 10**9), (PACKED, 2**62)])
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
    return list(budget.pieces(batch, ("who",)))


def test_texts_of_the_unit_column_are_spelt_out_in_pieces(tmp_path, small) -> None:
    _, budget = weighed(tmp_path, {"a": [1]}, stated=Limits(bytes=2**40 - 1))
    found = pieces(budget, ["x" * 100 * KB, "y"], [0, 1] * 50)
    assert sum(piece.num_rows for piece in found) == 100
    assert max(piece.num_rows for piece in found) == 10
    assert budget.unpacked > 50 * 100 * KB


def test_texts_of_the_unit_column_that_come_to_too_much(tmp_path, small) -> None:
    """In one batch, or in several small ones."""
    said = "unpacks to more than 100 times its size"
    _, budget = weighed(tmp_path, {"a": [1]})
    with pytest.raises(DataError, match=said):
        pieces(budget, ["x" * 100 * KB], [0] * 100)
    _, budget = weighed(tmp_path, {"a": [1]})
    pieces(budget, ["x" * 100 * KB], [0] * 9)
    with pytest.raises(DataError, match=said):
        pieces(budget, ["x" * 100 * KB], [0] * 9)
    _, budget = weighed(tmp_path, {"a": [1]}, stated=Limits(row_bytes=99 * KB))
    assert len(pieces(budget, ["x" * 100 * KB], [0] * 100)) == 1, "malformed rows, whose texts nobody spells out"
