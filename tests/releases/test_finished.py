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


def test_by_default_what_is_there_ends_with_its_own_code(desk):
    before = state(desk)
    assert_refusal(desk.release("--out", "out", *LEDGER), 8, "--out out: exists")
    assert_refusal(desk.release("--out", "out", *LEDGER, "--if-exists", "fail"), 8, "--out out: exists")
    assert state(desk) == before


def test_it_is_replaced_on_request_and_paid_anew(desk):
    assert desk.release("--out", "out", *LEDGER, "--if-exists", "replace").code == 0
    (shown,) = desk.run("budget", "show", "survey", "--ledger", "l.sqlite", "--json").json
    assert shown["reservations"] == 2


@pytest.mark.parametrize(
    "changed",
    [
        ("--delta", "1e-9"),
        ("--seed", "1"),
        ("--schedule", "strategy"),
        ("--format", "json"),
        ("--synthetic", "rows"),
        ("--views", "5"),
    ],
    ids=lambda each: each[0],
)
def test_another_request_is_not_skipped(desk, changed):
    assert_refusal(desk.release("--out", "out", *LEDGER, *SKIP, *changed), 8, "a release of another request")


def test_predicates_of_the_same_name_are_compared(desk):
    asked = {**QUERIES, "queries": [*QUERIES["queries"], {"name": "some", "where": "age < 30"}]}
    desk.write(q__json=asked)
    assert desk.release("--out", "some").code == 0
    assert desk.release("--out", "some", *SKIP).code == 0
    desk.write(q__json={**asked, "queries": [*QUERIES["queries"], {"name": "some", "where": "age < 40"}]})
    assert_refusal(desk.release("--out", "some", *SKIP), 8, "a release of another request")


def test_another_payer_is_another_request(desk):
    assert_refusal(desk.release("--out", "out", *SKIP), 8, "a release of another request")


def test_views_of_another_base_are_another_request(desk):
    assert desk.release("--out", "viewed", "--views", "5").code == 0
    assert desk.release("--out", "viewed", "--views", "5", *SKIP).code == 0
    assert_refusal(desk.release("--out", "viewed", "--views", "10", *SKIP), 8, "a release of another request")


@pytest.mark.parametrize("content", [{"notes.txt": "mine"}, {"release.json": "{}"}, {"release.json": "["}])
def test_what_is_no_release_is_not_skipped(desk, content):
    for name, text in content.items():
        desk.put(f"other/{name}", text)
    assert_refusal(desk.release("--out", "other", *SKIP), 8, "--out other: exists, and holds no finished release")


def test_where_nothing_is_the_release_is_made(desk):
    assert desk.release("--out", "new", *LEDGER, *SKIP).code == 0
    assert (desk.path / "new" / "release.json").exists()


def test_a_release_that_waits_is_not_skipped(desk):
    """Published, and killed before it was settled: the settlement is still to come."""
    desk.put(".out.transcript", '{"dpqr": "transcript/1"}\n')
    assert_refusal(desk.release("--out", "out", *LEDGER, *SKIP), 2, "paid and not finished; --resume continues it")


def test_resume_skips_what_was_finished(desk):
    assert desk.release("--out", "out", *LEDGER, *SKIP, "--resume").code == 0
