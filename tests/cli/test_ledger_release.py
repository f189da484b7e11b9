"""`dpqr release --dataset`: exit codes and words of a release that a ledger pays for."""

import gzip
import json

import pytest
from support.command_desk import TABLE
from support.paid_releases import killed_at, transcript

from dpqr.kernel.errors import STAYS_SPENT, UsageFault
from dpqr.ledger.chained_ledger import ChainedLedger


@pytest.fixture
def paid(desk, monkeypatch):
    monkeypatch.setenv("DPQR_LEDGER", str(desk.path / "ledger.sqlite"))
    monkeypatch.setenv("DPQR_ANCHOR", str(desk.path / "outside.anchor"))
    assert desk.run("budget", "init", "survey", "--eps", "3").code == 0
    return desk


def spent(desk):
    return desk.run("budget", "show", "survey", "--json").json[0]["spent"]["exact"]


def test_a_release_says_who_paid(paid):
    ended = paid.release("--dataset", "survey", "--json")
    assert ended.code == 0
    seal = paid.run("budget", "history", "--json").json[2]["seal"]
    assert ended.json["ledger"] == {"dataset": "survey", "entry": 2, "seal": seal}
    assert ended.json["unit"].startswith("one row of the table")
    assert "The budget of dataset 'survey' paid for it (entry 2 of the ledger)" in ended.err
    assert "no ledger was used" not in ended.err
    assert spent(paid) == "1"


def test_a_table_that_cannot_be_read_to_its_end_is_paid_for_and_says_so(paid):
    paid.put("table.csv.gz", gzip.compress(TABLE.encode() * 9)[:-9])
    ended = paid.release("--dataset", "survey", data="table.csv.gz")
    assert (ended.code, ended.err.splitlines()[1]) == (5, STAYS_SPENT)
    assert spent(paid) == "1"
    assert "ended by DataError after rows were read" in paid.run("budget", "history").out


def test_a_damaged_ledger_ends_with_7(paid):
    (paid.path / "ledger.sqlite").write_bytes(b"x" * 5000)
    assert paid.release("--dataset", "survey").code == 7
    assert not (paid.path / "out").exists()


@pytest.mark.slow
def test_a_killed_release_is_continued(paid):
    path = paid.path
    begun = killed_at(path, (ChainedLedger, "begin", 3, False), schedule="rounds", rounds=None, no_count_dropped=False)
    assert begun == 9
    assert paid.release("--dataset", "survey", "--out", "out").err.splitlines() == [
        "dpqr: a killed release to that --out is paid and waits: --resume continues it",
        f"to give it up, remove {transcript(path)}; its price stays spent",
    ]
    before = [json.loads(line)["value"] for line in transcript(path).read_text().splitlines()[2:]]
    ended = paid.release("--dataset", "survey", "--schedule", "rounds", "--out", "out", "--resume")
    assert ended.code == 0, ended.err
    document = json.loads((path / "out" / "release.json").read_text())
    first, *others = before
    assert [[document["dropped"]["estimate"]]] == first
    assert [[each["values"] for each in one["measured"]] for one in document["transcript"]][: len(others)] == others
    assert spent(paid) == "1"
    assert "draw " not in paid.run("budget", "history").out


def test_whatever_ends_a_release_after_its_first_draw_says_how_to_go_on(paid, monkeypatch):
    def full(*_, **__):
        raise UsageFault("--out out: cannot be written (No space left on device); choose a writable place")

    with monkeypatch.context() as broken:
        broken.setattr("dpqr.releases.release.write_release", full)
        ended = paid.release("--dataset", "survey", "--out", "out")
    assert ended.code == 2
    assert ended.err.splitlines()[-2:] == [
        "dpqr: --out out: cannot be written (No space left on device); choose a writable place",
        "the release is paid and waits: the same command with --resume continues it",
    ]
    assert paid.release("--dataset", "survey", "--out", "out", "--resume").code == 0
    assert "--resume" not in paid.release("--dataset", "survey", data="missing.csv").err


@pytest.mark.slow
def test_an_edited_transcript_ends_with_7(paid):
    assert killed_at(paid.path, (ChainedLedger, "begin", 2, False), rounds=None, no_count_dropped=False) == 9
    path = transcript(paid.path)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    ended = paid.release("--dataset", "survey", "--out", "out", "--resume")
    assert ended.code == 7
    assert "was shortened, edited or copied" in ended.err


def test_why_and_who_stand_in_ledger_and_record(paid):
    stated = ("--purpose", "annual report", "--by", "R. Jones")
    record = paid.release("--dataset", "survey", "--json", *stated).json
    assert (record["purpose"], record["by"]) == ("annual report", "R. Jones")
    entry = paid.run("budget", "history", "--json").json[2]
    assert (entry["purpose"], entry["by"]) == ("annual report", "R. Jones")
    assert "annual report, by R. Jones" in paid.run("budget", "history").out
    assert paid.run("budget", "verify").code == 0
    assert (paid.release("--json").code, paid.release("--dataset", "survey", "--json").json["purpose"]) == (2, None)


@pytest.mark.slow
def test_a_continued_release_keeps_the_reason_that_it_was_paid_for(paid, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("dpqr.releases.release.assemble", interrupted)
        assert paid.release("--dataset", "survey", "--out", "out", "--purpose", "annual report").code == 130
    ended = paid.release("--dataset", "survey", "--out", "out", "--resume", "--purpose", "another", "--json")
    assert ended.code == 0, ended.err
    assert ended.json["purpose"] == "annual report"
