"""--if-exists: skip a finished release, fail, or replace it."""

from __future__ import annotations

import json

import pytest
from support.command_desk import QUERIES, TABLE, Desk
from support.refusal_form import assert_refusal

LEDGER = ("--dataset", "survey", "--ledger", "l.sqlite")
SKIP = ("--if-exists", "skip")


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A desk with a budget and a finished release in `out`."""
    monkeypatch.chdir(tmp_path)
    made = Desk(tmp_path)
    made.write(table__csv=TABLE, q__json=QUERIES)
    assert made.run("budget", "init", "survey", "--eps", "5", "--ledger", "l.sqlite").code == 0
    assert made.release("--out", "out", *LEDGER).code == 0
    return made


def state(desk):
    return {path: (desk.path / path).read_bytes() for path in desk.everything() if (desk.path / path).is_file()}


def test_a_finished_release_is_skipped_without_looking_or_paying(desk, monkeypatch):
    def opened(*_, **__):
        raise AssertionError("the table was looked at")

    monkeypatch.setattr("dpqr.releases.release.check_table", opened)
    before = state(desk)
    ended = desk.release("--out", "out", *LEDGER, *SKIP, data="nowhere.csv")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "out holds this release already; nothing was opened, and nothing paid\n"
    assert desk.release("--out", "out", *LEDGER, *SKIP, "--json").json == {"skipped": "out"}
    lines = desk.release("--out", "out", *LEDGER, *SKIP, "--progress", "json").err
    assert json.loads(lines) == {"event": "skipped", "out": "out"}
    assert state(desk) == before


def test_by_default_what_is_there_ends_with_its_own_code_and_is_replaced_on_request(desk):
    before = state(desk)
    for more in ((), ("--if-exists", "fail")):
        assert_refusal(desk.release("--out", "out", *LEDGER, *more), 8, "--out out: exists")
    assert state(desk) == before
    assert desk.release("--out", "out", *LEDGER, "--if-exists", "replace").code == 0
    (shown,) = desk.run("budget", "show", "survey", "--ledger", "l.sqlite", "--json").json
    assert shown["reservations"] == 2, "it is paid anew"
    assert desk.release("--out", "out", *LEDGER, *SKIP, "--resume").code == 0
    assert desk.release("--out", "new", *LEDGER, *SKIP).code == 0
    assert (desk.path / "new" / "release.json").exists()


OTHER = "a release of another request"


@pytest.mark.slow
def test_another_request_is_not_skipped(desk):
    """Another payer, base of views, or predicate of the same name too; nor what is no release."""
    changes = ("--delta 1e-9", "--seed 1", "--schedule strategy", "--format json", "--synthetic rows", "--views 5")
    for changed in changes:
        assert_refusal(desk.release("--out", "out", *LEDGER, *SKIP, *changed.split()), 8, OTHER)
    assert_refusal(desk.release("--out", "out", *SKIP), 8, OTHER)
    asked = [{**QUERIES, "queries": [*QUERIES["queries"], {"name": "some", "where": f"age < {at}"}]} for at in (30, 40)]
    desk.write(q__json=asked[0])
    assert desk.release("--out", "some", "--views", "5").code == 0
    assert desk.release("--out", "some", "--views", "5", *SKIP).code == 0
    assert_refusal(desk.release("--out", "some", "--views", "10", *SKIP), 8, OTHER)
    desk.write(q__json=asked[1])
    assert_refusal(desk.release("--out", "some", "--views", "5", *SKIP), 8, OTHER)
    for number, (name, text) in enumerate((("notes.txt", "mine"), ("release.json", "{}"), ("release.json", "["))):
        desk.put(f"other{number}/{name}", text)
        said = f"--out other{number}: exists, and holds no finished release"
        assert_refusal(desk.release("--out", f"other{number}", *SKIP), 8, said)


def test_a_release_that_waits_is_not_skipped(desk):
    """Published, and killed before it was settled: the settlement is still to come."""
    desk.put(".out.transcript", '{"dpqr": "transcript/1"}\n')
    assert_refusal(desk.release("--out", "out", *LEDGER, *SKIP), 2, "paid and not finished; --resume continues it")
