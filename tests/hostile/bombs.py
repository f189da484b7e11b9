"""Files that are built to fill a machine, each released by a process of its own whose time and memory are measured.

As a command (`PYTHONPATH=tests python -m hostile.bombs DIRECTORY`) it prints a table of them, slowest first, and what
the damaged files of `fuzz` came to.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from hostile.fuzz import fuzz
from support.command_desk import QUERIES
from support.forged_parquet import table_bytes

UNIT = ("--unit", "who", "--max-rows", "2")
MEGABYTE = 2**20
HEADER = {"descr": "|u1", "fortran_order": False, "shape": (600 * MEGABYTE, 1)}


@dataclass(frozen=True)
class Bomb:
    """make: given a path, writes the file there. The file takes the place of the table, or is named in the queries."""

    name: str
    category: str
    code: int
    says: str
    file: str
    make: Callable[[Path], object]
    options: tuple[str, ...] = ()
    queries: object = None
    costly: bool = False
    """Left to the command: it takes longer than a test should."""


@dataclass(frozen=True)
class Measured:
    """How a process ended: seconds of processor, and megabytes at its peak."""

    code: int
    err: str
    worked: float
    peak: float


LAUNCH = """
import json, os, subprocess, sys
process = subprocess.Popen([sys.executable, "-m", "dpqr", *sys.argv[1:]], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
print(json.dumps([process.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""
"""A small process between: the system counts the peak of whoever starts a process as the process' own."""


def entries(*texts, rows):
    """A dictionary column whose rows all are its entries in transaction."""
    return pa.DictionaryArray.from_arrays(pa.array(np.arange(rows, dtype=np.int32) % len(texts)), pa.array(texts))


def table(path, columns, **written):
    rows = len(next(iter(columns.values())))
    made = {"sex": entries("F", "M", rows=rows), "age": np.zeros(rows, np.int8), "income": np.zeros(rows, np.float32)}
    path.write_bytes(table_bytes({**made, **columns}, **written))


def packed(path, piece, times):
    """Members of gzip one after the other: made once, unpacked `times` times."""
    path.write_bytes(gzip.compress(b"sex,age,income,day\n") + gzip.compress(piece) * times)


def zipped(path):
    packing = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with packing as archive, archive.open("coefficients.npy", "w") as member:
        np.lib.format.write_array_header_1_0(member, HEADER)
        for _ in range(600):
            member.write(bytes(MEGABYTE))


def parquet(name, says, columns, options=(), *, costly=False, **written):
    """columns: what makes them."""
    make = partial(made, columns, written)
    return Bomb(name, "parquet", 5, says, "t.parquet", make, options, costly=costly)


def made(columns, written, path):
    table(path, columns(), **written)


def long_table(path):
    path.write_bytes(b"sex,coefficient\n" + b"F,1\n" * 5_000_000)


def many_lists(path):
    path.write_bytes(b"[" + b"[]," * 5_000_000 + b"[]]")


def coefficients(name, says, file, make, *, costly=False):
    asked = {**QUERIES, "queries": [{"coefficients": file, "columns": ["sex"]}]}
    return Bomb(name, "json", 3, says, file, make, queries=asked, costly=costly)


BOMBED = "unpacks to more than 100 times its size; state --max-bytes if that is meant"
ROWS = b"F,31,100.5,2024-01-05\n" * 40_000
LONG = "is longer than 1048576 bytes"
BOMBS = (
    Bomb(
        "rows-34-million-in-a-few-bytes",
        "parquet",
        5,
        "more than 32 rows for each of its bytes; state --max-records if that is meant",
        "t.parquet",
        lambda path: path.write_bytes(table_bytes({"age": np.zeros(34_000_000, np.int8)})),
        queries={"domain": {"age": 2}, "queries": [{"marginal": ["age"]}]},
    ),
    parquet("person-of-100-megabytes", LONG, lambda: {"who": ["x" * 100 * MEGABYTE, "y", "z"]}, UNIT, costly=True),
    parquet(
        "person-of-100-megabytes-plain",
        LONG,
        lambda: {"who": ["x" * 100 * MEGABYTE, "y", "z"]},
        UNIT,
        costly=True,
        use_dictionary=False,
        compression="zstd",
    ),
    parquet("a-person-in-100000-rows", BOMBED, lambda: {"who": entries("x" * MEGABYTE, rows=100_000)}, UNIT),
    parquet(
        "persons-spelt-out-to-6-gigabytes",
        BOMBED,
        lambda: {"who": entries(*("x" * 2**15 + str(each) for each in range(100)), rows=200_000)},
        UNIT,
        costly=True,
    ),
    Bomb("gzip-of-2-gigabytes", "csv", 5, BOMBED, "t.csv.gz", lambda path: packed(path, ROWS, 2300)),
    Bomb("gzip-of-a-long-row", "csv", 5, BOMBED, "t.csv.gz", lambda path: packed(path, b"F" * MEGABYTE, 2000)),
    Bomb(
        "gzip-of-empty-lines",
        "csv",
        5,
        BOMBED,
        "t.csv.gz",
        lambda path: packed(path, b"\n" * MEGABYTE, 1000),
        costly=True,
    ),
    coefficients("npz-of-600-megabytes", "unpacks to more than 536870912 bytes", "c.npz", zipped),
    coefficients("coefficients-of-5-million-rows", "holds more than 4194304 rows", "c.csv", long_table, costly=True),
    Bomb(
        "record-of-44-million-lists",
        "paths",
        2,
        "holds no dpqr release, and nothing else is replaced",
        "o/release.json",
        lambda path: path.write_bytes(b"[" + b"[]," * 44_000_000 + b"[]]"),
        ("--out", "o", "--if-exists", "replace"),
    ),
    Bomb(
        "record-of-8-million-objects",
        "paths",
        2,
        "holds no dpqr release, and nothing else is replaced",
        "o/release.json",
        lambda path: path.write_bytes(b"[" + b'{"":0},' * (2**23 - 2) + b"0]"),
        ("--out", "o", "--if-exists", "replace"),
        costly=True,
    ),
    Bomb("json-of-5-million-lists", "json", 3, "expected an object", "q.json", many_lists, costly=True),
)


def run(bomb, directory):
    """Make the file, release it, and measure the process."""
    directory.mkdir()
    (directory / "table.csv").write_text("sex,age,income\nF,1,2\n")
    (directory / "q.json").write_text(json.dumps(bomb.queries or QUERIES))
    (directory / bomb.file).parent.mkdir(exist_ok=True)
    bomb.make(directory / bomb.file)
    data = bomb.file if bomb.file.startswith("t.") else "table.csv"
    command = ["release", data, "--queries", "q.json", "--eps", "1", "--out", "out", *bomb.options]
    done = subprocess.run(
        [sys.executable, "-c", LAUNCH, *command], cwd=directory, capture_output=True, text=True, check=True
    )
    code, worked, peak = json.loads(done.stdout)
    return Measured(
        code=code, err=done.stderr, worked=worked, peak=peak / (2**10 if sys.platform != "darwin" else 2**20)
    )


def main():
    place = Path(sys.argv[1])
    found = [(run(bomb, place / bomb.name), bomb) for bomb in BOMBS]
    print(f"{'bomb':45} {'exit':>4} {'cpu s':>6} {'MB':>6}")
    for ended, bomb in sorted(found, key=lambda one: -one[0].worked):
        print(f"{bomb.name:45} {ended.code:4} {ended.worked:6.1f} {ended.peak:6.0f}")
    began = time.perf_counter()
    told, peak = fuzz(place, 300, 1)
    released = sum(ended["code"] == 0 for ended in told)
    print(f"300 damaged Parquet files: {released} released, the others refused;", end=" ")
    print(f"{time.perf_counter() - began:.1f} s of wall clock, {peak:.0f} MB")


if __name__ == "__main__":
    main()
