"""Jobs of other processes at one ledger; `python tests/benchmarks/ledger.py` repeats both at length."""

from ledgers import command, draws, ledger_in, publish, reserve, terms, unsound


def test_twenty_four_jobs_and_five_units(tmp_path):
    ledger = ledger_in(tmp_path)
    ledger.open(terms(epsilon="5"))
    assert command("race", tmp_path, "--jobs", 24) == {"0": 5, "4": 19}
    account = ledger.account("survey")
    assert (account.spent, account.left, account.reservations) == (5, 0, 5)
    assert len(list((tmp_path / "published").iterdir())) == 5
    found = ledger.verify()
    assert found.anchored == found.mark


def test_twenty_kills(tmp_path):
    ledger = ledger_in(tmp_path)
    ledger.open(terms(epsilon="1000"))
    done = command("kills", tmp_path, "--count", 20, "--crowd", 2)
    assert done["unsound"] == []
    assert done["ended"] == 0
    account = ledger.account("survey")
    assert account.reservations >= len(list((tmp_path / "published").iterdir())) > 0
    assert account.spent >= account.pending
    reserve(ledger, 1)


def test_the_check_after_a_kill_has_teeth(tmp_path):
    (tmp_path / "published").mkdir()
    ledger = ledger_in(tmp_path)
    ledger.open(terms())
    paid = reserve(ledger, 1)
    publish(tmp_path, paid)
    assert unsound(tmp_path) is None
    (tmp_path / "published" / "7").write_text(paid.receipt)
    assert "not paid" in unsound(tmp_path)
    (tmp_path / "published" / "7").unlink()
    (tmp_path / "published" / str(paid.number)).write_text("other")
    assert "not paid" in unsound(tmp_path)
    ledger.settle(paid, draws("1/2"), note="")
    ledger.anchor.path.write_text("")
    assert "damaged" in unsound(tmp_path)
