"""Help and version come fast: nothing heavy is imported for them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dpqr import __version__
from dpqr.cli.main import COMMANDS, main

HEAVY = ("numpy", "pandas", "pyarrow", "rich", "scipy", "msgspec", "duckdb", "sqlite3")
LISTING = """
import sys
from dpqr.cli.main import main
try:
    main({arguments!r})
except SystemExit as ended:
    print(ended.code, *sorted({{name.partition(".")[0] for name in sys.modules}}), file=sys.stderr)
"""


def listed(*arguments):
    """Standard output, exit code and imported packages of a fresh interpreter."""
    script = LISTING.format(arguments=list(arguments))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    code, *modules = done.stderr.split()
    return done.stdout, int(code), set(modules)


@pytest.mark.parametrize("arguments", [("--help",), ("release", "--help"), ("--version",)], ids=" ".join)
def test_nothing_heavy_is_imported(arguments):
    text, code, modules = listed(*arguments)
    assert text
    assert code == 0
    assert "dpqr" in modules
    assert modules.isdisjoint(HEAVY)


def test_the_probe_sees_imports():
    _, _, modules = listed("schema", "domain")
    assert not modules.isdisjoint(HEAVY)


def test_version(desk):
    ended = desk.run("--version")
    assert (ended.code, ended.out, ended.err) == (0, f"dpqr {__version__}\n", "")


def test_help_names_every_command_and_needs_none_of_them(desk, monkeypatch):
    monkeypatch.setattr("dpqr.cli.main.import_module", lambda name: pytest.fail(f"{name} was imported"))
    text = desk.run("--help").out
    for name, words in COMMANDS.items():
        assert f"  {name} " in text
        assert words in " ".join(text.split())


def test_no_command_shows_help_and_fails(desk):
    ended = desk.run()
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == desk.run("--help").out


def test_every_option_of_release_stands_under_one_heading(desk):
    text = desk.run("release", "--help").out
    options = [option.opts[0] for option in main.get_command(None, "release").params if option.opts[0].startswith("--")]
    lines = [line.split()[0].rstrip(",") for line in text.splitlines() if line.startswith("  -")]
    assert sorted(lines) == sorted([*options, "-h"])
    assert [line[:-1] for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")] == [
        "Documents",
        "Guarantee",
        "Review",
        "Strategies, listed by `dpqr strategies`",
        "Table",
        "Budget for life",
        "Output",
        "Screen",
        "Other",
    ]


def test_every_command_has_help(desk):
    for name in COMMANDS:
        ended = desk.run(name, "--help")
        assert ended.code == 0
        assert ended.out.startswith(f"Usage: dpqr {name} ")


def test_the_module_runs_under_the_same_name():
    done = subprocess.run([sys.executable, "-m", "dpqr", "release"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "dpqr: missing argument 'DATA...'\nsee: dpqr release --help\n"


def test_arrow_takes_its_memory_from_the_system():
    code = "import dpqr.cli.main, pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    known = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=known)
    assert told.stdout.strip() == "system"
