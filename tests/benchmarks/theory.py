"""Single-query Iterative Construction as printed: true largest error of whole command-line runs, and the certificate.

python tests/benchmarks/theory.py [--runs 20] [--update multiplicative-weights perceptron] [--variant printed]

64 cells, 200 random predicates, n = 4 * 10^9 given as counts, alpha = beta = 0.05, eps 1, delta 0, replace. Bar: the
true largest error is at most 0.05 in at least 19 of 20 runs. `--median` runs the toy of the median rule instead:
8 cells, 20 predicates, n = 10^5, alpha 0.3.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

CASES = {
    "large": {"cells": 64, "queries": 200, "n": 4 * 10**9, "alpha": "0.05"},
    "toy": {"cells": 8, "queries": 20, "n": 10**5, "alpha": "0.3"},
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--update", nargs="+", default=["multiplicative-weights", "perceptron"])
    parser.add_argument("--variant", default="printed")
    parser.add_argument("--median", action="store_true")
    given = parser.parse_args()
    case = CASES["toy" if given.median else "large"]
    updates = ["median"] if given.median else given.update
    print(f"{'update':<24} {'within alpha':>12} {'largest':>9} {'median':>9} {'rounds':>7} {'certified':>9} {'s':>6}")
    with tempfile.TemporaryDirectory() as folder:
        rows, counts = write(Path(folder), case)
        for update in updates:
            runs = [run(Path(folder), case, update, given.variant, rows, counts) for _ in range(given.runs)]
            errors, rounds, held, seconds = zip(*runs, strict=True)
            good = sum(error <= float(case["alpha"]) for error in errors)
            print(
                f"{update:<24} {good:>9}/{len(runs)} {max(errors):>9.5f} {statistics.median(errors):>9.5f} "
                f"{statistics.median(rounds):>7} {sum(held):>6}/{len(runs)} {statistics.median(seconds):>6.1f}",
                flush=True,
            )


def write(folder: Path, case: dict) -> tuple[np.ndarray, np.ndarray]:
    """A made-up, uneven histogram and random predicates; both public here."""
    generator = np.random.default_rng(5)
    shares = generator.dirichlet(np.full(case["cells"], 0.3))
    counts = np.floor(shares * case["n"]).astype(np.int64)
    counts[0] += case["n"] - counts.sum()
    rows = generator.integers(0, 2, size=(case["queries"], case["cells"]))
    np.savez(folder / "predicates.npz", coefficients=rows)
    with (folder / "counts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("cell", "count"), *enumerate(counts.tolist())])
    field = {
        "name": "cell",
        "type": "integer",
        "constraints": {"minimum": 0, "maximum": case["cells"] - 1},
        "dpqr": {"otherwise": "fail"},
    }
    document = {"domain": {"fields": [field]}, "queries": [{"coefficients": "predicates.npz", "name": "predicates"}]}
    (folder / "q.json").write_text(json.dumps(document))
    return rows, counts


def run(folder: Path, case: dict, update: str, variant: str, rows: np.ndarray, counts: np.ndarray) -> tuple:
    out = folder / "out"
    command = [
        *(sys.executable, "-m", "dpqr", "release", str(folder / "counts.csv"), "--counts", "count"),
        *("--queries", str(folder / "q.json"), "--eps", "1", "--neighbours", "replace", "--n", str(case["n"])),
        *("--schedule", "theory", "--alpha", case["alpha"], "--update", update, "--variant", variant),
        *("--out", str(out), "--if-exists", "replace", "--format", "json"),
    ]
    started = time.perf_counter()
    subprocess.run([*command, "--progress", "none"], check=True, capture_output=True)
    seconds = time.perf_counter() - started
    estimates = np.array([row["estimate"] for row in json.loads((out / "answers.json").read_text())])
    error = float(np.abs(estimates - rows @ counts).max()) / case["n"]
    release = json.loads((out / "release.json").read_text())
    bound = (release["certificate"] or {}).get("fraction", np.inf)
    return error, len(release["transcript"]), error <= bound, seconds


if __name__ == "__main__":
    main()
