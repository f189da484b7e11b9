import io
import random

import pytest
from support.cases import in_one_test, slowly

from dpqr.tables.csv_table import ArrowPieces, CsvRows


def rows(text: bytes) -> list[tuple[str, ...] | None]:
    """All rows of two cells, of at most 32 bytes; None for the malformed ones."""
    read, names = CsvRows(io.BytesIO(b"0,1\n" + text), ",", 32, "the table"), ["0", "1"]
    assert read.header() == names
    found = []
    for batch in read.records(names, names):
        good = zip(*(column.to_pylist() for column in batch.rows.columns), strict=True)
        found += [None if place in batch.malformed else next(good) for place in range(batch.count)]
    return found


REGULAR = {
    "plain": (b"1,2\n3,4\n", [("1", "2"), ("3", "4")]),
    "quoted": (b'"1","2"\r\n"x ""y""",", z"\r\n"",\r\n', [("1", "2"), ('x "y"', ", z"), ("", "")]),
    "texts that look like numbers": (b"07,1.0\n7,1\nnan,\n", [("07", "1.0"), ("7", "1"), ("nan", "")]),
    "quotes in the middle": (b'5" by 3",2\n"a"b"c,3\n', [('5" by 3"', "2"), ('ab"c', "3")]),
    "empty lines": (b"\n\n1,2\n\r\n\n3,4\n\n", [("1", "2"), ("3", "4")]),
    "line ends of all kinds": (b"1,2\r3,4\r\n5,6\n", [("1", "2"), ("3", "4"), ("5", "6")]),
    "ragged": (b"1\n1,2,3\n1,2,3,4\n,\n1,2\n ,\n", [None, None, None, ("", ""), ("1", "2"), (" ", "")]),
    "too long": (b"1,2\n" + b"x" * 40 + b",2\n3,4\n", [("1", "2"), None, ("3", "4")]),
    "a byte order mark within": (b"1,2\n\xef\xbb\xbf3,4\n", [("1", "2"), ("\ufeff3", "4")]),
    "control characters": (b"a\0b,2\n\x7f,\x1a\n3\x0b\n", [("a\0b", "2"), ("\x7f", "\x1a"), None]),
    "no UTF-8": (b"1,2\n\xff,2\n\xc3,\xa9\n1,\xed\xa0\x80\n\xc3\xa9,4\n", [("1", "2"), None, None, None, ("é", "4")]),
    "a sign for what is no UTF-8": ("\ufffd,2\n".encode(), [("\ufffd", "2")]),
}
IRREGULAR = {
    "a line end in quotes": (b'"1\n",2\n3,4\n', [("1\n", "2"), ("3", "4")]),
    "a quote that is never closed": (b'1,2\n3,"4\n', [("1", "2"), None]),
    "one in a row of other width": (b'1,2\n3,4,"5\n6\n', [("1", "2"), None]),
    "no UTF-8 and the sign for it": (b"\xff,2\n\xef\xbf\xbd,4\n", [None, ("\ufffd", "4")]),
    "a byte order mark that begins a piece": (b"\xef\xbb\xbf1,2\n3,4\n", [("\ufeff1", "2"), ("3", "4")]),
    "the same behind an empty line": (b"\n\xef\xbb\xbf1,2\n", [("\ufeff1", "2")]),
}


@in_one_test(("text", "expected"), [*REGULAR.values(), *IRREGULAR.values()])
def test_arrow_reads_what_is_regular_and_the_library_the_rest(monkeypatch, text, expected) -> None:
    left: list[bytes] = []
    read = ArrowPieces.read

    def noted(self, piece):
        found = read(self, piece)
        left.extend([piece] if found is None else [])
        return found

    monkeypatch.setattr(ArrowPieces, "read", noted)
    assert rows(text) == expected
    assert bool(left) == ((text, expected) in IRREGULAR.values())


@pytest.mark.parametrize("texts", [300, *slowly(3000)])
def test_both_readers_give_the_same_rows_of_any_text(texts) -> None:
    draw = random.Random(1)
    parts = ["a", " ", *",,,", '"', '""', '",', *"\n\n\r", "\r\n", "\0", "é", "\udcff", "\ufffd", "\ufeff"]
    by_arrow = 0
    for _ in range(texts):
        text = "".join([*draw.choices(parts, k=draw.randint(1, 14)), "\n"]).encode(errors="surrogateescape")
        width, most = draw.randint(1, 3), draw.choice([4, 32])
        places = sorted(draw.sample(range(width), draw.randint(1, width)))
        pieces = ArrowPieces(width=width, names=tuple(map(str, places)), places=places, delimiter=",", most=most)
        found = pieces.read(text)
        if found is None:
            continue
        by_arrow += 1
        parsed = list(CsvRows(io.BytesIO(), ",", most, "the table")._parsed(text))
        row_by_row = pieces.of_rows([row if size <= most else None for row, size, _ in parsed if row])
        assert sum(len(row) > 0 for row, _, _ in parsed) == found.count
        assert not parsed or parsed[-1][2] == len(text)
        assert found.rows == row_by_row.rows
        assert found.malformed.tolist() == row_by_row.malformed.tolist()
    assert by_arrow > texts / 2
