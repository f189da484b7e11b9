"""Screens as a terminal shows them, kept in tests/screens: made there in tmux, compared here in this process."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from screens.cases import CASES, FITTED, SIZES, alike, kept, masked, prepare
from support.repeatable_noise import repeatable_noise
from support.terminal import watch

from dpqr.cli.main import main


@pytest.fixture(scope="module", params=SIZES, ids=lambda size: "x".join(map(str, size)))
def screens(request, tmp_path_factory):
    """Width, and what each command shows on a terminal of that size. One desk for all: each builds on those before."""
    columns, lines = request.param
    desk = tmp_path_factory.mktemp(f"desk{columns}")
    prepare(desk)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(desk)
        shown, found = watch(patch, columns, lines), {}
        for name, arguments in CASES.items():
            with repeatable_noise():
                found[name] = CliRunner().invoke(main, arguments, env=shown).output
    return columns, found


@pytest.mark.parametrize("name", CASES)
def test_every_screen_is_as_it_was_kept(screens, name):
    """Made again, after a change that was meant: PYTHONPATH=tests python -m screens; then look at them."""
    columns, found = screens
    lines = [line.rstrip() for line in found[name].splitlines()]
    shown, expected = masked("\n".join(lines)), kept(name, columns).read_text(encoding="utf-8").rstrip("\n")
    assert shown == expected or (name in FITTED and alike(shown, expected))
    assert max(map(len, lines)) <= columns


@pytest.mark.parametrize(
    ("shown", "expected"),
    [("1,112.8  +-6.5", "1,112.9  +-6.9"), ("3.0", "3.1"), ("11,500 │  ┌─", "11,490 │  ┌─"), (" ┌─┘ ░░", " ┌─┘")],
)
def test_figures_of_a_fit_may_differ_a_little(shown, expected):
    assert alike(shown, expected)


@pytest.mark.parametrize(
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
