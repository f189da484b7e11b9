import os
import stat
import threading
from fractions import Fraction

import pytest
from support.ledger_jobs import UNIT, another, draws, forge, kept, ledger_in, reserve, restore, rows, tamper, terms
from support.process_races import run_module

from dpqr.kernel.errors import BudgetRefused, LedgerError, UsageFault
from dpqr.kernel.unit import Neighbours
from dpqr.kernel.values import replace
from dpqr.ledger.chain import Anchor
from dpqr.ledger.chained_ledger import ChainedLedger
from dpqr.ledger.store import SqliteStore

ENGINES = True


class TestLife:
    def test_reserve_and_settle(self, ledger):
        """Another process sees each of it at once; a run that drew nothing stays in the history."""
        paid = reserve(ledger, 2)
        assert rows(ledger.store)[paid.number][2] == paid.receipt
        assert another(ledger).account("survey").spent == paid.cost == 2
        assert ledger.settle(paid, draws("1/3"), note="released").spent == Fraction(1, 3)
        assert ledger.settle(reserve(ledger, 4), (), note="error before the first draw").spent == Fraction(1, 3)
        kinds = [entry.kind for entry in ledger.entries()]
        assert kinds == ["open", "init", "reserve", "settle", "reserve", "settle"]
        assert ledger.entries()[-1].note == "error before the first draw"

    def test_a_refusal_writes_nothing(self, ledger):
        before = rows(ledger.store)
        for asked, dataset, neighbours in ((6, "survey", UNIT.neighbours), (1, "survey", Neighbours.REPLACE)):
            with pytest.raises(BudgetRefused):
                reserve(ledger, asked, dataset, neighbours)
        with pytest.raises(UsageFault):
            reserve(ledger, 1, "other")
        with pytest.raises(BudgetRefused, match="no reset"):
            ledger.open(terms(epsilon="100"))
        assert rows(ledger.store) == before

    @pytest.mark.file
    def test_only_the_owner_reads_the_files_and_no_other_file_stays(self, ledger):
        ledger.settle(reserve(ledger, 1), (), note="")
        assert sorted(os.listdir(ledger.store.path.parent)) == ["ledger.sqlite", "outside.anchor"]
        for path in (ledger.store.path, ledger.anchor.path):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600

    @pytest.mark.file
    def test_only_opening_makes_a_ledger(self, tmp_path):
        ledger = ledger_in(tmp_path)
        for use in (ledger.accounts, ledger.entries, ledger.verify, ledger.renew_anchor, lambda: reserve(ledger, 1)):
            with pytest.raises(UsageFault, match="there is no ledger"):
                use()
        assert os.listdir(tmp_path) == []

    @pytest.mark.file
    def test_an_empty_file_that_a_killed_job_left_is_used(self, tmp_path):
        (tmp_path / "ledger.sqlite").touch()
        ledger = ledger_in(tmp_path)
        assert ledger.accounts() == ()
        assert ledger.open(terms()).left == 5

    def test_two_ledgers_never_have_the_same_seals(self, tmp_path):
        found = set()
        for name in "ab":
            (tmp_path / name).mkdir()
            ledger = ledger_in(tmp_path / name, clock=lambda: "now")
            ledger.open(terms())
            found.add(rows(ledger.store)[0][2])
        assert len(found) == 2

    @pytest.mark.file
    def test_bad_names_and_notes_are_refused_before_the_file_is_touched(self, tmp_path):
        ledger = ledger_in(tmp_path)
        with pytest.raises(UsageFault):
            ledger.open(terms("a b"))
        with pytest.raises(UsageFault):
            reserve(ledger, 1, note="a\nb")
        assert os.listdir(tmp_path) == []

    @pytest.mark.file
    def test_the_anchor_is_another_file(self, tmp_path):
        with pytest.raises(UsageFault, match="is the ledger itself"):
            ChainedLedger(store=SqliteStore(tmp_path / "x"), anchor=Anchor(path=tmp_path / "x"))


class TestTampering:
    """Everything here is found with the anchor; what is found without it is said."""

    def test_an_untouched_ledger_is_sound(self, ledger):
        ledger.settle(reserve(ledger, 1), draws("1/2"), note="")
        found = ledger.verify()
        assert found.mark.entries == 4
        assert found.anchored == found.mark

    @pytest.mark.parametrize("anchored", [True, False])
    def test_an_edited_entry(self, ledger, anchored):
        reserve(ledger, 4)
        tamper(ledger.store, ("UPDATE entries SET entry = replace(entry, '\"4\"', '\"1\"')", ()))
        with pytest.raises(LedgerError, match="edited"):
            reserve(another(ledger, anchored=anchored), 1)

    @pytest.mark.parametrize("anchored", [True, False])
    @pytest.mark.parametrize("number", [0, 1, 2])
    def test_an_entry_taken_out(self, ledger, number, anchored):
        for _ in range(2):
            reserve(ledger, 1)
        tamper(ledger.store, ("DELETE FROM entries WHERE number = ?", (number,)))
        with pytest.raises(LedgerError, match="missing"):
            another(ledger, anchored=anchored).account("survey")

    def test_the_last_entry_deleted(self, ledger):
        reserve(ledger, 4)
        tamper(ledger.store, ("DELETE FROM entries WHERE number = 2", ()))
        assert another(ledger, anchored=False).account("survey").spent == 0
        for use in (ledger.accounts, ledger.verify, lambda: reserve(ledger, 1), lambda: ledger.open(terms("b"))):
            with pytest.raises(LedgerError, match="rolled back or cut"):
                use()

    def test_an_old_copy_restored(self, ledger, tmp_path):
        old = kept(ledger.store)
        reserve(ledger, 4)
        restore(ledger.store, old)
        with pytest.raises(LedgerError, match="rolled back or cut"):
            reserve(ledger, 4)

    def test_an_old_copy_restored_and_spent_from_without_the_anchor(self, ledger, tmp_path):
        old = kept(ledger.store)
        reserve(ledger, 4)
        restore(ledger.store, old)
        for _ in range(4):
            reserve(ledger_in(tmp_path, anchored=False), 1)
        with pytest.raises(LedgerError, match="another one"):
            ledger.verify()

    def test_another_ledger_in_its_place(self, ledger, tmp_path):
        (tmp_path / "other").mkdir()
        other = ledger_in(tmp_path / "other")
        other.open(terms(epsilon="100"))
        for _ in range(9):
            reserve(other, 1)
        restore(ledger.store, kept(other.store))
        with pytest.raises(LedgerError, match="another one"):
            reserve(ledger, 1)

    @pytest.mark.file
    def test_the_ledger_removed(self, ledger):
        ledger.store.path.unlink()
        for use in (ledger.accounts, lambda: ledger.open(terms())):
            with pytest.raises(LedgerError, match="is gone"):
                use()
        assert not ledger.store.path.exists()

    @pytest.mark.file
    def test_the_ledger_emptied(self, ledger):
        os.truncate(ledger.store.path, 0)
        for use in (ledger.accounts, lambda: ledger.open(terms())):
            with pytest.raises(LedgerError, match="rolled back or cut"):
                use()

    def test_the_anchor_removed(self, ledger):
        ledger.anchor.path.unlink()
        for use in (ledger.accounts, lambda: reserve(ledger, 1), lambda: ledger.open(terms("b"))):
            with pytest.raises(LedgerError, match="is missing"):
                use()
        assert not ledger.anchor.path.exists()

    def test_a_chain_forged_anew(self, ledger):
        reserve(ledger, 4)
        forge(ledger.store, lambda number, text: text.replace('"cost":"4"', '"cost":"1"'))
        with pytest.raises(LedgerError, match="another one"):
            ledger.account("survey")
        alone = another(ledger, anchored=False)
        assert alone.account("survey").spent == 1
        with pytest.raises(LedgerError, match="less than its events cost"):
            alone.verify()

    @pytest.mark.file
    def test_a_damaged_structure(self, ledger):
        sound = bytearray(ledger.store.path.read_bytes() + bytes(4096))
        sound[28:32] = (len(sound) // 4096).to_bytes(4, "big")
        restore(ledger.store, sound)
        with pytest.raises(LedgerError, match="file is damaged"):
            ledger.verify()

    @pytest.mark.parametrize(
        ("old", "new", "said"),
        [
            ('"limit":"5"', '"limit":"50"', "entry 1 states less"),
            ('"cap":null', '"cap":null,"card":7', "not written as dpqr writes it"),
            ('"cost":"4"', '"cost":"6"', "breaks the rules"),
        ],
    )
    def test_entries_forged_anew(self, ledger, old, new, said):
        reserve(ledger, 4)
        forge(ledger.store, lambda number, text: text.replace(old, new))
        with pytest.raises(LedgerError, match=said):
            another(ledger, anchored=False).verify()


class TestAnchor:
    def test_a_crash_between_commit_and_anchor_is_no_finding(self, ledger, monkeypatch):
        before = ledger.anchor.path.read_bytes()
        paid = reserve(ledger, 1)
        ledger.anchor.path.write_bytes(before)
        assert ledger.account("survey").spent == 1
        assert ledger.verify().anchored.entries == 2
        ledger.settle(paid, (), note="")
        assert ledger.verify().anchored == ledger.verify().mark

    def test_a_draft_that_cannot_be_written_spends_nothing(self, ledger):
        (ledger.anchor.path.parent / ".outside.anchor.3.draft").mkdir()
        with pytest.raises(LedgerError, match="nothing was spent"):
            reserve(ledger, 1)
        assert ledger.account("survey").spent == 0

    def test_an_anchor_that_cannot_be_renewed_stops_the_run_and_stays_spent(self, ledger, monkeypatch):
        def refuse(*paths):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "replace", refuse)
        with pytest.raises(LedgerError, match="stays spent"):
            reserve(ledger, 1)
        monkeypatch.undo()
        assert ledger.account("survey").spent == 1

    def test_a_lost_anchor_is_written_again_on_demand(self, ledger):
        ledger.anchor.path.unlink()
        assert ledger.renew_anchor().entries == 2
        assert ledger.account("survey").left == 5

    def test_an_anchor_that_disagrees_is_not_replaced(self, ledger):
        reserve(ledger, 1)
        tamper(ledger.store, ("DELETE FROM entries WHERE number = 2", ()))
        before = ledger.anchor.path.read_bytes()
        with pytest.raises(LedgerError, match="rolled back"):
            ledger.renew_anchor()
        assert ledger.anchor.path.read_bytes() == before

    def test_a_forged_ledger_is_not_anchored(self, ledger):
        forge(ledger.store, lambda number, text: text.replace('"limit":"5"', '"limit":"50"'))
        ledger.anchor.path.unlink()
        with pytest.raises(LedgerError, match="forged"):
            ledger.renew_anchor()

    @pytest.mark.file
    def test_there_is_nothing_to_anchor_without_a_name_or_an_entry(self, tmp_path):
        with pytest.raises(UsageFault, match="--anchor"):
            ledger_in(tmp_path, anchored=False).renew_anchor()
        (tmp_path / "ledger.sqlite").touch()
        with pytest.raises(UsageFault, match="no entry"):
            ledger_in(tmp_path).renew_anchor()


class TestOthers:
    def test_readers_and_writers_in_threads(self, ledger):
        failures = []

        def run(use):
            try:
                for _ in range(10):
                    use()
            except Exception as error:  # whatever it is, the test shows it
                failures.append(error)

        uses = [lambda: reserve(ledger, "0.01"), lambda: ledger.account("survey"), ledger.verify, ledger.entries]
        threads = [threading.Thread(target=run, args=(use,)) for use in uses]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert ledger.account("survey").spent == Fraction(1, 10)

    def test_a_ledger_that_stays_locked_is_given_up(self, ledger):
        impatient = replace(ledger, wait=0.05)
        with ledger.store.writing(1), pytest.raises(LedgerError, match="other jobs"):
            reserve(impatient, 1)
        assert ledger.account("survey").spent == 0

    @pytest.mark.slow
    @pytest.mark.file
    def test_a_full_disk_leaves_it_sound(self, ledger, tmp_path):
        met = run_module("support.ledger_jobs", "full", tmp_path)
        assert met["exit"] == 7
        assert "disk" in met["said"]
        assert ledger.verify().mark.entries > 2
        published = {path.name for path in (tmp_path / "published").iterdir()}
        assert published == {str(entry.number) for entry in ledger.entries() if entry.kind == "reserve"}
        reserve(ledger, 1)


def test_an_anchor_that_a_ledger_keeps_is_named_or_waived(ledger):
    """Else whoever leaves it out would put an older copy in the ledger's place unnoticed."""
    paid = reserve(ledger, 1)
    unnamed = ChainedLedger(store=ledger.store)
    for use in (
        unnamed.accounts,
        unnamed.verify,
        lambda: reserve(unnamed, 1),
        lambda: unnamed.settle(paid, (), note=""),
        lambda: unnamed.open(terms("other")),
    ):
        with pytest.raises(UsageFault, match="keeps an anchor, and none is named"):
            use()
    assert another(ledger, anchored=False).accounts() == ledger.accounts()
