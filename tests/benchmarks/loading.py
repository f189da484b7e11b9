"""Loading: rows of 4 columns become counts by cell, ours against pandas, pyarrow, DuckDB and polars.

python tests/benchmarks/loading.py [--rows 10000000] [--repeats 3] [--readers dpqr pandas] [--tables plain quoted]

Four tables of the same number of rows, made up in a temporary directory: `plain` and `quoted` are CSV of labels,
`numbers` is CSV of whole and decimal numbers that are counted by bins, `parquet` holds integer codes. Each reader reads
each table in a process of its own, in turn, and gives the number of occupied cells, which must agree. Shown are the
least processor seconds over the repeats, imports apart, the peak of the process' memory, and the ratio to pandas: its
own reading in chunks, without declared types, plus groupby. Bar: ours at most 1.5 times pandas for CSV.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ("a", "b", "c", "d")
SIZES = (68, 17, 8, 15)
LABELS = [[f"label{place}" for place in range(size)] for size in SIZES]
BINS = ((0, 10, 10), (0, 10, 10), (0, 10_000, 50), (-8, 1, 16))
"""Of each column of numbers: its lowest edge, the width of a bin, and how many there are."""
TABLES = ("plain", "quoted", "numbers", "parquet")
CHUNK = 2**17
BAR = 1.5


def make(folder: Path, table: str, rows: int) -> None:
    """Uniform labels and codes: no cell is rare, so nobody gains from a small table of groups."""
    import pyarrow as pa
    from pyarrow import parquet

    chance = np.random.default_rng(2)
    if table == "parquet":
        codes = {name: chance.integers(0, size, rows) for name, size in zip(NAMES, SIZES, strict=True)}
        parquet.write_table(pa.table(codes), folder / table)
        return
    mark = '"' if table == "quoted" else ""
    with (folder / table).open("w") as file:
        file.write(",".join(NAMES) + "\n")
        for start in range(0, rows, CHUNK):
            count = min(CHUNK, rows - start)
            lines = zip(*(numbers(chance, count) if table == "numbers" else labels(chance, count)), strict=True)
            file.writelines(mark + f"{mark},{mark}".join(line) + mark + "\n" for line in lines)


def labels(chance: np.random.Generator, count: int) -> list[list[str]]:
    return [[names[code] for code in chance.integers(0, len(names), count)] for names in LABELS]


def numbers(chance: np.random.Generator, count: int) -> list[list[str]]:
    """Ages, hours, incomes with two decimals and scores with four."""
    columns = (
        chance.integers(17, 91, count),
        chance.integers(1, 100, count),
        chance.gamma(2, 20_000, count).clip(max=499_999).round(2),
        chance.normal(0, 1, count).round(4),
    )
    return [list(map(repr, column.tolist())) for column in columns]


def by_dpqr(path: Path, table: str) -> int:
    from dpqr.domain.attribute import Attribute, Bins, Codes, Labels
    from dpqr.domain.domain import Domain
    from dpqr.kernel.sealed import SealKey
    from dpqr.tables.limits import Limits
    from dpqr.tables.load import load_table
    from dpqr.tables.source import TableSource

    axes: dict[str, list[Any]] = {
        "parquet": [Codes(size) for size in SIZES],
        "numbers": [Bins(tuple(Fraction(low + width * k) for k in range(bins + 1))) for low, width, bins in BINS],
    }
    each = axes.get(table) or [Labels(tuple(names)) for names in LABELS]
    domain = Domain(tuple(Attribute(name=name, axis=axis) for name, axis in zip(NAMES, each, strict=True)))
    found = load_table(TableSource(paths=(str(path),)), domain, Limits()).counts
    return int(np.count_nonzero(found._unseal(SealKey()).marginal(tuple(range(4)))))


def by_pandas(path: Path, table: str) -> int:
    import pandas
    from pyarrow import parquet

    def counted(frame: Any) -> Any:
        if table == "numbers":
            columns = zip(NAMES, BINS, strict=True)
            frame = pandas.DataFrame({name: (frame[name] - low) // width for name, (low, width, _) in columns})
        return frame.groupby(list(NAMES)).size()

    if table == "parquet":
        chunks: Any = (batch.to_pandas() for batch in parquet.ParquetFile(path).iter_batches(batch_size=CHUNK))
    else:
        chunks = pandas.read_csv(path, chunksize=CHUNK)
    total = None
    for frame in chunks:
        total = counted(frame) if total is None else total.add(counted(frame), fill_value=0)
    return len(total)


def by_pyarrow(path: Path, table: str) -> int:
    from pyarrow import compute, csv, parquet

    read = parquet.read_table(path) if table == "parquet" else csv.read_csv(path)
    if table == "numbers":
        for place, (name, (low, width, _)) in enumerate(zip(NAMES, BINS, strict=True)):
            shifted = compute.subtract(read[name], low)
            read = read.set_column(place, name, compute.floor(compute.divide(shifted, float(width))))
    return len(read.group_by(list(NAMES)).aggregate([([], "count_all")]))


def by_duckdb(path: Path, table: str) -> int:
    import duckdb

    columns = ", ".join(NAMES)
    if table == "numbers":
        bins = zip(NAMES, BINS, strict=True)
        columns = ", ".join(f"floor(({name} - {low}) / {width}) AS {name}" for name, (low, width, _) in bins)
    source = f"read_parquet('{path}')" if table == "parquet" else f"read_csv('{path}')"
    found = duckdb.connect().execute(f"SELECT {columns}, count(*) AS n FROM {source} GROUP BY ALL").fetchnumpy()
    return len(found["n"])


def by_polars(path: Path, table: str) -> int:
    import polars

    read = polars.scan_parquet(path) if table == "parquet" else polars.scan_csv(path)
    columns = [polars.col(name) for name in NAMES]
    if table == "numbers":
        columns = [(each - low) // width for each, (low, width, _) in zip(columns, BINS, strict=True)]
    return int(read.group_by(columns).len().collect().height)


READERS: dict[str, Callable[[Path, str], int]] = {
    "dpqr": by_dpqr,
    "pandas": by_pandas,
    "pyarrow": by_pyarrow,
    "duckdb": by_duckdb,
    "polars": by_polars,
}


def alone(reader: str, path: Path, table: str) -> None:
    """In a process of its own: a table of few rows first, for the imports; then the seconds and the megabytes."""
    READERS[reader](path.with_name("few") / table, table)
    began = time.process_time()
    cells = READERS[reader](path, table)
    seconds = time.process_time() - began
    print(json.dumps({"cells": cells, "seconds": seconds, "peak": peak()}))


def peak() -> float:
    """Megabytes that this process took at most. Linux counts whoever started it in `getrusage`, and not in `VmHWM`."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    facts = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(facts["VmHWM"].split()[0]) / 2**10


def measured(reader: str, path: Path, table: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--alone", reader, str(path), table]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def compare(folder: Path, table: str, readers: list[str], repeats: int) -> None:
    seen: dict[str, list[dict[str, float]]] = {reader: [] for reader in readers}
    for _ in range(repeats):
        for reader in readers:
            seen[reader].append(measured(reader, folder / table, table))
    if len({found["cells"] for each in seen.values() for found in each}) > 1:
        raise SystemExit(f"{table}: the readers disagree: {seen}")
    least = {reader: min(found["seconds"] for found in each) for reader, each in seen.items()}
    for reader, each in seen.items():
        ratio = f"{least[reader] / least['pandas']:8.2f}" if "pandas" in least else ""
        print(
            f"{table:8} {reader:8} {least[reader]:8.2f} {max(found['peak'] for found in each):8.0f} {ratio}", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--readers", nargs="*", choices=list(READERS), default=list(READERS))
    parser.add_argument("--alone", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        reader, path, table = given.alone
        return alone(reader, Path(path), table)
    present = [each for each in given.readers if importlib.util.find_spec(each)]
    print(f"{given.rows:,} rows x 4 columns; bar: dpqr at most {BAR} times pandas for CSV")
    print(f"{'table':8} {'reader':8} {'CPU s':>8} {'MB':>8} {'/pandas':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for table in given.tables:
            (Path(folder) / "few").mkdir(exist_ok=True)
            make(Path(folder) / "few", table, 1000)
            make(Path(folder), table, given.rows)
            compare(Path(folder), table, present, given.repeats)
            (Path(folder) / table).unlink()
    return None


if __name__ == "__main__":
    main()
