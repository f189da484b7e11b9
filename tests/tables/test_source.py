import os
import socket

import pytest

from dpqr.kernel.errors import DataError, UsageFault
from dpqr.tables.files import TableFile
from dpqr.tables.source import TableSource


def names(*paths, **fields) -> list[str]:
    return [os.path.basename(file.path) for file in TableSource(paths=tuple(map(str, paths)), **fields).files()]


def fill(directory, *files) -> None:
    for name in files:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"a\n1\n")


def test_a_file_is_described_by_its_ending_or_else_by_its_first_bytes(tmp_path) -> None:
    fill(tmp_path, "t.csv", "t.TSV", "t.csv.gz", "t.parquet")
    (tmp_path / "one").write_bytes(b"PAR1....")
    (tmp_path / "two").write_bytes(b"a,b\n")

    def described(name, **more):
        (file,) = TableSource(paths=(str(tmp_path / name),), **more).files()
        return file

    assert described("t.csv") == TableFile(path=str(tmp_path / "t.csv"), kind="csv", delimiter=",", bytes=4)
    assert (described("t.TSV").kind, described("t.TSV").delimiter) == ("csv", "\t")
    assert described("t.TSV", delimiter=";").delimiter == ";"
    assert [described(name).kind for name in ("t.parquet", "one", "two")] == ["parquet", "parquet", "csv"]


def test_a_directory_is_read_in_a_fixed_order_at_any_depth_and_a_pattern_is_expanded(tmp_path) -> None:
    fill(tmp_path, "b.csv", "a.csv", "sub/c.csv.gz", "_SUCCESS", ".hidden.csv", "_temporary/d.csv", "readme.txt")
    fill(tmp_path, "x.csv/part-0.csv")
    assert names(tmp_path) == ["a.csv", "b.csv", "c.csv.gz", "part-0.csv"]
    fill(tmp_path, "p1.csv", "p2.csv", "q.csv", "[x].csv")
    assert names(tmp_path / "p*.csv") == ["p1.csv", "p2.csv"]
    assert names(tmp_path / "[x].csv") == ["[x].csv"]  # a file that looks like a pattern is a file


def test_standard_input_is_csv_of_unknown_size() -> None:
    source = TableSource(paths=("-",))
    assert source.files() == (TableFile(path="-", kind="csv", delimiter=",", bytes=None, stdin=source.stdin),)


def test_a_row_is_never_read_twice(tmp_path) -> None:
    fill(tmp_path, "a.csv", "b.csv")
    (tmp_path / "link.csv").symlink_to(tmp_path / "a.csv")
    os.link(tmp_path / "b.csv", tmp_path / "hard.csv")
    for again in ("a.csv", "link.csv"):
        with pytest.raises(DataError, match="named twice"):
            names(tmp_path / "a.csv", tmp_path / again)
    with pytest.raises(DataError, match="named twice"):
        names(tmp_path / "b.csv", tmp_path / "hard.csv")
    with pytest.raises(DataError, match="named twice"):
        names(tmp_path / "*.csv", tmp_path / "b.csv")


def test_faults_of_paths(tmp_path) -> None:
    fill(tmp_path, "mixed/a.csv", "mixed/b.parquet")
    (tmp_path / "nothing").mkdir()
    (tmp_path / "empty.csv").touch()
    os.mkfifo(tmp_path / "pipe.csv")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.csv"))
    cases = {
        "missing.csv": "does not exist",
        "no-*.csv": "no file matches",
        "nothing": "holds no table",
        "empty.csv": "is empty",
        "pipe.csv": "no regular file",
        "socket.csv": "no regular file",
        "mixed": "mixes CSV with Parquet",
        "nul\0.csv": "does not exist",
    }
    for path, message in cases.items():
        with pytest.raises(DataError, match=message):
            names(tmp_path / path)
    with pytest.raises(DataError, match="no regular file"):
        names("/dev/zero")


def test_a_file_without_permission(tmp_path, monkeypatch) -> None:
    """Asked of the system, for a test that runs as root may read every file."""
    fill(tmp_path, "a.csv")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.R_OK)
    with pytest.raises(DataError, match="permissions"):
        names(tmp_path / "a.csv")


def test_what_no_source_can_be() -> None:
    for delimiter in ("", ",,", '"', "\n", "\r", "\0", "a", "1", "€"):
        with pytest.raises(UsageFault, match="one character"):
            TableSource(paths=("a.csv",), delimiter=delimiter)
    with pytest.raises(UsageFault, match="standard input"):
        TableSource(paths=("a.csv", "-"))
    with pytest.raises(UsageFault, match="name the table"):
        TableSource(paths=())
