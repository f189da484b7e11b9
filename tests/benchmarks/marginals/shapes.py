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
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from methods import Contest, Run
from task import Task

Table = Callable[[np.random.Generator, int, tuple[int, ...]], np.ndarray]

MIXED, SKEWED = (4, 6, 8, 10, 12, 20, 30, 40), (100, 100, 50, 50, 20, 20, 10, 10, 5, 5)


def zipf(generator: np.random.Generator, rows: int, size: int, skew: float = 1.0) -> np.ndarray:
    odds = 1 / np.arange(1, size + 1) ** skew
    return generator.choice(size, rows, p=odds / odds.sum())


def independent(generator: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Columns that tell nothing of each other."""
    return np.stack([zipf(generator, rows, size) for size in sizes], axis=1)


def classes(generator: np.random.Generator, rows: int, sizes: tuple[int, ...], skew: float = 1.0) -> np.ndarray:
    """Six latent classes, each with its own order of every column's values; 40 % of the cells ignore the class."""
    latent = generator.choice(6, rows, p=np.arange(6, 0, -1) / 21)
    columns = []
    for size in sizes:
        orders = np.stack([generator.permutation(size) for _ in range(6)])
        value = zipf(generator, rows, size, skew)
        columns.append(np.where(generator.random(rows) < 0.6, orders[latent, value], value))
    return np.stack(columns, axis=1)


def skewed(generator: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    """The same with a few values that nearly all records have."""
    return classes(generator, rows, sizes, skew=2.5)


def chain(generator: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Each column copies 70 % of the one before it."""
    columns = [zipf(generator, rows, sizes[0], 0.5)]
    for before, size in pairwise(sizes):
        fresh = zipf(generator, rows, size, 0.5)
        columns.append(np.where(generator.random(rows) < 0.7, columns[-1] * size // before, fresh))
    return np.stack(columns, axis=1)


SHAPES: dict[str, tuple[Table, int, tuple[int, ...], int]] = {
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
"""Maker of codes, records, sizes of the columns, ways of the marginals."""


def made(name: str) -> Task:
    maker, rows, sizes, ways = SHAPES[name]
    codes = maker(np.random.default_rng([*name.encode()]), rows, sizes)
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
