"""Loading: 10 million Parquet rows of 4 columns against a DuckDB GROUP BY of the same columns. Bar: 1.5 times its time.

python tests/benchmarks/loading.py [--rows 10000000] [--repeats 5] [--csv TABLE.csv]

The rows are made up (138,720 cells, integer codes), in a temporary directory. Both sides read the file anew each time,
one after the other in turn; medians. With --csv, a table whose columns are all taken as labels is timed as well.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from dpqr.data.attribute import Attribute, Codes, Labels
from dpqr.data.domain import Domain
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.load import load_table
from dpqr.io.tables.source import TableSource

SIZES = {"a": 68, "b": 17, "c": 8, "d": 15}
BAR = 1.5
LABELS = {"sex": ("Female", "Male"), "race": ("White", "Black", "Other"), "income": ("<=50K", ">50K")}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--csv", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.parquet")
        make(path, given.rows)
        domain = Domain(tuple(Attribute(name=name, axis=Codes(size)) for name, size in SIZES.items()))
        compare(f"Parquet, {given.rows:,} rows, 4 columns", path, domain, given.repeats)
    if given.csv:
        with given.csv.open(newline="") as file:
            header = next(csv.reader(file))
        domain = Domain(tuple(Attribute(name=name, axis=Labels(LABELS[name])) for name in LABELS if name in header))
        compare(f"CSV, {given.csv.name}, {len(domain.names)} columns", given.csv, domain, given.repeats)


def make(path: Path, rows: int) -> None:
    """Uniform codes: no cell is rare, so the GROUP BY cannot gain from a small table of groups."""
    generator = np.random.default_rng(2)
    parquet.write_table(pa.table({name: generator.integers(0, size, rows) for name, size in SIZES.items()}), path)


def compare(title: str, path: Path, domain: Domain, repeats: int) -> None:
    columns = ", ".join(f'"{name}"' for name in domain.names)
    source, query = TableSource(paths=(str(path),)), f"SELECT {columns}, count(*) FROM '{path}' GROUP BY ALL"
    jobs: dict[str, Callable[[], object]] = {
        "load_table": lambda: load_table(source, domain, Limits()),
        "duckdb": lambda: duckdb.connect().execute(query).fetchnumpy(),
    }
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            started = time.perf_counter()
            job()
            seconds[name].append(time.perf_counter() - started)
    ours, theirs = (statistics.median(seconds[name]) for name in jobs)
    print(f"{title}: load_table {ours:.3f} s, DuckDB {theirs:.3f} s, ratio {ours / theirs:.2f} (bar {BAR})")


if __name__ == "__main__":
    main()
