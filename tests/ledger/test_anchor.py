import json
import os
from pathlib import Path

import pytest
from support.disk_calls import recorded

from dpqr.kernel.errors import LedgerError, UsageFault
from dpqr.ledger.chain import Anchor, ChainSegment, Link, Mark, seal


def chain(*texts):
    found = []
    for text in texts:
        found.append(Link(text=text, seal=seal(found[-1].seal if found else "", text)))
    return ChainSegment(links=tuple(found))


@pytest.fixture
def anchor(tmp_path):
    return Anchor(path=tmp_path / "anchor")


def publish(anchor, links):
    anchor.draft(Mark.of(links))
    anchor.publish(Mark.of(links))


def test_what_was_published_is_read(anchor):
    assert anchor.read() is None
    publish(anchor, chain("a", "b"))
    assert anchor.read() == Mark.of(chain("a", "b"))
    assert [path.name for path in anchor.path.parent.iterdir()] == ["anchor"]


def test_a_draft_changes_nothing_yet(anchor):
    publish(anchor, chain("a"))
    anchor.draft(Mark.of(chain("a", "b")))
    assert anchor.read() == Mark.of(chain("a"))


@pytest.mark.parametrize("known", [("a",), ("a", "b"), ("a", "b", "c")])
def test_an_anchor_may_lag(anchor, known):
    anchor.check(chain("a", "b", "c"), Mark.of(chain(*known)))


@pytest.mark.parametrize("known", [("a", "b", "c", "d"), ("A", "b", "c"), ("a", "B"), ("b",)])
def test_an_anchor_ahead_or_off_the_chain_is_a_finding(anchor, known):
    with pytest.raises(LedgerError):
        anchor.check(chain("a", "b", "c"), Mark.of(chain(*known)))


def test_a_missing_anchor_is_a_finding_once_there_are_entries(anchor):
    anchor.check(ChainSegment(), None)
    with pytest.raises(LedgerError, match="missing"):
        anchor.check(chain("a"), None)


def test_a_lost_ledger_is_a_finding(anchor):
    with pytest.raises(LedgerError, match="rolled back or cut"):
        anchor.check(ChainSegment(), Mark.of(chain("a")))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"[1]",
        b"\xff",
        b"[" * 5000,
        b'{"dpqr":"dpqr anchor/1","entries":0,"seal":""}\n',
        b'{"dpqr":"dpqr anchor/1","entries":-1,"seal":"x"}\n',
        b'{"dpqr":"dpqr anchor/1","entries":true,"seal":"x"}\n',
        b'{"dpqr":"dpqr anchor/1","entries":"1","seal":"x"}\n',
        b'{"dpqr":"dpqr anchor/2","entries":1,"seal":"x"}\n',
        b'{"dpqr":"dpqr anchor/1","entries":1,"entries":2,"seal":"x"}\n',
        b'{"dpqr":"dpqr anchor/1","entries":1,"seal":"x"}',
    ],
)
def test_a_damaged_anchor_is_a_finding(anchor, text):
    anchor.path.write_bytes(text)
    with pytest.raises(LedgerError, match="damaged"):
        anchor.read()


def test_an_anchor_is_a_regular_file(anchor, tmp_path):
    target = tmp_path / "target"
    target.write_text(json.dumps({}))
    for make in (
        lambda: anchor.path.symlink_to(target),
        lambda: os.mkfifo(anchor.path),
        lambda: anchor.path.mkdir(),
    ):
        make()
        with pytest.raises(UsageFault, match="no regular file"):
            anchor.read()
        anchor.path.rmdir() if anchor.path.is_dir() and not anchor.path.is_symlink() else anchor.path.unlink()


def test_a_draft_does_not_follow_a_planted_link(anchor, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (tmp_path / ".anchor.1.draft").symlink_to(victim)
    with pytest.raises(LedgerError, match="cannot be renewed"):
        anchor.draft(Mark.of(chain("a")))
    assert victim.read_text() == "untouched"


def test_an_anchor_in_a_missing_directory_is_a_finding_before_anything_is_spent(tmp_path):
    with pytest.raises(LedgerError, match="nothing was spent"):
        Anchor(path=tmp_path / "missing" / "anchor").draft(Mark.of(chain("a")))


def test_an_anchor_that_cannot_be_put_in_place_says_what_holds(anchor):
    with pytest.raises(LedgerError, match="stays spent"):
        anchor.publish(Mark.of(chain("a", "b")))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_met_by_the_draft(tmp_path, monkeypatch):
    monkeypatch.setattr(Anchor, "_draft", lambda *_: Path("/dev/full"))
    with pytest.raises(LedgerError, match="nothing was spent"):
        Anchor(path=tmp_path / "anchor").draft(Mark.of(chain("a")))


def test_a_mark_is_on_the_disk_before_it_takes_the_anchors_place_and_its_name_after(anchor, monkeypatch):
    publish(anchor, chain("a"))
    old = anchor.path.read_bytes()
    calls = recorded(monkeypatch, anchor.path.parent)
    anchor.draft(Mark.of(chain("a", "b")))
    (first,) = calls
    assert first[:2] == ("fsync", ".anchor.2.draft")
    assert anchor.path.read_bytes() == old
    anchor.publish(Mark.of(chain("a", "b")))
    assert calls[1:] == [("replace", "anchor", first[2]), ("fsync", ".", b"")]
    assert anchor.read() == Mark.of(chain("a", "b"))


def test_an_anchor_that_lags_is_held_against_its_own_place_in_the_chain(anchor):
    for known in ("a", "b", "c"):
        with pytest.raises(LedgerError, match="another one"):
            anchor.check(chain("a", "b", "c"), Mark(entries=2, seal=chain(known).links[-1].seal))
    anchor.check(chain("a", "b", "c"), Mark(entries=2, seal=chain("a", "b").links[-1].seal))


def test_a_later_job_may_publish_between_this_ones_look_and_its_renaming(anchor, monkeypatch):
    """On a server the lock is gone with the commit; the later job removes older drafts."""
    publish(anchor, chain("a"))
    earlier, later, original = Mark.of(chain("a", "b")), Mark.of(chain("a", "b", "c")), os.replace
    anchor.draft(earlier)
    anchor.draft(later)

    def overtaken(source, target):
        monkeypatch.setattr(os, "replace", original)
        anchor.publish(later)
        original(source, target)

    monkeypatch.setattr(os, "replace", overtaken)
    anchor.publish(earlier)
    assert anchor.read() == later
    assert [path.name for path in anchor.path.parent.iterdir()] == [anchor.path.name]


def test_a_draft_that_somebody_removed_is_a_fault(anchor):
    publish(anchor, chain("a"))
    with pytest.raises(LedgerError, match=r"its anchor .* could not be renewed"):
        anchor.publish(Mark.of(chain("a", "b")))
