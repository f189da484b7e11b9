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


def test_an_exhausted_budget_ends_with_4_and_the_largest_request_that_fits(paid):
    paid.release("--dataset", "survey", "--schedule", "rounds", eps="2.5")
    ended = paid.release("--dataset", "survey")
    assert (ended.code, ended.out) == (4, "")
    assert ended.err == (
        "dpqr: dataset 'survey': asked epsilon 1, spent 2.5 of 3, left 0.5\n"
        "the largest request that fits is epsilon 0.5, as in --eps 0.5\n"
    )
    assert paid.release("--dataset", "survey", "--schedule", "rounds", eps="0.5").code == 0
    assert spent(paid) == "3"


def test_a_release_above_the_cap_ends_with_4(paid):
    assert paid.run("budget", "init", "census", "--eps", "3", "--cap-eps", "0.4").code == 0
    ended = paid.release("--dataset", "census")
    assert (ended.code, ended.out) == (4, "")
    assert ended.err == (
        "dpqr: dataset 'census': asked epsilon 1, above the cap of epsilon 0.4 for one release; "
        "spent 0 of 3, left 3\n"
        "the largest request that fits is epsilon 0.4, as in --eps 0.4\n"
    )
    assert [paid.release("--dataset", "census", eps="0.4").code for _ in range(2)] == [0, 0]


REFUSALS = {
    "nothing is left": ((), {"eps": "1"}),
    "above the cap": (("--dataset", "census"), {"eps": "1"}),
    "another unit": (("--neighbours", "replace", "--n", "5"), {"eps": "0.1"}),
    "no budget": (("--dataset", "nowhere"), {"eps": "0.1"}),
    "another policy": (("--max-records", "10"), {"eps": "0.1"}),
    "a place that is taken": (("--out", "q.json"), {"eps": "0.1"}),
    "no such place": (("--out", "nowhere/out"), {"eps": "0.1"}),
}


@pytest.mark.parametrize(("options", "asked"), REFUSALS.values(), ids=REFUSALS)
def test_a_dry_run_refuses_what_a_release_would_refuse_and_writes_nothing(paid, options, asked):
    assert paid.run("budget", "init", "census", "--eps", "3", "--cap-eps", "0.4").code == 0
    paid.release("--dataset", "survey", eps="2.5")
    named = options if "--dataset" in options else ("--dataset", "survey", *options)
    before = (paid.everything(), paid.run("budget", "export").out)
    dry = paid.release("--dry-run", *named, data="nowhere.csv", **asked)
    assert (paid.everything(), paid.run("budget", "export").out) == before
    real = paid.release(*named, **asked)
    assert dry.code == real.code != 0
    assert (dry.out, dry.err) == ("", real.err)


def test_a_dry_run_of_what_the_budget_covers_spends_nothing(paid):
    assert paid.release("--dry-run", "--dataset", "survey", "--out", "out", data="nowhere.csv").code == 0
    assert spent(paid) == "0"


def test_a_dry_run_asks_no_budget_for_a_run_that_is_paid(paid):
    assert paid.release("--dry-run", "--dataset", "survey", "--out", "out", "--resume", eps="100").code == 0


def test_a_release_that_forgets_the_anchor_is_refused_before_anything_is_spent(paid, monkeypatch):
    monkeypatch.delenv("DPQR_ANCHOR")
    ended = paid.release("--dataset", "survey")
    assert (ended.code, ended.out) == (2, "")
    assert "keeps an anchor, and none is named" in ended.err
    assert "name it with --anchor FILE or DPQR_ANCHOR; --anchor none does without it" in ended.err
    assert paid.release("--dataset", "survey", "--anchor", "none").code == 0
    monkeypatch.setenv("DPQR_ANCHOR", str(paid.path / "outside.anchor"))
    assert spent(paid) == "1"


def test_a_configured_ledger_is_not_passed_by(paid):
    ended = paid.release()
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "dpqr: DPQR_LEDGER names a ledger, and not whose budget pays: add --dataset NAME\n"


def test_a_configured_ledger_is_passed_by_where_nothing_is_paid(paid):
    assert paid.run("plan", "--queries", "q.json", "--eps", "1").code == 0
    assert paid.release("--rehearse").code == 0
    assert paid.run("plan", "--queries", "q.json", "--eps", "1", "--ledger", "ledger.sqlite").code == 2


def test_a_name_without_a_budget(paid):
    ended = paid.release("--dataset", "census")
    assert ended.code == 2
    assert "known: survey" in ended.err


@pytest.mark.parametrize("option", [["--ledger", "x"], ["--anchor", "x"], ["--resume"]], ids=str)
def test_options_of_a_ledger_need_a_dataset(desk, option):
    ended = desk.release(*option)
    assert ended.code == 2
    assert "--dataset NAME" in ended.err


def test_what_no_row_can_change_is_refused_for_nothing(paid):
    for table in ("missing.csv", "other.csv", "-"):
        paid.put("other.csv", "sex,age\nF,3\n")
        ended = paid.release("--dataset", "survey", data=table, stdin="sex,age\nF,3\n")
        assert (ended.code, STAYS_SPENT in ended.err) == (5, False)
    assert spent(paid) == "0"
    assert "reserve" not in paid.run("budget", "history").out


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


def test_a_continued_release_keeps_the_reason_that_it_was_paid_for(paid, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("dpqr.releases.release.assemble", interrupted)
        assert paid.release("--dataset", "survey", "--out", "out", "--purpose", "annual report").code == 130
    ended = paid.release("--dataset", "survey", "--out", "out", "--resume", "--purpose", "another", "--json")
    assert ended.code == 0, ended.err
    assert ended.json["purpose"] == "annual report"
