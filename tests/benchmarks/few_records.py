"""Few records: the default beside the accountants that it may take, and Adult's subsamples beside their bars.

python tests/benchmarks/few_records.py accountants [--cells TABLE:FAMILY:EPS ...] [--runs 4] [--seed 31]
python tests/benchmarks/few_records.py adult --adult ../shared [--runs 3] [--workloads W-small W-all2] [--seed 7]

accountants: L1 over n, mean of the runs, of the default, and of marginals under basic and under gdp, on the same seeds.
adult: W-small on the first 1,000 and 3,000 rows (of a fixed public order) and on all rows, and W-all2 on all rows. A
line: rows, epsilon, accountant of the plan, error, standard error, bar.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from regret import DELTA, Case, task_of

from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest

CELLS = (
    "reporting-mixture-2:prefixes:0.1",
    "reporting-mixture-2:prefixes:0.3",
    "setting-bayes-1:pairs:0.1",
    "setting-bayes-1:pairs:0.3",
    "setting-bayes-1:prefixes:0.1",
    "setting-bayes-1:prefixes:0.3",
    "setting-copula-2:prefixes:0.1",
    "setting-copula-2:prefixes:0.3",
    "setting-copula-2:triples:0.1",
)
WHOLE = 48_842
BARS = {
    ("W-small", 1_000): {"0.1": 0.98, "1": 0.35},
    ("W-small", 3_000): {"0.1": 0.55, "1": 0.140},
    ("W-small", WHOLE): {"0.1": 0.097, "1": 0.0137, "2": 0.0080, "3": 0.0050, "10": 0.00004},
    ("W-all2", WHOLE): {"0.1": 0.155, "1": 0.0585, "10": 0.0195},
}
"""By workload, rows and epsilon."""


def accountants(given: argparse.Namespace) -> None:
    for cell in given.cells:
        table, family, epsilon = cell.split(":")
        case, shown = Case.of(task_of(table, given.adult), family), []
        for accountant in (None, "basic", "gdp"):
            schedule = "auto" if accountant is None else "marginals"
            request = PlanRequest(
                queries=case.document, epsilon=epsilon, delta=DELTA, schedule=schedule, accountant=accountant
            )
            plan = plan_release(request)
            errors = case.errors(plan, given.runs, given.seed) or [np.nan]
            shown.append(f"{plan.roles.accountant.name} {np.mean(errors):.4f}")
        print(f"{cell:36} default: {'; '.join(shown)}", flush=True)


def adult(given: argparse.Namespace) -> None:
    for (workload, rows), bars in BARS.items():
        if workload not in given.workloads:
            continue
        task = task_of(f"adult {workload} {rows}", given.adult)
        case = Case.asked(task, [{"marginals": [list(names) for names in task.marginals]}])
        for epsilon, bar in bars.items():
            plan = plan_release(PlanRequest(queries=case.document, epsilon=epsilon, delta=DELTA))
            errors = case.errors(plan, given.runs, given.seed) or [np.nan]
            spread = np.std(errors) / max(len(errors) - 1, 1) ** 0.5
            name = plan.roles.accountant.name
            print(
                f"{workload:8} {rows:6} eps {epsilon:>3} {name:9} {np.mean(errors):.5f} +- {spread:.5f} bar {bar:g}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("accountants", "adult"))
    parser.add_argument("--cells", nargs="+", default=CELLS)
    parser.add_argument("--workloads", nargs="+", default=["W-small", "W-all2"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--adult", type=Path, default=Path("../shared"))
    given = parser.parse_args()
    (accountants if given.what == "accountants" else adult)(given)


if __name__ == "__main__":
    main()
