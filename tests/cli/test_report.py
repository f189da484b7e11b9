"""`dpqr report` and `plan --html`: what they write, and what they refuse."""

from __future__ import annotations

import json
import sys

import pytest
import yaml
from support.cases import thinned
from support.command_desk import DOMAIN, PRIVATE
from support.pages import require_accessible

HUMAN = (
    "--title",
    "T",
    "--curator",
    "C",
    "--use",
    "U",
    "--region",
    "R",
    "--about",
    "A",
    "--sector",
    "Energy",
    "--author",
    "N",
)


@pytest.fixture
def released(desk):
    assert desk.run("budget", "init", "survey", "--eps", "5", "--ledger", "l.sqlite").code == 0
    ended = desk.release("--out", "out", "--dataset", "survey", "--ledger", "l.sqlite", "--synthetic", "rows")
    assert ended.code == 0, ended.err
    return desk


@pytest.mark.slow
def test_a_ledger_that_did_not_pay_for_a_release_without_one_is_said(desk):
    assert desk.release("--out", "out").code == 0
    assert desk.run("budget", "init", "survey", "--eps", "5", "--ledger", "l.sqlite").code == 0
    ended = desk.run("report", "out", "--html", "r.html", "--ledger", "l.sqlite")
    said = "--ledger l.sqlite: no ledger paid for out, so there is no budget to show\n"
    assert (ended.code, ended.out, ended.err) == (0, "", f"{said}wrote r.html\n")
    desk.put("dpqr.toml", 'ledger = "l.sqlite"\n')
    assert desk.run("report", "out", "--html", "s.html").err == "wrote s.html\n"


def test_registry_and_card_go_beside_it(released):
    assert released.run("report", "out", "--registry", "r.yaml", "--croissant", "c.json", *HUMAN).code == 0
    assert yaml.safe_load((released.path / "r.yaml").read_text())["deployment"]["basic"]["name"] == "T"
    card = json.loads((released.path / "c.json").read_text())
    assert [held["name"] for held in card["recordSet"]] == ["answers", "synthetic"]


def test_human_fields_come_from_the_settings(released):
    names = dict(zip(HUMAN[::2], HUMAN[1::2], strict=True))
    released.write(dpqr__toml="".join(f'{name[2:]} = "{value}"\n' for name, value in names.items()))
    assert released.run("report", "out", "--registry", "r.yaml").code == 0


def test_any_file_of_a_release_stands_for_it(released):
    assert released.run("report", "out/answers.csv", "--croissant", "c.json").code == 0


PAGES = (
    ("report", "out"),
    ("plan", "--queries", "q.json", "--eps", "1"),
    ("plan", "--queries", "q.json", "--eps", "1,2"),
)


@pytest.mark.parametrize("missing", thinned(["jinja2", "matplotlib"], 2))
def test_without_the_extra_one_line_says_what_to_install(desk, monkeypatch, missing):
    """Before anything is simulated."""
    assert desk.release("--out", "out").code == 0
    for name in [name for name in sys.modules if name.startswith("matplotlib.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.setattr("dpqr.releases.forecast.by_epsilon.forecast_releases", None)
    for arguments in PAGES:
        ended = desk.run(*arguments, "--html", "r.html")
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1), arguments
        assert "pip install 'dpqr[report]'" in ended.err


def test_files_that_were_changed_are_not_shown_as_the_release(desk):
    """Where a person reads a release, nothing stands for it that its record was not written for."""
    assert desk.release("--out", "out", "--synthetic", "rows").code == 0
    answers, rows = desk.path / "out" / "answers.csv", desk.path / "out" / "synthetic.parquet"
    readers = (
        ("report", "out", "--html", "r.html"),
        ("report", "out", "--croissant", "c.json"),
        ("series", "out", "out"),
    )
    for path, commands in ((answers, (*readers, ("show", "out", "--query", "marginal(sex,age)"))), (rows, readers[:2])):
        whole = path.read_bytes()
        path.write_bytes(
            whole.replace(b"1", b"2", 1) if path is answers else whole.replace(b"ARROW:schema", b"ARROW:Schema")
        )
        assert path.read_bytes() != whole
        for arguments in commands:
            ended = desk.run(*arguments)
            assert (ended.code, ended.out) == (3, ""), arguments
            assert f"{path.name}: was changed since the release was made" in ended.err
        path.write_bytes(whole)
    assert not list(desk.path.glob("*.html"))


def test_a_plan_is_a_page(desk, monkeypatch):
    plan = ("plan", "--queries", "q.json", "--eps", "1", "--html", "p.html")
    ended = desk.run(*plan)
    assert ended.code == 0, ended.err
    require_accessible((desk.path / "p.html").read_text())
    monkeypatch.setattr("dpqr.releases.forecast.by_epsilon.forecast_releases", None)
    assert desk.run(*plan).code == 8, "before anything is simulated"


# `dpqr label`: one card, on the terminal or in a new file.


@pytest.mark.slow
def test_a_label_in_every_form(released):
    text = released.run("label", "out", "--ledger", "l.sqlite")
    assert (text.code, text.err) == (0, "")
    for said in ("Epsilon", "1 to 99", "epsilon 5 for life", "1 so far"):
        assert said in text.out
    assert released.run("label", "out").out.count("not known from the release alone") == 1
    for form in ("svg", "html"):
        shown = released.run("label", "out", "--format", form)
        saved = released.run("label", "out", "-o", f"l.{form}")
        assert (saved.code, saved.out, saved.err) == (0, "", f"wrote l.{form}\n")
        assert (released.path / f"l.{form}").read_text().strip() == shown.out.strip()
        assert not [value for value in PRIVATE if value in shown.out]
    assert released.run("label", "out", "--out", "l.txt").code == 0
    assert "Epsilon" in (released.path / "l.txt").read_text()


@pytest.mark.slow
def test_a_label_of_predictions(desk):
    given = ("table.csv", "--target", "age", "--domain", "d.json", "--n", "100", "--learner", "least-squares")
    desk.put("d.json", DOMAIN)
    made = desk.run("predict", *given, "--eps", "1", "--delta", "1e-6", "--release", "function", "--out", "m.json")
    assert made.code == 0, made.err
    ended = desk.run("label", "m.json")
    assert ended.code == 0
    for said in ("Target", "'age'", "1e-6", "1 to 99", "No ledger was used"):
        assert said in ended.out


def test_what_a_label_refuses(released):
    (released.path / "there.svg").write_text("")
    for arguments, code, said in (
        (("out", "-o", "there.svg"), 8, "the file exists"),
        (("out", "-o", "l.pdf"), 2, ".txt, .svg or .html"),
        (("nothing",), 2, "is no release"),
        (("out", "--ledger", "none.sqlite"), 2, "there is no ledger"),
        (("out", "--anchor", "a"), 2, "--anchor is about a ledger"),
    ):
        ended = released.run("label", *arguments)
        assert (ended.code, ended.out) == (code, ""), (arguments, ended.err)
        assert said in ended.err
        assert ended.err.count("\n") <= 2
