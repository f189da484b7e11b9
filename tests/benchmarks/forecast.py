"""The forecast of errors beside measured ones, and the inverse: a line a table, epsilon and public table.

python tests/benchmarks/forecast.py [--tables NAME ...] [--eps 0.1 1 10] [--runs N] [--adult FOLDER]
    [--bases like ...] [--inverse | --made-up set|report [--count 20]]

Error: mean over the marginals of the L1 error over n. Half of a table's rows is released, the other half is its proxy.
Fixed: `--schedule strategy`, a closed form. Otherwise `--schedule auto`, forecast from made-up tables (none), from the
proxy and from an earlier release at epsilon 1 (like). Measured errors have other seeds than forecasts.

--inverse: goals are what the table itself keeps with confidence 0.95 at some epsilon, which was then needed. self: the
forecast is simulated on the released table itself, so that nothing but few runs and the search are left to err.
--made-up: from made-up tables alone, over published tables (`real_tables.py`, which --tables takes too) and made-up
ones (`marginals/shapes.py`). Constants of `dpqr.releases.forecast.simulation.PUBLIC_TABLES` were set on one half and
are reported on the other.
FOLDER holds adult-coded.csv, W-small.json and W-all2.json.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np

from dpqr.kernel.values import replace
from dpqr.releases.loop import SILENT

sys.path.insert(0, str(Path(__file__).parent / "marginals"))

from real_tables import REAL, real_table
from shapes import HALVES, REPORTING, SETTING, SHAPES
from task import Task, read_task

from dpqr.releases.forecast.by_epsilon import ForecastRequest, GoalRequest, forecast_releases
from dpqr.releases.forecast.simulation import PublicTable, forecast, simulate, simulate_tables
from dpqr.releases.planning import plan_release, read_documents
from dpqr.releases.release import release
from dpqr.releases.requests import OutputRequest, PlanRequest, ReleaseRequest
from dpqr.tables.files import STDIN
from dpqr.tables.source import TableSource

TABLES = ("adult W-small", "adult W-all2", "few-records", "independent", "chain", "one-column")
MADE = SHAPES | SETTING | REPORTING
DELTA, SEED, CONFIDENCE = "1e-9", 1000, 0.95
EPSILONS, GOALS = ["0.1", "1", "10"], ["0.3", "3"]
LARGEST = 10**6
"""Codes of a table: larger ones are left out of --made-up."""


class Case:
    """One table, its proxy and its earlier release, in a folder."""

    def __init__(self, name: str, adult: Path | None, folder: Path) -> None:
        self.name, self.folder, self.like = name, folder, folder / "like"
        self.task, proxy = halves(whole(name, adult))
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
        errors = [simulate(plan, self.true, seed + run).errors * answers for run in range(runs)]
        return np.mean(errors, axis=1) / self.task.records

    def asked(self, schedule: str, basis: str, **more: object) -> ForecastRequest:
        source = TableSource(paths=(STDIN,))
        public = {
            "proxy": {"proxy": TableSource(paths=(str(self.folder / "proxy" / "table.csv"),))},
            "self": {"proxy": TableSource(paths=(str(self.folder / "table.csv"),))},
            "like": {"like": str(self.earlier())} if basis == "like" else {},
        }
        run = ReleaseRequest(source=source, plan=self.request(schedule))
        return ForecastRequest(release=run, n=self.task.records, **public.get(basis, {}), **more)

    def earlier(self) -> Path:
        if not self.like.exists():
            output = OutputRequest(directory=str(self.like), synthetic="rows")
            source = TableSource(paths=(str(self.folder / "table.csv"),))
            release(ReleaseRequest(source=source, plan=self.request("auto"), output=output), SILENT)
        return self.like


def whole(name: str, adult: Path | None) -> Task:
    """A table of twice the rows that are released."""
    if "/" in name:
        return real_table(name)
    if not name.startswith("adult"):
        maker, rows, sizes, ways = MADE[str(name)]
        codes = maker(np.random.default_rng([*name.encode()]), 2 * rows, sizes)
        named = {f"c{place:02}": size for place, size in enumerate(sizes)}
        return Task(name=name, sizes=named, codes=codes, marginals=tuple(combinations(named, ways)))
    if adult is None:
        raise SystemExit(f"{name}: needs --adult FOLDER")
    return read_task(adult / "adult-coded.csv", adult / f"{name.split()[1]}.json")


def halves(task: Task) -> tuple[Task, Task]:
    """Half of the rows is the table, the other half its proxy."""
    order = np.random.default_rng(1).permutation(task.records)
    one, other = np.array_split(task.codes[order], 2)
    return replace(task, codes=one), replace(task, codes=other)


SCHEDULES = (("strategy", ("fixed",)), ("auto", ("none", "proxy", "like")))
INVERSES = (SCHEDULES[0], ("auto", ("self", *SCHEDULES[1][1])))
Schedules = Sequence[tuple[str, tuple[str, ...]]]


def only(schedules: Schedules, wanted: list[str] | None) -> Schedules:
    kept = [(schedule, tuple(one for one in bases if not wanted or one in wanted)) for schedule, bases in schedules]
    return [(schedule, bases) for schedule, bases in kept if bases]


def compared(case: Case, epsilon: str, runs: int, schedules: Schedules) -> Iterator[tuple[str, float]]:
    """Forecast over measured, by what the forecast rests on; a line each."""
    for schedule, bases in schedules:
        true = float(case.measured(schedule, epsilon, runs).mean())
        for basis in bases:
            found = forecast_releases(case.asked(schedule, basis, epsilons=(epsilon,))).points[0].forecast
            words = f"measured {true:.5f} forecast {found.over_n.mean:.5f}"
            named = f"{case.name:14} eps {epsilon:>4} {found.schedule:10} {basis:6} {words}"
            if true > 0:  # else no run had any noise
                print(f"{named} ratio {found.over_n.mean / true:.2f}", flush=True)
                yield basis, found.over_n.mean / true


def inverted(case: Case, needed: str, runs: int | None, schedules: Schedules) -> Iterator[tuple[str, float, float]]:
    """Epsilon that was found over the one that was needed, and the share of ten runs that kept the goal."""
    for schedule, bases in schedules:
        true = case.measured(schedule, needed, 40)
        most = float(np.quantile(true, CONFIDENCE))
        for basis in bases:
            goal = GoalRequest(relative=repr(most))
            found = forecast_releases(case.asked(schedule, basis, runs=runs, goal=goal)).points[0].forecast.epsilon
            there = forecast_releases(case.asked(schedule, basis, runs=runs, epsilons=(needed,))).points[0].forecast
            mean, high = there.over_n.mean / true.mean(), there.over_n.at_most(Fraction(str(CONFIDENCE))) / most
            kept = float((case.measured(schedule, str(float(found)), 10, SEED + 100) <= most).mean())
            ratio = float(found) / float(needed)
            words = f"needed {needed} found {float(found):.3g} ratio {ratio:.2f} kept {kept:.0%}"
            errors = f"there: mean {mean:.2f} goal {high:.2f}"
            print(f"{case.name:14} {schedule:10} {basis:6} L1 / n {most:.4f} {words}; {errors}", flush=True)
            yield basis, ratio, kept


def unseen(name: str, adult: Path | None, epsilons: list[str]) -> Iterator[tuple[str, float, float]]:
    """Forecast from made-up tables alone over measured, and the logarithm of it over the forecast's own spread."""
    task = whole(name, adult)
    if task.records * len(task.sizes) > LARGEST:
        return
    queries = {"domain": task.sizes, "queries": [{"marginals": [list(names) for names in task.marginals]}]}
    document, shape = {"dpqr": "queries/1", **queries}, tuple(task.sizes.values())
    true = PublicTable.of(name, shape, task.codes)
    for epsilon in epsilons:
        plan = plan_release(PlanRequest(queries=document, epsilon=epsilon, delta=DELTA))
        answers = np.array([block.rows for block in plan.problem.workload.blocks])
        errors = [simulate(plan, true, SEED + run).errors * answers for run in range(2)]
        measured = float(np.mean(errors)) / task.records
        found = forecast(plan, simulate_tables(plan.problem.domain, task.records, plan.problem.seed)).over_n
        ratio, spread = found.mean / max(measured, 1e-9), math.log1p(found.deviation / found.mean)
        told = f"measured {measured:.5f} forecast {found.mean:.5f} +- {found.deviation:.5f} ratio {ratio:.2f}"
        print(f"{name:24} n {task.records:6} {len(shape):2} columns eps {epsilon:>4} {told}", flush=True)
        yield epsilon, ratio, abs(math.log(max(ratio, 1e-9))) / spread


def sampled(half: str, count: int) -> list[str]:
    """Published and made-up tables by turns, in a public order."""
    generator = np.random.default_rng(5)
    kinds = (REAL[half], HALVES["setting" if half == "set" else "reporting"])
    orders = [generator.permutation(kind).tolist() for kind in kinds]
    return [name for pair in zip(*orders, strict=False) for name in pair][:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--eps", nargs="+")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--adult", type=Path)
    parser.add_argument("--bases", nargs="+", help="of forecasts; all, unless stated")
    parser.add_argument("--inverse", action="store_true")
    parser.add_argument("--made-up", choices=("set", "report"))
    parser.add_argument("--count", type=int, default=20)
    given = parser.parse_args()
    names = given.tables or (sampled(given.made_up, given.count) if given.made_up else TABLES)
    found: dict[str, list[tuple[float, ...]]] = {}
    for name in names:
        for basis, *figures in lines(name, given):
            found.setdefault(basis, []).append(tuple(figures))
    for basis, figures in found.items():
        print(f"{basis:6} {summary([one[0] for one in figures])}{second(given, [one[-1] for one in figures])}")


def lines(name: str, given: argparse.Namespace) -> Iterator[tuple[str, *tuple[float, ...]]]:
    if given.made_up:
        yield from unseen(name, given.adult, given.eps or EPSILONS)
        return
    with tempfile.TemporaryDirectory() as folder:
        case = Case(name, given.adult, Path(folder))
        for epsilon in given.eps or (GOALS if given.inverse else EPSILONS):
            if given.inverse:
                yield from inverted(case, epsilon, given.runs, only(INVERSES, given.bases))
            else:
                yield from compared(case, epsilon, given.runs or 3, only(SCHEDULES, given.bases))


def summary(ratios: list[float]) -> str:
    logs = np.log(np.maximum(ratios, 1e-9))
    within = " ".join(f"{np.mean(np.abs(logs) < math.log(factor)):.0%}" for factor in (1.3, 1.6, 2.0))
    typical, middle, worst = np.exp([np.mean(np.abs(logs)), np.mean(logs), logs[np.argmax(np.abs(logs))]])
    head = f"{len(ratios)} ratios, typically within {typical:.2f}, middle {middle:.2f}, worst {worst:.2f}"
    return f"{head}; within 1.3, 1.6, 2: {within}"


def second(given: argparse.Namespace, figures: list[float]) -> str:
    if given.inverse:
        return f"; goal kept in {np.mean(figures):.0%} of the runs"
    return f"; {np.mean(np.array(figures) < 1.645):.0%} in 9 of 10" if given.made_up else ""


if __name__ == "__main__":
    main()
