"""Help and version come fast: nothing heavy is imported for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyarrow as pa
import pytest
from click.shell_completion import ShellComplete
from pyarrow import parquet
from support.command_desk import DOMAIN, QUERIES

from dpqr import __version__
from dpqr.cli.completion import SHELLS, VARIABLE
from dpqr.cli.main import COMMANDS, TASKS, main
from dpqr.report.guide import EVERY_TOPIC

HEAVY = ("numpy", "pandas", "pyarrow", "rich", "scipy", "duckdb", "sqlite3")
LISTING = """
import sys
from dpqr.cli.main import main
for arguments in {commands!r}:
    try:
        main(arguments)
    except SystemExit as ended:
        assert ended.code == 0, arguments
print(*sorted({{name.partition(".")[0] for name in sys.modules}}), file=sys.stderr)
"""
LIGHT = (
    ["--help"],
    ["--version"],
    *([name, "--help"] for name in ("release", "predict", "budget", "verify", "show", "evaluate")),
    ["guide"],
    ["guide", "queries"],
    ["guide", "--search", "seal"],
)


def imported(*commands):
    """The packages that these commands have imported in a fresh interpreter."""
    script = LISTING.format(commands=list(commands))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].split())


def test_nothing_heavy_is_imported_for_help_and_guide():
    found = imported(*LIGHT)
    assert "dpqr" in found
    assert found.isdisjoint(HEAVY)
    assert not imported(["schema", "domain"]).isdisjoint(HEAVY), "the probe sees imports"


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
    text = desk.run("release", "--help-all").out
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


def test_release_shows_first_the_options_that_most_people_use(desk):
    text = desk.run("release", "--help").out
    shown = {line.split()[0].rstrip(",") for line in text.splitlines() if line.startswith("  -")}
    assert 15 <= len(shown) - 2 <= 22
    known = {"--queries", "--domain", "--eps", "--delta", "--unit", "--max-rows", "--dataset", "--ledger", "--out"}
    assert known | {"--dry-run", "--rehearse", "--json", "--help-all", "-h"} <= shown
    assert shown.isdisjoint({"--replay", "--max-cells", "--beta", "--trust"})
    assert len(desk.run("release", "--help-all").out.splitlines()) > 2 * len(text.splitlines())


def test_commands_stand_by_task(desk):
    text = desk.run("--help").out
    heads = [line[:-1] for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert heads == ["Options", *TASKS]
    assert max(map(len, text.splitlines())) <= 80


def test_every_command_has_help(desk):
    for name in COMMANDS:
        ended = desk.run(name, "--help")
        assert ended.code == 0
        assert ended.out.startswith(f"Usage: dpqr {name} ")


@pytest.mark.slow
def test_the_module_runs_under_the_same_name():
    done = subprocess.run([sys.executable, "-m", "dpqr", "release"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "dpqr: missing argument 'DATA...'\nsee: dpqr release --help\n"


@pytest.mark.slow
def test_arrow_takes_its_memory_from_the_system():
    code = "import dpqr.cli.main, pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    known = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=known)
    assert told.stdout.strip() == "system"


# Completion of commands, options, files, datasets, topics and strategies; it never fails loudly.


def completed(*arguments):
    """(type, value) of what the last argument is completed to."""
    *before, incomplete = arguments
    found = ShellComplete(main, {}, "dpqr", VARIABLE).get_completions(list(before), incomplete)
    return [(item.type, item.value) for item in found]


def values(*arguments):
    return [value for _, value in completed(*arguments)]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell(desk, shell):
    ended = desk.run("completion", shell)
    assert (ended.code, ended.err) == (0, "")
    assert f"{VARIABLE}={shell}_complete" in ended.out


def test_a_shell_gets_what_it_asks_for(desk):
    asked = {VARIABLE: "bash_complete", "COMP_WORDS": "dpqr release --neigh", "COMP_CWORD": "2"}
    ended = desk.run(env=asked)
    assert (ended.code, ended.out, ended.err) == (0, "plain,--neighbours\n", "")


def test_commands_and_options():
    assert values("") == list(COMMANDS)
    assert values("budget", "in") == ["init"]
    assert values("release", "--if") == ["--if-exists"]
    assert values("release", "--if-exists", "") == ["skip", "fail", "replace"]
    assert values("guide", "") == list(EVERY_TOPIC)
    assert "theory" in values("release", "--schedule", "th")
    assert values("release", "--accountant", "zc") == ["zcdp"]


def test_files_by_their_endings(desk):
    desk.write(t__csv="", other__txt="", old__sqlite="")
    assert values("release", "--queries", "") == ["q.json"]
    assert values("release", "") == ["t.csv", "table.csv"]
    assert values("release", "--ledger", "o") == ["old.sqlite"]
    assert completed("release", "--queries", "x") == [("file", "x")]
    desk.put("deep/q.json", "{}")
    assert completed("release", "--queries", "") == [("file", "")]
    assert values("release", "--queries", "deep/") == ["deep/q.json"]
    assert completed("release", "--queries", "no/such/") == [("file", "no/such/")]


def test_datasets_of_the_ledger(desk, monkeypatch):
    for name in ("survey", "sales", "visits"):
        assert desk.run("budget", "init", name, "--eps", "5", "--ledger", "l.sqlite").code == 0
    assert values("release", "--ledger", "l.sqlite", "--dataset", "s") == ["survey", "sales"]
    assert values("budget", "show", "--ledger", "l.sqlite", "") == ["survey", "sales", "visits"]
    desk.put("dpqr.toml", 'ledger = "l.sqlite"')
    assert values("release", "--dataset", "v") == ["visits"]
    monkeypatch.setenv("DPQR_LEDGER", "nowhere.sqlite")
    assert values("release", "--dataset", "v") == []


@pytest.mark.parametrize("text", ["", "no ledger", "SQLite format 3\0"])
def test_a_damaged_ledger_or_settings_complete_nothing_quietly(desk, capfd, text):
    desk.put("l.sqlite", text)
    desk.put("dpqr.toml", "datset = 1")
    assert values("release", "--ledger", "l.sqlite", "--dataset", "") == []
    assert capfd.readouterr() == ("", "")


def test_no_completion_opens_a_connection(desk, monkeypatch):
    def connect(*_, **__):
        raise AssertionError("a completion connects")

    monkeypatch.setattr("socket.socket.connect", connect)
    psycopg = pytest.importorskip("psycopg")
    monkeypatch.setattr(psycopg, "connect", connect)
    monkeypatch.setattr("dpqr.ledger.postgres.PostgresStore.opened", connect, raising=False)
    server = "postgresql://owner@127.0.0.1:1/budgets"
    assert values("release", "--ledger", server, "--dataset", "") == []
    assert values("budget", "show", "--ledger", server, "") == []
    monkeypatch.setenv("DPQR_LEDGER", server)
    assert values("predict", "--dataset", "s") == []
    for text in ("postgresql://127.0.0.1:1/b?table=", "duckdb:", "spark:"):
        assert completed("release", text) == [("file", text)]
        assert completed("budget", "policy", "survey", "--source", text) == []


# pandas is imported by commands that read a text table, and by no other.


COMMANDS_IN_TURN = """
import json, sys
from dpqr.cli.main import main
for arguments in json.loads(sys.argv[1]):
    try:
        main(arguments)
    except SystemExit as ended:
        print(ended.code, "pandas" in sys.modules, file=sys.stderr)
"""
RELEASE = ("--queries", "q.json", "--eps", "1")
PERSONS = ("--unit", "who", "--max-rows", "2")
WITHOUT = (
    ("--help",),
    ("check", "--queries", "q.json"),
    ("domain", "table.csv"),
    ("domain", "t.parquet", "--from", "d.json"),
    ("release", "table.csv", *RELEASE, "--dry-run"),
    ("release", "t.parquet", *RELEASE, "--out", "out"),
    ("release", "coded.parquet", *RELEASE, "--out", "coded"),
    ("release", "t.parquet", *RELEASE, *PERSONS, "--out", "persons"),
)


def ended(directory, *commands) -> list[str]:
    """Exit code of each command of one process, and whether pandas was imported by then."""
    command = [sys.executable, "-c", COMMANDS_IN_TURN, json.dumps(commands)]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True)
    return [line for line in done.stderr.splitlines() if line.endswith((" True", " False"))]


@pytest.fixture
def tables(desk):
    columns = {"sex": ["F", "M", None, "X"], "age": [1, None, 300, 4], "income": [1.5, 2.0, None, 4e9]}
    whole = pa.table({**columns, "who": ["a", "", None, "a"]})
    parquet.write_table(whole, desk.path / "t.parquet", use_dictionary=False)
    parquet.write_table(whole, desk.path / "coded.parquet")
    desk.write(d__json=DOMAIN, q__json=QUERIES)
    return desk.path


@pytest.mark.slow
def test_pandas_is_imported_by_no_release(tables) -> None:
    """What one command has imported, the next ones of its process would show."""
    text = ("release", "table.csv", *RELEASE)
    commands = (*WITHOUT, text)
    assert ended(tables, *commands) == ["0 False"] * len(commands)
