"""Error bars: how often they cover, how wide they are, and what they cost.

python tests/benchmarks/error_bars.py [--half report] [--tables 68] [--eps 0.1 1 10] [--error-bars free]
    [--data adult-coded.csv --runs 7]

Releases of marginals of made-up tables; of Adult's 91 pairs where --data is given. The tables come from public seeds,
in two halves that share none: constants were set on `constants`, RESULTS.md shows `report`. One line an epsilon:

measured    part of the proved intervals that hold the true answer; nominal .95
law         the same by the law of the integer noise itself: exact coverage of these intervals, without any draw
least       exact coverage of the shortest intervals of whole records, centred at the draw, that cover .95 at least
estimate    part of estimate +- 1.96 errors that hold it, over all answers; over those of unmeasured blocks (left out);
            and by size of the estimate
worst       coverage of estimate +- 1.96 errors that all but a twentieth of the blocks of ten answers and more exceed
width       mean error over that of an oracle, which scales each block's to the block's true L1 error
lost        of all releases, the part whose errors are not known
CPU         of the error bars, over that of the run before them
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from scipy.special import ndtr

sys.path.insert(0, str(Path(__file__).parent / "marginals"))
from adult import OTHERS, SIZES
from shapes import Table, chain, classes, independent, skewed
from task import Task

from dpqr.domain.histogram import SparseHistogram
from dpqr.kernel.noise.gaussian import DiscreteGaussian, RoundedGaussian
from dpqr.kernel.noise.law import NoiseLaw
from dpqr.kernel.noise.source import SystemNoise
from dpqr.kernel.sealed import Private
from dpqr.releases.draws import Draws
from dpqr.releases.error_bounds import unmeasured_blocks
from dpqr.releases.loop import iterative_construction
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.releases.result import FinishedRun, assemble
from dpqr.strategies.guard import make_filter

MAKERS: tuple[Table, ...] = (independent, classes, skewed, chain)
CLASSES = (0, 0.05, 10, 50, 500, np.inf)
"""Bounds of the sizes of estimates."""
FEWEST = 10
"""Answers of a block whose coverage is looked at by itself."""


class Quiet:
    def finished(self, rounds: int, planned: int) -> None:
        pass


@dataclass
class Found:
    """One release: of every answer whether its bar holds, its size, error, the oracle's error, its block's number,
    whether the block was left out, and whether the proved interval holds; CPU seconds of the run and of the bars; mean
    coverage of proved intervals by the noise law, and of the shortest ones."""

    covered: np.ndarray
    size: np.ndarray
    error: np.ndarray
    oracle: np.ndarray
    block: np.ndarray
    left: np.ndarray
    proved: np.ndarray
    run: float
    bars: float
    law: float
    least: float


def made(number: int) -> Task:
    """A made-up table of its own shape; every fourth one is asked for triples."""
    generator = np.random.default_rng([number, 19])
    triples = number // 2 % 4 == 3
    choices, columns = ((2, 3, 5, 8, 12), (4, 8)) if triples else ((2, 3, 5, 8, 12, 20, 40), (5, 12))
    sizes = tuple(int(size) for size in generator.choice(choices, generator.integers(*columns)))
    rows = int(np.exp(generator.uniform(np.log(1000), np.log(50_000))))
    codes = MAKERS[number // 2 % 5 % len(MAKERS)](generator, rows, sizes)
    named = {f"c{place:02}": size for place, size in enumerate(sizes)}
    return Task(name=f"{number}", sizes=named, codes=codes, marginals=tuple(combinations(named, 3 if triples else 2)))


def adult(path: Path) -> Task:
    import pyarrow.csv as pc

    table, sizes = pc.read_csv(path), SIZES | OTHERS
    codes = np.stack([table[name].to_numpy() for name in sizes], axis=1)
    return Task(name="Adult, pairs", sizes=sizes, codes=codes, marginals=tuple(combinations(sizes, 2)))


def released(
    task: Task, eps: str, delta: str, more: dict[str, str]
) -> tuple[FinishedRun, SparseHistogram, float, float]:
    document = {"domain": task.sizes, "queries": [{"marginals": [list(names) for names in task.marginals]}]}
    plan = plan_release(PlanRequest(queries=document, domain=None, epsilon=eps, delta=delta, **more))
    counts = SparseHistogram(tuple(task.sizes.values()), task.codes, np.ones(task.records, dtype=np.int64))
    start = time.process_time()
    draws = Draws(data=Private(counts), accountant=make_filter(plan), noise=SystemNoise())
    outcome = iterative_construction(draws, plan, Quiet())
    middle = time.process_time()
    release = assemble(plan, outcome, {}, private=True)
    return release, counts, middle - start, time.process_time() - middle


def looked_at(task: Task, eps: str, delta: str, more: dict[str, str]) -> Found:
    release, counts, run, bars = released(task, eps, delta, more)
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
        parts.append((off <= 1.96 * error, np.abs(answers.estimate), error, oracle, *same, proved))
    return Found(*(np.concatenate(part) for part in zip(*parts, strict=True)), run, bars, *by_law(release))


def by_law(release: FinishedRun) -> tuple[float, float]:
    """`law` and `least` of a release, over the answers that have a proved interval."""
    laws, found = {one.law for one in release.transcript.measurements}, []
    for answers in release.answers:
        known = ~np.isnan(answers.noisy.margin)
        scale, deviations = float(answers.block.scale), answers.noisy.deviation[known]
        for margin, deviation in set(zip(answers.noisy.margin[known].tolist(), deviations.tolist(), strict=True)):
            number = int((answers.noisy.margin[known] == margin).sum())
            law, draws = summands(deviation / scale, laws)
            held = coverage(law, draws)
            found.append((held[min(int(margin / scale), len(held) - 1)], held[np.argmax(held >= 0.95)], number))
    law, least, numbers = np.array(found or [(np.nan, np.nan, 1.0)]).T
    return float(np.average(law, weights=numbers)), float(np.average(least, weights=numbers))


def summands(deviation: float, laws: set[NoiseLaw]) -> tuple[NoiseLaw, int]:
    """The law, and the number of its draws whose sum has this deviation."""
    ratios = {law: (deviation / law.deviation) ** 2 for law in laws}
    law = min(ratios, key=lambda law: (abs(ratios[law] - max(1, round(ratios[law]))), ratios[law]))
    return law, max(1, round(ratios[law]))


@lru_cache(maxsize=4096)
def coverage(law: NoiseLaw, draws: int) -> np.ndarray:
    """Pr[|sum of independent draws| <= t], t = 0, 1, ...; by powers of the law's Fourier transform."""
    cells = 2 ** int(np.ceil(np.log2(40 * law.deviation * draws**0.5 + 64)))
    sizes = np.minimum(np.arange(cells), cells - np.arange(cells)).astype(float)
    chances = odds(law, sizes)
    sums = np.fft.irfft(np.fft.rfft(chances / chances.sum()) ** draws, cells)[: cells // 2]
    return np.cumsum(np.concatenate([sums[:1], 2 * sums[1:]]))


def odds(law: NoiseLaw, sizes: np.ndarray) -> np.ndarray:
    """In proportion to the chance of each whole number of that size."""
    if isinstance(law, RoundedGaussian):
        deviation = float(law.variance) ** 0.5
        return ndtr(-(sizes - 0.5) / deviation) - ndtr(-(sizes + 0.5) / deviation)
    gaussian = isinstance(law, DiscreteGaussian)
    return np.exp(-np.minimum(sizes**2 / (2 * float(law.variance)) if gaussian else sizes / float(law.scale), 700))


def mean(values: np.ndarray) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def worst(found: Found) -> np.ndarray:
    """Coverage of every block of FEWEST answers and more."""
    counts = np.bincount(found.block)
    shares = np.bincount(found.block, found.covered) / counts
    return shares[counts >= FEWEST]


def line(name: str, releases: list[Found]) -> str:
    """Each release counts as much as another."""
    lost = sum(bool(np.isnan(one.error).any()) for one in releases) / len(releases)
    by_size = [
        mean(np.array([mean(one.covered[(one.size >= low) & (one.size < high)].astype(float)) for one in releases]))
        for low, high in pairwise(CLASSES)
    ]
    figures = (
        mean(np.array([mean(one.proved) for one in releases])),
        mean(np.array([one.law for one in releases])),
        mean(np.array([one.least for one in releases])),
        mean(np.array([mean(one.covered.astype(float)) for one in releases])),
        mean(np.array([mean(one.covered[one.left].astype(float)) for one in releases])),
        *by_size,
        float(np.quantile(np.concatenate([worst(one) for one in releases]), 0.05)),
        mean(np.array([one.error.sum() / one.oracle.sum() for one in releases if one.oracle.sum() > 0])),
        lost,
        sum(one.bars for one in releases) / sum(one.run for one in releases),
    )
    return f"{name:<22} {len(releases):>4} " + " ".join(f"{figure:>8.3f}" for figure in figures)


def tasks(given: argparse.Namespace) -> Iterator[Task]:
    if given.data:
        yield from (adult(given.data) for _ in range(given.runs))
    else:
        yield from (made(2 * number + (given.half == "report")) for number in range(given.tables))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("constants", "report"), default="constants")
    parser.add_argument("--tables", type=int, default=8)
    parser.add_argument("--eps", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--error-bars")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args()
    more = {"error_bars": given.error_bars} if given.error_bars else {}
    sizes = [f"{low:g}-{high:g}" for low, high in pairwise(CLASSES)]
    names = ("measured", "law", "least", "estimate", "left out", *sizes, "worst", "width", "lost", "CPU")
    print(f"{'':<22} {'n':>4} " + " ".join(f"{name:>8}" for name in names))
    for eps in given.eps:
        releases = [looked_at(task, eps, given.delta, more) for task in tasks(given)]
        print(line(f"eps {eps}", releases), flush=True)


if __name__ == "__main__":
    main()
