import csv
import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpqr.errors import DataError
from dpqr.io.tables.text import csv_rows
from dpqr.io.tables.text.csv_rows import CsvRows


class Pieces:
    """A stream of text that is given in pieces of at most so many bytes."""

    def __init__(self, text: bytes, piece: int = 2**20) -> None:
        self._text = io.BytesIO(text)
        self._piece = piece

    def read(self, size: int) -> bytes:
        return self._text.read(min(size, self._piece))


def rows(text: bytes, width: int = 2, *, piece: int = 2**20, most: int = 2**20) -> list[tuple[str, ...]]:
    """All rows of a text without a header, which is put before it."""
    header = b",".join(b"%d" % place for place in range(width)) + b"\n"
    found = CsvRows(Pieces(header + text, piece), ",", most, "the table")
    assert found.header() == [str(place) for place in range(width)]
    return [row for columns in found.columns(width, range(width)) for row in zip(*columns, strict=True)]


def outcome(text: bytes, width: int, **more: int) -> list[tuple[str, ...]] | str:
    try:
        return rows(text, width, **more)
    except DataError as fault:
        return str(fault)


TEXTS = st.text('ab,"\n\ré ', max_size=24)


@given(text=TEXTS, width=st.integers(1, 3), piece=st.integers(1, 9))
def test_rows_are_those_of_the_standard_library_however_the_text_is_cut(text, width, piece) -> None:
    """The last empty line tells whether a quote is open: it would be part of the last row."""
    reader = csv.reader([*io.StringIO(text + "\n", newline=""), ""])
    wanted = [tuple(row) for row in reader]
    closed, wanted = wanted[-1] == (), [row for row in wanted if row]
    found = outcome(text.encode(), width, piece=piece)
    if {len(row) for row in wanted} - {width}:
        assert isinstance(found, str)
    elif closed:
        assert found == wanted
    else:
        assert found == "the table: a quote is never closed; mend the quoting"


@given(cells=st.lists(st.tuples(*[st.text('ab,"\né', max_size=4)] * 2), max_size=9), piece=st.integers(1, 9))
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


@pytest.mark.parametrize("row", [b"123,4567", b'1,"3\n\n7"', b'"1","45"', b"1,\xc3\xa91234"])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("piece", [1, 3, 2**20])
def test_a_row_may_be_as_long_as_the_limit_and_no_longer(row, end, piece) -> None:
    before = b"1,2\n"
    assert len(rows(before + row + end, piece=piece, most=len(row))) == 2
    for most in (len(row) - 1, 4):
        with pytest.raises(DataError, match=f"longer than {most} bytes"):
            rows(before + row + end, piece=piece, most=most)


def test_other_text_than_utf8_is_refused_where_it_is_asked_for() -> None:
    for row in (b"1,\xff,\xc3\xa9", b'1,"\xff","\xc3\xa9"'):
        read = CsvRows(Pieces(b"a,\xfe,c\n" + row), ",", 99, "it")
        assert read.header() == ["a", "\ufffd", "c"]
        assert [columns for columns in read.columns(3, [2, 0]) if columns[0]] == [[["é"], ["1"]]]
        with pytest.raises(DataError, match="the table is not UTF-8 text"):
            rows(row, 3)


def test_a_long_cell_is_one_piece_of_work() -> None:
    """Doubling what is held keeps the work of a row linear in its length; the library's own limit is raised."""
    cell = "x\n" * 2**17
    assert rows(f'1,"{cell}"\n'.encode()) == [("1", cell)]


def test_memory_follows_the_piece_and_not_the_table() -> None:
    text = b"12,34\n" * 10**6
    read = CsvRows(Pieces(b"a,b\n" + text), ",", 2**20, "it")
    width = len(read.header())
    tracemalloc.start()
    count = sum(len(columns[0]) for columns in read.columns(width, range(width)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 10**6
    assert peak < 100 * csv_rows._PIECE
