import codecs
import gzip
import io
import random
import sys
import tracemalloc
import types

import pytest
from support.cases import in_one_test

from dpqr.domain.attribute import Attribute, Labels, Rule
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DataError
from dpqr.tables.csv_table import Recoded, TextStream, csv_batches, csv_names
from dpqr.tables.files import TableFile
from dpqr.tables.limits import Limits
from dpqr.tables.source import TableSource


def cells(batch) -> list[tuple]:
    return list(zip(*(column.to_pylist() for column in batch.rows.columns), strict=True))


def rows(path, names, *, delimiter=None, **limits) -> list[tuple]:
    (file,) = TableSource(paths=(str(path),), delimiter=delimiter).files()
    batches = list(csv_batches(file, names, Limits(**limits), lambda count: None))
    return [row for batch in batches for row in cells(batch)]


def records(path, names, **limits) -> list[tuple | None]:
    """Every record in its place, None for the malformed ones."""
    (file,) = TableSource(paths=(str(path),)).files()
    found = []
    for batch in csv_batches(file, names, Limits(**limits), lambda count: None):
        good, bad = iter(cells(batch)), set(batch.malformed.tolist())
        found += [None if place in bad else next(good) for place in range(batch.count)]
    return found


def written(tmp_path, content: bytes, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


GOOD = {
    b"a,b\n1,2\n3,4\n": [("2", "1"), ("4", "3")],
    b"a,b\r\n1,2\r\n3,4": [("2", "1"), ("4", "3")],
    b"a,b\r1,2\r3,4\r": [("2", "1"), ("4", "3")],
    b"\xef\xbb\xbfa,b\n1,2\n": [("2", "1")],
    b'\xef\xbb\xbf"a","b"\n1,2\n': [("2", "1")],
    b"x,b,y,a\n9,1,,2\n": [("1", "2")],
    b'a,b\n"x, ""y""",\n"l1\nl2"," z "\n': [("", 'x, "y"'), (" z ", "l1\nl2")],
    b'a,b\n"",\n': [("", "")],
    b"\n\na,b\n\n1,2\n\n\n": [("2", "1")],
    b"a,b\n": [],
    b"a,b": [],
    b"a,b\n1,\xc3\xa9": [("é", "1")],
    b"a,b\nnan,0x10\nNULL,1e5\n": [("0x10", "nan"), ("1e5", "NULL")],
    b'a,b,"c\nd"\n1,2,3\n': [("2", "1")],
    b"a,b,c,c\n1,2,3,4\n": [("2", "1")],
}


@in_one_test("content", GOOD)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("row_bytes", [32, 2**20])
def test_cells_are_text_and_rows_are_rows(tmp_path, content, packed, row_bytes) -> None:
    path = written(tmp_path, gzip.compress(content) if packed else content)
    assert rows(path, ("b", "a"), row_bytes=row_bytes) == GOOD[content]


def test_one_column_delimiters_and_gzip_of_several_members(tmp_path) -> None:
    assert rows(written(tmp_path, b'a\n1\n\n""\n2\n'), ("a",)) == [("1",), ("",), ("2",)]
    for mark in ";|\t ":
        path = written(tmp_path, f"a{mark}b\n1,5{mark}2\n".encode())
        assert rows(path, ("a", "b"), delimiter=mark) == [("1,5", "2")]
    assert rows(written(tmp_path, b"a\tb\n1\t2\n", "t.tsv"), ("b",)) == [("2",)]
    content = gzip.compress(b"a,b\n1,") + gzip.compress(b"2\n3,4\n")
    assert rows(written(tmp_path, content, "t.csv.gz"), ("a", "b")) == [("1", "2"), ("3", "4")]


def test_the_bytes_that_are_told_are_those_on_disk(tmp_path) -> None:
    content = b"a,b\n" + b"12,34\n" * 50_000
    for packed in (content, gzip.compress(content)):
        told: list[int] = []
        (file,) = TableSource(paths=(str(written(tmp_path, packed)),)).files()
        for _ in csv_batches(file, ("a",), Limits(row_bytes=2**16), told.append):
            pass
        assert sum(told) == len(packed)
        assert min(told) >= 0


SECRET = b"4711secret"
BAD = {
    "never closed": [b'a,"b\n4711secret,2\n', b'a,"b' + SECRET * 300],
    "not UTF-8": ["a,b\n1,4711secret\n".encode("utf-16")],
    "has no column '[ab]'": [b"4711secret,x\n1,2\n", b"a;b\n4711secret;2\n", b"a, b\n1,2\n", b"A,B\n1,2\n"],
    "the column 'b' twice": [b"a,b,b\n1,2,4711secret\n"],
    "no header line": [b"\n\n\n", b"\xef\xbb\xbf", gzip.compress(b"")],
    "more columns than the declared limit": [b"a,b" + b",x" * 100 + b"\n"],
    "cut short or damaged": [
        gzip.compress(b"a,b\n" + b"1,2\n" * 9999)[:-30],
        gzip.compress(b"a,b\n4711secret,2\n")[:-8] + b"\0" * 8,
        gzip.compress(b"a,b\n4711secret,2\n")[:12] + b"\xff" * 20,
    ],
    "more bytes than": [gzip.compress(b"a,b\n" + b"1,2\n" * 99_999)],
    "is Parquet": [b"PAR1" + SECRET],
}


@in_one_test(
    ("message", "content"),
    [
        pytest.param(message, each, id=f"{message}-{n}")
        for message, cases in BAD.items()
        for n, each in enumerate(cases)
    ],
)
def test_faults_of_structure_are_told_in_constant_words(tmp_path, message, content) -> None:
    path = written(tmp_path, content)
    with pytest.raises(DataError, match=message) as caught:
        rows(path, ("a", "b"), row_bytes=1024, columns=100, bytes=100_000)
    assert "4711secret" not in str(caught.value)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert str(caught.value).count("\n") <= 1


def test_cells_that_nobody_asks_for_may_hold_any_bytes(tmp_path) -> None:
    path = written(tmp_path, b"a,b\n\xe9,2\n")
    assert records(path, ("b",)) == [("2",)]
    assert records(path, ("a",)) == [None]


@pytest.mark.slow
def test_a_row_far_beyond_memory_is_passed_over_in_little(tmp_path) -> None:
    path = written(tmp_path, gzip.compress(b'a,b\n1,"' + (b"x" * 63 + b"\n") * 2**21 + b'"\n3,4\n'))
    tracemalloc.start()
    try:
        assert records(path, ("a", "b"), row_bytes=2**16, bytes=2**30) == [None, ("3", "4")]
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


def test_the_header_is_held_to_no_limit_that_rows_could_break(tmp_path) -> None:
    """It lies in one piece with rows: a limit on bytes would count these for nothing."""
    path = written(tmp_path, b"a,b\n" + b"1,2\n" * 100)
    (file,) = TableSource(paths=(str(path),)).files()
    assert csv_names(file, ("a",), Limits(bytes=1)) == ("a", "b")
    with pytest.raises(DataError, match="more bytes than the declared limit"):
        rows(path, ("a",), bytes=403)


def test_files_are_closed_after_success_and_failure(tmp_path) -> None:
    """An open file would end as a ResourceWarning, which is an error here."""
    path = written(tmp_path, b"a,b\n" + b"1,2\n" * 5000)
    (file,) = TableSource(paths=(str(path),)).files()
    batches = csv_batches(file, ("a",), Limits(row_bytes=1024), lambda count: None)
    next(batches)
    batches.close()
    assert csv_names(file, ("a", "b"), Limits()) == ("a", "b")
    with pytest.raises(DataError):
        csv_names(file, ("c",), Limits())


class Slow(io.RawIOBase):
    """A pipe that gives a few bytes at a time."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        return self._content.readinto(memoryview(buffer)[:3])


@in_one_test("pack", [bytes, gzip.compress])
def test_standard_input(monkeypatch, pack) -> None:
    content = b"a,b\n" + b"1,2\n" * 100
    stdin = io.BufferedReader(Slow(pack(content)), buffer_size=4)
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=stdin))
    (file,) = TableSource(paths=("-",)).files()
    assert csv_names(file, ("a",), Limits()) == ("a", "b")
    assert csv_names(file, ("b",), Limits()) == ("a", "b")
    batches = list(csv_batches(file, ("b", "a"), Limits(), lambda count: None))
    assert [row for batch in batches for row in cells(batch)] == [("2", "1")] * 100
    assert not stdin.closed


TEXT = "näme;städt\nMüller;Köln\n€;„Łódź“\n"


class Pieces(io.BytesIO):
    """Reads that end anywhere."""

    def __init__(self, data, seed):
        super().__init__(data)
        self.random = random.Random(seed)

    def read(self, size=-1):
        return super().read(self.random.randint(1, 5))


def recoded(data: bytes, encoding: str, seed: int = 0) -> bytes:
    stream, found = Recoded(Pieces(data, seed), encoding), b""
    while piece := stream.read(100):
        found += piece
    return found


@in_one_test("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "gb18030", "utf-8"])
def test_text_is_the_same_however_it_is_cut(encoding) -> None:
    for seed in range(5):
        assert recoded(TEXT.encode(encoding), encoding, seed) == TEXT.encode()


def test_bytes_that_are_no_character_are_no_utf_8() -> None:
    assert recoded(b"a\x81b\x8d\xe9", "cp1252") == b"a\xffb\xff" + "é".encode()
    assert recoded("é".encode(), "ascii") == b"\xff\xff"
    assert recoded("ab".encode("utf-16-le") + b"\x00\xd8" + "c".encode("utf-16-le"), "utf-16-le") == b"ab\xffc"
    assert recoded(b"a\x00b", "utf-16-le") == b"a\xff"


CITIES = Domain((Attribute(name="städt", axis=Labels(("Köln", "Łódź")), rules={"outside": Rule.CELL}),))


@in_one_test("encoding", ["cp1250", "utf-16", "utf-16-le", "utf-32"])
def test_tables_in_other_encodings(load, tmp_path, encoding) -> None:
    table = "näme;städt\n" + "Müller;Köln\n" * 3 + '"a\n;b";Łódź\n' * 2 + "x;\x7f\n"
    mark = codecs.BOM_UTF16_LE if encoding == "utf-16-le" else b""
    (tmp_path / "t.csv").write_bytes(mark + table.encode(encoding))
    source = {"delimiter": ";", "encoding": encoding}
    assert load(CITIES, tmp_path / "t.csv", source=source).tolist() == [3, 2, 1]


def test_bytes_that_are_no_text_are_malformed_rows_and_the_wrong_encoding_is_named(load, tmp_path) -> None:
    (tmp_path / "t.csv").write_bytes("näme;städt\n".encode("cp1252") + b"a;K\xf6ln\nb;K\x81ln\n\x81;K\xf6ln\n")
    source = {"delimiter": ";", "encoding": "cp1252"}
    assert load(CITIES, tmp_path / "t.csv", source=source).tolist() == [2, 0, 0]
    for encoding, said in (
        ("cp1252", r"read as utf-8 with the delimiter ','\nname another with .* or --encoding"),
        ("utf-16", "is not UTF-8 text; state --encoding utf-16"),
    ):
        (tmp_path / "t.csv").write_bytes("näme,städt\n".encode(encoding))
        with pytest.raises(DataError, match=said):
            load(CITIES, tmp_path / "t.csv")


CONTENT = b"a,b\n" + bytes(range(48, 123)) * 40


@pytest.fixture(params=[bytes, gzip.compress], ids=["plain", "packed"])
def path(request, tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes(request.param(CONTENT))
    return file


def stream(path, cap: int = 10**6) -> TextStream:
    return TextStream(TableFile(path=str(path), kind="csv", delimiter=",", bytes=None), Limits(bytes=cap))


def drained(open_stream: TextStream, size: int) -> list[bytes]:
    pieces = []
    while piece := open_stream.read(size):
        pieces.append(piece)
    return pieces


@in_one_test("size", [1, 7, 10**5])
def test_everything_is_read_once_in_pieces_of_the_size_that_is_asked_for(path, size) -> None:
    with stream(path) as text:
        pieces = drained(text, size)
        assert b"".join(pieces) == CONTENT
        assert {len(piece) for piece in pieces[:-1]} <= {size}
        assert text.taken == path.stat().st_size
        assert text.read(5) == b""


def test_the_cap_is_on_unpacked_bytes_and_what_gzip_packs_too_well_needs_a_stated_limit(
    path, tmp_path, monkeypatch
) -> None:
    with stream(path, cap=len(CONTENT)) as text:
        drained(text, 100)
    with stream(path, cap=len(CONTENT) - 1) as text, pytest.raises(DataError, match="more bytes than the declared"):
        drained(text, 100)
    monkeypatch.setattr("dpqr.tables.limits._FREE_BYTES", 10**5)
    bomb = tmp_path / "t.csv.gz"
    bomb.write_bytes(gzip.compress(b"1" * 10**6))
    with stream(bomb, cap=Limits().bytes) as text, pytest.raises(DataError, match="state --max-bytes if that is meant"):
        drained(text, 10**4)
    with stream(bomb) as text:
        assert sum(map(len, drained(text, 10**4))) == 10**6
