"""Adult, 6 columns, all 20 three-way marginals: mean L1 error over n and wall time of whole command-line runs.

python tests/benchmarks/adult.py --data adult-coded.csv [--runs 10] [--eps 0.1 1 10] [--delta 0 1e-9] [--pairs]
    [-- more options]

Every run is the same command but for --eps and --delta. Bars: 0.16, 0.036, 0.015 at eps 0.1, 1, 10; 4 s a run.
--pairs: all 91 pairs of 14 columns instead. Bars at delta 1e-9: 0.20, 0.070, 0.030; 12 s.
The table is a public research extract; errors against its true counts are shown for that reason only.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow.csv as pc

SIZES = {"sex": 2, "race": 5, "income>50K": 2, "education-num": 16, "marital-status": 7, "relationship": 6}
BARS = {"0.1": 0.16, "1": 0.036, "10": 0.015}
OTHERS = {"age": 85, "workclass": 9, "fnlwgt": 100, "occupation": 15, "capital-gain": 100, "capital-loss": 100}
OTHERS |= {"hours-per-week": 99, "native-country": 42}
PAIR_BARS = {"0.1": 0.20, "1": 0.070, "10": 0.030}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--eps", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--delta", nargs="+", default=["0", "1e-9"])
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("more", nargs="*")
    given = parser.parse_args()
    sizes, ways, bars = (SIZES | OTHERS, 2, PAIR_BARS) if given.pairs else (SIZES, 3, BARS)
    truth = true_marginals(given.data, sizes, ways)
    with tempfile.TemporaryDirectory() as folder:
        queries = Path(folder, "q.json")
        document = {"domain": sizes, "queries": [{"marginals": {"ways": ways}}]}
        queries.write_text(json.dumps(document))
        print(f"{'eps':>5} {'delta':>6} {'L1 / n':>9} {'std err':>8} {'bar':>6} {'median s':>9}")
        for delta in given.delta:
            for eps in given.eps:
                command = ["release", str(given.data), "--queries", str(queries), "--eps", eps, "--delta", delta]
                errors, seconds = measure(command + given.more, folder, given.runs, truth)
                spread = statistics.stdev(errors) / len(errors) ** 0.5 if len(errors) > 1 else float("nan")
                bar = bars.get(eps, float("nan"))
                mean, median = statistics.mean(errors), statistics.median(seconds)
                print(f"{eps:>5} {delta:>6} {mean:>9.5f} {spread:>8.5f} {bar:>6} {median:>9.2f}", flush=True)


def true_marginals(path: Path, sizes: dict[str, int], ways: int) -> dict[tuple[str, ...], np.ndarray]:
    table = pc.read_csv(path)
    columns = {name: table[name].to_numpy() for name in sizes}
    marginals = {}
    for names in combinations(sizes, ways):
        cells = np.zeros([sizes[name] for name in names])
        np.add.at(cells, tuple(columns[name] for name in names), 1)
        marginals[names] = cells
    return marginals


def measure(command: list[str], folder: str, runs: int, truth: dict[tuple[str, ...], np.ndarray]) -> tuple[list, list]:
    errors, seconds = [], []
    for run in range(runs):
        out = Path(folder, f"out-{run}")
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "dpqr", *command, "--out", str(out), "--if-exists", "replace"],
            check=True,
            capture_output=True,
        )
        seconds.append(time.perf_counter() - started)
        errors.append(error(out / "answers.csv", truth))
    return errors, seconds


def error(path: Path, truth: dict[tuple[str, ...], np.ndarray]) -> float:
    """Mean over the marginals of the L1 distance between true and released counts, over n."""
    answers = pc.read_csv(path).to_pydict()
    released = {names: np.zeros_like(cells) for names, cells in truth.items()}
    columns = dict.fromkeys(name for names in truth for name in names)
    for row, value in enumerate(answers["estimate"]):
        names = tuple(name for name in columns if answers[name][row] is not None)
        released[names][tuple(int(answers[name][row]) for name in names)] = value
    distances = [np.abs(released[names] - cells).sum() / cells.sum() for names, cells in truth.items()]
    return float(np.mean(distances))


if __name__ == "__main__":
    main()
