"""pandas is imported by commands that read a text table, and by no other."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.command_desk import DOMAIN, QUERIES

LISTING = """
import sys
from dpqr.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    print(ended.code, "pandas" in sys.modules, file=sys.stderr)
"""
RELEASE = ("--queries", "q.json", "--eps", "1")
PERSONS = ("--unit", "who", "--max-rows", "2")
WITHOUT = {
    "help": ("--help",),
    "check": ("check", "--queries", "q.json"),
    "domain": ("domain", "table.csv"),
    "domain from a codebook": ("domain", "t.parquet", "--from", "d.json"),
    "dry run": ("release", "table.csv", *RELEASE, "--dry-run"),
    "Parquet": ("release", "t.parquet", *RELEASE, "--out", "out"),
    "Parquet as dictionaries": ("release", "coded.parquet", *RELEASE, "--out", "out"),
    "Parquet of persons": ("release", "t.parquet", *RELEASE, *PERSONS, "--out", "out"),
}


def ended(directory, *arguments) -> list[str]:
    """Exit code and whether pandas was imported."""
    command = [sys.executable, "-c", LISTING, *arguments]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True)
    return done.stderr.splitlines()[-1].split()


@pytest.fixture
def tables(desk):
    columns = {"sex": ["F", "M", None, "X"], "age": [1, None, 300, 4], "income": [1.5, 2.0, None, 4e9]}
    whole = pa.table({**columns, "who": ["a", "", None, "a"]})
    parquet.write_table(whole, desk.path / "t.parquet", use_dictionary=False)
    parquet.write_table(whole, desk.path / "coded.parquet")
    desk.write(d__json=DOMAIN, q__json=QUERIES)
    return desk.path


@pytest.mark.parametrize("arguments", WITHOUT.values(), ids=WITHOUT)
def test_pandas_is_not_imported(tables, arguments) -> None:
    assert ended(tables, *arguments) == ["0", "False"]


def test_a_text_table_is_read_by_pandas(tables) -> None:
    assert ended(tables, "release", "table.csv", *RELEASE) == ["0", "True"]
