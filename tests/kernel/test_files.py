"""Directories: entries on the disk, and where a user's files lie on every platform."""

import errno
import os
from pathlib import Path

import pytest
from support.cases import in_one_test
from support.disk_faults import small_disk

from dpqr.kernel.files import PIECE, Ballast, data_directory, fill, sync_directory, write_whole


@pytest.mark.skipif(not hasattr(os, "O_DIRECTORY"), reason="directories cannot be opened here")
def test_the_directory_itself_is_synced_and_closed(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append((descriptor, os.fstat(descriptor).st_ino)))
    sync_directory(tmp_path)
    ((descriptor, node),) = synced
    assert node == tmp_path.stat().st_ino
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_where_directories_cannot_be_opened_nothing_is_done(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_DIRECTORY", raising=False)
    sync_directory(tmp_path / "missing")


HOME = Path.home()


def test_the_custom_of_each_platform():
    assert data_directory({"XDG_DATA_HOME": "/data"}, "linux") == Path("/data/dpqr")
    assert data_directory({"XDG_DATA_HOME": "relative"}, "linux") == HOME / ".local/share/dpqr"
    assert data_directory({}, "linux") == HOME / ".local/share/dpqr"
    assert data_directory({}, "darwin") == HOME / "Library/Application Support/dpqr"
    assert data_directory({"LOCALAPPDATA": "/app"}, "win32") == Path("/app/dpqr")
    assert data_directory({"USERPROFILE": "/me"}, "win32") == Path("/me/AppData/Local/dpqr")


# Space that is set aside: real blocks, whole writes, and nothing left behind where there is none.


def test_what_fills_a_file_is_no_line_and_cannot_be_compressed():
    import zlib

    assert min(PIECE) >= 128
    assert len(zlib.compress(PIECE, 9)) > 0.8 * len(PIECE)


@in_one_test("largest", [1, 7, 10**6])
def test_writes_end_whole_where_the_system_takes_them_in_pieces(tmp_path, monkeypatch, largest):
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, content[:largest]))
    with (tmp_path / "file").open("wb") as opened:
        write_whole(opened.fileno(), b"0123456789" * 3)
    assert (tmp_path / "file").read_bytes() == b"0123456789" * 3


def test_a_system_that_takes_nothing_is_no_endless_loop(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "write", lambda descriptor, content: 0)
    with (tmp_path / "file").open("wb") as opened, pytest.raises(OSError, match=os.strerror(errno.EIO)):
        write_whole(opened.fileno(), b"x")


@in_one_test("size", [0, 1, len(PIECE), len(PIECE) + 1])
def test_a_file_is_filled_to_the_byte(tmp_path, size):
    with (tmp_path / "file").open("wb") as opened:
        fill(opened.fileno(), size)
    assert (tmp_path / "file").stat().st_size == size


def test_what_ballast_holds_is_there_for_others_once_it_is_released(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        ballast = Ballast(disk.place / "ballast")
        ballast.hold(20 * disk.PAGE)
        disk.fill_blocks()
        disk.fill_files()
        other = disk.place / "other"
        with pytest.raises(OSError, match="No space"):
            other.touch()
        ballast.release()
        other.write_bytes(bytes(20 * disk.PAGE))
        ballast.release()


def test_ballast_that_does_not_fit_leaves_nothing(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        disk.fill_blocks(free=5)
        ballast = Ballast(disk.place / "ballast")
        with pytest.raises(OSError, match="No space"):
            ballast.hold(6 * disk.PAGE)
        assert not ballast.path.exists()
        ballast.hold(4 * disk.PAGE)
        ballast.hold(5 * disk.PAGE)
        assert ballast.path.stat().st_size == 5 * disk.PAGE


def test_a_name_that_somebody_has_planted_is_not_followed(tmp_path):
    (tmp_path / "private").write_text("keep me")
    planted = tmp_path / "ballast"
    planted.symlink_to(tmp_path / "private")
    Ballast(planted).hold(100)
    assert (tmp_path / "private").read_text() == "keep me"
    assert not planted.is_symlink()
