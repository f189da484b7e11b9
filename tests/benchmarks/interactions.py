"""Last measurements of interactions beside those of tables, on made-up tables of pairs of small columns.

python tests/benchmarks/interactions.py [--half setting|reporting] [--largest 5] [--columns 6] [--eps 0.1 1 10]
    [--delta 1e-9] [--runs 3] [--most 100000] [--tables NAME ...]

Tables of a half whose columns have at most --largest values, of at least --columns columns and at most --most records;
all pairs are asked, by `--schedule marginals`, where it searches. Figures: mean over the pairs of the L1 distance from
the true counts, over the true n, mean of the runs: if all last measurements are tables, and where interactions are
measured if that is expected to leave less error; their ratio; in how many runs interactions were measured. The same
seeds serve both.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "marginals"))

from regret import SEED, Case
from shapes import HALVES, made

from dpqr.releases.forecast_error import simulated_errors
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.plan import Plan
from dpqr.strategies.schedules.marginals.last_measurements import Interactions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=HALVES, default="reporting")
    parser.add_argument("--largest", type=int, default=5)
    parser.add_argument("--columns", type=int, default=6)
    parser.add_argument("--eps", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--most", type=int, default=100_000)
    parser.add_argument("--tables", nargs="+")
    given = parser.parse_args()
    print(f"{'table':<24} {'rows':>7} {'columns':>7} {'eps':>4} {'tables':>8} {'apart':>8} ratio taken")
    ratios: dict[str, list[float]] = {}
    for name in given.tables or HALVES[given.half]:
        task = made(name)
        small = max(task.sizes.values()) <= given.largest and len(task.sizes) >= given.columns
        if not given.tables and (not small or task.records > given.most):
            continue
        case = Case.of(task, "pairs")
        for epsilon in given.eps:
            request = PlanRequest(queries=case.document, epsilon=epsilon, delta=given.delta, schedule="marginals")
            plan = plan_release(request)
            if plan.rounds:
                ratios.setdefault(epsilon, []).append(compared(case, plan, epsilon, given.runs))
    for epsilon, found in ratios.items():
        mean = np.exp(np.log(found).mean())
        print(f"eps {epsilon}: {len(found)} tables, geometric mean {mean:.3f}, largest {max(found):.3f}")


def compared(case: Case, plan: Plan, epsilon: str, runs: int) -> float:
    """Error where interactions may be measured, over that where none are."""
    taken = []

    def tables(self: Interactions, direct: Any) -> Any:
        return direct

    def chosen(self: Interactions, direct: Any) -> Any:
        found = sound(self, direct)
        taken.append(found is not direct)
        return found

    sound = Interactions.better
    answers = np.array([block.rows for block in plan.problem.workload.blocks])
    means = []
    for better in (tables, chosen):
        with patch.object(Interactions, "better", better):
            errors = [simulated_errors(plan, case.table, SEED + run) * answers for run in range(runs)]
        means.append(float(np.mean(errors)) / case.table.records)
    ratio = means[1] / means[0] if means[0] else 1.0
    columns = len(plan.problem.domain.attributes)
    print(
        f"{case.table.name:<24} {case.table.records:>7} {columns:>7} {epsilon:>4} {means[0]:>8.5f} {means[1]:>8.5f} "
        f"{ratio:.3f} {sum(taken)}/{runs}",
        flush=True,
    )
    return ratio


if __name__ == "__main__":
    main()
