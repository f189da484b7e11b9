import json
import subprocess
import sys
from fractions import Fraction

import pytest
from click.testing import CliRunner
from support.ledger_jobs import by, draws, ledger_in, reserve, tamper

from dpqr.cli.main import main
from dpqr.kernel.budget import Pricing
from dpqr.ledger import record as proofs
from dpqr.ledger.sqlite import SqliteStore


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


def test_init_prints_the_budget(place):
    done = run("init", "survey", "--eps", "5", "--cap-eps", "1", "--neighbours", "replace", "--kind", "public")
    assert "survey (public)" in done.stdout
    assert "replaced by another" in done.stdout
    assert "the largest request that fits is --eps 1\n" in done.stdout
    assert json.loads(run("init", "b", "--eps", "1", "--delta", "1e-9", "--json").stdout)["currency"] == "rho"


@pytest.mark.parametrize("name", ["--accounting", "--accountant"])
def test_a_budget_in_epsilon_and_delta(place, name):
    said = run("init", "a", "--eps", "5", "--delta", "1e-6", name, "basic", "--cap-delta", "2.5e-7").stdout
    assert "(eps 5, delta 1e-6) for life; charged by basic, in epsilon and delta" in said
    assert "(epsilon 5, delta 2.5e-7) for one release" in said
    assert "the largest request that fits is --eps 5 --delta 2.5e-7" in said
    reserve(ledger_in(place), "1/2", "a", pricing=by("1e-7"))
    shown = run("show", "a").stdout
    assert "(epsilon 0.5, delta 1e-7) in 1 reservation" in shown
    assert "(epsilon 4.5, delta 9e-7); the largest request that fits is --eps 4.5 --delta 2.5e-7" in shown
    assert "basic: eps 0.5 at delta 1e-6 (charged)" in shown
    assert "(epsilon 0.5, delta 1e-7)" in run("history").stdout
    (document,) = json.loads(run("show", "--json").stdout)
    assert (document["accountant"], document["currency"]) == ("basic", "epsilon and delta")
    assert document["spent"] == {
        "epsilon": {"exact": "1/2", "decimal": "0.5"},
        "delta": {"exact": "1/10000000", "decimal": "1e-7"},
    }
    assert "basic: no finite eps at delta 1e-8" in run("show", "--delta", "1e-8").stdout


def test_verify_names_the_prices_that_it_could_not_derive_again(place, monkeypatch):
    run("init", "a", "--eps", "5", "--delta", "1e-6", "--accounting", "basic")
    reserve(ledger_in(place), "1/2", "a", pricing=Pricing(accountant="pld", delta=Fraction("1e-7")))
    monkeypatch.setattr(proofs, "is_installed", lambda name: name != "pld")
    assert "prices that were not derived again, of reservations 2: pld proves them" in run("verify").stderr
    assert json.loads(run("verify", "--json").stdout)["unproved"] == [2]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--eps", "1\x0b"], "--eps '1\\x0b'"),
        (["--eps", "1\xa0"], "--eps"),
        (["--eps", "1", "--delta", "1e-9\x0b", "--accounting", "basic"], "--delta"),
        (["--eps", "1", "--cap-delta", "1e-9"], "--cap-delta"),
        (["--eps", "1", "--delta", "1e-6", "--cap-delta", "1e-9"], "--accounting basic"),
        (["--eps", "1", "--delta", "1e-6", "--accounting", "basic", "--cap-delta", "1e-9\x1c"], "--cap-delta"),
        (["--eps", "1", "--delta", "1e-6", "--accounting", "basic", "--cap-delta", "1e-5"], "above the whole"),
        (["--eps", "1", "--delta", "1e-6", "--accounting", "pld"], "--accounting pld"),
        (["--eps", "1", "--max-records", "0"], "--max-records"),
        (["--eps", "1", "--max-bytes", "x"], "--max-bytes"),
        (["--eps", "1", "--max-memory", "1000"], "--max-memory"),
        (["--eps", "1", "--delimiter", ""], "--delimiter"),
        (["--eps", "1", "--counts", "\x1b[2J"], "--counts"),
    ],
    ids=str,
)
def test_an_init_with_a_wrong_option_opens_nothing(place, options, said):
    done = run("init", "a", *options, code=2)
    assert said in done.stderr
    assert done.stderr.isprintable() or done.stderr.replace("\n", "").isprintable()
    assert not (place / "ledger.sqlite").exists()


def test_a_second_init_is_refused(lived):
    done = run("init", "Survey", "--eps", "9", code=4)
    assert done.stdout == ""
    assert "no reset" in done.stderr


def test_a_policy_is_stated_with_the_budget_and_made_stricter_later(place):
    said = run("init", "survey", "--eps", "5", "--max-records", "1000", "--delimiter", ";", "--allow-fail").stdout
    assert "max-records 1000, delimiter ';', no count column, a rule `fail` may occur" in said
    assert "max-records 500, delimiter ';'" in run("policy", "survey", "--max-records", "500").stdout
    (document,) = json.loads(run("show", "survey", "--json").stdout)
    assert document["policy"] == {
        "records": 500,
        "bytes": None,
        "memory": None,
        "delimiter": ";",
        "counts": None,
        "fail": True,
    }
    assert json.loads(run("policy", "survey", "--forbid-fail", "--json").stdout)["policy"]["fail"] is False
    assert "max-records 500" in run("history").stdout
    assert run("init", "b", "--eps", "1", "--delimiter", r"\t", "--counts", "n").exit_code == 0
    assert "counts in column 'n'" in run("show", "b").stdout
    assert "delimiter ';', encoding iso8859-1" in run("policy", "survey", "--encoding", "latin1").stdout
    assert "says 'iso8859-1'" in run("policy", "survey", "--encoding", "cp1252", code=4).stderr
    assert "--encoding 'klingon'" in run("policy", "survey", "--encoding", "klingon", code=2).stderr
    run("verify")


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--max-records", "1001"], 4, "--max-records 1001: the budget's policy says at most 1000"),
        (["--max-bytes", 2**41], 4, "says at most 2^40"),
        (["--max-memory", 2**33], 4, "says at most 2^32"),
        (["--delimiter", ","], 4, "--delimiter ',': the budget's policy says ';'"),
        (["--counts", "n"], 2, "--counts"),
        (["--allow-fail"], 4, "forbids a rule `fail`"),
        ([], 2, "state what the policy shall be"),
        (["--delimiter", "ab"], 2, "--delimiter"),
        (["--max-records", "0"], 2, "--max-records"),
        (["--max-records", 2**36 + 1], 2, "--max-records"),
        (["--max-memory", "1000"], 2, "--max-memory"),
        (["--max-bytes", "1\x0b"], 2, "not a valid whole number"),
        (["--max-bytes", "1_000"], 2, "not a valid whole number"),
        (["--max-bytes", "\u0661"], 2, "not a valid whole number"),
        (["--max-bytes", "9" * 50], 2, "not a valid whole number"),
    ],
    ids=str,
)
def test_a_policy_that_is_wider_or_none_is_refused(place, options, code, said):
    run("init", "survey", "--eps", "5", "--max-records", "1000", "--delimiter", ";")
    done = run("policy", "survey", *options, code=code)
    assert done.stdout == ""
    assert said in done.stderr
    assert len(done.stderr.splitlines()) <= 2
    assert [entry["entry"] for entry in json.loads(run("history", "--json").stdout)] == ["open", "init"]


def test_show_tells_what_is_spent_and_left(lived):
    done = run("show", "survey")
    assert "epsilon 0.5 in 1 reservation" in done.stdout
    assert "the largest request that fits is --eps 2" in done.stdout
    assert "basic: eps 0.5 at delta 1e-9 (charged)" in run("show", "--delta", "1e-9").stdout
    (document,) = json.loads(run("show", "--json").stdout)
    assert document["spent"]["exact"] == "1/2"


def test_history_and_export(lived):
    assert "settles 2: released" in run("history").stdout
    assert [entry["entry"] for entry in json.loads(run("history", "survey", "--json").stdout)] == [
        "init",
        "reserve",
        "settle",
    ]
    assert [json.loads(line)["entry"]["number"] for line in run("export").stdout.splitlines()] == [0, 1, 2, 3]


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


def test_verify_says_when_no_anchor_watches(lived, monkeypatch):
    monkeypatch.setenv("DPQR_ANCHOR", "none")
    assert "no anchor was named" in run("verify").stderr


def test_an_anchor_that_is_forgotten_is_missed(lived, monkeypatch):
    """A ledger that keeps one says so, for nobody would notice a rollback without it."""
    monkeypatch.delenv("DPQR_ANCHOR")
    for words in (["show"], ["history"], ["verify"], ["export"], ["init", "b", "--eps", "1"]):
        done = run(*words, code=2)
        assert done.stdout == ""
        assert "keeps an anchor, and none is named" in done.stderr
        assert "name it with --anchor FILE or DPQR_ANCHOR; --anchor none does without it" in done.stderr
    run("init", "b", "--eps", "1", "--anchor", "none")
    assert "lags by 1 entries" in run("verify", "--anchor", lived.anchor.path).stderr


def test_a_ledger_without_an_anchor_asks_for_none_until_one_is_written(place, monkeypatch):
    monkeypatch.delenv("DPQR_ANCHOR")
    run("init", "survey", "--eps", "5")
    run("show")
    run("anchor", "--anchor", place / "late.anchor")
    assert "keeps an anchor" in run("show", code=2).stderr
    assert [entry["entry"] for entry in json.loads(run("history", "--json", "--anchor", "none").stdout)] == [
        "open",
        "init",
        "anchor",
    ]
    run("anchor", "--anchor", place / "late.anchor")
    assert json.loads(run("verify", "--json", "--anchor", place / "late.anchor").stdout)["entries"] == 3


def test_a_rolled_back_ledger_ends_with_seven(lived):
    tamper(lived.store, ("DELETE FROM entries WHERE number = 3", ()))
    for words in (["show"], ["history"], ["verify"], ["export"], ["anchor"], ["init", "b", "--eps", "1"]):
        done = run(*words, code=7)
        assert done.stdout == ""
        assert "rolled back" in done.stderr
        assert done.stderr.count("\n") <= 2


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["show", "other"], 2),
        (["init", "a b", "--eps", "1"], 2),
        (["init", "a"], 2),
        (["init", "a", "--eps", "0"], 2),
        (["init", "a", "--eps", "1", "--accountant", "pld"], 2),
        (["init", "a", "--eps", "1", "--kind", "secret"], 2),
        (["show", "--delta", "2"], 2),
        (["show", "--ledger", "/dev/null"], 2),
        (["show", "--ledger", ""], 2),
        (["nothing"], 2),
    ],
)
def test_wrong_usage_ends_with_two(lived, words, code):
    done = run(*words, code=code)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_ledger_that_is_not_there(place):
    assert "dpqr budget init" in run("show", code=2).stderr
    run("init", "survey", "--eps", "5")
    assert "is gone" in run("show", "--ledger", place / "other", code=7).stderr


def test_walking_a_ledger_needs_no_numpy(lived):
    code = (
        "import sys\nfrom dpqr.cli.main import main\n"
        "try:\n    main(['budget', 'verify'])\nexcept SystemExit as ended:\n"
        "    print(ended.code, [name for name in ('numpy', 'scipy', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


REASON = ("--purpose", "annual report", "--by", "R. Jones")


def test_why_and_who_are_kept_and_shown(place):
    assert "Opened    for annual report, by R. Jones\n" in run("init", "survey", "--eps", "5", *REASON).stdout
    (document,) = json.loads(run("show", "--json").stdout)
    assert (document["purpose"], document["by"]) == ("annual report", "R. Jones")
    assert "annual report, by R. Jones" in run("history").stdout
    exported = [json.loads(line)["entry"] for line in run("export").stdout.splitlines()]
    assert [(entry["purpose"], entry["by"]) for entry in exported if entry["entry"] == "init"] == [REASON[1::2]]
    assert "sound" in run("verify").stdout


@pytest.mark.parametrize("option", ["--purpose", "--by"])
@pytest.mark.parametrize("text", ["a\nb", "\x1b[2J", "x" * 201], ids=["lines", "codes", "long"])
def test_a_reason_is_one_line(place, option, text):
    said = run("init", "survey", "--eps", "5", option, text, code=2).stderr
    assert said == f"dpqr: {option}: give one line of at most 200 printable characters\n"


def test_an_edited_reason_is_found(place):
    run("init", "survey", "--eps", "5", *REASON)
    edit = "UPDATE entries SET entry = replace(entry, 'annual report', 'another one')"
    tamper(SqliteStore(place / "ledger.sqlite"), (edit, ()))
    assert run("verify", code=7).stderr.startswith("dpqr: ")


def test_a_budget_without_a_reason_says_nothing_of_it(lived):
    assert "Opened" not in run("show", "survey").stdout
    assert not any("purpose" in line or '"by"' in line for line in run("export").stdout.splitlines())


def test_a_ledger_is_moved_and_names_its_new_place(lived, place):
    moved = run("move", place / "there.sqlite")
    assert "the ledger goes on in" in moved.stderr
    assert f"was moved to {place / 'there.sqlite'}" in run("show", "survey", code=7).output
    shown = run("show", "survey", "--ledger", place / "there.sqlite", "--json")
    assert json.loads(shown.stdout)[0]["dataset"] == "survey"
    assert run("verify", "--ledger", place / "there.sqlite").exit_code == 0
    again = run("move", place / "elsewhere.sqlite", code=7).output
    assert again.count("--ledger ") == 1  # which names the place once


def test_roles_are_for_servers(lived):
    for command in ("grant", "revoke"):
        assert "a file has no roles" in run(command, "jobs", code=2).output
    assert "no entry of a job breaks the rules" in run("reject").stderr


def test_a_checkpoint_is_kept_on_demand(lived):
    before = json.loads(run("verify", "--json").stdout)["entries"]
    assert f"new jobs begin at entry {before}" in run("checkpoint").stderr
    assert f"new jobs begin at entry {before}" in run("checkpoint").stderr  # not one after the other
    assert json.loads(run("verify", "--json").stdout)["entries"] == before + 1


def test_a_long_replay_is_noted(lived, monkeypatch):
    assert "budget checkpoint" not in run("show").stderr
    monkeypatch.setattr("dpqr.cli.budget.LONG_REPLAY", 2)
    assert "every new job replays 4 entries; its owner makes that short" in run("show").stderr
    assert "every new job replays" not in run("show", "--json").stdout


@pytest.mark.parametrize("where", ["--ledger", "DPQR_LEDGER"])
def test_a_password_in_an_address_is_never_repeated(where, monkeypatch):
    address = "postgresql://jobs:xyzzy@db/b"
    monkeypatch.setenv("DPQR_LEDGER", address)
    given = ("--ledger", address) if where == "--ledger" else ()
    said = run("show", *given, code=2).output
    assert "PGPASSWORD" in said
    assert "xyzzy" not in said
