"""Directories: entries on the disk, and where a user's files lie on every platform."""

import os
from pathlib import Path

import pytest

from dpqr.kernel.files import data_directory, sync_directory


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
