"""--schedule auto beside --schedule rounds and plain noise, on made-up tables of many shapes.

python tests/benchmarks/marginals/shapes.py [shape ...] [--eps 0.1 1 10] [--delta 1e-9] [--runs 3]

Figures: mean over the marginals of the L1 distance from the true counts, over the true n, mean of the runs; median
CPU seconds of the release in brackets. auto should never be much worse than the better of the others. The tables come
from public seeds.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
from makers import bayes, chain, classes, copula, duplicates, hidden, independent, labels, mixture, skewed
from methods import Contest, Run
from task import Task

Table = Callable[[np.random.Generator, int, tuple[int, ...]], np.ndarray]
Shape = tuple[Table, int, tuple[int, ...], int]
"""Maker of codes, records, sizes of the columns, ways of the marginals."""

MIXED, SKEWED = (4, 6, 8, 10, 12, 20, 30, 40), (100, 100, 50, 50, 20, 20, 10, 10, 5, 5)


SHAPES: dict[str, Shape] = {
    "few-records": (classes, 500, MIXED, 2),
    "thousand": (chain, 1_000, (12,) * 12, 2),
    "independent": (independent, 20_000, (*MIXED, 50, 80), 2),
    "skewed": (skewed, 30_000, SKEWED, 2),
    "chain": (chain, 100_000, (12,) * 12, 2),
    "binary": (classes, 20_000, (2,) * 30, 2),
    "binary-triples": (classes, 20_000, (2,) * 24, 3),
    "triples": (classes, 50_000, (10,) * 8, 3),
    "one-column": (independent, 5_000, (200,), 1),
    "two-columns": (classes, 20_000, (500, 400), 2),
}

REAL_LOOKING = (copula, bayes, mixture, labels, hidden, duplicates)
ROWS, COLUMNS = (300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000), (4, 6, 9, 13, 19, 28, 41)
"""Ends of strata; a half has every maker in every stratum of rows, and in every one of columns, once."""

WIDTHS = ((2, 2), (2, 5), (2, 16), (2, 40), (5, 100))
"""Least and largest size of a column; the last one for tables of at most 12 columns."""


def half(name: str, step: int) -> dict[str, Shape]:
    """A set of tables, named after it and their maker; another name gives other sizes, skews and dependences."""
    strata = len(ROWS) - 1
    found = {}
    for place, maker in enumerate(REAL_LOOKING):
        for stratum in range(strata):
            label = f"{name}-{maker.__name__}-{stratum + 1}"
            generator = np.random.default_rng([*label.encode()])
            rows = int(np.exp(generator.uniform(*np.log(ROWS[stratum : stratum + 2]))))
            wide = (place + step * stratum) % strata
            columns = int(generator.integers(*COLUMNS[wide : wide + 2]))
            least, most = WIDTHS[generator.integers(len(WIDTHS) - (columns > 12))]
            sizes = np.round(np.exp(generator.uniform(np.log(least), np.log(most), columns))).astype(int)
            found[label] = (maker, rows, tuple(sizes.tolist()), 3 if columns <= 8 else 2)
    return found


SETTING, REPORTING = half("setting", 1), half("reporting", 5)
"""Constants are set on the first and reported on the second."""

HALVES = {"setting": tuple(SETTING), "reporting": tuple(REPORTING)}


def made(name: str) -> Task:
    """name: of a shape; with "@" and a number, of that many rows."""
    label, _, other = name.partition("@")
    maker, rows, sizes, ways = (SHAPES | SETTING | REPORTING)[label]
    codes = maker(np.random.default_rng([*label.encode()]), int(other or rows), sizes)
    named = {f"c{place:02}": size for place, size in enumerate(sizes)}
    return Task(name=name, sizes=named, codes=codes, marginals=tuple(combinations(named, ways)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", default=list(SHAPES), metavar="shape")
    parser.add_argument("--eps", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    print(f"{'shape':<15} {'eps':>4} {'auto':>17} {'rounds':>17} {'plain':>9} {'auto / best':>11}")
    for name in given.shapes:
        task = made(name)
        with tempfile.TemporaryDirectory() as folder:
            task.written(Path(folder))
            for eps in given.eps:
                compare(task, Path(folder), eps, given.delta, given.runs)


def compare(task: Task, folder: Path, eps: str, delta: str, runs: int) -> None:
    truth, found = task.truth(), {}
    for label in ("auto", "rounds", "plain"):
        more = () if label == "plain" else ("--schedule", label)
        contest = Contest(task=task, truth=truth, folder=folder, peers=None, more=more, options={})
        method = "plain" if label == "plain" else "dpqr"
        found[label] = [contest.run(method, eps, delta) for _ in range(runs)]
    means = {label: statistics.mean(run.error for run in several) for label, several in found.items()}
    best = min(means["rounds"], means["plain"])
    shown = [f"{means[label]:>9.5f} ({seconds(found[label]):>4.1f}s)" for label in ("auto", "rounds")]
    print(
        f"{task.name:<15} {eps:>4} {' '.join(shown)} {means['plain']:>9.5f} {means['auto'] / best:>11.2f}", flush=True
    )


def seconds(runs: list[Run]) -> float:
    return statistics.median(run.cpu for run in runs)


if __name__ == "__main__":
    main()
