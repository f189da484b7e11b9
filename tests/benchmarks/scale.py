"""Large tables: seconds, CPU seconds, peak memory and mean L1 error over n of whole command-line runs.

python tests/benchmarks/scale.py [pairs] [triples] [rows] [--eps 1] [--delta 1e-9] [-- more options]

pairs: 10^6 rows, 100 attributes of 10 values, all 4,950 two-way marginals (bars: 120 s, 2 GB). triples: 10^5 rows,
45 attributes of 10 values, all 14,190 three-way marginals (bars: 600 s, 4 GB). rows: 10^6 rows, 14 attributes, with and
without --synthetic rows (bar: 10 s between the two). The rows are made up from a public seed: attributes are a noisy
chain and, every third of them, a noisy copy of one of 5 latent classes. Errors against the true counts are shown for
that reason only; they are those of every 10th block.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SIZE = 10
SHOWN = 10
"""Every so manieth block's error is counted."""


@dataclass(frozen=True, kw_only=True)
class Case:
    rows: int
    attributes: int
    ways: int


CASES = {
    "pairs": Case(rows=10**6, attributes=100, ways=2),
    "triples": Case(rows=10**5, attributes=45, ways=3),
    "rows": Case(rows=10**6, attributes=14, ways=2),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", default=[], metavar="case")
    parser.add_argument("--eps", default="1")
    parser.add_argument("--delta", default="1e-9")
    given, more = parser.parse_known_args()
    options = ["--eps", given.eps, "--delta", given.delta, *(word for word in more if word != "--")]
    print(f"{'case':<16} {'seconds':>8} {'CPU s':>8} {'peak MB':>8} {'L1 / n':>8} {'product':>8}")
    for name in given.cases or CASES:
        run(name, CASES[name], options)
        if name == "rows":
            run("rows, synthetic", CASES[name], [*options, "--synthetic", "rows"])


def run(name: str, case: Case, options: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        codes = table(case.rows, case.attributes)
        names = [f"a{number:02}" for number in range(case.attributes)]
        data, queries, out = Path(folder, "t.parquet"), Path(folder, "q.json"), Path(folder, "out")
        pq.write_table(pa.table({one: codes[axis] for axis, one in enumerate(names)}), data)
        document = {"domain": dict.fromkeys(names, SIZE), "queries": [{"marginals": {"ways": case.ways}}]}
        queries.write_text(json.dumps(document))
        command = ["release", str(data), "--queries", str(queries), "--out", str(out), "--format", "parquet", *options]
        seconds, cpu, peak = timed(command)
        found, independent = errors(out / "answers.parquet", codes, case.ways)
    print(f"{name:<16} {seconds:>8.1f} {cpu:>8.1f} {peak:>8.0f} {found:>8.4f} {independent:>8.4f}", flush=True)


def table(rows: int, attributes: int) -> np.ndarray:
    """Codes, shape (attributes, rows), from a public seed."""
    generator = np.random.default_rng(2024)
    latent = generator.choice(5, rows, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    codes = np.empty((attributes, rows), dtype=np.int8)
    for axis in range(attributes):
        order = generator.permutation(SIZE)
        source = order[latent * 2] if axis % 3 == 2 else order[codes[axis - 1]] if axis else latent
        fresh = generator.choice(SIZE, rows, p=np.arange(SIZE, 0, -1) / 55)
        codes[axis] = np.where(generator.random(rows) < 0.5, source, fresh)
    return codes


MEASURED = """
import os, subprocess, sys
process = subprocess.Popen([sys.executable, "-m", "dpqr", *sys.argv[1:]], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
"""
"""Starts a run from a small process: a peak begins with that of the process that starts it, here that of the table."""


def timed(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak megabytes of one run."""
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", MEASURED, *command], stdout=subprocess.PIPE, text=True, check=True)
    code, cpu, peak = done.stdout.split()
    if code != "0":
        raise SystemExit(f"dpqr ended with {code}")
    return time.perf_counter() - started, float(cpu), float(peak)


def errors(path: Path, codes: np.ndarray, ways: int) -> tuple[float, float]:
    """Of the release, and of the product of exact one-way marginals, which needs no query at all."""
    estimates = pq.read_table(path, columns=["estimate"])["estimate"].to_numpy()
    rows, cells = codes.shape[1], SIZE**ways
    singles = [np.bincount(column, minlength=SIZE) / rows for column in codes]
    found, independent = [], []
    for place, axes in enumerate(combinations(range(len(codes)), ways)):
        if (place + 1) * cells > len(estimates):  # the last one that was asked for
            break
        if place % SHOWN:
            continue
        index = np.zeros(rows, dtype=np.int64)
        product = np.full(1, float(rows))
        for axis in axes:
            index = index * SIZE + codes[axis]
            product = np.multiply.outer(product, singles[axis]).reshape(-1)
        truth = np.bincount(index, minlength=cells)
        found.append(np.abs(estimates[place * cells : (place + 1) * cells] - truth).sum() / rows)
        independent.append(np.abs(product - truth).sum() / rows)
    return float(np.mean(found)), float(np.mean(independent))


if __name__ == "__main__":
    main()
