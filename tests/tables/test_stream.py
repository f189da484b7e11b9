import gzip

import pytest

from dpqr.kernel.errors import DataError
from dpqr.tables.csv_table import TextStream
from dpqr.tables.files import TableFile
from dpqr.tables.limits import Limits

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


@pytest.mark.parametrize("size", [1, 7, 10**5])
def test_everything_is_read_once_in_pieces_of_the_size_that_is_asked_for(path, size) -> None:
    with stream(path) as text:
        pieces = drained(text, size)
        assert b"".join(pieces) == CONTENT
        assert {len(piece) for piece in pieces[:-1]} <= {size}
        assert text.taken == path.stat().st_size
        assert text.read(5) == b""


def test_the_cap_is_on_unpacked_bytes(path) -> None:
    with stream(path, cap=len(CONTENT)) as text:
        drained(text, 100)
    with stream(path, cap=len(CONTENT) - 1) as text, pytest.raises(DataError, match="more bytes than the declared"):
        drained(text, 100)


def test_what_gzip_packs_too_well_is_refused_unless_a_limit_is_stated(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("dpqr.tables.limits._FREE_BYTES", 10**5)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"1" * 10**6))
    with stream(path, cap=Limits().bytes) as text, pytest.raises(DataError, match="state --max-bytes if that is meant"):
        drained(text, 10**4)
    with stream(path) as text:
        assert sum(map(len, drained(text, 10**4))) == 10**6
