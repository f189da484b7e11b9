import hashlib
import json
import os
from pathlib import Path

import pytest
from support.cases import in_one_test
from support.disk_calls import recorded
from support.ledger_jobs import draws, ledger_in, passed, reserve, terms

from dpqr.kernel.errors import LedgerError, UsageFault
from dpqr.ledger.chain import BEGINNING, Anchor, ChainSegment, Link, Mark, chain_segment, seal


def chain(*texts):
    rows, previous = [], BEGINNING
    for number, text in enumerate(texts):
        previous = seal(previous, text)
        rows.append((number, text, previous))
    return rows


def test_the_seal_is_the_documented_digest():
    first = hashlib.sha256(b"\none").hexdigest()
    assert chain("one", "two")[1][2] == hashlib.sha256(f"{first}\ntwo".encode()).hexdigest()


def test_a_sound_chain_is_read_in_order():
    found = chain_segment(chain("a", "b", "c"))
    assert [link.text for link in found.links] == ["a", "b", "c"]
    assert (found.length, found.seal_after(0), found.seal_after(2)) == (3, BEGINNING, chain("a", "b")[1][2])
    assert chain_segment([]) == ChainSegment()


def test_a_stretch_goes_on_from_the_seal_before_it():
    rows = chain("a", "b", "c")
    found = chain_segment(rows[1:], 1, rows[0][2])
    assert (found.length, found.seal_after(1), found.seal_after(3)) == (3, rows[0][2], rows[2][2])
    for first, before in ((1, "other"), (0, rows[0][2]), (2, rows[0][2])):
        with pytest.raises(LedgerError):
            chain_segment(rows[1:], first, before)


@in_one_test(
    "broken",
    [
        lambda rows: rows[1:],
        lambda rows: [rows[0], rows[2]],
        lambda rows: [rows[1], rows[0], rows[2]],
        lambda rows: [rows[0], (1, "B", rows[1][2]), rows[2]],
        lambda rows: [rows[0], (1, "b", rows[1][2].upper()), rows[2]],
        lambda rows: [rows[0], (1, b"b", rows[1][2]), rows[2]],
        lambda rows: [rows[0], (1, "b", None), rows[2]],
        lambda rows: [*chain("A"), rows[1], rows[2]],
        lambda rows: [(0, "a\nb", rows[0][2]), *rows[1:]],
        lambda rows: [rows[0], (1.5, "b", rows[1][2])],
        lambda rows: [*rows, (3, "", rows[2][2])],
    ],
)
def test_a_change_is_found(broken):
    with pytest.raises(LedgerError):
        chain_segment(broken(chain("a", "b", "c")))


def test_moving_text_over_the_border_of_two_entries_is_found():
    assert seal(seal("", "a"), "b\nc") != seal(seal("", "a\nb"), "c")


def anchored_chain(*texts):
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
    publish(anchor, anchored_chain("a", "b"))
    assert anchor.read() == Mark.of(anchored_chain("a", "b"))
    assert [path.name for path in anchor.path.parent.iterdir()] == ["anchor"]


@pytest.mark.parametrize("known", [("a",), ("a", "b"), ("a", "b", "c")])
def test_an_anchor_may_lag(anchor, known):
    anchor.check(anchored_chain("a", "b", "c"), Mark.of(anchored_chain(*known)))


@pytest.mark.parametrize("known", [("a", "b", "c", "d"), ("A", "b", "c"), ("a", "B"), ("b",)])
def test_an_anchor_ahead_or_off_the_chain_is_a_finding(anchor, known):
    with pytest.raises(LedgerError):
        anchor.check(anchored_chain("a", "b", "c"), Mark.of(anchored_chain(*known)))


def test_a_missing_anchor_or_ledger_is_a_finding_once_there_are_entries(anchor):
    anchor.check(ChainSegment(), None)
    with pytest.raises(LedgerError, match="missing"):
        anchor.check(anchored_chain("a"), None)
    with pytest.raises(LedgerError, match="rolled back or cut"):
        anchor.check(ChainSegment(), Mark.of(anchored_chain("a")))


DAMAGED = [
    *('"entries":0,"seal":""', '"entries":-1,"seal":"x"', '"entries":true,"seal":"x"', '"entries":"1","seal":"x"'),
    '"entries":1,"entries":2,"seal":"x"',
]


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"{}", b"[1]", b"\xff", b"[" * 5000, b'{"dpqr":"dpqr anchor/2","entries":1,"seal":"x"}\n'),
        *(f'{{"dpqr":"dpqr anchor/1",{part}}}\n'.encode() for part in DAMAGED),
        b'{"dpqr":"dpqr anchor/1","entries":1,"seal":"x"}',  # without its line's end
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
        anchor.draft(Mark.of(anchored_chain("a")))
    assert victim.read_text() == "untouched"


def test_an_anchor_in_a_missing_directory_is_a_finding_before_anything_is_spent(tmp_path):
    with pytest.raises(LedgerError, match="nothing was spent"):
        Anchor(path=tmp_path / "missing" / "anchor").draft(Mark.of(anchored_chain("a")))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_met_by_the_draft(tmp_path, monkeypatch):
    monkeypatch.setattr(Anchor, "_draft", lambda *_: Path("/dev/full"))
    with pytest.raises(LedgerError, match="nothing was spent"):
        Anchor(path=tmp_path / "anchor").draft(Mark.of(anchored_chain("a")))


def test_a_mark_is_on_the_disk_before_it_takes_the_anchors_place_and_its_name_after(anchor, monkeypatch):
    publish(anchor, anchored_chain("a"))
    old = anchor.path.read_bytes()
    calls = recorded(monkeypatch, anchor.path.parent)
    anchor.draft(Mark.of(anchored_chain("a", "b")))
    (first,) = calls
    assert first[:2] == ("fsync", ".anchor.2.draft")
    assert anchor.path.read_bytes() == old
    anchor.publish(Mark.of(anchored_chain("a", "b")))
    assert calls[1:] == [("replace", "anchor", first[2]), ("fsync", ".", b"")]
    assert anchor.read() == Mark.of(anchored_chain("a", "b"))


def test_an_anchor_that_lags_is_held_against_its_own_place_in_the_chain(anchor):
    for known in ("a", "b", "c"):
        with pytest.raises(LedgerError, match="another one"):
            anchor.check(anchored_chain("a", "b", "c"), Mark(entries=2, seal=anchored_chain(known).links[-1].seal))
    anchor.check(anchored_chain("a", "b", "c"), Mark(entries=2, seal=anchored_chain("a", "b").links[-1].seal))


def test_a_later_job_may_publish_between_this_ones_look_and_its_renaming(anchor, monkeypatch):
    """On a server the lock is gone with the commit; the later job removes older drafts."""
    publish(anchor, anchored_chain("a"))
    earlier, later, original = Mark.of(anchored_chain("a", "b")), Mark.of(anchored_chain("a", "b", "c")), os.replace
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


def test_a_draft_that_somebody_removed_is_a_fault_that_says_what_holds(anchor):
    publish(anchor, anchored_chain("a"))
    with pytest.raises(LedgerError, match=r"its anchor .* could not be renewed .* stays spent"):
        anchor.publish(Mark.of(anchored_chain("a", "b")))


# Bytes that rot: `verify` finds each that holds anything; `tests/benchmarks/ledger.py damage` tries them all.


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.setattr("dpqr.ledger.chained_ledger.STRIDE", 4)
    made = ledger_in(tmp_path)
    made.open(terms())
    made.settle(reserve(made, 1), draws("1/2"), note="released")
    reserve(made, 1)
    return made


def test_a_changed_byte_is_found_or_held_nothing(ledger):
    """Most of a young ledger's file is space that SQLite has not used yet."""
    size = ledger.store.path.stat().st_size
    outcomes = [passed(ledger, position, 1 + position % 255) for position in range(0, size, 211)]
    assert set(outcomes) == {"same", 7}


def test_every_byte_of_a_key_counts(ledger):
    (paid,) = [held.runs for held in ledger.walk().state.accounts.values()]
    (run,) = paid.values()
    reservation = run.public().reservation
    at = ledger.store.path.read_bytes().index(ledger.key(reservation))
    assert {passed(ledger, position, 1) for position in range(at, at + 40)} == {7}
    sound = ledger.store.path.read_bytes()
    ledger.store.path.write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
    with pytest.raises(LedgerError, match="missing or damaged"):
        ledger.key(reservation)


def test_a_schema_that_is_no_text_is_damage(ledger):
    sound = ledger.store.path.read_bytes()
    at = sound.index(b"CREATE TABLE keys")
    for change in (0x80, 0xFF, 0x20):
        ledger.store.path.write_bytes(sound[:at] + bytes([sound[at] ^ change]) + sound[at + 1 :])
        for use in (ledger.verify, ledger.accounts, lambda: reserve(ledger, 1)):
            with pytest.raises(LedgerError):
                use()
