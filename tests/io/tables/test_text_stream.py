import gzip
from threading import Event, Thread

import pytest

from dpqr.errors import DataError
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.source import TableFile
from dpqr.io.tables.text_stream import TextStream

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
@pytest.mark.parametrize("head", [0, 2, 50, 10**5])
def test_everything_is_read_once_and_then_the_seal(path, size, head) -> None:
    with stream(path) as text:
        assert text.head(head) == CONTENT[:head]
        text.seal(b"end")
        pieces = drained(text, size)
        assert b"".join(pieces) == CONTENT + b"\nend\n"
        assert {len(piece) for piece in pieces[:-1]} <= {size}
        assert text.taken == path.stat().st_size
        assert text.read(5) == b""


def test_without_a_seal_the_end_is_the_end(path) -> None:
    with stream(path) as text:
        assert b"".join(drained(text, 64)) == CONTENT


@pytest.mark.parametrize("packed", [False, True])
def test_pieces_begin_small_and_grow_with_what_was_read(tmp_path, packed) -> None:
    row = b"1,2\n" * 2**14
    file = tmp_path / "t.csv"
    file.write_bytes(gzip.compress(row * 64, 1) if packed else row * 64)
    with stream(file, cap=10**7) as text:
        sizes = [len(piece) for piece in drained(text, 2**17)]
    assert sizes[:16] == [2**16] * 16
    assert sizes[16:-1] == sorted(sizes[16:-1])
    assert sizes[-2] == 2**17


def test_a_piece_ends_after_the_end_of_a_row_if_one_ends_in_the_size_that_is_asked_for(tmp_path) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(b'a,b\n1,"' + b"x\n" * 2**16 + b'"\n' + b"2,y\n" * 2**17)
    with stream(file) as text:
        assert len(text.head(2**20)) == 2**18
        assert [len(text.read(2**20)) for _ in range(3)] == [2**18, 2**16, 2**16]
    with stream(file) as text:
        assert [len(text.read(2**16)) for _ in range(3)] == [2**16] * 3


def test_the_cap_is_on_unpacked_bytes(path) -> None:
    with stream(path, cap=len(CONTENT)) as text:
        drained(text, 100)
    with stream(path, cap=len(CONTENT) - 1) as text, pytest.raises(DataError, match="more bytes than the declared"):
        drained(text, 100)


def test_what_gzip_packs_too_well_is_refused_unless_a_limit_is_stated(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("dpqr.io.tables.limits._FREE_BYTES", 10**5)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"1" * 10**6))
    with stream(path, cap=Limits().bytes) as text, pytest.raises(DataError, match="state --max-bytes if that is meant"):
        drained(text, 10**4)
    with stream(path) as text:
        assert sum(map(len, drained(text, 10**4))) == 10**6


def test_a_closed_stream_has_nothing_to_read(path) -> None:
    text = stream(path)
    with text:
        assert text.read(3) == CONTENT[:3]
    assert text.closed
    assert text.read(3) == b""


def test_close_waits_for_the_read_that_is_under_way(path, monkeypatch) -> None:
    reading, go_on, pieces = Event(), Event(), []
    text = stream(path)

    def slow(size: int) -> bytes:
        reading.set()
        assert go_on.wait(30)
        return b"x" * (size - text.closed)

    monkeypatch.setattr(text, "_piece", slow)
    ahead = Thread(target=lambda: pieces.append(text.read(3)))
    ahead.start()
    assert reading.wait(30)
    closing = Thread(target=text.close)
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    go_on.set()
    ahead.join(30)
    closing.join(30)
    assert (pieces, text.closed) == ([b"xxx"], True)
