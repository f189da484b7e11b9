"""Cells that no constant was set on: tables, workloads and sizes unlike those of the other benchmarks.

python tests/benchmarks/cells.py [--half setting|reporting|ordered] [--only N ...] [--runs 3] [--kept FILE]
    [--before FILE] [--default]

A cell is a table of one of eight kinds, a workload of one of ten, 200 to 2,000,000 rows and an epsilon, each about
equally often, as a public seed pairs them. ordered: tables of six other kinds, ordered columns among them, and ranges,
prefixes and conjunctions of them. A line:

regret      error of the default over the least of every schedule that has a plan, one-way marginals alone, uniform
            counts and plain noise (`regret.py`; mean over the blocks of L1 over n; below one record it counts as one)
rise        its error at twice the epsilon over that
cpu         seconds of one release with its plan; a method of more than 12 (of the default 60) is left out
measured    part of the proved 95% intervals that hold the true answer; cover: of estimate +- 1.96 errors
z           root mean square of (estimate - truth) / error

--kept writes them to a file; --before reads that of another checkout, and prints the ratios of the default's errors.
--default: no other schedules; their errors are those of --before.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from regret import BASELINES, DEFAULT, SCHEDULES, SEED, Case

sys.path.insert(0, str(Path(__file__).parent / "marginals"))

from baselines import plain
from makers import zipf
from task import Task

from dpqr.kernel.noise.public import PublicNoise
from dpqr.kernel.sealed import Private
from dpqr.releases.draws import Draws
from dpqr.releases.forecast.simulation import reaches
from dpqr.releases.loop import SILENT, iterative_construction
from dpqr.releases.result import assemble
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Plan

COUNT = 22
"""Cells of a half."""
EPSILONS = ("0.1", "0.3", "1", "3", "10")
ROWS = np.geomspace(200, 2_000_000, 11).round().astype(int).tolist()
LIMIT = 12.0
"""CPU seconds of one method in one cell."""
METHODS = (*SCHEDULES, "parts", *BASELINES)

# Tables: sizes and codes, the first column one of many values.

Table = tuple[tuple[int, ...], np.ndarray]


def columns(generator: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Independent columns of unlike skews."""
    return np.stack([zipf(generator, rows, size, generator.uniform(0, 1.5)) for size in sizes], axis=1)


def copied(generator: np.random.Generator, column: np.ndarray, size: int, kept: float) -> np.ndarray:
    """A column that a function of another one decides, for a part of the rows."""
    function = generator.integers(0, size, int(column.max()) + 1)
    return np.where(generator.random(len(column)) < kept, function[column], zipf(generator, len(column), size))


def bits(generator: np.random.Generator, rows: int) -> Table:
    """Wide labels beside bits that follow them."""
    sizes = (300, 60, *(2,) * 7)
    codes = columns(generator, rows, sizes)
    for place in range(2, 7):
        codes[:, place] = copied(generator, codes[:, place % 2], 2, 0.8)
    return sizes, codes


def functional(generator: np.random.Generator, rows: int) -> Table:
    """A city gives region and country, another column follows the region."""
    city = zipf(generator, rows, 120, 0.9)
    region = copied(generator, city, 12, 1.0)
    codes = [city, region, copied(generator, region, 4, 1.0), copied(generator, region, 9, 0.5)]
    sizes = (120, 12, 4, 9, 5, 3)
    return sizes, np.stack([*codes, *columns(generator, rows, sizes[4:]).T], axis=1)


def duplicated(generator: np.random.Generator, rows: int) -> Table:
    """Each of three columns twice, and two constant columns."""
    sizes = (20, 7, 3, 20, 7, 3, 6, 11)
    own = columns(generator, rows, sizes[:3])
    return sizes, np.concatenate([own, own, np.full((rows, 1), 2), np.zeros((rows, 1), dtype=int)], axis=1)


def inflated(generator: np.random.Generator, rows: int) -> Table:
    """Counts, 0 for most rows: what makes one large makes the others large."""
    sizes = (64, 32, 32, 16, 16, 4)
    scale = generator.gamma(0.7, 1.0, rows)[:, None] * (generator.random((rows, len(sizes))) < 0.3)
    return sizes, np.minimum(generator.poisson(scale * np.array(sizes) / 6), np.array(sizes) - 1)


def tailed(generator: np.random.Generator, rows: int) -> Table:
    """Zipf tails of exponent 1.2, weakly dependent."""
    sizes = (200, 100, 50, 30, 20, 10, 8)
    codes = np.stack([zipf(generator, rows, size, 1.2) for size in sizes], axis=1)
    for place in range(1, len(sizes)):
        codes[:, place] = np.where(generator.random(rows) < 0.2, codes[:, 0] % sizes[place], codes[:, place])
    return sizes, codes


def blocked(generator: np.random.Generator, rows: int) -> Table:
    """Three groups of columns, each with a hidden value of its own."""
    sizes = (24, 5, 8, 3) * 3
    hidden = [zipf(generator, rows, 6, 0.5) for _ in range(3)]
    return sizes, np.stack(
        [copied(generator, hidden[place // 4], size, 0.7) for place, size in enumerate(sizes)], axis=1
    )


def subgroup(generator: np.random.Generator, rows: int) -> Table:
    """Independent columns, but for 5% of the rows, in which a hidden value decides them all."""
    sizes = (40, 12, 10, 8, 6, 5, 4, 2)
    rare, hidden = generator.random(rows) < 0.05, generator.integers(0, 5, rows)
    codes = columns(generator, rows, sizes)
    for place, size in enumerate(sizes):
        codes[:, place] = np.where(rare, copied(generator, hidden, size, 1.0), codes[:, place])
    return sizes, codes


def prototypes(generator: np.random.Generator, rows: int) -> Table:
    """Rows that copy one of twelve, one cell in 50 replaced."""
    sizes = (50, 10, 10, 6, 6, 4, 3, 2, 2)
    shown = zipf(generator, rows, 12, 0.6)
    return sizes, np.stack([copied(generator, shown, size, 0.98) for size in sizes], axis=1)


TABLES = (bits, functional, duplicated, inflated, tailed, blocked, subgroup, prototypes)


def nested(generator: np.random.Generator, rows: int) -> Table:
    """Codes in towns in counties in states, two columns that follow them, and one that stands alone."""
    code = zipf(generator, rows, 240, 0.6)
    town = code // 4
    columns = [code, town, town // 5, town // 15, copied(generator, code, 7, 0.4), copied(generator, town, 5, 0.6)]
    return (240, 60, 12, 4, 7, 5, 40), np.stack([*columns, zipf(generator, rows, 40, 0.3)], axis=1)


def attitudes(generator: np.random.Generator, rows: int) -> Table:
    """Ten answers on a scale that follow two hidden ones, five of them missing together, and two traits."""
    hidden = generator.normal(size=(rows, 2))
    noisy = (hidden @ generator.normal(size=2) + generator.normal(size=rows) for _ in range(10))
    answers = [np.digitize(one, [-2, -0.7, 0.2, 1.1]) + 1 for one in noisy]
    missing = generator.random(rows) < 0.15
    answers[5:] = [np.where(missing, 0, one) for one in answers[5:]]
    age = np.clip((hidden[:, 0] * 1.5 + generator.normal(size=rows) * 1.5 + 4).round(), 0, 8).astype(int)
    return (*(6,) * 10, 9, 2), np.stack([*answers, age, (hidden[:, 1] > 0).astype(int)], axis=1)


def seasons(generator: np.random.Generator, rows: int) -> Table:
    """Days (half of the rows on the first of a week), hours and sensors."""
    day, sensor = generator.integers(0, 366, rows), zipf(generator, rows, 30, 1.0)
    day = np.where(generator.random(rows) < 0.5, day // 7 * 7, day)
    hour = np.clip(generator.normal(13, 4, rows).round(), 0, 23).astype(int)
    others = [copied(generator, sensor, 6, 0.9), day % 7, copied(generator, hour, 3, 0.8)]
    return (366, 24, 30, 6, 7, 3), np.stack([day, hour, sensor, *others], axis=1)


def triads(generator: np.random.Generator, rows: int) -> Table:
    """No two of three columns depend, all three do; twice."""
    one, two = generator.integers(0, 4, (2, rows))
    other, last = generator.integers(0, 3, (2, rows))
    sums = np.where(generator.random(rows) < 0.1, generator.integers(0, 4, rows), (one + two) % 4)
    columns = [zipf(generator, rows, 16, 0.2), sums, one, other, last, (other + last) % 3, two]
    return (16, 4, 4, 3, 3, 3, 4), np.stack(columns, axis=1)


def amounts(generator: np.random.Generator, rows: int) -> Table:
    """Two amounts that are nearly equal, most of them round."""
    first = np.clip(generator.lognormal(3.2, 0.8, rows), 0, 199).astype(int)
    first = np.where(generator.random(rows) < 0.6, first // 10 * 10, first)
    second = np.clip(first + generator.integers(-3, 4, rows) * (generator.random(rows) < 0.5), 0, 199)
    others = [copied(generator, first // 20, 12, 0.5), copied(generator, second // 40, 5, 0.8)]
    return (200, 200, 12, 5, 20), np.stack([first, second, *others, zipf(generator, rows, 20, 0.8)], axis=1)


def chain(generator: np.random.Generator, rows: int) -> Table:
    """Twelve columns, each a copy of the one before, and one of thirty values that stands alone."""
    columns = [zipf(generator, rows, 5, 1.6)]
    for _ in range(11):
        columns.append(copied(generator, columns[-1], 5, 0.75))
    return (*(5,) * 12, 30), np.stack([*columns, zipf(generator, rows, 30, 0.9)], axis=1)


ORDERED_TABLES = (nested, attitudes, seasons, triads, amounts, chain)

# Workloads: entries of a queries document, of column names from that of the most values on.

Workload = Callable[[list[str], dict[str, int]], list[object]]


def one_way(names: list[str]) -> dict[str, object]:
    return {"marginals": {"ways": 1, "columns": names}}


def some_pairs(names: list[str], sizes: dict[str, int]) -> list[object]:
    return [{"marginals": [list(pair) for pair in [*combinations(names, 2)][::3]]}]


def triples(names: list[str], sizes: dict[str, int]) -> list[object]:
    return [one_way(names), {"marginals": {"ways": 3, "columns": names[1:5]}}]


def joint(names: list[str], sizes: dict[str, int]) -> list[object]:
    return [one_way(names), {"marginal": names[1:5]}]


def prefixes(names: list[str], sizes: dict[str, int]) -> list[object]:
    return [{"prefix": names[0], "by": [name]} for name in names[2:5]]


def ranges(names: list[str], sizes: dict[str, int]) -> list[object]:
    return [{"ranges": names[:2], "random": 100, "seed": 3}, one_way(names[2:])]


def weighted(names: list[str], sizes: dict[str, int]) -> list[object]:
    pairs = [*combinations(names[:6], 2)]
    return [{"name": f"w{place}", "marginal": list(pair), "weight": 1 + place % 5} for place, pair in enumerate(pairs)]


def twice(names: list[str], sizes: dict[str, int]) -> list[object]:
    return [
        {"name": "once", "marginal": names[:2]},
        {"name": "again", "marginal": names[1::-1]},
        {"marginals": {"ways": 2, "columns": names[2:6]}},
    ]


WORKLOADS: dict[str, Workload] = {
    "pairs": lambda names, sizes: [{"marginals": {"ways": 2, "columns": names}}],
    "some pairs": some_pairs,
    "triples": triples,
    "joint": joint,
    "prefixes": prefixes,
    "ranges": ranges,
    "weighted": weighted,
    "twice": twice,
    "star": lambda names, sizes: [{"marginals": [[names[1], name] for name in names if name != names[1]]}],
    "one block": lambda names, sizes: [{"marginal": names[1:3]}],
}

ORDERED_WORKLOADS: dict[str, Workload] = {
    "ranges": ranges,
    "few ranges": lambda names, sizes: [
        {"ranges": names[:2], "random": 12, "seed": 5},
        {"ranges": names[1:3], "random": 12, "seed": 6},
    ],
    "cubes": lambda names, sizes: [{"ranges": names[:3], "random": 60, "seed": 3}, one_way(names)],
    "conjunctions": lambda names, sizes: [
        {"conjunctions": {"columns": names, "random": 300, "ways": [2, 3], "seed": 1}}
    ],
    "prefixes": prefixes,
    "prefix": lambda names, sizes: [{"prefix": names[0], "by": [names[-1]]}, one_way(names[1:])],
}
KINDS = {"ordered": (ORDERED_TABLES, ORDERED_WORKLOADS)}
"""Of cells that are no half of the others: tables and workloads."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    table: str
    workload: str
    rows: int
    epsilon: str
    seed: int

    def case(self) -> Case:
        maker = next(one for one in (*TABLES, *ORDERED_TABLES) if one.__name__ == self.table)
        sizes, codes = maker(np.random.default_rng([self.seed, 41]), self.rows)
        named = {f"c{place:02}": size for place, size in enumerate(sizes)}
        task = Task(name=str(self), sizes=named, codes=codes, marginals=())
        workloads = {**WORKLOADS, **ORDERED_WORKLOADS}
        return Case.asked(task, workloads[self.workload](sorted(named, key=lambda name: -named[name]), named))

    def __str__(self) -> str:
        return f"{self.table}, {self.workload}, {self.rows:,} rows, eps {self.epsilon}"


def cells(half: str) -> list[Cell]:
    """Every kind of each thing about equally often: permutations, one after the other, of a public seed."""
    generator = np.random.default_rng([*half.encode(), 41])

    def spread(kinds: list) -> list:
        return [kinds[place] for _ in range(COUNT) for place in generator.permutation(len(kinds))][:COUNT]

    tables, workloads = KINDS.get(half, (TABLES, WORKLOADS))
    drawn = zip(spread([*tables]), spread([*workloads]), spread(ROWS), spread([*EPSILONS]), strict=True)
    return [
        Cell(table=table.__name__, workload=workload, rows=rows, epsilon=epsilon, seed=2 * place + (half != "setting"))
        for place, (table, workload, rows, epsilon) in enumerate(drawn)
    ]


# One cell.

Run = TypeVar("Run")
Line = dict[str, Any]
"""Figures of a cell by name."""


def released(case: Case, plan: Plan, seed: int) -> dict[str, float]:
    """Of one release of the default: error, CPU seconds after the plan, and what its errors and intervals hold."""
    start, counts = time.process_time(), case.table.counts
    draws = Draws(data=Private(counts), accountant=make_filter(plan), noise=PublicNoise(seed))
    release = assemble(plan, iterative_construction(draws, plan, SILENT), {}, private=True)
    found = {"cpu": time.process_time() - start}
    off, error, held = [], [], []
    for answers in release.answers:
        truth, noisy = answers.block.answer(counts) * float(answers.block.scale), answers.noisy
        off.append(answers.estimate - truth)
        error.append(answers.error)
        known = ~np.isnan(noisy.margin)
        held.append(((noisy.lower <= truth) & (truth <= noisy.upper))[known])
    lost = [np.abs(one).sum() for one in off]
    whole, errors, intervals = np.concatenate(off), np.concatenate(error), np.concatenate(held)
    scored = (errors > 0) | (whole != 0)
    z = whole[scored] / np.maximum(errors[scored], 1e-9)
    return found | {
        "error": float(np.mean(lost / reaches(plan))) / case.table.records,
        "measured": float(intervals.mean()) if len(intervals) else math.nan,
        "cover": float((np.abs(whole) <= 1.96 * errors).mean()),
        "z": float(np.sqrt((z**2).mean())) if len(z) else 0.0,
    }


def limited(run: Callable[[int], Run], runs: int, seconds: float = LIMIT) -> list[Run]:
    """Of as many runs as begin within so many CPU seconds; what takes longer is left out."""
    found, start = list[Run](), time.process_time()

    def ended(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, ended)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        while len(found) < runs and time.process_time() - start < seconds / 2:
            found.append(run(SEED + len(found)))
    except TimeoutError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    return found


def looked_at(cell: Cell, runs: int, *, others: bool) -> Line:
    case, start = cell.case(), time.process_time()
    plan = case.plan(cell.epsilon, DEFAULT)
    planned, record = time.process_time() - start, 1.0 / case.table.records
    each = limited(lambda seed: released(case, plan, seed), runs, 5 * LIMIT)
    line: Line = {"cell": str(cell), "schedule": plan.schedule.name}
    if not each:
        return line | {"cpu": math.inf}
    found = {name: float(np.nanmean([one[name] for one in each])) for name in each[0]}
    found["cpu"] += planned
    louder = case.plan(f"{2 * float(cell.epsilon):g}", DEFAULT)
    more = limited(lambda seed: released(case, louder, seed)["error"], runs, 5 * LIMIT)
    if more:
        found["rise"] = max(float(np.mean(more)), record) / max(found["error"], record)
    best = {"plain": plain(plan, case.table.records)} if others else {}
    for method in METHODS if others else ():
        other = case.plan(cell.epsilon, method)
        if other is not None and other.schedule.name != plan.schedule.name:
            errors = limited(lambda seed, other=other: float(np.mean(case.errors(other, 1, seed) or [np.nan])), runs)
            best |= {method: float(np.mean(errors))} if errors else {}
    return with_regret(line | found | best, record)


def with_regret(line: Line, record: float) -> Line:
    """With the best method, and the default's error over its; below one record errors count as one."""
    found = {method: line[method] for method in ("plain", *METHODS) if method in line}
    if not found or "error" not in line:
        return line
    best, own = min(found, key=found.__getitem__), line["error"]
    regret = max(own, record) / max(min(found[best], own), record)
    return line | {"least": best if found[best] < own else line["schedule"], "regret": regret}


def summary(lines: list[Line], name: str) -> str:
    figures = [line[name] for line in lines if name in line]
    if not figures:
        return "no cells"
    mean, high = math.exp(np.mean(np.log(figures))), np.quantile(figures, 0.95)
    return f"{len(figures)} cells, geometric mean {mean:.3f}, 95th percentile {high:.3f}, largest {max(figures):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("setting", "reporting", *KINDS), default="setting")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of cells, from 0")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--default", action="store_true")
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--before", type=Path)
    given = parser.parse_args()
    before = {line["cell"]: line for line in json.loads(given.before.read_text())} if given.before else {}
    lines = []
    for number, cell in enumerate(cells(given.half)):
        if given.only and number not in given.only:
            continue
        line = looked_at(cell, given.runs, others=not given.default)
        if given.default and str(cell) in before:
            others = {name: error for name, error in before[str(cell)].items() if name in ("plain", *METHODS)}
            line = with_regret(line | others, 1.0 / cell.rows)
        lines.append(line)
        shown = (f"{name} {value:.4g}" if isinstance(value, float) else str(value) for name, value in line.items())
        print(f"{number:2} {' '.join(shown)}", flush=True)
    if given.kept:
        given.kept.write_text(json.dumps(lines, indent=1))
    print("default over least:", summary(lines, "regret"))
    print("twice the budget:", summary(lines, "rise"))
    if before:
        known = [line for line in lines if "error" in line and "error" in before.get(line["cell"], {})]
        records = {str(cell): 1.0 / cell.rows for cell in cells(given.half)}
        changes = []
        for line in known:
            now, then = (max(one["error"], records[line["cell"]]) for one in (line, before[line["cell"]]))
            changes.append({"": now / then})
        print("over before:", summary(changes, ""))


if __name__ == "__main__":
    main()
