"""pandas is imported by commands that read a text table, and by no other."""

from __future__ import annotations

import json
import subprocess
import sys

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.command_desk import DOMAIN, QUERIES

LISTING = """
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
    command = [sys.executable, "-c", LISTING, json.dumps(commands)]
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


def test_pandas_is_imported_by_the_command_that_reads_a_text_table_alone(tables) -> None:
    """What one command has imported, the next ones of its process would show."""
    text = ("release", "table.csv", *RELEASE)
    assert ended(tables, *WITHOUT, text) == [*["0 False"] * len(WITHOUT), "0 True"]
