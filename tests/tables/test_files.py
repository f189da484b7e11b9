"""Patterns of files, held against the standard library's where that is sound."""

import glob
import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpqr.kernel.errors import DataError
from dpqr.tables import files as patterns
from dpqr.tables.files import StandardInput, files_below, files_matching

FILES = ("a.csv", "b.csv", ".c.csv", "x/a.csv", "x/y/a.csv", "x/y/b.pq", "x/.h/a.csv", "xx/a.csv", "[x]/a.csv")


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


PATTERNS = [
    "*.csv",
    "**/*.csv",
    "x/**",
    "x/**/*.csv",
    "**/y/*",
    "**/.h/*.csv",
    "x*/**/a.csv",
    "**",
    "**/**/a.csv",
    "./**/*.pq",
    "?/**/?.csv",
    "[[]x]/*",
    "[a-x]/**/*.csv",
    "x/**/y/**/b.pq",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_are_those_of_the_standard_library(tree, pattern) -> None:
    for given in (pattern, f"{tree}/{pattern}"):
        known = {os.path.normpath(path) for path in glob.glob(given, recursive=True) if not os.path.isdir(path)}
        assert [os.path.normpath(path) for path in files_matching(given)] == sorted(known)


@pytest.mark.parametrize("pattern", ["**/a.csv/**", "a.csv/**", "**/a.csv/**/**"])
def test_nothing_lies_below_a_file(tree, pattern) -> None:
    """As in the shell. The standard library finds the file itself before Python 3.13."""
    assert files_matching(pattern) == []


def test_links_to_directories_are_not_followed(tree) -> None:
    for name in ("one", "two", "x/three", "x/y/four"):
        (tree / name).symlink_to(tree)
    assert files_matching("**/*.pq") == ["x/y/b.pq"]
    assert files_matching("**/nothing") == []
    assert len(list(files_below(str(tree)))) == len(FILES)


def test_many_steps_cost_little(tree) -> None:
    deep = Path(tree, *["d"] * 60)
    deep.mkdir(parents=True)
    (deep / "a.csv").touch()
    assert files_matching("/".join([str(tree), *["**", "d"] * 40, "**", "b.csv"])) == []


def test_more_files_than_any_table_has(tree, monkeypatch) -> None:
    monkeypatch.setattr(patterns, "MOST_FILES", 5)
    with pytest.raises(DataError, match="holds more than 5 files and directories"):
        files_matching("**")


# Standard input: what a look at the header takes is read again.


def test_what_was_looked_at_is_read_again(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a,b\n1,2\n")))
    given = StandardInput()
    given.begin(look=True)
    assert given.read(4) == b"a,b\n"
    given.begin(look=False)
    assert [given.read(3) for _ in range(5)] == [b"a,b", b"\n", b"1,2", b"\n", b""]
