"""Error bars: how often they cover, how wide they are, and what they cost.

python tests/benchmarks/error_bars.py [--half report] [--tables 68] [--rows 300] [--eps 0.1 1 10] [--error-bars free]
    [--tails] [--data adult-coded.csv --ways 2 --runs 7]

Releases of marginals of made-up tables, each at its own number of rows and at --rows; where --data is given, of Adult's
91 pairs or of the 20 triples of 6 of its columns (--ways 3). The tables come from public seeds, in two halves that
share none: constants were set on `constants`, RESULTS.md shows `report`. --tails: pairs of tables whose cells are
mostly small (zero-inflated, Zipf tails, mixtures, independent columns). One line an epsilon:

measured    part of the proved intervals that hold the true answer; nominal .95
estimate    part of estimate +- 1.96 errors that hold it, over all answers; over those of unmeasured blocks (left out);
            and by size of the true answer (<10, 10-50, 50-500, >500)
worst       coverage of estimate +- 1.96 errors that all but a twentieth of the blocks of ten answers and more exceed
z           root mean square of (estimate - truth) / error, by size of the true answer
width       mean error over that of an oracle, which scales each block's to the block's true L1 error
lost        of all releases, the part whose errors are not known
CPU         of the error bars, over that of the run before them

A figure beyond its bar has a star.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "marginals"))
from adult import OTHERS, SIZES
from makers import mixture, zipf
from shapes import Table, chain, classes, independent, skewed
from task import Task

from dpqr.domain.histogram import SparseHistogram
from dpqr.kernel.noise.source import SeededNoise, SystemNoise
from dpqr.kernel.sealed import Private
from dpqr.releases.draws import Draws
from dpqr.releases.error_bounds import unmeasured_blocks
from dpqr.releases.loop import SILENT, iterative_construction
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.releases.result import FinishedRun, assemble
from dpqr.strategies.guard import make_filter


def inflated(generator: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Counts, 0 for most rows: what makes one large makes the others large."""
    filled = generator.random((rows, len(sizes))) < generator.choice((0.1, 0.3, 0.6))
    scale = generator.gamma(0.7, 1.0, rows)[:, None] * filled
    return np.minimum(generator.poisson(scale * np.array(sizes) / 6), np.array(sizes) - 1)


def tailed(generator: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Zipf tails, weakly dependent."""
    exponent = generator.uniform(0.8, 1.6)
    codes = np.stack([zipf(generator, rows, size, exponent) for size in sizes], axis=1)
    for place in range(1, len(sizes)):
        codes[:, place] = np.where(generator.random(rows) < 0.2, codes[:, 0] % sizes[place], codes[:, place])
    return codes


MAKERS: tuple[Table, ...] = (independent, classes, skewed, chain)
TAILS: tuple[Table, ...] = (inflated, tailed, mixture, independent)
CLASSES = {"<10": (-np.inf, 10), "10-50": (10, 50), "50-500": (50, 500), ">500": (500, np.inf)}
"""Bounds of the sizes of true answers."""
COVERAGE, WORST, SPREAD = (0.93, 0.98), (0.88, 1.0), (0.85, 1.1)
"""Bars: coverage by size, of the worst twentieth of blocks, and root mean square of deviations in errors by size."""
FEWEST = 10
"""Answers of a block whose coverage is looked at by itself."""


@dataclass
class Found:
    """One release: of every answer its deviation from the truth, the truth, its error, the oracle's error, its block's
    number, whether the block was left out, and whether the proved interval holds; CPU seconds of the run and of the
    bars."""

    off: np.ndarray
    truth: np.ndarray
    error: np.ndarray
    oracle: np.ndarray
    block: np.ndarray
    left: np.ndarray
    proved: np.ndarray
    run: float
    bars: float

    @property
    def covered(self) -> np.ndarray:
        return (self.off <= 1.96 * self.error).astype(float)

    @property
    def squares(self) -> np.ndarray:
        """Of deviations in errors. An error of 0 is left out where it is right."""
        known = np.where((self.error > 0) | (self.off > 0), self.error, np.nan)
        return (self.off / np.maximum(known, 1e-9)) ** 2

    def by_size(self, values: np.ndarray) -> list[float]:
        return [mean(values[(low <= self.truth) & (self.truth < high)]) for low, high in CLASSES.values()]


def made(number: int, rows: int | None = None) -> Task:
    """A made-up table of its own shape, and of its own number of rows if none is given; every fourth one is asked for
    triples."""
    generator = np.random.default_rng([number, 19])
    triples = number // 2 % 4 == 3
    choices, columns = ((2, 3, 5, 8, 12), (4, 8)) if triples else ((2, 3, 5, 8, 12, 20, 40), (5, 12))
    sizes = tuple(int(size) for size in generator.choice(choices, generator.integers(*columns)))
    own = int(np.exp(generator.uniform(np.log(1000), np.log(50_000))))
    codes = MAKERS[number // 2 % 5 % len(MAKERS)](generator, rows or own, sizes)
    named = {f"c{place:02}": size for place, size in enumerate(sizes)}
    return Task(name=f"{number}", sizes=named, codes=codes, marginals=tuple(combinations(named, 3 if triples else 2)))


def of_tails(number: int, rows: int | None = None) -> Task:
    """A made-up table of mostly small cells, asked for pairs, as `made`."""
    generator = np.random.default_rng([number, 23])
    sizes = tuple(int(size) for size in generator.choice((4, 8, 16, 32, 64), generator.integers(4, 7)))
    own = int(np.exp(generator.uniform(np.log(3000), np.log(500_000))))
    codes = TAILS[number // 2 % len(TAILS)](generator, rows or own, sizes)
    named = {f"c{place:02}": size for place, size in enumerate(sizes)}
    return Task(name=f"{number}", sizes=named, codes=codes, marginals=tuple(combinations(named, 2)))


def adult(path: Path, ways: int) -> Task:
    import pyarrow.csv as pc

    table, sizes = pc.read_csv(path), SIZES | (OTHERS if ways == 2 else {})
    codes = np.stack([table[name].to_numpy() for name in sizes], axis=1)
    return Task(name=f"Adult, {ways}-way", sizes=sizes, codes=codes, marginals=tuple(combinations(sizes, ways)))


def released(
    task: Task, eps: str, delta: str, more: dict[str, str], seed: int | None = None
) -> tuple[FinishedRun, SparseHistogram, float, float]:
    document = {"domain": task.sizes, "queries": [{"marginals": [list(names) for names in task.marginals]}]}
    plan = plan_release(PlanRequest(queries=document, domain=None, epsilon=eps, delta=delta, **more))
    counts = SparseHistogram(tuple(task.sizes.values()), task.codes, np.ones(task.records, dtype=np.int64))
    start = time.process_time()
    noise = SystemNoise() if seed is None else SeededNoise(seed)
    draws = Draws(data=Private(counts), accountant=make_filter(plan), noise=noise)
    outcome = iterative_construction(draws, plan, SILENT)
    middle = time.process_time()
    release = assemble(plan, outcome, {}, private=True)
    return release, counts, middle - start, time.process_time() - middle


def looked_at(task: Task, eps: str, delta: str, more: dict[str, str], seed: int | None) -> Found:
    release, counts, run, bars = released(task, eps, delta, more, seed)
    left = {block.name for block in unmeasured_blocks(release.plan.problem.workload.blocks, release.transcript)}
    parts: list[tuple[np.ndarray, ...]] = []
    for number, answers in enumerate(release.answers):
        name, truth = answers.block.name, answers.block.answer(counts) * float(answers.block.scale)
        off, error, noisy = np.abs(answers.estimate - truth), answers.error, answers.noisy
        predicted = release.bars.predicted.get(name, 0.0)
        factor = release.bars.factors.get(name, 1.0)
        oracle = error * (off.sum() / (predicted * factor)) if predicted > 0 else error
        proved = np.where(np.isnan(noisy.margin), np.nan, (noisy.lower <= truth) & (truth <= noisy.upper))
        same = np.full(len(off), number), np.full(len(off), name in left)
        parts.append((off, truth, error, oracle, *same, proved))
    return Found(*(np.concatenate(part) for part in zip(*parts, strict=True)), run, bars)


def mean(values: np.ndarray) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def worst(found: Found) -> np.ndarray:
    """Coverage of every block of FEWEST answers and more."""
    counts = np.bincount(found.block)
    shares = np.bincount(found.block, found.covered) / counts
    return shares[counts >= FEWEST]


def columns(releases: list[Found]) -> Iterator[tuple[str, float, tuple[float, float]]]:
    """Name, figure and bars. Each release counts as much as another."""
    free = (-np.inf, np.inf)
    sizes = np.array([one.by_size(one.covered) for one in releases]).T
    squares = np.array([one.by_size(one.squares) for one in releases]).T
    wide = [one.error.sum() / one.oracle.sum() for one in releases if one.oracle.sum() > 0]
    yield "measured", mean(np.array([mean(one.proved) for one in releases])), free
    yield "estimate", mean(np.array([mean(one.covered) for one in releases])), free
    yield "left out", mean(np.array([mean(one.covered[one.left]) for one in releases])), free
    for name, shares in zip(CLASSES, sizes, strict=True):
        yield name, mean(shares), COVERAGE
    yield "worst", float(np.quantile(np.concatenate([worst(one) for one in releases]), 0.05)), WORST
    for name, means in zip(CLASSES, squares, strict=True):
        yield f"z {name}", mean(means) ** 0.5, SPREAD
    yield "width", mean(np.array(wide)), free
    yield "lost", sum(bool(np.isnan(one.error).any()) for one in releases) / len(releases), free
    yield "CPU", sum(one.bars for one in releases) / sum(one.run for one in releases), free


def line(name: str, releases: list[Found]) -> str:
    shown = (
        f"{figure:>8.3f}{'*' if figure < low or figure > high else ' '}" for _, figure, (low, high) in columns(releases)
    )
    return f"{name:<20} {len(releases):>4} " + "".join(shown)


def groups(given: argparse.Namespace) -> dict[str, list[Task]]:
    if given.data:
        return {"": [adult(given.data, given.ways)] * given.runs}
    numbers = [2 * number + (given.half == "report") for number in range(given.tables)]
    table = of_tails if given.tails else made
    few = {f", {rows} rows": [table(number, rows) for number in numbers] for rows in given.rows}
    return {"": [table(number) for number in numbers]} | few


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("constants", "report"), default="constants")
    parser.add_argument("--tables", type=int, default=8)
    parser.add_argument("--rows", nargs="*", type=int, default=[300])
    parser.add_argument("--eps", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--error-bars")
    parser.add_argument("--tails", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--ways", type=int, choices=(2, 3), default=2)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seed", type=int, help="of the noise: the same draws again, to compare versions in pairs")
    given = parser.parse_args()
    more = {"error_bars": given.error_bars} if given.error_bars else {}
    headed = False
    for eps in given.eps:
        for name, tasks in groups(given).items():
            seeds = (None if given.seed is None else given.seed + number for number in range(len(tasks)))
            releases = [looked_at(task, eps, given.delta, more, seed) for task, seed in zip(tasks, seeds, strict=True)]
            if not headed:
                print(f"{'':<20} {'n':>4} " + "".join(f"{title:>8} " for title, _, _ in columns(releases)))
                print(f"{'bars':<20} {'':>4} " + "".join(f"{bars(*limits):>8} " for _, _, limits in columns(releases)))
                headed = True
            print(line(f"eps {eps}{name}", releases), flush=True)


def bars(low: float, high: float) -> str:
    return "" if np.isinf(low) else f"{low:.2f}-{high:.3g}".replace("0.", ".")


if __name__ == "__main__":
    main()
