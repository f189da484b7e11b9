"""Releases of a month that start from the model of the month before, beside releases that do not.

python tests/benchmarks/start.py [--half setting | reporting] [--tables N] [--eps 0.1 1] [--runs 2] [--delta 1e-9]
    [--months 4] [--adult FOLDER]

A month's records are drawn from a mixture of two made-up tables of one kind (`marginals/shapes.py`), anew each month.
still: always from the first table. slow, fast: each month 2% and 10% more from the second. changed: the last month from
the second alone, the others from the first. Months are released one from the other, and figures are of the last one.

Error: mean over the marginals of the L1 error over n; below, its geometric mean over tables, with a start over without.
draws: paid draws with a start over without. cover: of 95% intervals, both ways.
Constants of `dpqr.hypotheses.public_start.TUNING` were set on one half and are reported on the other.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "marginals"))

from shapes import HALVES, REPORTING, SETTING
from task import Task

from dpqr.app.planning.planning import plan_release
from dpqr.app.requests import PlanRequest
from dpqr.construction.draws import Draws
from dpqr.construction.forecasts.public_tables import PublicTable
from dpqr.construction.loop import iterative_construction, released
from dpqr.fitting.earlier_tables import EarlierTables
from dpqr.fitting.evidence import gather, merged
from dpqr.fitting.interactions import put_together
from dpqr.hypotheses.hypothesis import prepare
from dpqr.noise.public import PublicNoise
from dpqr.privacy.sealed import Private
from dpqr.strategies.choice import guarded
from dpqr.strategies.plan import Plan

DRIFTS = {"still": 0.0, "slow": 0.02, "fast": 0.1, "changed": 1.0}
LARGEST = 2 * 10**6
"""Codes of a table, at most: others take minutes."""


class Unwatched:
    def finished(self, rounds, planned): ...

    def certified(self, stage, records): ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """error: mean L1 over n. draws: how many were paid. start: what the next month begins with."""

    error: float
    draws: int
    start: EarlierTables


def mixture(name: str, month: int, last: int, drift: str, run: int) -> tuple[Task, np.ndarray]:
    """Records of a month, and the task of the first table."""
    maker, rows, sizes, ways = (SETTING | REPORTING)[name]
    first, second = (maker(np.random.default_rng([*name.encode(), side]), rows, sizes) for side in (0, 1))
    share = float(month == last) if drift == "changed" else DRIFTS[drift] * month
    generator = np.random.default_rng([*name.encode(), month, run, 7])
    picked = generator.integers(rows, size=rows)
    other = generator.random(rows) < share
    from itertools import combinations

    named = {f"c{place:02}": size for place, size in enumerate(sizes)}
    codes = np.where(other[:, None], second[picked], first[picked])
    return Task(name=name, sizes=named, codes=codes, marginals=tuple(combinations(named, ways))), codes


def run_of(plan: Plan, start: EarlierTables | None, table: PublicTable, seed: int) -> Run:
    plan = replace(plan, problem=replace(plan.problem, start=start))
    draws = Draws(data=Private(table.counts), accountant=guarded(plan), noise=PublicNoise(seed))
    outcome = iterative_construction(draws, plan, Unwatched())
    shown, blocks = released(plan, outcome), plan.problem.workload.blocks
    prepare(shown, blocks)
    table.counts.prefetch([block.axes for block in blocks])
    off = [np.abs(shown.answer(each) - each.answer(table.counts)).sum() for each in blocks]
    total = max(shown.total, 1.0)
    seen = put_together(gather(outcome.transcript.measurements, plan.problem.domain.shape), total)
    seen = merged([*seen, *(start.aged(seen, total) if start else ())])
    made = EarlierTables(sha256="", records=total, tables=tuple(one for one in seen if one.block is None))
    return Run(error=float(np.mean(off)) / table.records, draws=len(outcome.transcript.rounds), start=made)


def compare(name: str, drift: str, eps: str, delta: str, months: int, run: int) -> tuple[Run, Run]:
    """The last month with a start, and without."""
    start, plan = None, None
    for month in range(months):
        task, codes = mixture(name, month, months - 1, drift, run)
        if plan is None:
            with tempfile.TemporaryDirectory() as folder:
                task.written(Path(folder))
                request = PlanRequest(queries=f"{folder}/q.json", epsilon=eps, delta=delta, schedule="marginals")
                plan = plan_release(request)
        table = PublicTable.of(name, tuple(task.sizes.values()), codes)
        held = run_of(plan, start, table, 100 * run + month)
        before, start = start, held.start
    assert before is not None
    return held, run_of(plan, None, table, 100 * run + 50)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=HALVES, default="setting")
    parser.add_argument("--tables", type=int, default=6)
    parser.add_argument("--names", nargs="+")
    parser.add_argument("--eps", nargs="+", default=["0.1", "1"])
    parser.add_argument("--drifts", nargs="+", default=list(DRIFTS))
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--months", type=int, default=4)
    parser.add_argument("--runs", type=int, default=2)
    given = parser.parse_args()
    made = SETTING | REPORTING
    small = [name for name in HALVES[given.half] if made[name][1] * len(made[name][2]) <= LARGEST]
    names = small[:: max(1, len(small) // given.tables)][: given.tables]
    names = given.names or names
    for eps in given.eps:
        for drift in given.drifts:
            ratios, draws = [], []
            for name in names:
                pairs = [compare(name, drift, eps, given.delta, given.months, run) for run in range(given.runs)]
                one, other = (np.mean([pair[side].error for pair in pairs]) for side in (0, 1))
                ratios.append(one / other)
                draws.append(np.mean([with_.draws / without.draws for with_, without in pairs]))
                print(f"  {eps:>4} {drift:<8} {name:<24} {one:.4f} {other:.4f} {one / other:.2f}", flush=True)
            print(
                f"{eps:>4} {drift:<8} {np.exp(np.log(ratios).mean()):.3f}, worst {max(ratios):.2f}, "
                f"draws {np.mean(draws):.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
