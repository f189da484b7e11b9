"""`dpqr show`: receipts and answers of what lies on disk, for a person and for a pipe."""

from __future__ import annotations

import json

import pytest
from cli.test_predict import DOMAIN, POINTS, TRAIN
from click.testing import CliRunner
from pyarrow import csv
from support.cases import slow_but, thinned
from support.command_desk import QUERIES
from support.terminal import watch

from dpqr.cli.main import main

QUERY = "marginal(sex,age)"


def test_the_receipt_that_was_printed_is_shown_again(desk):
    said = desk.release("--out", "out").err.removesuffix("released to out\n")
    ended = desk.run("show", "out")
    assert (ended.code, ended.err) == (0, "")
    shown = ended.out.splitlines()
    asked = ["query              answers  columns", "marginal(sex,age)       10  sex, age"]
    place = shown.index("")
    assert shown[place + 1 : place + 3] == asked
    assert [line for line in shown if line in said.splitlines()] == said.splitlines()


def test_in_json_the_record(released):
    assert released.run("show", "out", "--json").json == json.loads((released.path / "out/release.json").read_text())


def test_answers_in_a_pipe_are_complete(released):
    lines = released.run("show", "out", "--query", QUERY).out.splitlines()
    assert lines[0] == "marginal(sex,age): 10 answers"
    assert lines[1].split() == ["sex", "age", "estimate", "error", "measured", "noise", "lower", "upper"]
    assert len(lines) == 2 + 10 + 2


def test_answers_in_json_have_all_digits(released):
    answers = released.run("show", "out", "--query", QUERY, "--json").json
    table = csv.read_csv(released.path / "out/answers.csv")
    assert [answer["estimate"] for answer in answers] == table["estimate"].to_pylist()[:10]
    assert [answer["error"] for answer in answers] == table["error"].to_pylist()[:10]
    assert [answer["basis"] for answer in answers] == table["basis"].to_pylist()[:10]
    assert [answer["lower"] for answer in answers] == table["lower"].to_pylist()[:10]
    assert len(released.run("show", "out", "--query", QUERY, "--json", "--rows", "2").json) == 2


@pytest.mark.parametrize("form", thinned(["table", "bars", "heatmap"], 3))
def test_every_form_shows_some_rows(released, form):
    ended = released.run("show", "out", "--query", QUERY, "--as", form, "--rows", "7")
    assert (ended.code, ended.err) == (0, "")
    assert "... and 3 more answers; --rows N" in ended.out


def test_predictions_and_models_have_a_receipt(desk):
    desk.write(train__csv=TRAIN, d__json=DOMAIN, new__csv=POINTS)
    learn = ("predict", "train.csv", "--target", "buys", "--domain", "d.json", "--eps", "50", "--n", "400")
    said = desk.run(*learn, "--points", "new.csv", "--out", "p.csv").err
    assert desk.run(*learn, "--release", "function", "--out", "model.json").code == 0
    for place in ("p.csv", "p.csv.record.json"):
        ended = desk.run("show", place)
        assert (ended.code, ended.err) == (0, "")
        assert ended.out.rstrip("\n") in said
    assert "the whole function" in desk.run("show", "model.json").out
    assert "predictions answer no queries" in desk.run("show", "p.csv", "--query", "x").err


def test_names_are_completed(released):
    from dpqr.cli.releases import show_command

    option = next(each for each in show_command.params if each.name == "query")
    context = show_command.make_context("show", ["out"])
    assert [each.value for each in option.shell_complete(context, "pre")] == ["prefix(income)"]
    assert option.shell_complete(show_command.make_context("show", ["nowhere"]), "") == []


@pytest.mark.parametrize("charset", thinned(["ascii", "iso-8859-1"], 2))
def test_a_locale_without_these_signs_is_drawn_in_ascii(released, charset):
    for query, form in ((QUERY, "bars"), (QUERY, "heatmap"), ("prefix(income)", "curve")):
        done = CliRunner(charset=charset).invoke(main, ["show", "out", "--query", query, "--as", form])
        assert done.exit_code == 0
        assert done.stdout.isascii()
        assert "\\u" not in done.stdout


@pytest.mark.parametrize(
    ("lines", "environment", "turned"), slow_but({0}, [(8, {"CI": ""}, 1), (8, {}, 0), (99, {"CI": ""}, 0)])
)
def test_pages_are_turned_where_a_person_needs_them(released, monkeypatch, lines, environment, turned):
    pages = []
    monkeypatch.setattr("click.echo_via_pager", pages.append)
    ended = released.run("show", "out", env=watch(monkeypatch, lines=lines, **environment))
    assert len(pages) == turned
    assert "Guarantee" in "".join(pages) + ended.out


def test_a_release_that_is_kept_nowhere_ends_with_what_it_promises(desk, monkeypatch):
    """Answers first, all of them; what scrolls away is not the receipt."""
    ended = desk.release("--progress", "none", env=watch(monkeypatch))
    assert ended.out.startswith("marginal(sex,age): 10 answers\n")
    assert ended.err.startswith("Warning") or ended.err.startswith("Guarantee")
    assert ended.err.endswith("Kept       nothing but this screen; --out DIR keeps answers, record and receipt\n")


def test_names_and_labels_can_neither_draw_nor_colour(desk):
    named = {**QUERIES, "queries": [{"name": "[red]\x1b[2J", "marginal": ["sex", "age"]}]}
    desk.write(q__json=named)
    assert desk.release("--out", "out").code == 0
    for arguments in ((), ("--query", "[red]\x1b[2J"), ("--query", "[red]\x1b[2J", "--as", "bars")):
        ended = desk.run("show", "out", *arguments)
        assert ended.code == 0
        assert "\x1b" not in ended.out
        assert "[red]\\x1b[2J" in ended.out
