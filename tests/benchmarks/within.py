"""The goal of `dpqr plan --within` beside real releases: the share of counts inside; and forecasts of figures.

python tests/benchmarks/within.py [--half set|report] [--runs 100] [--adult FILE]

Six tables, each released `--runs` times at the epsilon that was found for the goal: 95% of the counts within W, where W
is 0.5% of the rows. Half of a table's rows is released; the other half is its proxy (`proxy`), or nothing is
(`made-up`), with --schedule strategy (`fixed`) and auto. Figures: mean, median and ratio forecast at epsilon 1 over the
measured mean absolute error. Nothing was set on the second half of the tables.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from dpqr.releases.forecast.by_epsilon import ForecastRequest, GoalRequest, forecast_releases
from dpqr.releases.forecast.simulation import PublicTable, simulate
from dpqr.releases.requests import PlanRequest, ReleaseRequest
from dpqr.tables.files import STDIN
from dpqr.tables.source import TableSource

HALVES = {"set": ("even", "tree", "wide"), "report": ("skewed", "numbers", "adult")}
ROWS, PART, SEED = 20_000, 0.005, 5000
EDGES = (0, 500, 1000, 2000, 5000, 10000, 20000, 50000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=tuple(HALVES))
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--adult", type=Path)
    given = parser.parse_args()
    for half in [given.half] if given.half else HALVES:
        for name in HALVES[half]:
            codes, sizes = table(name, given.adult)
            for line in lines(codes, sizes, given.runs):
                print(f"{half:6} {name:8} {line}", flush=True)


def table(name: str, adult: Path | None) -> tuple[np.ndarray, dict[str, int]]:
    """Codes of twice the rows that are released: two columns of labels, a number (cost) and a whole number (stay)."""
    generator = np.random.default_rng([*name.encode()])
    if name == "adult":
        if adult is None:
            raise SystemExit("adult: needs --adult FILE, its codes with a line of names")
        with adult.open() as file:
            names, *body = csv.reader(file)
        codes = np.array(body, dtype=np.int64)[:, :5]
        return codes, {each: int(codes[:, place].max()) + 1 for place, each in enumerate(names[:5])}
    sizes = {"tree": (2, 12, 7, 20), "wide": (8, 30, 7, 20)}.get(name, (4, 6, 7, 20))
    rows, hidden = 2 * ROWS, generator.random(2 * ROWS)
    columns = []
    for place, size in enumerate(sizes):
        own = generator.random(rows)
        mixed = {
            "even": own,
            "skewed": own**4,
            "tree": np.where(own < 0.7, hidden, own**2),
            "wide": 0.5 * own**2 + 0.5 * hidden,
            "numbers": np.abs(0.7 * hidden + 0.3 * own) ** (1 + place),
        }[name]
        columns.append(np.minimum((mixed * size).astype(np.int64), size - 1))
    return np.stack(columns, axis=1), dict(zip(("ward", "group", "cost", "stay"), sizes, strict=True))


def document(sizes: dict[str, int]) -> dict[str, object]:
    """Pairs of columns, and figures where there are numbers."""
    names = list(sizes)
    if "cost" not in sizes:
        return {"dpqr": "queries/1", "domain": sizes, "queries": [{"marginals": {"ways": 2, "columns": names}}]}
    labels = [
        {"name": each, "type": "string", "constraints": {"enum": [f"v{code}" for code in range(sizes[each])]}}
        for each in names[:2]
    ]
    numbers = [
        {"name": "cost", "type": "number", "dpqr": {"edges": list(EDGES)}},
        {"name": "stay", "type": "integer", "constraints": {"minimum": 0, "maximum": 39}, "dpqr": {"width": 2}},
    ]
    asked = [
        {"marginals": {"ways": 2, "columns": ["ward", "group", "stay"]}},
        {"mean": "cost", "by": ["ward"]},
        {"median": "stay", "by": ["ward"]},
        {"ratio": {"of": "cost", "to": "stay"}},
    ]
    return {"dpqr": "queries/1", "domain": {"fields": labels + numbers}, "queries": asked}


def written(codes: np.ndarray, sizes: dict[str, int], path: Path) -> None:
    """The rows as a CSV file that the domain reads."""
    columns = [codes[:, place].tolist() for place in range(codes.shape[1])]
    if "cost" in sizes:
        middles = [(low + high) / 2 for low, high in pairwise(EDGES)]
        columns = [
            *([f"v{code}" for code in column] for column in columns[:2]),
            [middles[code] for code in columns[2]],
            [2 * code for code in columns[3]],
        ]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([list(sizes), *zip(*columns, strict=True)])


def lines(codes: np.ndarray, sizes: dict[str, int], runs: int) -> Iterator[str]:
    order = np.random.default_rng(1).permutation(len(codes))
    own, other = np.array_split(codes[order], 2)
    asked, most = document(sizes), PART * len(own)
    with tempfile.TemporaryDirectory() as folder:
        proxy = Path(folder) / "proxy.csv"
        written(other, sizes, proxy)
        for schedule in ("strategy", "auto"):
            for basis in ("made-up", "proxy"):
                public = {"proxy": TableSource(paths=(str(proxy),))} if basis == "proxy" else {}
                plan = PlanRequest(queries=asked, epsilon="1", schedule=schedule)
                run = ReleaseRequest(source=TableSource(paths=(STDIN,)), plan=plan)
                request = ForecastRequest(
                    release=run, n=len(own), goal=GoalRequest(within=repr(most), confidence="0.95"), **public
                )
                (point,) = forecast_releases(request).points
                true = PublicTable.of("true", point.plan.problem.domain.shape, own)
                found = [simulate(point.plan, true, SEED + seed, most) for seed in range(runs)]
                counts = np.flatnonzero([one.counts for one in point.forecast.blocks])
                shares = [float(one.inside[counts].sum() / one.seen[counts].sum()) for one in found]
                told = f"{schedule:8} {basis:7} W {most:g} eps {float(point.forecast.epsilon):.3g}"
                inside = f"inside {np.mean(shares):.1%} (a run: {min(shares):.1%} to {max(shares):.1%})"
                yield f"{told} {point.forecast.schedule}: {inside}"
                if point.forecast.figures:
                    yield f"{told} {point.forecast.schedule}: {ratios(request, true, max(10, runs // 4))}"


def ratios(request: ForecastRequest, true: PublicTable, runs: int) -> str:
    """Forecast over measured error of each figure, at epsilon 1."""
    from dpqr.kernel.values import replace

    (point,) = forecast_releases(replace(request, goal=None, epsilons=("1",))).points
    measured = np.nanmean([simulate(point.plan, true, SEED + seed).figures for seed in range(runs)], axis=0)
    pairs = zip(point.forecast.figures, measured, strict=True)
    told = (f"{one.kind} {one.error.mean / error:.2f}" for one, error in pairs if one.error is not None)
    return f"forecast over measured: {', '.join(told)}"


if __name__ == "__main__":
    main()
