"""The folder of a session: modes, one size of secrets, whole files only, turns, and what a cut-off line does."""

import errno
import os
import signal
import stat

import numpy as np
import pytest

from dpqr.kernel.errors import AlreadyThere, LedgerError, UsageFault
from dpqr.models.rows import WeightedRows
from dpqr.sessions.folder import (
    LOG,
    SECRET,
    SECRET_BYTES,
    SESSION,
    SessionFolder,
    load_thresholds,
    read_rows,
    write_rows,
)
from dpqr.sessions.session import _session_filters


@pytest.fixture
def folder(tmp_path):
    made = SessionFolder(ledger=tmp_path / "ledger.sqlite", name="desk")
    made.make()
    return made


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_only_its_owner_reads_it_and_secrets_are_of_one_size(folder):
    folder.allocate()
    sizes = set()
    for secret in ([], [{"side": 1, "threshold": 3}], [{"side": 1, "threshold": 10**12}] * 2):
        folder.keep(secret)
        assert folder.secret() == secret
        sizes.add((folder.path / SECRET).stat().st_size)
    assert len(sizes) == 1
    assert mode(folder.path) == 0o700
    assert mode(folder.path / SECRET) == 0o600


def test_names_are_taken_once_and_may_not_leave_the_place(folder):
    with pytest.raises(AlreadyThere, match="'desk'"):
        folder.make()
    with pytest.raises(UsageFault, match=r"session '../desk': a name"):
        SessionFolder(ledger=folder.ledger, name="../desk").make()


def test_what_is_missing_or_damaged(folder):
    assert folder.secret() is None
    assert not folder.is_opened
    with pytest.raises(UsageFault, match="did not end"):
        folder.document()
    folder.write({"a": 1})
    assert folder.document() == {"a": 1}
    (folder.path / SESSION).write_text("{")
    with pytest.raises(LedgerError, match="damaged"):
        folder.document()
    (folder.path / SECRET).write_text("{")
    assert folder.secret() is None


@pytest.fixture
def impatient():
    """Whatever waits for a pipe ends."""

    def late(*_):
        pytest.fail("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 20, 1)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


PLACED = {
    "a pipe": os.mkfifo,
    "a link": lambda path: path.symlink_to("/nowhere"),
    "a directory": os.mkdir,
    "nothing": lambda path: path.write_bytes(b""),
    "no text": lambda path: path.write_bytes(b"\xff\n"),
    "too deep": lambda path: path.write_text("[" * 10**5 + "\n"),
    "null": lambda path: path.write_text("null\n"),
    "a list": lambda path: path.write_text("[]\n"),
}


@pytest.mark.parametrize("what", PLACED)
def test_files_that_no_job_has_written_are_named_and_keep_nobody_waiting(folder, impatient, what):
    for name in (SESSION, SECRET, LOG, "rows"):
        PLACED[what](folder.path / name)
    for read in (folder.document, lambda: read_rows(folder)):
        with pytest.raises(LedgerError, match="is damaged"):
            read()
    assert list(load_thresholds(folder, 0)) == []
    if what in ("nothing", "no text"):  # as a line that was cut off
        assert folder.log() == []
    else:
        with pytest.raises(LedgerError, match="'log' is damaged"):
            folder.log()
    if what == "a pipe":
        for write in (folder.allocate, lambda: folder.keep([])):
            with pytest.raises(OSError, match="No such device"):
                write()


def test_a_session_without_a_budget_is_damaged(folder):
    folder.write({"budget": {"epsilon": 1}})
    with pytest.raises(LedgerError, match="'session' is damaged"):
        _session_filters(folder, None)


def test_beside_a_ledger_whose_name_is_too_long_there_is_none(tmp_path):
    with (
        pytest.raises(UsageFault, match="there is none"),
        SessionFolder(ledger=tmp_path / ("a" * 300), name="x").turn(),
    ):
        pass


def test_a_line_that_was_cut_off_is_left_out(folder):
    with folder.opened_log(100) as log:
        log.say({"ask": 0}, {"ask": 1}, durable=True)
        assert folder.log() == [{"ask": 0}, {"ask": 1}]
        log.trim()
    with (folder.path / "log").open("a") as log:
        log.write('{"ask": 2, "est')
    assert folder.log() == [{"ask": 0}, {"ask": 1}]
    with folder.opened_log(100) as log:
        log.say({"ask": 3})
        assert folder.log() == [{"ask": 0}, {"ask": 1}, {"ask": 3}]


def test_processes_take_turns(folder):
    with folder.turn(), pytest.raises(UsageFault, match="another process is asking"), folder.turn(wait=0.0):
        pass
    with folder.turn(wait=0.0):
        pass


def test_a_blank_secret_is_none_and_keeps_its_place_on_the_disk(folder):
    folder.allocate()
    folder.keep({"threshold": 3})
    before = (folder.path / SECRET).stat()
    folder.blank()
    after = (folder.path / SECRET).stat()
    assert folder.secret() is None
    assert (after.st_ino, after.st_size, mode(folder.path / SECRET)) == (before.st_ino, SECRET_BYTES, 0o600)
    folder.allocate()
    assert (folder.path / SECRET).stat().st_ino == before.st_ino
    folder.keep({"threshold": 4})
    assert folder.secret() == {"threshold": 4}


@pytest.mark.parametrize("content", [b"", b'{"threshold": 3}', bytes(2 * SECRET_BYTES)])
def test_a_secret_of_another_size_is_none(folder, content):
    (folder.path / SECRET).write_bytes(content)
    folder.allocate()
    assert folder.secret() is None
    assert (folder.path / SECRET).stat().st_size == SECRET_BYTES


def test_where_a_secret_cannot_be_overwritten_it_is_removed(folder, monkeypatch):
    folder.allocate()
    folder.keep({"threshold": 3})

    def full(descriptor, content):
        raise OSError(errno.ENOSPC, "x")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="x"):
        folder.blank()
    assert not (folder.path / SECRET).exists()


def test_a_log_has_room_for_lines_to_come_which_no_reader_sees(folder):
    with folder.opened_log(5_000) as log:
        log.say({"ask": 0})
        log.rehearse()
        size = (folder.path / LOG).stat().st_size
        assert size == 5_000
        assert folder.log() == [{"ask": 0}]
        log.say({"ask": 1}, durable=True)
        assert (folder.path / LOG).stat().st_size == size, "it was in place"
    assert folder.log() == [{"ask": 0}, {"ask": 1}], "a killed process leaves what it has set aside"
    with folder.opened_log(10) as log:
        log.say({"ask": 2, "text": "longer than what was set aside"})
        log.trim()
    assert folder.log()[2]["ask"] == 2
    assert (folder.path / LOG).read_text().endswith("\n")


def test_a_disk_that_fails_is_named_with_the_folder(folder, monkeypatch):
    def broken(descriptor):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(UsageFault, match=r"desk: a file of the session could not be written \(Input/output error\)"):
        folder.write({"a": 1})
    assert not folder.is_opened


# The rows of a session come back as they were written.


def test_rows_are_kept_as_they_are(tmp_path):
    folder = SessionFolder(ledger=tmp_path / "ledger.sqlite", name="desk")
    folder.make()
    rows = WeightedRows(shape=(2, 3), codes=np.array([[0, 2], [1, 0]]), shares=np.array([0.25, 0.75]), total=8.5)
    write_rows(folder, rows)
    back = read_rows(folder)
    assert (back.shape, back.total) == (rows.shape, rows.total)
    assert back.codes.tolist() == rows.codes.tolist()
    (folder.path / "rows").write_bytes(b"x")
    with pytest.raises(LedgerError, match="damaged or gone"):
        read_rows(folder)
