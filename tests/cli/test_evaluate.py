"""`dpqr evaluate`: what it prints, what it refuses, and that it opens no seal before it knows that it may."""

import json
import os
import subprocess
import sys

import pytest
from support.cases import slow_but, thinned
from support.command_desk import QUERIES

CERTAIN = "1000"
PLAIN = """sex,age,income
F,31,100.5
M,64,250
F,12,31.25
"""


@pytest.fixture
def made(desk):
    """A release that is nearly exact."""
    assert desk.release("--out", "out", "--synthetic", "rows", "--no-color", eps=CERTAIN).code == 0
    return desk


def evaluate(desk, *more, truth="table.csv", release="out", queries="q.json"):
    return desk.run("evaluate", truth, release, "--queries", queries, *more)


def test_a_release_is_compared_block_by_block(made):
    ended = evaluate(made)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("NOT FOR RELEASE: exact errors, without noise.")
    assert "over n = 4, 2 blocks: mean L1" in ended.out
    assert "marginal(sex,age)" in ended.out


def test_json_says_that_it_is_not_for_release(made):
    found = evaluate(made, "--json", "--top", "1").json
    assert (found["dpqr"], found["for_release"], found["records"]) == ("evaluation/1", False, 4)
    assert found["notice"].startswith("NOT FOR RELEASE")
    assert len(found["blocks"]) == 1
    assert len(evaluate(made, "--json").json["blocks"]) == 2


@pytest.mark.slow
def test_answers_of_every_form_are_read(desk):
    found = []
    for form in ("csv", "parquet", "json"):
        desk.release("--out", form, "--format", form, eps=CERTAIN)
        found.append(evaluate(desk, "--json", release=form))
    assert [ended.code for ended in found] == [0, 0, 0]


def test_the_errors_are_those_of_the_answers(desk):
    desk.write(plain__csv=PLAIN)
    desk.release("--out", "out", "--format", "json", eps=CERTAIN, data="plain.csv")
    path = desk.path / "out" / "answers.json"
    first, *others = json.loads(path.read_text())
    before = evaluate(desk, "--json", truth="plain.csv").json
    path.write_text(json.dumps([{**first, "estimate": first["estimate"] + 30}, *others]))
    after = evaluate(desk, "--json", truth="plain.csv").json
    nearly = {one["name"]: one for one in before["blocks"]}["marginal(sex,age)"]
    worst = after["blocks"][0]
    assert (worst["name"], worst["worst"]) == ("marginal(sex,age)", 0)
    assert worst["l1"] == pytest.approx(nearly["l1"] + 30, abs=1.0)
    assert worst["over_n"]["largest"] == pytest.approx(worst["largest"] / 3)


@pytest.mark.parametrize("bins", thinned(["title", "midpoint", "sampled"], 3))
def test_the_rows_of_a_release_are_judged_in_either_form(desk, bins):
    desk.write(plain__csv=PLAIN)
    desk.release("--out", "out", "--synthetic", "rows", "--bins", bins, eps=CERTAIN, data="plain.csv")
    found = evaluate(desk, "--json", "--rows", truth="plain.csv").json
    assert found["over_n"]["largest"] <= 1 / 3 + 1e-9


def test_a_table_of_rows_is_judged_without_a_release(desk):
    desk.write(plain__csv=PLAIN, rows__csv=PLAIN + "M,64,250\n")
    found = evaluate(desk, "--json", "--rows", truth="plain.csv", release="rows.csv").json
    assert {one["name"]: one["l1"] for one in found["blocks"]} == {"marginal(sex,age)": 1.0, "prefix(income)": 1.0}
    same = evaluate(desk, "--json", "--rows", truth="plain.csv", release="plain.csv").json
    assert same["over_n"] == {"mean_l1": 0.0, "mean_l2": 0.0, "largest": 0.0}


@pytest.mark.parametrize("goal", ["--max-error", "--max-l1"])
def test_a_goal_that_is_missed_ends_with_6_after_the_figures(desk, goal):
    desk.write(plain__csv=PLAIN, rows__csv=PLAIN + "M,64,250\n")
    ended = evaluate(desk, goal, "0.3", "--rows", truth="plain.csv", release="rows.csv")
    assert ended.code == 6
    assert ended.out.startswith("NOT FOR RELEASE")
    assert ended.err == f"dpqr: the accuracy asked for is not reached, {goal} 0.3: it is 0.333333\n"
    assert evaluate(desk, goal, "0.34", "--rows", truth="plain.csv", release="rows.csv").code == 0


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/fd/0"), reason="this system does not name redirected files")
def test_answers_on_standard_input_are_those_of_their_release(desk):
    assert desk.run("budget", "init", "survey", "--eps", "1000", "--ledger", "l.sqlite").code == 0
    assert desk.release("--out", "paid", "--dataset", "survey", "--ledger", "l.sqlite", eps="500").code == 0
    desk.write(rows__csv=PLAIN)
    with open(desk.path / "paid" / "answers.csv") as opened:
        done = subprocess.run(
            [sys.executable, "-m", "dpqr", "evaluate", "rows.csv", "-", "--rows", "--queries", "q.json"],
            cwd=desk.path,
            stdin=opened,
            capture_output=True,
            text=True,
            env={**os.environ, "DPQR_LEDGER": str(desk.path / "l.sqlite")},
        )
    assert (done.returncode, done.stdout) == (4, "")


@pytest.mark.slow
def test_a_file_of_a_release_without_a_ledger_is_that_release(made):
    whole = evaluate(made, "--json", "--rows")
    assert evaluate(made, "--json", "--rows", release="out/synthetic.parquet").out == whole.out
    assert evaluate(made, "--json", release="out/answers.csv").out == evaluate(made, "--json").out


class TestFaults:
    def test_the_same_columns_and_other_queries(self, made):
        made.write(other__json={**QUERIES, "queries": [{"marginal": ["age", "sex"]}, {"prefix": "income"}]})
        ended = evaluate(made, queries="other.json")
        assert ended.code == 3
        assert "answers other queries" in ended.err

    @pytest.mark.parametrize(
        "name", thinned(["x" * 5000, "caf\udce9", "a\0b", "table.csv"], 2), ids=["long", "odd", "null", "file"]
    )
    @pytest.mark.parametrize("rows", thinned([(), ("--rows",)], 2), ids=["release", "rows"])
    def test_names_that_are_no_directory(self, made, name, rows):
        ended = evaluate(made, *rows, release=name, truth="none.csv")
        assert (ended.code, ended.out) in ((2, ""), (5, ""))
        assert len(ended.err.splitlines()) <= 2

    @pytest.mark.parametrize(("name", "code"), slow_but({0}, [("release.json", 3), ("answers.csv", 5)]))
    def test_a_pipe_is_not_waited_for(self, made, name, code):
        """A record that is none, and a release with something else than regular files in it."""
        (made.path / "out" / name).unlink()
        os.mkfifo(made.path / "out" / name)
        ended = evaluate(made)
        assert (ended.code, ended.out) == (code, "")

    def test_files_that_the_record_does_not_list_are_not_read(self, made):
        record = json.loads((made.path / "out" / "release.json").read_text())
        (made.path / "out" / "release.json").write_text(json.dumps({**record, "files": []}))
        assert evaluate(made).code == 3
