import csv
import io
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import in_one_test

from dpqr.tables import csv_table as csv_rows
from dpqr.tables.csv_table import CsvRows


class Pieces:
    """A stream of text that is given in pieces of at most so many bytes."""

    def __init__(self, text: bytes, piece: int = 2**20) -> None:
        self._text = io.BytesIO(text)
        self._piece = piece

    def read(self, size: int) -> bytes:
        return self._text.read(min(size, self._piece))


Row = tuple[str, ...] | None


def rows(text: bytes, width: int = 2, *, piece: int = 2**20, most: int = 2**20) -> list[Row]:
    """All rows of a text without a header, which is put before it; None for the malformed ones."""
    header = b",".join(b"%d" % place for place in range(width)) + b"\n"
    read, found = CsvRows(Pieces(header + text, piece), ",", most, "the table"), []
    assert read.header() == [str(place) for place in range(width)]
    names = [str(place) for place in range(width)]
    for batch in read.records(names, names):
        good = zip(*(column.to_pylist() for column in batch.rows.columns), strict=True)
        found += [None if place in batch.malformed else next(good) for place in range(batch.count)]
    return found


def by_the_library(text: bytes, width: int, most: int) -> list[Row]:
    """The same by its definition, row by row: what the standard library reads from the lines of the whole text. The
    last empty line tells whether a quote is open: it would be part of the last row."""
    lines, found, done = text.splitlines(keepends=True), [], 0
    reader = csv.reader([*(line.decode(errors="surrogateescape") for line in lines), "\n", ""])
    for row in reader:
        size = len(b"".join(lines[done : reader.line_num]).rstrip(b"\r\n"))
        fits = len(row) == width and size <= most and reader.line_num <= len(lines) + 1
        found += [tuple(row) if fits and _is_utf8("".join(row)) else None] if row else []
        done = reader.line_num
    return found


def _is_utf8(text: str) -> bool:
    return not any("\udc80" <= sign <= "\udcff" for sign in text)


SIGNS = [b"a", b"07", b",", b",", b'"', b'"', b"\n", b"\n", b"\r", b"\r\n", b" ", b"\xff", "é".encode()]
RARE = [b"\0", b"\x7f", "\ufffd".encode(), b"\n\n", b"1.0", b"NA", b"true", b'""']
TEXTS = st.lists(st.sampled_from(SIGNS)) | st.lists(st.sampled_from([*SIGNS, *RARE]))


@settings(max_examples=80)
@given(text=TEXTS.map(b"".join), width=st.integers(1, 3), piece=st.integers(1, 9), most=st.sampled_from([5, 6, 8, 99]))
def test_rows_are_those_of_the_standard_library_however_the_text_is_cut(text, width, piece, most) -> None:
    assert rows(text, width, piece=piece, most=most) == by_the_library(text, width, most)


ONE_ROW = st.sampled_from([b"1,2", b'"x\n",', b"1", b"\xff,"])


@settings(max_examples=40)
@given(text=TEXTS.map(b"".join), place=st.integers(0, 9), row=ONE_ROW)
def test_one_row_more_is_one_record_more_and_no_other_changes(text, place, row) -> None:
    """Whatever the row, between two records of a table that the grammar cut: the neighbours of the guarantee."""
    lines = text.replace(b'"', b"").splitlines(keepends=True)
    before, after = b"".join(lines[:place]), b"".join(lines[place:])
    if before and not before.endswith((b"\n", b"\r")):
        before += b"\n"
    shorter, longer = rows(before + after), rows(before + row + b"\n" + after)
    at = len(rows(before))
    assert longer[:at] + longer[at + 1 :] == shorter


@given(cells=st.lists(st.tuples(*[st.text('ab,"\né', max_size=4)] * 2), max_size=9), piece=st.integers(1, 9))
@pytest.mark.slow
def test_what_the_standard_library_writes_is_read(cells, piece) -> None:
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL):
        written = io.StringIO(newline="")
        csv.writer(written, quoting=quoting).writerows(cells)
        assert rows(written.getvalue().encode(), piece=piece) == cells


def test_texts_with_and_without_quotes_are_read_alike() -> None:
    plain = [(str(number), "x" * (number % 7)) for number in range(3000)]
    text = "".join(f"{left},{right}\r\n" for left, right in plain)
    assert rows(text.encode()) == plain
    assert rows(('"q",""\n' + text).encode()) == [("q", ""), *plain]
    assert rows((text + '"q\n",\n').encode()) == [*plain, ("q\n", "")]


@in_one_test("row", [b"123,4567", b'1,"3\n\n7"', b'"1","45"', b"1,\xc3\xa91234"])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("piece", [1, 3, 2**20])
def test_a_row_may_be_as_long_as_the_limit_and_no_longer(row, end, piece) -> None:
    before = b"1,2\n"
    assert None not in rows(before + row + end, piece=piece, most=len(row))
    for most in (len(row) - 1, 4):
        assert rows(before + row + end, piece=piece, most=most) == [("1", "2"), None]


def test_other_text_than_utf8_is_malformed_where_it_is_asked_for() -> None:
    for row in (b"1,\xff,\xc3\xa9", b'1,"\xff","\xc3\xa9"'):
        read = CsvRows(Pieces(b"a,\xfe,c\n" + row), ",", 99, "it")
        assert read.header() == ["a", "\ufffd", "c"]
        found = [batch for batch in read.records(["a", "b", "c"], ["c", "a"]) if batch.count]
        assert [batch.rows.to_pydict() for batch in found] == [{"c": ["é"], "a": ["1"]}]
        assert rows(row, 3) == [None]


def test_a_long_cell_is_one_piece_of_work() -> None:
    """Doubling what is held keeps the work of a row linear in its length; the library's own limit is raised."""
    cell = "x\n" * 2**17
    assert rows(f'1,"{cell}"\n'.encode()) == [("1", cell)]


@pytest.mark.slow
def test_memory_follows_the_piece_and_not_the_table() -> None:
    text = b"12,34\n" * 10**7
    read = CsvRows(Pieces(b"a,b\n" + text), ",", 2**20, "it")
    header = read.header()
    tracemalloc.start()
    count = sum(batch.count for batch in read.records(header, header))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 10**7
    assert peak < 20 * csv_rows.PIECE_BYTES
