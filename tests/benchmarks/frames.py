"""A DataFrame against its Parquet file: processor seconds of a whole release, medians of alternating runs.

python tests/benchmarks/frames.py [--rows N] [--runs N]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import dpqr

LABELS, CODES, NUMBERS = 6, 4, 4
"""14 columns: texts of ten labels, whole numbers of ten codes, numbers in ten bins, one in a hundred cells missing."""


def table(rows: int) -> pd.DataFrame:
    """A made-up table as `pandas.read_parquet` would give it."""
    generator = np.random.default_rng(1)
    texts = np.array([f"label {code}" for code in range(10)], dtype=object)
    columns: dict[str, object] = {}
    for place in range(LABELS):
        columns[f"label{place}"] = texts[generator.integers(0, 10, rows)]
    for place in range(CODES):
        columns[f"code{place}"] = generator.integers(0, 10, rows)
    for place in range(NUMBERS):
        values = generator.normal(50, 20, rows)
        values[generator.random(rows) < 0.01] = np.nan
        columns[f"number{place}"] = values
    return pd.DataFrame(columns)


def domain() -> dpqr.Domain:
    """Ten cells a column, and one for what fits none."""
    labels = {f"label{place}": [f"label {code}" for code in range(10)] for place in range(LABELS)}
    codes = {f"code{place}": list(range(10)) for place in range(CODES)}
    edges = pd.IntervalIndex.from_breaks(list(range(0, 101, 10)), closed="left")
    numbers = {f"number{place}": edges for place in range(NUMBERS)}
    return dpqr.domain_from({**labels, **codes, **numbers}).rules(otherwise="cell")


def forms(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The same table with texts as pandas may hold them: its readers share equal objects."""
    texts = [name for name in frame if name.startswith("label")]
    shared = {name: frame[name].astype("category").astype(object) for name in texts}
    return {
        "string": frame.astype(dict.fromkeys(texts, "string")),
        "categorical": frame.astype(dict.fromkeys(texts, "category")),
        "objects, shared": frame.assign(**shared),
        "objects, each its own": frame.astype(dict.fromkeys(texts, "string")).astype(dict.fromkeys(texts, object)),
    }


def seconds(work: Callable[[], object]) -> float:
    """Processor seconds of this process, all threads together."""
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    held = forms(table(asked.rows))
    queries, over = dpqr.queries().marginals(ways=1), domain()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.parquet"
        held["string"].to_parquet(file, index=False)
        tables: dict[str, object] = {"parquet": file, **held}
        spent: dict[str, list[float]] = {name: [] for name in tables}
        for _ in range(asked.runs):
            for name, each in tables.items():
                spent[name].append(seconds(lambda each=each: dpqr.release(each, queries=queries, domain=over, eps=1)))
    medians = {name: statistics.median(times) for name, times in spent.items()}
    print(f"{asked.rows:,} rows x {LABELS + CODES + NUMBERS} columns, medians of {asked.runs}, processor seconds")
    for name, median in medians.items():
        print(f"{name:<22} {median:7.3f}  {median / medians['parquet']:5.2f} x")


if __name__ == "__main__":
    main()
