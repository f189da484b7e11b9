"""Regret on ordered columns: made-up arrays of many kinds, error over the least of simpler methods with all the budget.

python tests/benchmarks/ordered.py [--half report] [--runs 40] [--axes 1 2] [--only FAMILY ...]

Arrays: `arrays.py`, of 1,024 or 4,096 cells and of 64 x 64; s = n eps / cells from an empty table to a crowded one.
`--half set` has other members and sizes than `--half report`; constants are set on the former. Competitors: strategy,
identity, tree, one bucket (a noisy total, spread evenly; expected errors with the whole budget) and DAWA with its
partition paid for, at the better one of two prices (`dawa.py`). Error: root mean square over queries and runs. Each run
is a release with pure epsilon under add-remove, n private. Brackets: 95% bootstrap interval over the runs.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from arrays import FAMILIES, array
from dawa import PRICES, Dawa
from dense import closed_forms, planned, square

from dpqr.workload.block import QueryBlock

SIGNALS = {"set": (0.002, 0.03, 0.3, 2.0, 20.0), "report": (0.001, 0.06, 0.6, 4.0, 40.0)}
SIZES = {1: ((1024,), (4096,)), 2: ((64, 64),)}
WORKLOADS = {1: ("prefix", "rand2000"), 2: ("rect2000",)}
EPSILON = "0.1"


@dataclass(frozen=True)
class Case:
    """squares: mean squares of single runs; others: errors of competitors; all in records."""

    family: str
    shape: tuple[int, ...]
    workload: str
    signal: float
    squares: np.ndarray
    others: dict[str, float]

    @property
    def regrets(self) -> tuple[float, float, float]:
        """The regret, and the ends of its interval."""
        draws = np.random.default_rng(0).choice(self.squares, (2000, len(self.squares)))
        low, high = np.quantile(np.sqrt(draws.mean(axis=1)), (0.025, 0.975))
        least = min(self.others.values())
        return float(np.sqrt(self.squares.mean())) / least, float(low) / least, float(high) / least

    def line(self) -> str:
        regret, low, high = self.regrets
        shown = " ".join(f"{name} {figure:.3g}" for name, figure in self.others.items())
        size = "x".join(map(str, self.shape))
        return (
            f"{self.family:<17} {size:>6} {self.workload:>9} s {self.signal:7.3f}  "
            f"regret {regret:.3f} [{low:.3f}, {high:.3f}]  error {math.sqrt(self.squares.mean()):.3g} | {shown}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=sorted(SIGNALS), default="report")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--axes", type=int, nargs="+", choices=(1, 2), default=[1, 2])
    parser.add_argument("--only", nargs="+", choices=sorted(FAMILIES), default=list(FAMILIES), metavar="FAMILY")
    given = parser.parse_args()
    started, found = time.process_time(), []
    for axes in given.axes:
        for case in cases(given.half, axes, given.only, given.runs):
            found.append(case)
            print(case.line(), flush=True)
    summary(found)
    print(f"{time.process_time() - started:.0f} s of processor time, {given.runs} runs each, half: {given.half}")


def cases(half: str, axes: int, families: list[str], runs: int) -> Iterator[Case]:
    for workload in WORKLOADS[axes]:
        plans = {shape: planned(shape, workload, EPSILON, "auto") for shape in SIZES[axes]}
        for place, family in enumerate(families):
            for index, signal in enumerate(SIGNALS[half]):
                shape = SIZES[axes][(place + index) % len(SIZES[axes])]
                plan, records = plans[shape], round(signal * math.prod(shape) / float(EPSILON))
                counts = array(family, shape, records, 2 * index + (half == "report"))
                others = closed_forms(plan, shape, workload, float(EPSILON))
                others.pop("HDMM", None)
                blocks = plan.problem.workload.blocks
                cells = min(others.values()) ** 2 * blocks[0].rows * float(EPSILON) ** 2 / 2
                others["one bucket"] = one_bucket(blocks[0], counts)
                for times in PRICES:
                    dawa, rng = Dawa(blocks, shape, float(EPSILON), times, cells), np.random.default_rng(index)
                    error = math.sqrt(np.mean([dawa.square(counts, rng) for _ in range(10)]))
                    others[f"DAWA {times:g}"] = error
                squares = np.array([square(plan, counts) for _ in range(runs)])
                yield Case(family, shape, workload, signal, squares, others)


def one_bucket(block: QueryBlock, counts: np.ndarray) -> float:
    """Root mean square error over the queries if a noisy total of the records is spread evenly over the cells."""
    evenly = np.full(counts.shape, 1 / counts.size)
    bias = block.apply(evenly * counts.sum()) - block.apply(counts)
    noise = 2 / float(EPSILON) ** 2 * block.apply(evenly) ** 2
    return float(np.sqrt((bias**2 + noise).mean()))


def summary(found: list[Case]) -> None:
    """Regret by number of axes and by signal: geometric mean, the share above 1.1, and the largest."""
    groups: dict[str, list[float]] = defaultdict(list)
    for case in found:
        axes = f"{len(case.shape)} axes"
        groups[f"{axes}, s {case.signal:g}"].append(case.regrets[0])
        groups[f"{axes}, all"].append(case.regrets[0])
    for name, regrets in sorted(groups.items()):
        mean, above = math.exp(np.mean(np.log(regrets))), np.mean(np.array(regrets) > 1.1)
        print(f"{name:<16} regret {mean:.3f}, above 1.1 {above:.2f}, largest {max(regrets):.3f}, {len(regrets)} cases")


if __name__ == "__main__":
    main()
