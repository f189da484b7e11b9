"""Synthetic rows beside the answers of their release, and beside plain noise, on made-up tables.

python tests/benchmarks/rows.py [--half setting|reporting] [--eps 1 10] [--runs 1] [--tables NAME ...] [--most N]

Workload: pairs of columns. Figures: mean over the pairs of the L1 distance from the true counts, over the true n, of
the released answers and of the rows; that of the rows over that of the answers, and over that of plain noise (expected;
each pair measured once, in the shares of least error); share of the values that were moved; CPU seconds of drawing and
moving.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "marginals"))

from baselines import plain
from regret import DEFAULT, Case
from shapes import HALVES, made

from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.releases.draws import Draws
from dpqr.releases.files.release_files import synthesise
from dpqr.releases.forecast.simulation import PublicTable
from dpqr.releases.loop import SILENT, iterative_construction
from dpqr.releases.result import assemble
from dpqr.strategies.guard import make_filter

FEW = 10
"""Records: rows are whole records, so they cannot follow answers that are off by fewer."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=HALVES, default="reporting")
    parser.add_argument("--eps", nargs="+", default=["1", "10"])
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--most", type=int, default=10**9, help="rows times columns of a table, at most")
    given = parser.parse_args()
    print(f"{'table':<24} {'rows':>7} {'eps':>4} {'answers':>8} {'rows':>8} {'/answers':>8} {'/plain':>7} moved  CPU")
    found = []
    for name in given.tables or HALVES[given.half]:
        task = made(name)
        if task.records * len(task.sizes) > given.most:
            continue
        case = Case.of(task, "pairs")
        for epsilon in given.eps:
            for seed in range(given.runs):
                found.append(compared(case, epsilon, seed))
    records, ratios, over = np.array(found).T
    large = ratios[records >= FEW]
    print(
        f"{len(found)} releases: rows over plain noise, largest {over.max():.3f}; "
        f"over answers, of {len(large)} releases whose answers are off by {FEW} records a pair or more: "
        f"geometric mean {np.exp(np.log(large).mean()):.3f}, largest {large.max():.3f}"
    )


def compared(case: Case, epsilon: str, seed: int) -> tuple[float, float, float]:
    """Error of the answers in records, that of the rows over it, and over that of plain noise."""
    plan, truth = case.plan(epsilon, DEFAULT), case.table
    assert plan is not None
    draws = Draws(data=Private(truth.counts), accountant=make_filter(plan), noise=SeededNoise(seed))
    outcome = iterative_construction(draws, plan, SILENT)
    release = assemble(plan, outcome, {}, private=False)
    before = time.process_time()
    made_up = synthesise(release, "rows")
    took = time.process_time() - before
    names = plan.problem.domain.names
    codes = np.stack([made_up.table[name].combine_chunks().indices.to_numpy() for name in names], axis=1)
    rows = PublicTable.of("rows", plan.problem.domain.shape, codes)
    blocks = plan.problem.workload.blocks
    exact = [block.answer(truth.counts) for block in blocks]
    answers, drawn = (
        float(np.mean([np.abs(one - other).sum() for one, other in zip(each, exact, strict=True)])) / truth.records
        for each in ([known.estimate for known in release.answers], [block.answer(rows.counts) for block in blocks])
    )
    noise = plain(plan, truth.records)
    ratio = drawn / answers if answers else 1.0
    print(
        f"{truth.name:<24} {truth.records:>7} {epsilon:>4} {answers:>8.5f} {drawn:>8.5f} {ratio:>8.3f} "
        f"{drawn / noise:>7.3f} {made_up.record['moved']:.3f} {took:>4.1f}",
        flush=True,
    )
    return answers * truth.records, ratio, drawn / noise


if __name__ == "__main__":
    main()
