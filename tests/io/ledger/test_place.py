import os
import stat

import pytest
from disk_calls import recorded

from dpqr.errors import UsageFault
from dpqr.io.ledger import place
from dpqr.io.ledger.place import anchor_path, create, ledger_path, require_place


def test_the_option_comes_before_the_environment_and_that_before_the_custom(tmp_path):
    named = {"DPQR_LEDGER": str(tmp_path / "b"), "XDG_DATA_HOME": str(tmp_path)}
    assert ledger_path(str(tmp_path / "a"), named) == tmp_path / "a"
    assert ledger_path(None, named) == tmp_path / "b"
    assert ledger_path(None, {"XDG_DATA_HOME": str(tmp_path)}).name == "ledger.sqlite"
    assert anchor_path(None, {}) is None
    assert anchor_path(None, {"DPQR_ANCHOR": str(tmp_path / "c")}) == tmp_path / "c"
    assert anchor_path(str(tmp_path / "d"), {"DPQR_ANCHOR": "x"}) == tmp_path / "d"


def test_a_relative_path_is_made_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ledger_path("x.sqlite", {}) == tmp_path / "x.sqlite"


@pytest.mark.parametrize("given", ["", "a\0b", "somewhere/"])
def test_a_path_without_a_name_is_refused(given):
    with pytest.raises(UsageFault, match="--ledger"):
        ledger_path(given, {})


def test_only_the_owner_reads_a_new_ledger(tmp_path):
    before = os.umask(0)
    try:
        create(tmp_path / "ledger")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "ledger").stat().st_mode) == 0o600
    assert require_place(tmp_path / "ledger")


def test_what_is_there_is_not_made_again(tmp_path):
    (tmp_path / "ledger").write_text("x")
    create(tmp_path / "ledger")
    assert (tmp_path / "ledger").read_text() == "x"


def test_the_users_own_directory_is_made_private(tmp_path, monkeypatch):
    monkeypatch.setattr(place, "data_directory", lambda: tmp_path / "share" / "dpqr")
    create(tmp_path / "share" / "dpqr" / "ledger.sqlite")
    assert stat.S_IMODE((tmp_path / "share" / "dpqr").stat().st_mode) == 0o700


def test_other_directories_are_not_made(tmp_path):
    assert not require_place(tmp_path / "missing" / "ledger")
    with pytest.raises(UsageFault, match="cannot be made"):
        create(tmp_path / "missing" / "ledger")


def test_no_ledger_through_links_pipes_directories_and_second_names(tmp_path):
    real, link, pipe, folder, second = (tmp_path / name for name in ("real", "link", "pipe", "folder", "second"))
    real.write_text("")
    link.symlink_to(real)
    os.mkfifo(pipe)
    folder.mkdir()
    for path, said in ((link, "symbolic link"), (pipe, "no regular file"), (folder, "no regular file")):
        with pytest.raises(UsageFault, match=said):
            require_place(path)
    assert require_place(real)
    os.link(real, second)
    with pytest.raises(UsageFault, match="second name"):
        require_place(real)


def test_a_dangling_link_is_refused_too(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageFault, match="symbolic link"):
        require_place(tmp_path / "link")


def test_a_network_file_system_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(place, "network_type", lambda directory: "nfs4")
    with pytest.raises(UsageFault, match=r"network file system \(nfs4\)"):
        require_place(tmp_path / "ledger")


def test_looking_at_a_ledger_does_not_open_it(tmp_path, monkeypatch):
    (tmp_path / "ledger").write_text("")
    monkeypatch.setattr(os, "open", None)
    monkeypatch.setattr("builtins.open", None)
    monkeypatch.setattr(place, "network_type", lambda directory: None)
    assert require_place(tmp_path / "ledger")


def test_the_name_of_a_new_ledger_outlives_a_crash(tmp_path, monkeypatch):
    calls = recorded(monkeypatch, tmp_path)
    create(tmp_path / "ledger")
    assert calls == [("fsync", ".", b"")]


@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm"])
def test_what_sqlite_would_open_beside_a_ledger_is_a_regular_file_or_missing(tmp_path, ending):
    ledger, beside = tmp_path / "ledger", tmp_path / f"ledger{ending}"
    ledger.touch()
    for make in (lambda: os.mkfifo(beside), lambda: beside.symlink_to(tmp_path / "elsewhere")):
        make()
        with pytest.raises(UsageFault, match="beside it is no regular file"):
            require_place(ledger)
        beside.unlink()
    beside.touch()
    assert require_place(ledger)
