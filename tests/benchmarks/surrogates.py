"""Surrogate marginals under rounds, on made-up tables: error over that of rounds which measure what is asked.

python tests/benchmarks/surrogates.py [--half setting|reporting] [--families conjunctions ranges mixed ...]
    [--eps 0.1 1 10] [--delta 1e-9] [--runs 2] [--tables NAME ...] [--columns 8] [--most 20000]

Families: those of regret.py, `ranges` (54 random ranges over each pair of up to four columns), `predicates` (16 single
conjunctions over each such pair, each a block) and `few` (500 conjunctions over four columns). Figures: mean over the
blocks of L1 over n, mean of the runs, as in regret.py; the same seeds serve both. Cases in which no block gives way are
left out.
"""

from __future__ import annotations

import argparse
import sys
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "marginals"))

from families import FAMILIES, Sizes
from regret import Case
from shapes import HALVES, made
from task import Task

from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.schedules import rounds
from dpqr.strategies.schedules.marginals.candidate_blocks import with_surrogates

COLUMNS, RANGES, PREDICATES, CONJUNCTIONS = 4, 54, 16, 500


def few_columns(sizes: Sizes) -> list[str]:
    """The four of most cells, of at most 40: as if wider ones had been merged."""
    return sorted(sizes, key=lambda name: -sizes[name] if sizes[name] <= 40 else 0)[:COLUMNS]


def ranges(sizes: Sizes) -> list[object]:
    return [{"ranges": list(two), "random": RANGES, "seed": 1} for two in combinations(few_columns(sizes), 2)]


def predicates(sizes: Sizes) -> list[object]:
    generator = np.random.default_rng(1)
    found: list[object] = []
    for one, other in combinations(few_columns(sizes), 2):
        for _ in range(PREDICATES):
            low, high = generator.integers(sizes[one]), generator.integers(sizes[other])
            found.append({"name": f"q{len(found)}", "where": f"{one} >= {low} and {other} <= {high}"})
    return found


def few(sizes: Sizes) -> list[object]:
    columns = few_columns(sizes)
    return [{"conjunctions": {"random": CONJUNCTIONS, "seed": 1, "ways": [2, 3], "columns": columns}}]


FAMILIES |= {"ranges": ranges, "predicates": predicates, "few": few}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=HALVES, default="reporting")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=["ranges", "few", "predicates", "prefixes"])
    parser.add_argument("--eps", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--most", type=int, default=20_000)
    given = parser.parse_args()
    print(f"{'table':<22} {'rows':>6} {'family':<12} {'eps':>4} {'asked':>8} {'marginals':>9} ratio blocks")
    ratios: dict[str, list[float]] = {}
    for name in given.tables or HALVES[given.half]:
        task = made(name)
        if given.tables or (COLUMNS <= len(task.sizes) <= given.columns and task.records <= given.most):
            for family in given.families:
                for epsilon in given.eps:
                    if ratio := compared(task, family, epsilon, given):
                        ratios.setdefault(family, []).append(ratio)
    for family, found in ratios.items():
        mean = np.exp(np.log(found).mean())
        print(f"{family}: {len(found)} cases, geometric mean {mean:.3f}, least {min(found):.3f}, most {max(found):.3f}")


def compared(task: Task, family: str, epsilon: str, given: argparse.Namespace) -> float | None:
    """Error with surrogates over that without; None where no block gives way."""
    case, means = Case.of(task, family), []
    for offered in (lambda problem, check: problem, with_surrogates):
        with patch.object(rounds, "with_surrogates", offered):
            request: dict[str, Any] = {"queries": case.document, "epsilon": epsilon, "delta": given.delta}
            plan = plan_release(PlanRequest(**request, schedule="rounds", error_bars="none"))
            if with_surrogates(plan.problem, plan.roles.check) is plan.problem:
                return None
            means.append(float(np.mean(case.errors(plan, given.runs))))
    left = len(with_surrogates(plan.problem, plan.roles.check).workload.blocks)
    print(
        f"{task.name:<22} {task.records:>6} {family:<12} {epsilon:>4} {means[0]:>8.5f} {means[1]:>9.5f} "
        f"{means[1] / means[0]:.3f} {len(plan.problem.workload.blocks)} to {left}",
        flush=True,
    )
    return means[1] / means[0]


if __name__ == "__main__":
    main()
