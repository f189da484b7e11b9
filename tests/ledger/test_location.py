import os
import stat
import sys

import pytest
from support.cases import in_one_test
from support.disk_calls import recorded

from dpqr.kernel.errors import UsageFault
from dpqr.ledger import location as place
from dpqr.ledger.budgets import ledger_store
from dpqr.ledger.location import anchor_path, create, ledger_path, mounted_type, network_type, require_location
from dpqr.ledger.store import SqliteStore


def test_the_option_comes_before_the_environment_and_that_before_the_custom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ledger_path("x.sqlite", {}) == tmp_path / "x.sqlite"
    named = {"DPQR_LEDGER": str(tmp_path / "b"), "XDG_DATA_HOME": str(tmp_path)}
    assert ledger_path(str(tmp_path / "a"), named) == tmp_path / "a"
    assert ledger_path(None, named) == tmp_path / "b"
    assert ledger_path(None, {"XDG_DATA_HOME": str(tmp_path)}).name == "ledger.sqlite"
    assert anchor_path(None, {}) is None
    assert anchor_path(None, {"DPQR_ANCHOR": str(tmp_path / "c")}) == tmp_path / "c"
    assert anchor_path(str(tmp_path / "d"), {"DPQR_ANCHOR": "x"}) == tmp_path / "d"


@in_one_test("given", ["", "a\0b", "somewhere/"])
def test_a_path_without_a_name_is_refused(given):
    with pytest.raises(UsageFault, match="--ledger"):
        ledger_path(given, {})


def test_only_the_owner_reads_a_new_ledger_and_what_is_there_is_not_made_again(tmp_path):
    before = os.umask(0)
    try:
        create(tmp_path / "ledger")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "ledger").stat().st_mode) == 0o600
    assert require_location(tmp_path / "ledger")
    (tmp_path / "ledger").write_text("x")
    create(tmp_path / "ledger")
    assert (tmp_path / "ledger").read_text() == "x"


def test_the_users_own_directory_is_made_and_private_and_others_are_not(tmp_path, monkeypatch):
    monkeypatch.setattr(place, "data_directory", lambda: tmp_path / "share" / "dpqr")
    create(tmp_path / "share" / "dpqr" / "ledger.sqlite")
    assert stat.S_IMODE((tmp_path / "share" / "dpqr").stat().st_mode) == 0o700
    assert not require_location(tmp_path / "missing" / "ledger")
    with pytest.raises(UsageFault, match="cannot be made"):
        create(tmp_path / "missing" / "ledger")


def test_no_ledger_through_links_pipes_directories_and_second_names(tmp_path):
    real, link, pipe, folder, second = (tmp_path / name for name in ("real", "link", "pipe", "folder", "second"))
    real.write_text("")
    link.symlink_to(real)
    os.mkfifo(pipe)
    folder.mkdir()
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "nowhere")
    for path, said in ((link, "symbolic"), (dangling, "symbolic"), (pipe, "no regular"), (folder, "no regular")):
        with pytest.raises(UsageFault, match=said):
            require_location(path)
    assert require_location(real)
    os.link(real, second)
    with pytest.raises(UsageFault, match="second name"):
        require_location(real)


def test_a_network_file_system_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(place, "network_type", lambda directory: "nfs4")
    with pytest.raises(UsageFault, match=r"network file system \(nfs4\)"):
        require_location(tmp_path / "ledger")


def test_looking_at_a_ledger_does_not_open_it(tmp_path, monkeypatch):
    (tmp_path / "ledger").write_text("")
    monkeypatch.setattr(os, "open", None)
    monkeypatch.setattr("builtins.open", None)
    monkeypatch.setattr(place, "network_type", lambda directory: None)
    assert require_location(tmp_path / "ledger")


def test_the_name_of_a_new_ledger_outlives_a_crash(tmp_path, monkeypatch):
    calls = recorded(monkeypatch, tmp_path)
    create(tmp_path / "ledger")
    assert calls == [("fsync", ".", b"")]


@in_one_test("ending", ["-journal", "-wal", "-shm"])
def test_what_sqlite_would_open_beside_a_ledger_is_a_regular_file_or_missing(tmp_path, ending):
    ledger, beside = tmp_path / "ledger", tmp_path / f"ledger{ending}"
    ledger.touch()
    for make in (lambda: os.mkfifo(beside), lambda: beside.symlink_to(tmp_path / "elsewhere")):
        make()
        with pytest.raises(UsageFault, match="beside it is no regular file"):
            require_location(ledger)
        beside.unlink()
    beside.touch()
    assert require_location(ledger)


MOUNTS = r"""22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:20 / /mnt/share rw - nfs4 server:/x rw
24 23 0:21 / /mnt/share/local rw shared:1 master:2 - xfs /dev/vdb rw
25 22 0:22 / /mnt/with\040blank rw - cifs //server/x rw
26 22 0:23 / /mnt/hidden rw - nfs server:/y rw
27 22 0:24 / /mnt/hidden rw - ext4 /dev/vdc rw
28 22 0:25 / /mnt/shade rw - ext4 /dev/vdd rw
29 22 0:26 / /mnt/shade rw - fuse.sshfs host: rw
a line of another kind
"""


@in_one_test(
    ("directory", "found"),
    [
        ("/", "ext4"),
        ("/home/user", "ext4"),
        ("/mnt/share", "nfs4"),
        ("/mnt/share/deep/down", "nfs4"),
        ("/mnt/shared", "ext4"),
        ("/mnt/share/local/x", "xfs"),
        ("/mnt/with blank/x", "cifs"),
        ("/mnt/hidden", "ext4"),
        ("/mnt/shade", "fuse.sshfs"),
    ],
)
def test_the_innermost_and_latest_mount_counts(directory, found):
    assert mounted_type(directory, MOUNTS) == found


def test_only_network_types_are_named_and_links_into_a_share_are_followed(tmp_path):
    mounts, share, link = tmp_path / "mountinfo", tmp_path / "share", tmp_path / "link"
    share.mkdir()
    link.symlink_to(share)
    mounts.write_text(f"1 0 0:1 / / rw - ext4 x rw\n2 1 0:2 / {share} rw - nfs x rw\n")
    assert network_type(tmp_path, mounts) is None
    assert {network_type(each, mounts) for each in (share, share / "below", link)} == {"nfs"}
    assert network_type(tmp_path, tmp_path / "missing") is None, "a system that does not tell is not refused"


# The store that an option or the environment names.


ADDRESS = "postgresql://db/b?schema=dpqr"


def test_an_option_comes_before_the_environment_and_both_before_the_users_own(tmp_path):
    named = {"DPQR_LEDGER": ADDRESS}
    assert ledger_store(str(tmp_path / "a"), named) == SqliteStore(tmp_path / "a")
    assert ledger_store(None, {"DPQR_LEDGER": str(tmp_path / "b")}) == SqliteStore(tmp_path / "b")
    assert ledger_store(None, {"XDG_DATA_HOME": str(tmp_path)}).place.endswith("ledger.sqlite")


def test_an_address_is_a_store_on_a_server_that_nobody_has_asked_yet():
    pytest.importorskip("psycopg")
    assert ledger_store(None, {"DPQR_LEDGER": ADDRESS}).place == ADDRESS
    assert ledger_store(ADDRESS, {}).place == ADDRESS


def test_a_missing_package_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "dpqr.ledger.postgres", raising=False)
    with pytest.raises(UsageFault, match=r"needs the package psycopg; install it by: pip install 'dpqr\[postgres\]'"):
        ledger_store(ADDRESS, {})


def test_the_variable_is_named_where_it_holds_a_password():
    with pytest.raises(UsageFault, match="DPQR_LEDGER: the address holds a password"):
        ledger_store(None, {"DPQR_LEDGER": "postgresql://u:p@db/b"})
