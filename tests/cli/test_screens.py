"""Screens as a terminal shows them, kept in tests/screens: made there in tmux, compared here in this process."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from screens.cases import CASES, SIZES, kept, masked, prepare
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
    assert masked("\n".join(lines)) == kept(name, columns).read_text(encoding="utf-8").rstrip("\n")
    assert max(map(len, lines)) <= columns
