"""Places that may be read and not written, or neither: nothing is spent, and nothing is left there.

The administrator may write anywhere, so under that account the runs take the rights of nobody for their time.
"""

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.cases import slow_but
from support.command_desk import DOMAIN, QUERIES, TABLE, Desk
from support.refusal_form import assert_refusal

NOBODY = 65534
LEDGER = ("--ledger", "book/ledger.sqlite")
PAID = ("--dataset", "survey", *LEDGER, "--anchor", "keep/outside.anchor")
pytestmark = pytest.mark.skipif(not hasattr(os, "setresuid"), reason="this system has no users to change to")


@contextmanager
def without_rights():
    administrator = os.geteuid() == 0
    if administrator:
        os.setresgid(NOBODY, NOBODY, 0)
        os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        if administrator:
            os.setresuid(0, 0, 0)
            os.setresgid(0, 0, 0)


@pytest.fixture
def place(monkeypatch):
    """A desk where somebody else may look, too (pytest's own are closed to others), whose ledger has paid once."""
    with tempfile.TemporaryDirectory() as name:
        made = Desk(Path(name))
        monkeypatch.chdir(name)
        made.path.chmod(0o755)
        made.write(table__csv=TABLE, q__json=QUERIES)
        for each in ("book", "keep", "room"):
            (made.path / each).mkdir()
            (made.path / each).chmod(0o777)
        opened = made.run("budget", "init", "survey", "--eps", "3", *LEDGER, "--anchor", "keep/outside.anchor")
        assert opened.code == 0, opened.err
        assert made.release("--out", "room/first", *PAID).code == 0
        for each in ("book/ledger.sqlite", "keep/outside.anchor"):
            (made.path / each).chmod(0o666)
        yield made


CASES = [
    ("table.csv", 0o000, 5, "cannot be read; check its permissions"),
    ("q.json", 0o000, 2, "cannot read 'q.json': Permission denied"),
    ("room", 0o555, 2, "Permission denied"),
    ("room", 0o000, 2, "Permission denied"),
    ("book/ledger.sqlite", 0o444, 7, "read-only"),
    ("book/ledger.sqlite", 0o000, 7, "cannot be opened"),
    ("book", 0o555, 7, "read-only"),
    ("book", 0o000, 2, "cannot be looked at (Permission denied)"),
    ("keep/outside.anchor", 0o000, 2, "fix its permissions"),
    ("keep", 0o555, 7, "cannot be renewed (Permission denied), so nothing was spent"),
]


@pytest.mark.parametrize(("name", "mode", "code", "says"), slow_but({0, 5}, CASES), ids=lambda value: str(value))
def test_what_is_closed_is_said_and_nothing_is_spent(place, name, mode, code, says):
    ledger = place.path / "book" / "ledger.sqlite"
    (place.path / name).chmod(mode)
    before = place.everything()
    with without_rights():
        ended = place.release("--out", "room/out", *PAID)
    assert_refusal(ended, code, says)
    assert place.everything() == before
    ledger.parent.chmod(0o777)
    ledger.chmod(0o666)
    shown = place.run("budget", "show", "survey", "--json", *LEDGER, "--anchor", "none")
    assert shown.json[0]["spent"]["exact"] == "1"


@pytest.mark.parametrize("target", ["/dev/full", "/dev/null", "l", "pipe"])
def test_a_skeleton_goes_to_no_device_link_or_pipe(desk, target):
    (desk.path / "l").symlink_to("/dev/full")
    os.mkfifo(desk.path / "pipe")
    before = desk.everything()
    assert_refusal(desk.run("domain", "table.csv", "--out", target), 8, "the file exists")
    assert desk.everything() == before


ASKED = ("--queries", "q.json", "--eps", "1")
DOORS = [
    ("domain", "table.csv", "--out"),
    ("domain", "table.csv", "--learn", "sex", "--eps", "1", "--delta", "1e-6", "--lock"),
    ("release", "table.csv", *ASKED, "--out"),
    *(("plan", *ASKED, "--runs", "2", option) for option in ("--out", "--svg", "--html")),
    ("predict", "table.csv", "--domain", "d.json", "--target", "sex", "--eps", "1", "--lock"),
    ("check", "--queries", "q.json", "--out"),
    ("answer", "made", "--queries", "q.json", "--out"),
    ("label", "made", "--out"),
    *(("report", "made", option) for option in ("--html", "--croissant")),
]


def test_names_that_are_no_place_for_a_file_are_refused_by_the_option_that_gave_them(desk):
    desk.write(d__json=DOMAIN)
    (desk.path / "dir").mkdir()
    assert desk.release("--out", "made").code == 0
    before = desk.everything()
    for *door, option in DOORS:
        for name in ("-", ".", "dir", "/", "no/x", "no/x.csv"):
            ended = desk.run(*door, option, name)
            assert (ended.code in (2, 8), ended.out) == (True, ""), (door, option, name, ended)
            assert ended.err.startswith(f"dpqr: {option} {name}: "), (door, option, name, ended)
    assert desk.everything() == before
