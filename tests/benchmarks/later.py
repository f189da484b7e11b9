"""Questions that a release was not asked: how often the intervals of their answers hold, and what they cost.

python tests/benchmarks/later.py [--half report] [--tables 24] [--eps 0.1 1 10] [--refits 3 8]

Releases of marginals of made-up tables (`error_bars.py`), then 40 questions each: a random subset of the cells of one
column and of another one, of a pair that the workload holds. One line an epsilon and number of refits:

measured    part of the proved intervals that hold the true answer; nominal .95
estimate    part of estimate +- 1.96 errors that hold it
width       root mean square of these errors over that of the true errors
unknown     part of the questions without any error
CPU         of 40 answers, in seconds
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction

import numpy as np
from error_bars import made, released
from task import Task

from dpqr.domain.histogram import SparseHistogram
from dpqr.kernel.values import replace
from dpqr.published import later
from dpqr.releases.loop import Outcome
from dpqr.releases.result import FinishedRun
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.workload import Workload

QUESTIONS = 40


def questions(task: Task, seed: int) -> list[QueryBlock]:
    generator, sizes, names = np.random.default_rng([seed, 23]), tuple(task.sizes.values()), list(task.sizes)
    asked = []
    for number in range(QUESTIONS):
        axes = sorted(names.index(name) for name in task.marginals[generator.integers(len(task.marginals))])[:2]
        rows = [generator.random(sizes[axis]) < generator.uniform(0.1, 0.9) for axis in axes]
        factors = [
            Factor(axes=(axis,), sizes=(sizes[axis],), matrix=Dense(row[None, :].astype(np.int64)))
            for axis, row in zip(axes, rows, strict=True)
            if row.any()
        ]
        asked.append(QueryBlock(name=f"asked {number}", factors=tuple(factors), scale=Fraction(1)))
    return asked


def looked_at(
    release: FinishedRun, counts: SparseHistogram, task: Task, refits: int, seed: int
) -> tuple[np.ndarray, float]:
    """For each question: proved interval holds (NaN: none), estimated one holds, error, distance, whether unknown."""
    later.TUNING = replace(later.TUNING, refits=refits)
    outcome = Outcome(hypothesis=release.hypothesis, transcript=release.transcript, errors=release.errors)
    start = time.process_time()
    found = later.answer_from_model(release.plan, outcome, Workload(tuple(questions(task, seed))), release.bars.factors)
    seconds = time.process_time() - start
    rows = []
    for one in found.answers:
        truth = float(one.block.answer(counts)[0])
        off, error, noisy = abs(one.estimate[0] - truth), one.error[0], one.noisy
        proved = np.nan if np.isnan(noisy.margin[0]) else float(noisy.lower[0] <= truth <= noisy.upper[0])
        rows.append((proved, np.nan if np.isnan(error) else float(off <= 1.96 * error), error, off, np.isnan(error)))
    return np.array(rows, dtype=float), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("constants", "report"), default="constants")
    parser.add_argument("--tables", type=int, default=8)
    parser.add_argument("--eps", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--refits", nargs="+", type=int, default=[later.TUNING.refits])
    given = parser.parse_args()
    print(f"{'':<22} {'n':>5} {'measured':>9} {'estimate':>9} {'width':>7} {'unknown':>8} {'CPU':>6}")
    for eps in given.eps:
        held: dict[int, list[tuple[np.ndarray, float]]] = {refits: [] for refits in given.refits}
        for number in range(given.tables):
            task = made(2 * number + (given.half == "report"))
            release, counts, _, _ = released(task, eps, "1e-9", {})
            for refits in given.refits:
                held[refits].append(looked_at(release, counts, task, refits, number))
        for refits, found in held.items():
            rows, seconds = np.concatenate([each for each, _ in found]), float(np.mean([cpu for _, cpu in found]))
            widths = [np.sqrt(np.nanmean(each[:, 2] ** 2) / max(np.mean(each[:, 3] ** 2), 1e-9)) for each, _ in found]
            figures = np.nanmean(rows[:, 0]), np.nanmean(rows[:, 1]), np.nanmedian(widths), rows[:, 4].mean()
            print(
                f"eps {eps}, {refits} refits".ljust(22),
                f"{len(rows):>5}",
                " ".join(f"{each:>8.3f}" for each in figures),
                f"{seconds:>6.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
