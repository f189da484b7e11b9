"""Releases of a month that start from the tables of the month before, beside releases that do not.

python tests/benchmarks/start.py [--half setting | reporting] [--tables 6] [--names NAME ...] [--eps 0.1 1]
    [--drifts still slow fast changed] [--delta 1e-9] [--months 4] [--runs 2]

A month's records are drawn from a mixture of two made-up tables of one kind (`marginals/shapes.py`), anew each month.
still: always from the first table. slow, fast: each month 2% and 10% more from the second. changed: the last month from
the second alone, the others from the first. Months are released one from the other, and figures are of the last one.

A line a table: mean over the marginals of the L1 error over n with a start, without, and the ratio. A line a drift: the
geometric mean of the ratios, the worst, and paid draws with a start over without. Budgets are epsilon and delta of one
month. Constants of `ContinuationForecaster` that speak of starts were set on one half and are reported on the other.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from dpqr.kernel.values import replace

sys.path.insert(0, str(Path(__file__).parent / "marginals"))

from shapes import HALVES, REPORTING, SETTING
from task import Task

from dpqr.kernel.noise.public import PublicNoise
from dpqr.kernel.sealed import Private
from dpqr.models.fit.evidence import EarlierTables
from dpqr.models.hypothesis import prepare
from dpqr.published.export import handed_on
from dpqr.releases.draws import Draws
from dpqr.releases.forecast.simulation import PublicTable
from dpqr.releases.loop import SILENT, iterative_construction, released_hypothesis
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Plan

DRIFTS = {"still": 0.0, "slow": 0.02, "fast": 0.1, "changed": 0.0}
MADE = SETTING | REPORTING
LARGEST = 2 * 10**6
"""Codes of a table, at most: others take minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """error: mean L1 over n. draws: how many were paid. start: what the next month begins with."""

    error: float
    draws: int
    start: EarlierTables | None


def month_of(name: str, share: float, seed: Sequence[int]) -> Task:
    """Records of a month. share: of the second table."""
    maker, rows, sizes, ways = MADE[name]
    first, second = (maker(np.random.default_rng([*name.encode(), side]), rows, sizes) for side in (0, 1))
    generator = np.random.default_rng([*name.encode(), *seed])
    picked, other = generator.integers(rows, size=rows), generator.random(rows) < share
    columns = {f"c{place:02}": size for place, size in enumerate(sizes)}
    codes = np.where(other[:, None], second[picked], first[picked])
    return Task(name=name, sizes=columns, codes=codes, marginals=tuple(combinations(columns, ways)))


def planned(task: Task, eps: str, delta: str) -> Plan:
    with tempfile.TemporaryDirectory() as folder:
        task.written(Path(folder))
        return plan_release(PlanRequest(queries=f"{folder}/q.json", epsilon=eps, delta=delta, schedule="marginals"))


def run_of(plan: Plan, start: EarlierTables | None, table: PublicTable, seed: int) -> Run:
    plan = replace(plan, problem=replace(plan.problem, start=start))
    draws = Draws(data=Private(table.counts), accountant=make_filter(plan), noise=PublicNoise(seed))
    outcome = iterative_construction(draws, plan, SILENT)
    shown, blocks = released_hypothesis(plan, outcome), plan.problem.workload.blocks
    prepare(shown, blocks)
    table.counts.prefetch([block.axes for block in blocks])
    off = [np.abs(shown.answer(each) - each.answer(table.counts)).sum() for each in blocks]
    return Run(
        error=float(np.mean(off)) / table.records,
        draws=len(outcome.transcript.rounds),
        start=handed_on(plan.problem, outcome, ""),
    )


def compare(name: str, drift: str, given: argparse.Namespace, eps: str, run: int) -> tuple[Run, Run]:
    """The last month with a start, and without."""
    last, start, plan = given.months - 1, None, None
    for month in range(given.months):
        share = float(month == last) if drift == "changed" else DRIFTS[drift] * month
        task = month_of(name, share, (month, run, 7))
        plan = plan or planned(task, eps, given.delta)
        table = PublicTable.of(name, tuple(task.sizes.values()), task.codes)
        held = run_of(plan, start, table, 100 * run + month)
        start = held.start
    return held, run_of(plan, None, table, 100 * run + 50)


def chosen(given: argparse.Namespace) -> list[str]:
    small = [name for name in HALVES[given.half] if MADE[name][1] * len(MADE[name][2]) <= LARGEST]
    return given.names or small[:: max(1, len(small) // given.tables)][: given.tables]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=HALVES, default="setting")
    parser.add_argument("--tables", type=int, default=6)
    parser.add_argument("--names", nargs="+")
    parser.add_argument("--eps", nargs="+", default=["0.1", "1"])
    parser.add_argument("--drifts", nargs="+", choices=DRIFTS, default=list(DRIFTS))
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--months", type=int, default=4)
    parser.add_argument("--runs", type=int, default=2)
    given = parser.parse_args()
    for eps in given.eps:
        for drift in given.drifts:
            ratios, draws = [], []
            for name in chosen(given):
                pairs = [compare(name, drift, given, eps, run) for run in range(given.runs)]
                one, other = (float(np.mean([pair[side].error for pair in pairs])) for side in (0, 1))
                ratios.append(one / other)
                draws.append(np.mean([first.draws / second.draws for first, second in pairs]))
                print(f"  {eps:>4} {drift:<8} {name:<24} {one:.4f} {other:.4f} {one / other:.2f}", flush=True)
            mean = np.exp(np.log(ratios).mean())
            print(f"{eps:>4} {drift:<8} {mean:.3f}, worst {max(ratios):.2f}, draws {np.mean(draws):.2f}", flush=True)


if __name__ == "__main__":
    main()
