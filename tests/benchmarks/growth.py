"""How time and memory grow with the size of the question: whole command-line runs, each size ten times the one before.

python tests/benchmarks/growth.py [prefixes] [ranges] [--largest 6]

prefixes: all prefixes of a column of 10^4, 10^5, 10^6 cells. ranges: so many random ranges of a column of 4,096 cells.
20,000 rows, a public seed; epsilon 1, delta 1e-9. Bars in CPU seconds: 10 for 10^5 prefixes, 60 for 10^6 of either.
exponent: of the CPU time over that of the size before; 1 is growth in proportion, and less where fixed costs count.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
from scale import timed

ROWS, CELLS = 20_000, 4096


def prefixes(size: int) -> tuple[int, dict[str, Any]]:
    return size, {"prefix": "x"}


def ranges(size: int) -> tuple[int, dict[str, Any]]:
    return CELLS, {"ranges": "x", "random": size, "seed": 1}


CASES: dict[str, Callable[[int], tuple[int, dict[str, Any]]]] = {"prefixes": prefixes, "ranges": ranges}
"""Cells of the column, and what is asked."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="case")
    parser.add_argument("--largest", type=int, default=6, help="power of ten [6]")
    given = parser.parse_args()
    print(f"{'case':<10} {'size':>9} {'seconds':>8} {'CPU s':>8} {'peak MB':>8} {'exponent':>9}")
    for name in given.cases:
        before = math.nan
        for power in range(4, given.largest + 1):
            seconds, cpu, peak = run(*CASES[name](10**power))
            grown = math.log10(cpu / before)
            print(f"{name:<10} {10**power:>9,} {seconds:>8.1f} {cpu:>8.1f} {peak:>8.0f} {grown:>9.2f}", flush=True)
            before = cpu


def run(cells: int, asked: dict[str, Any]) -> tuple[float, float, float]:
    values = np.random.default_rng(2024).exponential(cells / 5, ROWS).astype(np.int64)
    with tempfile.TemporaryDirectory() as folder:
        data, queries, out = (str(Path(folder, name)) for name in ("t.csv", "q.json", "out"))
        pc.write_csv(pa.table({"x": np.minimum(values, cells - 1)}), data)
        Path(queries).write_text(json.dumps({"domain": {"x": cells}, "queries": [asked]}))
        return timed(["release", data, "--queries", queries, "--out", out, "--eps", "1", "--delta", "1e-9"])


if __name__ == "__main__":
    main()
