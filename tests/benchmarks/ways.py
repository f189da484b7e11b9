"""Ways: forecasts of what marginals measured once leave, over the truth, each way forced.

python tests/benchmarks/ways.py [--tables 71] [--runs 1] [--eps 0.1 0.5 2] [--adult ../shared]

Parts of the columns and rows of the setting half and of Adult, as a public seed draws them; pairs and prefixes of up to
four columns, pairs and triples of more; basic accountant, at the true count. Figures by family and way: number of
cells, geometric mean of forecast over truth, and deviation of its logarithm; then the error of the way of least
forecast over that of the best way.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "marginals"))

from regret import Case, task_of
from shapes import SETTING, made
from task import Task

from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.schedules.marginals.decision import CandidateForecaster, CandidatePlan
from dpqr.strategies.schedules.marginals.forecast import remaining
from dpqr.strategies.schedules.marginals.schedule import Marginals, plan_non_adaptive

WAYS: tuple[CandidatePlan, ...] = ("table", "blocks", "columns")
MOST_CELLS = 600_000


def parts(adult: Path) -> Iterator[Task]:
    """Three to seven columns each."""
    generator = np.random.default_rng(5)
    for rows in (500, 2_000):
        for name in SETTING:
            yield part(made(name), rows, generator)
    if (adult / "data" / "adult-coded.csv").exists():
        whole = task_of("adult W-all2 10000", adult)
        for rows in (500, 1_000, 3_000, 10_000):
            for _ in range(6):
                yield part(whole, rows, generator)


def part(whole: Task, rows: int, generator: np.random.Generator) -> Task:
    names = list(whole.sizes)
    kept = sorted(generator.choice(len(names), min(int(generator.integers(3, 8)), len(names)), replace=False).tolist())
    codes = whole.codes[generator.permutation(whole.records)[:rows]][:, kept]
    return Task(
        name=whole.name, sizes={names[axis]: whole.sizes[names[axis]] for axis in kept}, codes=codes, marginals=()
    )


def errors(case: Case, epsilon: str, runs: int) -> dict[CandidatePlan, tuple[float, float]]:
    """Forecast and truth by way."""
    plan = plan_release(PlanRequest(queries=case.document, epsilon=epsilon, schedule="marginals", error_bars="none"))
    problem, budget, roles, schedule = plan.problem, plan.budget, plan.roles, Marginals()
    whole = remaining(schedule._searching(problem, budget, roles))
    outlook, found = CandidateForecaster.of(problem, roles, whole, schedule.table), {}
    for way in (way for way in WAYS if way in outlook.noise):
        ran = case.errors(plan_non_adaptive(way, schedule, problem, budget, roles, whole), runs)
        if ran:
            found[way] = (outlook._error(way, case.table.records), float(np.mean(ran)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=71)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--eps", nargs="+", default=["0.1", "0.5", "2"])
    parser.add_argument("--adult", type=Path, default=Path("../shared"))
    given = parser.parse_args()
    ratios, regrets = defaultdict(list), []
    tasks = [task for task in parts(given.adult) if np.prod([*task.sizes.values()], dtype=float) < MOST_CELLS]
    for task in tasks[:: max(1, len(tasks) // given.tables)][: given.tables]:
        for family in ("pairs", "prefixes") if len(task.sizes) < 5 else ("pairs", "triples"):
            case = Case.of(task, family)
            for epsilon in given.eps:
                found = errors(case, epsilon, given.runs)
                for way, (forecast, truth) in found.items():
                    ratios[family, way].append(np.log(forecast / truth))
                chosen = min(found, key=lambda way: found[way][0])
                regrets.append(found[chosen][1] / min(truth for _, truth in found.values()))
    for (family, way), logs in sorted(ratios.items()):
        print(f"{family:9} {way:8} {len(logs):4} {np.exp(np.mean(logs)):.2f} ({np.std(logs):.2f})")
    mean, high, most = np.exp(np.mean(np.log(regrets))), np.quantile(regrets, 0.95), max(regrets)
    print(f"chosen over best: {len(regrets)} cells, geometric mean {mean:.3f}, 95th percentile {high:.2f}, {most:.2f}")


if __name__ == "__main__":
    main()
