"""Tables in a directory that may vanish, fill up or lie: found as they were kept, or not found."""

import hashlib
import os
import stat
import time
from pathlib import Path

import numpy as np
import pytest

from dpqr.io import shelf_folder
from dpqr.io.shelf_folder import FORMAT, LARGEST, MOST, ShelfFolder, shelf_path

TABLE = np.arange(6, dtype=np.int64).reshape(2, 3)


@pytest.fixture
def shelf(tmp_path):
    return ShelfFolder(tmp_path / "made" / "cache")


def said(line: str, values: bytes) -> bytes:
    """A file whose checksum is right, whatever it says."""
    text = line.encode() + values
    return text + hashlib.sha256(text).digest()


def test_a_table_is_found_as_it_was_kept(shelf):
    assert shelf.find("a") is None
    shelf.keep("a", TABLE)
    found = shelf.find("a")
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, TABLE)
    assert shelf.find("b") is None
    assert [path.name for path in shelf.path.iterdir()] == ["a.table"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_only_the_owner_reads_it(shelf):
    shelf.keep("a", TABLE)
    assert stat.S_IMODE(shelf.path.stat().st_mode) == 0o700
    assert stat.S_IMODE((shelf.path / "a.table").stat().st_mode) == 0o600


DAMAGED = {
    "empty": b"",
    "text": b"no table at all\n",
    "large": bytes(LARGEST + 1),
    "format": said("other/1 a 2 3\n", TABLE.astype("<i4").tobytes()),
    "name": said(f"{FORMAT} b 2 3\n", TABLE.astype("<i4").tobytes()),
    "short": said(f"{FORMAT} a 2 3\n", TABLE.astype("<i4").tobytes()[:-1]),
    "long": said(f"{FORMAT} a 2 3\n", TABLE.astype("<i4").tobytes() + b"0000"),
    "no rows": said(f"{FORMAT} a 0 3\n", b""),
    "huge": said(f"{FORMAT} a {10**30} {10**30}\n", b""),
    "digits": said(f"{FORMAT} a {'9' * 150} 3\n", b""),
    "negative": said(f"{FORMAT} a -2 -3\n", TABLE.astype("<i4").tobytes()),
    "words": said(f"{FORMAT} a two three\n", TABLE.astype("<i4").tobytes()),
    "bytes": said(f"{FORMAT} a \u0662 3\n", TABLE.astype("<i4").tobytes()),
    "one line": said(f"{FORMAT} a 2 3", b""),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_what_is_no_such_table_is_not_found(shelf, content):
    shelf.keep("a", TABLE)
    (shelf.path / "a.table").write_bytes(content)
    assert shelf.find("a") is None
    shelf.keep("a", TABLE)
    np.testing.assert_array_equal(shelf.find("a"), TABLE)


def test_every_damaged_byte_is_noticed(shelf):
    shelf.keep("a", TABLE)
    whole = (shelf.path / "a.table").read_bytes()
    for place in range(len(whole)):
        (shelf.path / "a.table").write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert shelf.find("a") is None
        (shelf.path / "a.table").write_bytes(whole[:place])
        assert shelf.find("a") is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_pipes_directories_and_links_are_no_tables(shelf, tmp_path):
    shelf.keep("a", TABLE)
    os.mkfifo(shelf.path / "pipe.table")
    (shelf.path / "folder.table").mkdir()
    (shelf.path / "link.table").symlink_to(shelf.path / "a.table")
    for name in ("pipe", "folder", "link"):
        assert shelf.find(name) is None
    shelf.keep("folder", TABLE)
    assert (shelf.path / "folder.table").is_dir()
    assert not [path for path in shelf.path.iterdir() if path.name.startswith(".")]


def test_where_nothing_can_be_kept_nothing_is(tmp_path):
    (tmp_path / "file").write_text("in the way")
    shelf = ShelfFolder(tmp_path / "file")
    shelf.keep("a", TABLE)
    assert shelf.find("a") is None


def test_a_full_disk_leaves_no_half_file(shelf, monkeypatch):
    def full(draft: Path, content: bytes) -> None:
        draft.write_bytes(content[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shelf_folder, "_write", full)
    shelf.keep("a", TABLE)
    assert list(shelf.path.iterdir()) == []


def test_what_does_not_fit_is_not_kept(shelf):
    shelf.keep("wide", np.full((1, 1), 2**31))
    shelf.keep("large", np.zeros((LARGEST // 4, 1), dtype=np.int64))
    assert not shelf.path.exists()


def test_the_oldest_make_room(shelf):
    shelf.keep("oldest", TABLE)
    (shelf.path / "foreign.txt").write_text("not ours")
    past = time.time() - 1000
    os.utime(shelf.path / "oldest.table", (past, past))
    for number in range(MOST):
        shelf.keep(f"n{number}", TABLE)
    assert shelf.find("oldest") is None
    assert shelf.find("n0") is not None
    assert len(list(shelf.path.glob("*.table"))) == MOST
    assert (shelf.path / "foreign.txt").exists()


def test_the_environment_names_the_place(tmp_path, monkeypatch):
    monkeypatch.setenv("DPQR_CACHE", str(tmp_path / "here"))
    assert shelf_path() == tmp_path / "here"
    monkeypatch.setenv("DPQR_CACHE", "none")
    assert shelf_path() is None
    monkeypatch.setenv("DPQR_CACHE", "")
    assert shelf_path() == shelf_folder.cache_directory()


def test_without_a_home_nothing_is_kept(monkeypatch):
    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("DPQR_CACHE")
    monkeypatch.setattr(shelf_folder, "cache_directory", homeless)
    assert shelf_path() is None
