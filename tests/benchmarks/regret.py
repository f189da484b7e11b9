"""Regret: error of the default over the least error of all that could have been done instead.

python tests/benchmarks/regret.py [--half setting|reporting|adult ...] [--cells 36] [--runs 3] [--kept regret.jsonl]
    [--eps 0.1 0.3 1 3 10] [--families NAME ...] [--tables NAME ...] [--rows N ...] [--columns N]
    [--without METHOD ...] [--again METHOD ...] [--rise] [--adult ../shared] [--seed 7]

A cell is a table, a family of workloads and an epsilon. Its regret: the error of `--schedule auto` over the least of
every other schedule, one-way marginals alone, uniform counts (a noisy total alone), and plain noise (each block
measured once, in the shares of least error; its expected error in closed form). Error: the mean over the blocks of
their L1 errors over n, mean of the runs. The same seeds serve all methods (common random numbers). Of plans that are
alike one is run.

The whole grid (72 tables and Adult's subsamples, 5 families, 5 epsilons) takes days. --cells N takes N cells of each
half: every table about equally often, families and epsilons in turn, as a public seed draws them; 0: all. Those of
narrow tables come first, so a run that ends early has the cheap ones.
--rows: every table at these numbers of rows in place of its own.
--rise runs the default alone, at all epsilons of a table and a family, and prints its error at each over that at the
one before: by default of tables of 300 to 3,000 rows, epsilon 0.1 to 10; of tables of at most --columns columns, cells
are drawn. A rise counts as certain where it is above the bar by two standard errors of the difference, run by run.
`--rise --cells 12 --columns 8 --runs 5 --families pairs triples prefixes`: 5 minutes of processor time a half.
Finished runs stay in the file --kept and are not repeated; --again METHOD forgets those of a method, which a change of
the code calls for. Take another file for another --seed of the runs.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from dpqr.kernel.values import replace

sys.path.insert(0, str(Path(__file__).parent / "marginals"))

from baselines import one_way_alone, plain, uniform
from families import FAMILIES
from shapes import HALVES, REPORTING, SETTING, made
from task import Task, read_task

from dpqr.kernel.errors import DpqrError
from dpqr.releases.forecast.simulation import PublicTable, reaches, simulate
from dpqr.releases.planning import plan_release, read_documents
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.plan import Plan

DELTA, SEED, DEFAULT = "1e-9", 7, "auto"
EPSILONS = ("0.1", "0.3", "1", "3", "10")
RISING = ("0.1", "0.3", "0.5", "0.7", "1", "2", "5", "10")
FEW_ROWS = (300, 1_000, 1_500, 3_000)
BARS = (1.02, 1.08, 1.15)
"""Geometric mean, 95th percentile, largest regret."""
RISE = 1.02
"""Bar of each error over that at the epsilon before."""
SCHEDULES = ("marginals", "rounds", "ordered", "strategy", "queries")
BASELINES = {"one-way": one_way_alone, "uniform": uniform}
ADULT_RECORDS, ADULT_WORKLOADS = (500, 1_000, 3_000, 10_000), ("W-small", "W-all2")
GROUPS = (*HALVES, "adult")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    table: str
    family: str
    epsilon: str


@dataclass(slots=True)
class Kept:
    """Errors of finished runs, by table, family, epsilon and method; None: the method has no plan for it."""

    path: Path
    errors: dict[tuple[str, ...], list[float] | None] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, again: list[str]) -> Kept:
        kept = cls(path)
        for line in path.read_text().splitlines() if path.exists() else ():
            *key, errors = json.loads(line)
            if key[-1] not in again:
                kept.errors[tuple(key)] = errors
        return kept

    def add(self, key: tuple[str, ...], errors: list[float] | None) -> None:
        self.errors[key] = errors
        with self.path.open("a") as file:
            file.write(json.dumps([*key, errors]) + "\n")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """One table and one workload over it."""

    table: PublicTable
    document: dict[str, object]
    delta: str = DELTA

    @classmethod
    def of(cls, task: Task, family: str) -> Case:
        return cls.asked(task, FAMILIES[family](task.sizes))

    @classmethod
    def asked(cls, task: Task, queries: list[object], delta: str = DELTA) -> Case:
        """Of the table, the columns that some query asks about."""
        document = {"domain": task.sizes, "queries": queries}
        domain, columns = read_documents(document, None).domain, list(task.sizes)
        codes = task.codes[:, [columns.index(name) for name in domain.names]]
        return cls(table=PublicTable.of(task.name, domain.shape, codes), document=document, delta=delta)

    def plan(self, epsilon: str, method: str) -> Plan | None:
        """None: the schedule has no plan."""
        request = PlanRequest(queries=self.document, epsilon=epsilon, delta=self.delta)
        try:
            if method in BASELINES:
                return BASELINES[method](plan_release(request, read_documents(self.document, None)))
            return plan_release(replace(request, schedule=method))
        except DpqrError:
            return None

    def errors(self, plan: Plan, runs: int, seed: int = SEED) -> list[float] | None:
        """Mean over the blocks of L1 / n, one figure a run; None: a run failed."""
        answers = np.array([block.rows for block in plan.problem.workload.blocks]) / reaches(plan)
        found = (simulate(plan, self.table, seed + run).errors for run in range(runs))
        try:
            return [float((errors * answers).mean()) / self.table.records for errors in found]
        except (DpqrError, MemoryError) as failure:
            print(f"{self.table.name}, --schedule {plan.schedule.name} failed: {failure}", file=sys.stderr)
            return None


def compared(
    cell: Cell, task: Task, kept: Kept, methods: tuple[str, ...], given: argparse.Namespace
) -> dict[str, float]:
    """Mean errors by method; those that have no plan are left out."""
    case, ran, runs = None, [], given.runs
    for method in methods:
        key = (cell.table, cell.family, cell.epsilon, method)
        if key in kept.errors and (kept.errors[key] is None or len(kept.errors[key]) >= runs):
            continue
        case = case or Case.of(task, cell.family)
        if method == "plain":
            kept.add(key, [plain(case.plan(cell.epsilon, DEFAULT), task.records)] * runs)
            continue
        plan = case.plan(cell.epsilon, method)
        same = next((before for before, other in ran if plan and alike(plan, other)), None)
        errors = kept.errors[(*key[:3], same)] if same else case.errors(plan, runs, given.seed) if plan else None
        kept.add(key, errors)
        if plan and not same:
            ran.append((method, plan))
    found = {method: kept.errors[(cell.table, cell.family, cell.epsilon, method)] for method in methods}
    return {method: float(np.mean(errors[:runs])) for method, errors in found.items() if errors is not None}


def alike(one: Plan, other: Plan) -> bool:
    """Whether they make the same run: with equal seeds then the same one."""
    return (one.schedule, one.phases, one.roles) == (other.schedule, other.phases, other.roles)


def cells(group: str, given: argparse.Namespace) -> list[Cell]:
    """Cells of a half, narrow tables first; of a part, each table about equally often, families and epsilons in
    turn."""
    tables = [name for name in names(group, given.rows) if not given.tables or name.partition("@")[0] in given.tables]
    if given.rise:
        tables = [name for name in tables if width(name) <= given.columns]
    kinds = [(family, eps) for family in given.families for eps in ([""] if given.rise else given.eps)]
    whole = [Cell(table=table, family=family, epsilon=eps) for table in tables for family, eps in kinds]
    if not given.cells or not whole:
        return _narrow(whole, given.columns)
    generator = np.random.default_rng([*group.encode()])
    order = np.concatenate([generator.permutation(len(kinds)) for _ in range(1 + given.cells // len(kinds))])
    rows = np.concatenate([generator.permutation(len(tables)) for _ in range(1 + given.cells // len(tables))])
    chosen = zip(rows[: given.cells], order[: given.cells], strict=True)
    return _narrow(dict.fromkeys(whole[row * len(kinds) + kind] for row, kind in chosen), given.columns)


def _narrow(found: Iterable[Cell], columns: int) -> list[Cell]:
    """Of tables of at most so many columns, narrow ones first."""
    return sorted((cell for cell in found if width(cell.table) <= columns), key=lambda cell: width(cell.table))


def names(group: str, rows: Sequence[int] = ()) -> tuple[str, ...]:
    """Of the tables of a group, each at its own number of rows or at all of `rows`."""
    if group in HALVES:
        return tuple(f"{name}@{count}" for name in HALVES[group] for count in rows) if rows else HALVES[group]
    return tuple(f"adult {workload} {count}" for workload in ADULT_WORKLOADS for count in rows or ADULT_RECORDS)


def width(name: str) -> int:
    """Of a table of a half, or of those of Adult that its workload asks for."""
    if name.startswith("adult"):
        return 14 if "W-all2" in name else 6
    return len((SETTING | REPORTING)[name.partition("@")[0]][2])


def task_of(name: str, folder: Path) -> Task:
    if not name.startswith("adult"):
        return made(name)
    _, workload, records = name.split()
    whole = read_task(folder / "data" / "adult-coded.csv", folder / "workloads" / f"{workload}.json")
    rows = np.random.default_rng(1).permutation(whole.records)[: int(records)]
    return Task(name=name, sizes=whole.sizes, codes=whole.codes[rows], marginals=whole.marginals)


def regrets(group: str, given: argparse.Namespace, kept: Kept) -> Iterator[float]:
    """A line a cell."""
    for cell in cells(group, given):
        task = task_of(cell.table, given.adult)
        methods = tuple(name for name in (*SCHEDULES, *BASELINES, "plain") if name not in given.without)
        found = compared(cell, task, kept, (DEFAULT, *methods), given)
        others = {method: error for method, error in found.items() if method != DEFAULT}
        best = min(others, key=others.__getitem__)
        regret = max(found[DEFAULT] / max(others[best], 1e-9), 1.0 if others[best] <= 1e-9 else 0.0)
        shown = " ".join(f"{method} {error:.4g}" for method, error in found.items())
        print(f"{cell.table:22} {cell.family:12} eps {cell.epsilon:>4} {regret:.3f} ({best}): {shown}", flush=True)
        yield regret


def rises(group: str, given: argparse.Namespace, kept: Kept) -> Iterator[float]:
    """Each error over that at the epsilon before; a line for each table and family."""
    for cell in cells(group, given):
        task, errors = task_of(cell.table, given.adult), []
        for eps in sorted(given.eps, key=float):
            one = replace(cell, epsilon=eps)
            compared(one, task, kept, (DEFAULT,), given)
            errors.append(np.maximum(kept.errors[(cell.table, cell.family, eps, DEFAULT)][: given.runs], 1e-9))
        steps = [float(after.mean() / before.mean()) for before, after in pairwise(errors)]
        spread = [np.std(after - before) / before.mean() for before, after in pairwise(errors)]
        doubts = np.array(spread) / max(given.runs - 1, 1) ** 0.5
        certain = int((np.array(steps) > RISE + 2 * doubts).sum())
        shown = " ".join(f"{error.mean():.4g}" for error in errors)
        print(f"{cell.table:28} {cell.family:12} {max(steps):.3f}, {certain} certain: {shown}", flush=True)
        yield from steps


def summary(figures: list[float], rise: bool) -> str:
    names, bars = ("geometric mean", "95th percentile", "largest"), (None, None, RISE) if rise else BARS
    found = (math.exp(float(np.mean(np.log(figures)))), np.quantile(figures, 0.95), max(figures))
    shown = [
        f"{name} {figure:.3f}" + (f" (bar {bar})" if bar else "")
        for name, figure, bar in zip(names, found, bars, strict=True)
    ]
    return f"{len(figures)} {'steps' if rise else 'cells'}, {', '.join(shown)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", nargs="+", choices=GROUPS, default=GROUPS)
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--columns", type=int, default=99)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--eps", nargs="+")
    parser.add_argument("--rows", nargs="+", type=int)
    parser.add_argument("--cells", type=int, default=36)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--kept", type=Path, default=Path("regret.jsonl"))
    parser.add_argument("--without", nargs="+", default=[])
    parser.add_argument("--again", nargs="+", default=[])
    parser.add_argument("--rise", action="store_true")
    parser.add_argument("--adult", type=Path, default=Path("../shared"))
    given = parser.parse_args()
    given.eps = given.eps or (RISING if given.rise else EPSILONS)
    given.rows = given.rows or (FEW_ROWS if given.rise else ())
    kept = Kept.read(given.kept, given.again)
    for group in given.half:
        if group == "adult" and not (given.adult / "data" / "adult-coded.csv").exists():
            print(f"adult left out: no data/adult-coded.csv in {given.adult}; name its folder with --adult")
            continue
        figures = list((rises if given.rise else regrets)(group, given, kept))
        if figures:
            print(f"{group}: {summary(figures, given.rise)}", flush=True)


if __name__ == "__main__":
    main()
