"""Screens as a terminal shows them, kept in tests/screens: made there in tmux, compared here in this process."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from screens.cases import CASES, COLUMNS, FITTED, LINES, alike, kept, masked, prepare
from support.cases import in_one_test, slowly
from support.repeatable_noise import repeatable_noise
from support.terminal import watch

from dpqr.cli.main import main


@pytest.fixture(scope="module")
def screens(tmp_path_factory):
    """What each command shows on a terminal. One desk for all: each builds on those before."""
    desk = tmp_path_factory.mktemp("desk")
    prepare(desk)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(desk)
        shown, found = watch(patch, COLUMNS, LINES), {}
        for name, arguments in CASES.items():
            with repeatable_noise():
                found[name] = CliRunner().invoke(main, arguments, env=shown).output
    return found


@in_one_test("name", CASES)
def test_every_screen_is_as_it_was_kept(screens, name):
    """Made again, after a change that was meant: PYTHONPATH=tests python -m screens; then look at them."""
    lines = [line.rstrip() for line in screens[name].splitlines()]
    shown, expected = masked("\n".join(lines)), kept(name).read_text(encoding="utf-8").rstrip("\n")
    assert shown == expected or (name in FITTED and alike(shown, expected))
    assert max(map(len, lines)) <= COLUMNS


@pytest.mark.parametrize(
    ("shown", "expected"),
    [("1,112.8  +-6.5", "1,112.9  +-6.9"), ("3.0", "3.1"), ("11,500 │  ┌─", "11,490 │  ┌─"), (" ┌─┘ ░░", " ┌─┘")],
)
def test_figures_of_a_fit_may_differ_a_little(shown, expected):
    assert alike(shown, expected)


@in_one_test(
    ("shown", "expected"),
    [
        ("+-6.0", "+-6.9"),
        ("112.5", "112.9"),
        ("11,600 │  ┌─", "11,490 │  ┌─"),
        ("eps 1", "eps 2"),
        ("114", "115"),
        ("a 1.5", "b 1.5"),
        ("1.5", "1.5 2.5"),
    ],
)
def test_other_text_and_other_figures_are_not_alike(shown, expected):
    assert not alike(shown, expected)


@pytest.mark.parametrize("arguments", [*slowly(("strategies", "--explain")), ("release", "table.csv", "--dry-run")])
def test_a_pipe_is_as_wide_as_columns_says_and_no_word_is_broken(desk, monkeypatch, arguments):
    arguments = (*arguments, "--queries", "q.json", "--eps", "1")
    monkeypatch.delenv("COLUMNS", raising=False)
    wide = desk.run(*arguments).out
    monkeypatch.setenv("COLUMNS", "80")
    narrow = desk.run(*arguments).out
    assert max(map(len, narrow.splitlines())) <= 80 < max(map(len, wide.splitlines()))
    assert narrow.split() == wide.split()
    for ignored in ("", "wide", "-5", "1" * 9):
        monkeypatch.setenv("COLUMNS", ignored)
        assert desk.run(*arguments).out == wide
