"""`dpqr plan`."""

from __future__ import annotations

ASKED = ("--queries", "q.json", "--eps", "1")


def test_it_prints_what_a_dry_run_of_a_release_prints(desk):
    ended = desk.run("plan", *ASKED)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == desk.run("release", "table.csv", *ASKED, "--dry-run").out
    dry = desk.run("release", "table.csv", *ASKED, "--dry-run", "--json").json
    assert desk.run("plan", *ASKED, "--json").json == dry


def test_it_refuses_what_a_release_would_refuse(desk):
    ended = desk.run("plan", *ASKED, "--schedule", "theory")
    assert (ended.code, ended.err) == (3, desk.run("release", "table.csv", *ASKED, "--schedule", "theory").err)
