import json
import subprocess
import sys
from fractions import Fraction

import pytest
from click.testing import CliRunner
from support.ledger_jobs import draws, ledger_in, reserve, tamper

from dpqr.cli.main import main
from dpqr.kernel.budget import Pricing
from dpqr.ledger import record as proofs


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("DPQR_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("DPQR_ANCHOR", str(tmp_path / "outside.anchor"))
    return tmp_path


def run(*arguments, code=0):
    done = CliRunner().invoke(main, ["budget", *map(str, arguments)])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def lived(place):
    run("init", "survey", "--eps", "5", "--cap-eps", "2")
    ledger = ledger_in(place)
    ledger.settle(reserve(ledger, 2), draws("1/2"), note="released")
    return ledger


def test_verify_names_the_prices_that_it_could_not_derive_again(place, monkeypatch):
    run("init", "a", "--eps", "5", "--delta", "1e-6", "--accounting", "basic")
    reserve(ledger_in(place), "1/2", "a", pricing=Pricing(accountant="pld", delta=Fraction("1e-7")))
    monkeypatch.setattr(proofs, "is_installed", lambda name: name != "pld")
    assert "prices that were not derived again, of reservations 2: pld proves them" in run("verify").stderr
    assert json.loads(run("verify", "--json").stdout)["unproved"] == [2]


def test_each_budget_of_a_ledger_has_an_accountant_of_its_own(place):
    run("init", "a", "--eps", "5")
    run("init", "b", "--eps", "5", "--delta", "1e-9", "--accounting", "zcdp")
    assert "charged by basic" in run("show", "a").stdout
    assert "charged by zcdp" in run("show", "b").stdout


def test_history_and_export(lived, place):
    assert "settles 2: released" in run("history").stdout
    assert [entry["entry"] for entry in json.loads(run("history", "survey", "--json").stdout)] == [
        "init",
        "reserve",
        "settle",
    ]
    exported = run("export").stdout
    assert [json.loads(line)["entry"]["number"] for line in exported.splitlines()] == [0, 1, 2, 3]
    (place / "export.jsonl").write_text(exported)
    refused = run("show", "--ledger", place / "export.jsonl", "--anchor", "none", code=7)
    assert "is an export of a ledger, which `dpqr verify` takes alone; give the ledger itself" in refused.output


def test_verify_and_anchor(lived, place):
    done = run("verify")
    assert done.stdout.startswith("sound: 4 entries, seal ")
    assert "the anchor agrees" in done.stderr
    reserve(ledger_in(place, anchored=False), 1)
    assert "lags by 1 entries" in run("verify").stderr
    lived.anchor.path.unlink()
    assert "is missing" in run("verify", code=7).stderr
    assert "anchored at 5 entries" in run("anchor").stderr
    assert json.loads(run("verify", "--json").stdout)["anchor"]["entries"] == 5


def test_a_rolled_back_ledger_ends_with_seven(lived):
    tamper(lived.store, ("DELETE FROM entries WHERE number = 3", ()))
    for words in (["show"], ["history"], ["verify"], ["export"], ["anchor"], ["init", "b", "--eps", "1"]):
        done = run(*words, code=7)
        assert done.stdout == ""
        assert "rolled back" in done.stderr
        assert done.stderr.count("\n") <= 2


@pytest.mark.slow
def test_walking_a_ledger_needs_no_numpy(lived):
    code = (
        "import sys\nfrom dpqr.cli.main import main\n"
        "try:\n    main(['budget', 'verify'])\nexcept SystemExit as ended:\n"
        "    print(ended.code, [name for name in ('numpy', 'scipy', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


def test_a_long_replay_is_noted(lived, monkeypatch):
    assert "budget checkpoint" not in run("show").stderr
    monkeypatch.setattr("dpqr.cli.budget.LONG_REPLAY", 2)
    assert "every new job replays 4 entries; its owner makes that short" in run("show").stderr
    assert "every new job replays" not in run("show", "--json").stdout
