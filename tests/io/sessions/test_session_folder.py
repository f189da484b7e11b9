"""The folder of a session: modes, one size of secrets, whole files only, turns, and what a cut-off line does."""

import os
import stat

import pytest

from dpqr.errors import AlreadyThere, LedgerError, UsageFault
from dpqr.io.sessions.session_folder import SECRET, SESSION, SessionFolder


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


def test_no_session_has_no_turn(tmp_path):
    with pytest.raises(UsageFault, match="there is none"), SessionFolder(ledger=tmp_path / "l", name="x").turn():
        pass
