"""Turns that begin at a checkpoint: what they check, what they leave to a walk, and that both agree."""

from fractions import Fraction

import pytest
from support.cases import slow_but, thinned
from support.ledger_jobs import another, draws, kept, ledger_in, read, reserve, restore, rows, session_of, tamper, terms

from dpqr.kernel.errors import BudgetRefused, LedgerError
from dpqr.kernel.events import ExponentialEvent
from dpqr.ledger import chained_ledger as transaction
from dpqr.ledger import store
from dpqr.ledger.chain import Anchor, Link, digest, seal
from dpqr.ledger.codec import encode_entry
from dpqr.ledger.ledger import LedgerEntry
from dpqr.ledger.state import LedgerState
from dpqr.ledger.store import KEY_BYTES

ENGINES = True

TENTH = ExponentialEvent(epsilon=Fraction(1, 10))


@pytest.fixture(autouse=True)
def short_stride(monkeypatch):
    monkeypatch.setattr(transaction, "STRIDE", 8)


@pytest.fixture
def aged(tmp_path):
    """A ledger with several checkpoints, and some entries after the last."""
    ledger = ledger_in(tmp_path)
    ledger.open(terms(epsilon="100"))
    for _ in range(11):
        ledger.settle(reserve(ledger, 1), draws("1/2"), note="released")
    reserve(ledger, 1)
    return ledger


def checkpoints(ledger):
    return [number for number, text, _ in rows(ledger.store) if '"entry":"checkpoint"' in text]


def looked_at(monkeypatch):
    """The numbers of the entries that are read from now on."""
    found, original = [], store.chain_segment

    def watched(read, *place):
        found.extend(number for number, *_ in read)
        return original(read, *place)

    monkeypatch.setattr(store, "chain_segment", watched)
    return found


def test_a_new_job_reads_from_the_newest_checkpoint_on(aged, monkeypatch):
    *_, newest = checkpoints(aged)
    read = looked_at(monkeypatch)
    reserve(another(aged), 1)
    assert read == list(range(newest, newest + len(read)))
    assert len(read) < 8


def test_a_job_that_goes_on_reads_what_others_have_added(aged, monkeypatch):
    other = another(aged)
    reserve(other, 1)
    reserve(aged, 1)
    last = rows(aged.store)[-1][0]
    read = looked_at(monkeypatch)
    reserve(other, 1)
    assert read == list(range(last, last + 1)) or read == [last - 1, last]


def test_checkpoints_come_every_stride_and_the_walk_agrees(aged):
    assert checkpoints(aged) == [8, 16, 24]
    found = aged.verify()
    assert found.state.account("survey").spent == Fraction(13, 2)
    assert found.anchored == found.mark
    with pytest.raises(BudgetRefused, match=r"asked epsilon 94, spent 6\.5"):
        reserve(another(aged), 94)


def test_a_run_goes_on_over_checkpoints_whoever_continues_it(tmp_path):
    ledger_in(tmp_path).open(terms())
    paid = reserve(ledger_in(tmp_path), 1)
    for number in range(10):
        ledger_in(tmp_path).begin(paid, TENTH, number=number, transcript=f"{number:064x}")
        ledger_in(tmp_path).record(paid, number=number, transcript=f"{number + 1:064x}")
    assert len(checkpoints(ledger_in(tmp_path))) > 1
    with pytest.raises(LedgerError, match="does not pay for another draw"):
        ledger_in(tmp_path).begin(paid, TENTH, number=10, transcript=f"{10:064x}")
    assert ledger_in(tmp_path).settle(paid, draws(1), note="released").spent == 1
    ledger_in(tmp_path).verify()


def test_a_state_is_public(aged):
    """No key of a reservation is in it."""
    paid = reserve(aged, 1)
    key = aged.key(paid)
    for _ in range(8):
        reserve(aged, 1)
    ((text,),) = read(aged.store, "SELECT text FROM state")
    assert str(paid.receipt) in text
    assert key.hex() not in text


FOUND = {
    "a state edited": (
        'UPDATE state SET text = replace(text, \'"spent":[\', \'"spent":["0","1"],"x":[\')',
        ".",
    ),
    "a balance, with care": ("UPDATE state SET text = replace(text, '\"reservations\":', '\"reservations\":1')", "."),
    "a state taken out": ("DELETE FROM state", "its state is not that of its entries"),
    "a state doubled": ("INSERT INTO state SELECT number + 1, text FROM state", "."),
    "a state under another number": ("UPDATE state SET number = number - 1", "."),
    "an older state": ("DELETE FROM entries WHERE number >= NEWEST", "."),
    "an entry after the checkpoint": (
        "UPDATE entries SET entry = entry || ' ' WHERE number = NEWEST + 1",
        "does not match its seal",
    ),
    "the checkpoint's own entry": (
        "UPDATE entries SET entry = replace(entry, '\"state\":', '\"Checkpoint\":') WHERE number = NEWEST",
        "does not match its seal",
    ),
}


@pytest.mark.parametrize("anchored", thinned([True, False], 2))
@pytest.mark.parametrize(("statement", "words"), slow_but({0, 2, 5}, FOUND.values()), ids=FOUND)
def test_what_the_next_job_that_writes_finds_and_every_look(aged, statement, words, anchored):
    """A text that dpqr could have written is told by its digest alone."""
    tamper(aged.store, (statement.replace("NEWEST", str(checkpoints(aged)[-1])), ()))
    ledger = another(aged, anchored=anchored)
    for use in (lambda: reserve(ledger, 1), ledger.accounts, ledger.verify):
        with pytest.raises(LedgerError, match=words):
            use()


class TestFoundByAWalk:
    """A turn does not look before the checkpoint, and uses nothing of what lies there."""

    def test_an_old_entry_that_was_edited(self, aged):
        tamper(aged.store, ("UPDATE entries SET entry = replace(entry, '\"1\"', '\"0\"') WHERE number = 2", ()))
        assert reserve(another(aged), 1)
        with pytest.raises(BudgetRefused, match=r"spent 7\.5"):
            reserve(another(aged), 94)
        for look in (aged.accounts, aged.entries, aged.verify, lambda: aged.run("survey", 2, "")):
            with pytest.raises(LedgerError, match="edited"):
                look()

    def test_an_old_entry_that_was_taken_out(self, aged):
        tamper(aged.store, ("DELETE FROM entries WHERE number = 3", ()))
        reserve(another(aged), 1)
        with pytest.raises(LedgerError, match="missing"):
            aged.verify()

    def test_a_forged_state_in_a_chain_forged_from_there_on(self, aged):
        """The anchor finds it at once; without one, the replay of a walk does."""
        newest = checkpoints(aged)[-1]
        ((text,),) = read(aged.store, "SELECT text FROM state")
        forged = text.replace('"spent":["', '"spent":["0","1"],"was":["', 1).split(',"was":')
        forged = forged[0] + forged[1][forged[1].index("]") + 1 :]
        stored = rows(aged.store)
        previous, changes = stored[newest - 1][2], [("UPDATE state SET text = ?", (forged,))]
        for number, entry, _ in stored[newest:]:
            entry = entry.replace(digest(text), digest(forged))
            previous = seal(previous, entry)
            changes.append(("UPDATE entries SET entry = ?, seal = ? WHERE number = ?", (entry, previous, number)))
        tamper(aged.store, *changes)
        with pytest.raises(LedgerError, match="another one"):
            reserve(another(aged), 1)
        alone = another(aged, anchored=False)
        with pytest.raises(LedgerError, match=f"entry {newest} breaks the rules"):
            alone.accounts()
        reserve(alone, 1)
        with pytest.raises(LedgerError, match=f"entry {newest} breaks the rules"):
            alone.verify()


def test_an_anchor_before_the_checkpoint_makes_a_turn_walk(aged, monkeypatch):
    old = aged.anchor.path.read_bytes()
    for _ in range(12):
        reserve(another(aged, anchored=False), 1)
    assert aged.anchor.path.read_bytes() == old
    read = looked_at(monkeypatch)
    reserve(another(aged), 1)
    assert read[: max(read) + 1] == list(range(max(read) + 1))
    assert max(read) >= len(rows(aged.store)) - 3
    tamper(aged.store, ("UPDATE entries SET entry = entry || ' ' WHERE number = 1", ()))
    aged.anchor.path.write_bytes(old)
    with pytest.raises(LedgerError, match="edited"):
        reserve(another(aged), 1)


class TestForgedState:
    """A checkpoint and its state are appended by somebody else, behind an anchor that covers all honest entries."""

    def forge(self, ledger):
        """Nothing is spent any more, and whoever asks is approved: a state that dpqr could write, with its entry."""
        state = ledger.walk().state
        state.accounts["survey"].spent.clear()
        state.accounts["survey"].runs.clear()
        text, number = state.text, state.length
        entry = encode_entry(LedgerEntry(number=number, kind="checkpoint", time="", state=digest(text)))
        forged = (number, entry, seal(state.seal, entry))
        names = "number, entry, seal"
        tamper(
            ledger.store,
            (f"INSERT INTO entries ({names}) VALUES (?, ?, ?)", forged),
            ("DELETE FROM state", ()),
            ("INSERT INTO state (number, text) VALUES (?, ?)", (number, text)),
        )
        return number

    def test_behind_an_anchor_that_ends_before_it(self, aged):
        number = self.forge(aged)
        assert aged.anchor.read().entries == number
        before = aged.anchor.path.read_bytes()
        for use in (lambda: reserve(another(aged), 94), lambda: reserve(aged, 94), lambda: reserve(another(aged), 1)):
            with pytest.raises(LedgerError, match=f"entry {number} breaks the rules"):
                use()
        assert aged.anchor.path.read_bytes() == before
        assert len(rows(aged.store)) == number + 1

    def test_an_honest_checkpoint_that_the_anchor_covers_is_no_walk(self, aged, monkeypatch):
        while len(rows(aged.store)) - 1 not in checkpoints(aged):
            reserve(aged, 1)
        assert aged.anchor.read().entries == checkpoints(aged)[-1] + 1
        read = looked_at(monkeypatch)
        reserve(another(aged), 1)
        assert read == [checkpoints(aged)[-1]]


def test_a_rollback_to_before_the_checkpoint_is_found(aged, tmp_path):
    old = kept(aged.store)
    for _ in range(12):
        reserve(aged, 1)
    restore(aged.store, old)
    for ledger in (aged, ledger_in(tmp_path)):
        with pytest.raises(LedgerError, match="rolled back"):
            reserve(ledger, 1)


def test_a_key_that_was_removed_or_planted_is_found_by_verify(aged):
    for key in (b"\0", bytes(32)):  # no key, and one that could be any
        tamper(aged.store, ("DELETE FROM keys WHERE reservation = 2", ()))
        tamper(aged.store, ("INSERT INTO keys (reservation, key) VALUES (2, ?)", (key,)))
        with pytest.raises(LedgerError, match="keys are not those"):
            aged.verify()
    tamper(aged.store, ("DELETE FROM keys", ()))
    with pytest.raises(LedgerError, match="keys are not those"):
        aged.verify()


def test_a_crash_at_a_checkpoint_loses_it_whole(aged, monkeypatch):
    """The checkpoint is a part of the transaction that it follows."""
    before = rows(aged.store)

    def fail(*_):
        raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr(session_of(aged.store), "commit", fail)
        for _ in range(8):
            with pytest.raises(MemoryError):
                reserve(another(aged), 1)
    assert rows(aged.store) == before
    aged.verify()


def test_the_anchors_draft_comes_before_the_commit_and_its_publication_after(aged, monkeypatch):
    """So a full disk is met while nothing is spent, and an anchor never knows what the ledger does not hold."""
    order = []

    def watch(owner, name):
        original = getattr(owner, name)

        def watched(*given):
            order.append(name)
            return original(*given)

        monkeypatch.setattr(owner, name, watched)

    for owner, name in ((Anchor, "draft"), (session_of(aged.store), "commit"), (Anchor, "publish")):
        watch(owner, name)
    reserve(aged, 1)
    assert order == ["draft", "commit", "publish"]


def test_a_book_that_is_taken_is_not_kept():
    kept = transaction.LastState(state=LedgerState())
    assert isinstance(kept.take(), LedgerState)
    assert kept.take() is None


# Keys and states of one transaction, whatever database holds them.


def test_a_key_is_kept_whole_and_erased(ledger):
    with ledger.writing() as session:
        session.store_key(7, bytes(range(KEY_BYTES)))
        assert session.stored_key(7) == bytes(range(KEY_BYTES))
        session.store_key(9, bytes(KEY_BYTES))
        session.require_keys([7, 9])
        session.keep_keys([9])
        session.require_keys([9])
        with pytest.raises(LedgerError, match="missing or damaged"):
            session.stored_key(7)


def test_a_damaged_key_is_another_thing_than_another_table(ledger):
    paid = reserve(ledger, 1)
    tamper(ledger.store, ("UPDATE keys SET key = ?", (bytes(40),)))
    with pytest.raises(LedgerError, match="missing or damaged"):
        ledger.key(paid)


def test_nothing_is_kept_without_a_commit(ledger):
    with ledger.writing() as session:
        session.append(2, Link(text="{}", seal=seal(session.stored_seal(2), "{}")))
        assert session.chain().length == 3
    assert len(ledger.entries()) == 2


def test_a_new_state_takes_the_place_of_the_older_one(ledger):
    with ledger.writing() as session:
        assert session.stored_state() is None
        session.store_state(4, "a")
        session.store_state(9, "b")
        assert session.stored_state() == (9, "b")


def test_a_reader_cannot_write(ledger):
    with pytest.raises(LedgerError), ledger.store.reading(1) as session:
        session.store_key(0, bytes(KEY_BYTES))
