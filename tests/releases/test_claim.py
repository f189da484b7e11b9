import os

import pytest
from support.disk_calls import recorded

from dpqr.kernel.errors import UsageFault
from dpqr.releases import journal as claim_module
from dpqr.releases.journal import claim_file, tidy


@pytest.fixture
def path(tmp_path):
    return tmp_path / ".out.transcript"


@pytest.fixture
def claim():
    """Claims that are let go in the end."""
    held = []

    def made(path):
        held.append(claim_file(path))
        return held[-1]

    yield made
    for descriptor in held:
        os.close(descriptor)


def test_one_job_holds_it_and_a_refusal_leaves_no_descriptor_open(path, claim):
    os.close(claim_file(path))
    claim(path)
    before = len(os.listdir("/dev/fd"))
    for _ in range(5):
        with pytest.raises(UsageFault, match="another job"):
            claim_file(path)
    assert len(os.listdir("/dev/fd")) == before


def test_a_file_that_its_holder_has_just_removed_is_made_anew(path, claim, monkeypatch):
    """Between the opening and the lock."""
    opened, gone = os.open, []

    def slow(name, *how):
        descriptor = opened(name, *how)
        if name == path and not gone:
            gone.append(os.unlink(name))
        return descriptor

    monkeypatch.setattr(os, "open", slow)
    assert os.path.samestat(os.fstat(claim(path)), os.lstat(path))


def test_empty_files_of_killed_jobs_are_removed(path, tmp_path, claim):
    (tmp_path / ".dead.transcript").touch()
    (tmp_path / ".waits.transcript").write_text("{}")
    (tmp_path / "mine.transcript").touch()
    (tmp_path / ".other").touch()
    (tmp_path / ".directory.transcript").mkdir()
    (tmp_path / ".link.transcript").symlink_to(tmp_path / ".other")
    os.mkfifo(tmp_path / ".pipe.transcript")
    claim(tmp_path / ".used.transcript")
    path.touch()
    for name in os.listdir(tmp_path):
        os.utime(tmp_path / name, (0, 0), follow_symlinks=False)
    (tmp_path / ".new.transcript").touch()
    before = set(os.listdir(tmp_path))
    tidy(path)
    assert before - set(os.listdir(tmp_path)) == {".dead.transcript"}
    tidy(tmp_path / "missing" / ".out.transcript")


def test_the_name_of_a_new_file_outlives_a_crash(path, claim, monkeypatch):
    calls = recorded(monkeypatch, path.parent)
    claim(path)
    assert calls == [("fsync", ".", b"")]


def test_a_planted_link_is_not_followed(path, tmp_path):
    victim = tmp_path / "victim"
    path.symlink_to(victim)
    with pytest.raises(UsageFault, match="cannot be opened"):
        claim_file(path)
    assert not victim.exists()


def test_a_file_that_another_job_has_begun_meanwhile_stays(path, tmp_path, monkeypatch):
    """Between the look at its size and the lock."""
    begun = tmp_path / ".begun.transcript"
    begun.touch()
    os.utime(begun, (0, 0))
    locked = claim_module._locked

    def late(descriptor):
        begun.write_text("{}\n")
        return locked(descriptor)

    monkeypatch.setattr(claim_module, "_locked", late)
    tidy(path)
    assert begun.read_text() == "{}\n"
