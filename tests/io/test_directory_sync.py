"""A directory's entries on the disk."""

import os

import pytest

from dpqr.io.directory_sync import sync_directory


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
