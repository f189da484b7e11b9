"""The forecast of errors beside measured ones, and the inverse: a line a table, epsilon and public table.

python tests/benchmarks/forecast.py [--half set|report] [--eps 0.1 1 10] [--runs 3] [--tables NAME ...] [--inverse]
    [--adult FOLDER] [--skew LOW HIGH] [--dependence LOW HIGH]

Error: mean over the marginals of the L1 error over n. Fixed: `--schedule strategy`, a closed form. Otherwise
`--schedule auto`, forecast from made-up tables (none), from a proxy (the other half of Adult's rows; another draw of
the same maker) and from an earlier release at epsilon 1 (like). Measured errors have other seeds than forecasts.
--inverse: goals are what the table itself keeps with confidence 0.95 at some epsilon, which was then needed.
Constants (`dpqr.construction.public_tables.TUNING`) are set on one half of the shapes and reported on the other;
--skew and --dependence try others. FOLDER holds adult-coded.csv, W-small.json and W-all2.json.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "marginals"))

from shapes import SHAPES, made
from task import Task, read_task

import dpqr.construction.public_tables as public_tables
from dpqr.app.forecast import ForecastRequest, GoalRequest, forecast_releases
from dpqr.app.planning import plan_release, read_documents
from dpqr.app.release import release
from dpqr.app.requests import OutputRequest, PlanRequest, ReleaseRequest
from dpqr.construction.forecast import simulated_errors
from dpqr.construction.public_tables import PublicTable
from dpqr.io.tables.source import STDIN, TableSource

HALVES = {
    "set": ("thousand", "skewed", "triples", "two-columns"),
    "report": ("adult W-small", "adult W-all2", "few-records", "independent", "chain", "one-column"),
}
DELTA, SEED, CONFIDENCE = "1e-9", 1000, 0.95


class Unwatched:
    def read(self, percent): ...

    def finished(self, rounds, planned): ...


class Case:
    """One table, its proxy and its earlier release, in a folder."""

    def __init__(self, name: str, adult: Path | None, folder: Path) -> None:
        self.name, self.folder, self.like = name, folder, folder / "like"
        self.task, proxy = adult_halves(name, adult) if name.startswith("adult") else redrawn(name)
        for task, place in ((self.task, folder), (proxy, folder / "proxy")):
            place.mkdir(exist_ok=True)
            task.written(place)
        self.document = read_documents(str(folder / "q.json"), None)
        self.true = PublicTable.of(name, tuple(self.task.sizes.values()), self.task.codes)

    def request(self, schedule: str, epsilon: str = "1") -> PlanRequest:
        queries = str(self.folder / "q.json")
        return PlanRequest(queries=queries, epsilon=epsilon, delta=DELTA, schedule=schedule)

    def measured(self, schedule: str, epsilon: str, runs: int, seed: int = SEED) -> np.ndarray:
        """Mean L1 / n of each run on the table itself."""
        plan = plan_release(self.request(schedule, epsilon), self.document)
        answers = np.array([block.rows for block in plan.problem.workload.blocks])
        errors = [simulated_errors(plan, self.true, seed + run) * answers for run in range(runs)]
        return np.mean(errors, axis=1) / self.task.records

    def asked(self, schedule: str, basis: str, runs: int | None, **more: object) -> ForecastRequest:
        source = TableSource(paths=(STDIN,))
        public = {
            "proxy": {"proxy": TableSource(paths=(str(self.folder / "proxy" / "table.csv"),))},
            "like": {"like": str(self.earlier())} if basis == "like" else {},
        }
        run = ReleaseRequest(source=source, plan=self.request(schedule))
        return ForecastRequest(release=run, n=self.task.records, runs=runs, **public.get(basis, {}), **more)

    def earlier(self) -> Path:
        if not self.like.exists():
            output = OutputRequest(directory=str(self.like), synthetic="rows")
            source = TableSource(paths=(str(self.folder / "table.csv"),))
            release(ReleaseRequest(source=source, plan=self.request("auto"), output=output), Unwatched())
        return self.like


def adult_halves(name: str, adult: Path | None) -> tuple[Task, Task]:
    """Half of the rows is the table, the other half its proxy."""
    if adult is None:
        raise SystemExit(f"{name}: needs --adult FOLDER")
    task = read_task(adult / "adult-coded.csv", adult / f"{name.split()[1]}.json")
    order = np.random.default_rng(1).permutation(task.records)
    one, other = np.array_split(task.codes[order], 2)
    return replace(task, codes=one), replace(task, codes=other)


def redrawn(name: str) -> tuple[Task, Task]:
    task, (maker, rows, sizes, _) = made(name), SHAPES[name]
    return task, replace(task, codes=maker(np.random.default_rng(2), rows, sizes))


def compared(case: Case, epsilon: str, runs: int) -> Iterator[tuple[str, float]]:
    """Forecast over measured, by what the forecast rests on; a line each."""
    for schedule, bases in (("strategy", ("fixed",)), ("auto", ("none", "proxy", "like"))):
        true = float(case.measured(schedule, epsilon, runs).mean())
        for basis in bases:
            found = forecast_releases(case.asked(schedule, basis, runs, epsilons=(epsilon,))).points[0].forecast
            ratio = found.over_n.mean / true
            words = f"measured {true:.5f} forecast {found.over_n.mean:.5f} ratio {ratio:.2f}"
            print(f"{case.name:14} eps {epsilon:>4} {found.schedule:10} {basis:6} {words}", flush=True)
            yield basis, ratio


def inverted(case: Case, runs: int) -> Iterator[tuple[str, float, float]]:
    """Epsilon that was found over the one that was needed, and the share of ten runs that kept the goal."""
    for schedule, bases in (("strategy", ("fixed",)), ("auto", ("none", "proxy", "like"))):
        for needed in ("0.3", "3"):
            most = float(np.quantile(case.measured(schedule, needed, 40), CONFIDENCE))
            for basis in bases:
                goal = GoalRequest(relative=repr(most))
                found = forecast_releases(case.asked(schedule, basis, runs, goal=goal)).points[0].forecast.epsilon
                kept = float((case.measured(schedule, str(float(found)), 10, SEED + 100) <= most).mean())
                ratio = float(found) / float(needed)
                words = f"needed {needed} found {float(found):.3g} ratio {ratio:.2f} kept {kept:.0%}"
                print(f"{case.name:14} {schedule:10} {basis:6} L1 / n {most:.4f} {words}", flush=True)
                yield basis, ratio, kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=HALVES, default="report")
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--eps", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--adult", type=Path)
    parser.add_argument("--inverse", action="store_true")
    parser.add_argument("--skew", nargs=2, type=float, default=public_tables.TUNING.skew)
    parser.add_argument("--dependence", nargs=2, type=float, default=public_tables.TUNING.dependence)
    given = parser.parse_args()
    skew, dependence = tuple(given.skew), tuple(given.dependence)
    public_tables.TUNING = replace(public_tables.TUNING, skew=skew, dependence=dependence)
    found: dict[str, list[tuple[float, ...]]] = {}
    for name in given.tables or HALVES[given.half]:
        with tempfile.TemporaryDirectory() as folder:
            case = Case(name, given.adult, Path(folder))
            lines = inverted(case, given.runs) if given.inverse else each(case, given.eps, given.runs)
            for basis, *figures in lines:
                found.setdefault(basis, []).append(tuple(figures))
    for basis, figures in found.items():
        ratios = [one[0] for one in figures]
        spread = math.exp(float(np.mean(np.abs(np.log(ratios)))))
        worst = max(ratios, key=lambda ratio: abs(math.log(ratio)))
        kept = f", goal kept in {np.mean([one[1] for one in figures]):.0%} of the runs" if given.inverse else ""
        print(f"{basis:6} {len(ratios)} ratios, typically within a factor {spread:.2f}, worst {worst:.2f}{kept}")


def each(case: Case, epsilons: list[str], runs: int) -> Iterator[tuple[str, float]]:
    for epsilon in epsilons:
        yield from compared(case, epsilon, runs)


if __name__ == "__main__":
    main()
