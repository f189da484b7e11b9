"""`dpqr evaluate`: what it prints, what it refuses, and that it opens no seal before it knows that it may."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from support.command_desk import DOMAIN, QUERIES, TABLE, Desk

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


@pytest.mark.parametrize("bins", ["title", "midpoint", "sampled"])
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


class TestLedger:
    @pytest.fixture
    def ledger(self, made):
        for name, kind in (("survey", "private"), ("open", "public"), ("fake", "synthetic")):
            assert made.run("budget", "init", name, "--eps", "20", "--kind", kind, "--ledger", "l.sqlite").code == 0
        return made

    @pytest.mark.parametrize(("name", "code"), [("survey", 4), ("open", 0), ("fake", 0), ("nobody", 2)])
    def test_the_name_decides(self, ledger, name, code):
        ended = evaluate(ledger, "--dataset", name, "--ledger", "l.sqlite")
        assert ended.code == code
        assert bool(ended.out) == (code == 0)

    def test_the_dataset_that_paid_for_the_release_counts_whatever_is_said(self, ledger):
        ledger.release("--out", "paid", "--dataset", "survey", "--ledger", "l.sqlite", eps="1")
        for more in ([], ["--dataset", "open"]):
            assert evaluate(ledger, *more, "--ledger", "l.sqlite", release="paid").code == 4

    def test_a_release_of_a_dataset_that_no_ledger_here_knows_is_refused(self, ledger, monkeypatch):
        ledger.release("--out", "paid", "--dataset", "survey", "--ledger", "l.sqlite", eps="1")
        monkeypatch.setenv("DPQR_LEDGER", str(ledger.path / "other.sqlite"))
        ended = evaluate(ledger, release="paid")
        assert ended.code in {2, 7}
        assert ended.out == ""
        assert ended.err.endswith("paid: dataset 'survey' paid for this release; name its ledger with --ledger FILE\n")


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """A directory with two releases and their ledger, to be copied."""
    desk = Desk(tmp_path_factory.mktemp("releases"))
    desk.write(table__csv=TABLE, q__json=QUERIES)
    with pytest.MonkeyPatch.context() as there:
        there.chdir(desk.path)
        for name, kind in (("survey", "private"), ("open", "public")):
            opened = ("budget", "init", name, "--eps", "1000", "--kind", kind, "--ledger", "l.sqlite")
            assert desk.run(*opened).code == 0
        for out, name in (("paid", "survey"), ("given", "open")):
            more = ("--out", out, "--synthetic", "rows", "--dataset", name, "--ledger", "l.sqlite")
            assert desk.release(*more, eps="500").code == 0
    return desk.path


class TestWhatLiesBeside:
    """A file of a release is that release, on either side, whatever path leads there."""

    @pytest.fixture
    def paid(self, desk, releases):
        shutil.copytree(releases, desk.path, dirs_exist_ok=True)
        desk.write(rows__csv=PLAIN)
        (desk.path / "link.parquet").symlink_to(desk.path / "paid" / "synthetic.parquet")
        (desk.path / "away").symlink_to(desk.path / "paid")
        (desk.path / "paid" / "sub").mkdir()
        (desk.path / "paid" / "outside.csv").symlink_to(desk.path / "rows.csv")
        return desk

    NAMES = (
        "paid/synthetic.parquet",
        "paid/../paid/synthetic.parquet",
        "paid/sub/../synthetic.parquet",
        "away/synthetic.parquet",
        "link.parquet",
        "paid/*.parquet",
        "pai?/*.parquet",
        "p*/synthetic.parquet",
        "paid/answers.csv",
        "paid/outside.csv",
        "paid/gone.csv",
        "paid",
        "paid/",
        "away",
    )

    @pytest.mark.parametrize(
        ("truth", "release"),
        [*(("rows.csv", name) for name in NAMES), *((name, "rows.csv") for name in ("paid", "link.parquet", NAMES[7]))],
    )
    def test_a_private_dataset_is_refused(self, paid, truth, release):
        ended = evaluate(paid, "--rows", "--ledger", "l.sqlite", truth=truth, release=release)
        assert (ended.code, ended.out) == (4, "")
        assert ended.err.startswith("dpqr: dataset 'survey' is private, by the ledger")
        public = ("--rows", "--ledger", "l.sqlite", "--dataset", "open")
        assert evaluate(paid, *public, truth=truth, release=release).code == 4

    def test_an_absolute_path_and_a_file_without_rows(self, paid):
        for name in (paid.path / "paid" / "synthetic.parquet", "paid/answers.csv", "paid/release.json"):
            assert evaluate(paid, "--ledger", "l.sqlite", release=name).code == 4

    @pytest.mark.skipif(not os.path.exists("/dev/fd/0"), reason="this system does not name redirected files")
    def test_standard_input(self, paid):
        with open(paid.path / "paid" / "answers.csv") as opened:
            done = subprocess.run(
                [sys.executable, "-m", "dpqr", "evaluate", "rows.csv", "-", "--rows", "--queries", "q.json"],
                cwd=paid.path,
                stdin=opened,
                capture_output=True,
                text=True,
                env={**os.environ, "DPQR_LEDGER": str(paid.path / "l.sqlite")},
            )
        assert (done.returncode, done.stdout) == (4, "")

    def test_a_ledger_that_cannot_tell_is_asked_for(self, paid):
        ended = evaluate(paid, "--rows", "--ledger", "other.sqlite", release="paid/synthetic.parquet")
        assert (ended.code, ended.out) == (2, "")
        assert "dataset 'survey' paid for this release; name its ledger with --ledger FILE" in ended.err

    def test_a_public_dataset_passes_with_its_name(self, paid):
        for name in ("given/synthetic.parquet", "given"):
            named = ("--rows", "--ledger", "l.sqlite")
            assert evaluate(paid, *named, release=name).code == 2
            assert evaluate(paid, *named, "--dataset", "open", release=name).code == 0

    def test_a_file_of_a_release_without_a_ledger_is_that_release(self, made):
        whole = evaluate(made, "--json", "--rows")
        assert evaluate(made, "--json", "--rows", release="out/synthetic.parquet").out == whole.out
        assert evaluate(made, "--json", release="out/answers.csv").out == evaluate(made, "--json").out

    def test_predictions_and_their_record(self, paid):
        paid.write(domain__json=DOMAIN, p__csv="age,income\n30,100\n")
        asked = ("--target", "sex", "--domain", "domain.json", "--eps", "1", "--points", "p.csv", "--n", "5")
        budget = ("--dataset", "survey", "--ledger", "l.sqlite")
        assert paid.run("predict", "table.csv", *asked, *budget, "--out", "guess.csv").code == 0
        for truth, release in (("rows.csv", "guess.csv"), ("guess.csv", "rows.csv")):
            ended = evaluate(paid, "--rows", "--ledger", "l.sqlite", truth=truth, release=release)
            assert (ended.code, ended.out) == (4, "")

    @pytest.mark.parametrize("text", ["{", '"', b"\xff"])
    def test_a_damaged_record_hides_nobody(self, paid, text):
        paid.put("paid/release.json", text)
        ended = evaluate(paid, "--rows", release="paid/synthetic.parquet")
        assert (ended.code, ended.out) == (3, "")
        assert "nobody knows whose budget paid" in ended.err

    def test_a_record_of_another_kind_is_somebody_elses(self, desk):
        desk.write(release__json={"branches": ["main"]}, rows__csv=PLAIN)
        assert evaluate(desk, "--rows", truth="rows.csv", release="rows.csv").code == 0

    def test_an_anchor_alone_is_a_configured_ledger(self, desk, monkeypatch):
        desk.write(rows__csv=PLAIN)
        assert evaluate(desk, "--rows", "--anchor", "a", truth="rows.csv", release="rows.csv").code == 2
        monkeypatch.setenv("DPQR_ANCHOR", str(desk.path / "anchor"))
        ended = evaluate(desk, "--rows", truth="rows.csv", release="rows.csv")
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith("dpqr: DPQR_ANCHOR names a ledger, and not which dataset the true table is")


class TestFaults:
    def test_the_same_columns_and_other_queries(self, made):
        made.write(other__json={**QUERIES, "queries": [{"marginal": ["age", "sex"]}, {"prefix": "income"}]})
        ended = evaluate(made, queries="other.json")
        assert ended.code == 3
        assert "answers other queries" in ended.err

    @pytest.mark.parametrize(
        "name", ["x" * 5000, "caf\udce9", "a\0b", "table.csv"], ids=["long", "odd", "null", "file"]
    )
    @pytest.mark.parametrize("rows", [(), ("--rows",)], ids=["release", "rows"])
    def test_names_that_are_no_directory(self, made, name, rows):
        ended = evaluate(made, *rows, release=name, truth="none.csv")
        assert (ended.code, ended.out) in ((2, ""), (5, ""))
        assert len(ended.err.splitlines()) <= 2

    @pytest.mark.parametrize(("name", "code"), [("release.json", 3), ("answers.csv", 5)])
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
