"""Jobs of other processes at one ledger; `python tests/benchmarks/ledger.py` repeats both at length."""

from fractions import Fraction

import pytest
from support.cases import slow_but
from support.ledger_jobs import draws, ledger_in, publish, reserve, terms, unsound
from support.process_races import run_module

from dpqr.kernel.budget import Cost

ENGINES = True

DELTA = "2e-7"
BUDGETS = {
    "epsilon": ({"epsilon": "5"}, (), Cost(Fraction(5))),
    "pairs, epsilon ends": ({"epsilon": "5", "delta": "1e-5"}, ("--delta", DELTA), Cost(Fraction(5), Fraction("1e-6"))),
    "pairs, delta ends": ({"epsilon": "90", "delta": "1e-6"}, ("--delta", DELTA), Cost(Fraction(5), Fraction("1e-6"))),
    "pairs, pure runs": ({"epsilon": "5", "delta": "1e-6"}, (), Cost(Fraction(5))),
}


@pytest.mark.parametrize(("budget", "options", "spent"), slow_but({2}, BUDGETS.values()), ids=BUDGETS)
def test_twenty_four_jobs_and_five_units(tmp_path, budget, options, spent):
    ledger = ledger_in(tmp_path)
    ledger.open(terms(**budget))
    assert run_module("support.ledger_jobs", "race", tmp_path, "--jobs", 24, *options) == {"0": 5, "4": 19}
    account = ledger.account("survey")
    assert (account.spent, account.left, account.reservations) == (spent, account.terms.limit - spent, 5)
    assert len(list((tmp_path / "published").iterdir())) == 5
    found = ledger.verify()
    assert found.anchored == found.mark


@pytest.mark.slow
@pytest.mark.parametrize("delta", [None, "1e-9"], ids=["epsilon", "pairs"])
def test_twenty_kills(tmp_path, delta):
    ledger = ledger_in(tmp_path)
    ledger.open(terms(epsilon="1000", delta="1e-3" if delta else "0"))
    options = ("--delta", delta) if delta else ()
    done = run_module("support.ledger_jobs", "kills", tmp_path, "--count", 20, "--crowd", 2, *options)
    assert done["unsound"] == []
    assert done["ended"] == 0
    account = ledger.account("survey")
    assert account.reservations >= len(list((tmp_path / "published").iterdir())) > 0
    paid = [entry.cost for entry in ledger.entries() if entry.kind == "reserve"]
    assert not delta or account.spent.delta == sum(cost.delta for cost in paid) > 0
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
