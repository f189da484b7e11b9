import io
import os

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.forged_parquet import (
    BINARY,
    FIRST_PAGE,
    GROUP_ROWS,
    GROUPS,
    I32,
    I64,
    LIST,
    ROWS,
    STRUCT,
    TRUE,
    VALUES,
    chunk_facts,
    footer_of,
    forged,
    table_bytes,
    with_footer,
    written_struct,
)

from dpqr.tables import parquet as parquet_footer
from dpqr.tables.parquet import BadParquet, BadThrift, Compact, read_footer

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


@pytest.mark.parametrize(
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
    ids=["another type", "twice", "a map", "an endless number", "deep", "deep lists", "too many fields"],
)
def test_what_no_footer_holds_is_refused(data) -> None:
    with pytest.raises((BadThrift, IndexError)):
        Compact(data).struct(WHOLE)


@pytest.mark.parametrize("length", range(12))
def test_bytes_that_end_too_early(length) -> None:
    whole = written_struct({1: [I32, 300], 2: [BINARY, b"abc"], 3: [LIST, [I32, [1]]]})
    with pytest.raises(IndexError):
        Compact(whole[:length]).struct(WHOLE)


def test_a_list_that_claims_more_than_there_is() -> None:
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


@pytest.mark.parametrize("delta", [False, True])
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


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
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
