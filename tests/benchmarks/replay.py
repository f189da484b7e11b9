"""Rounds of one query over large universes: seconds a round and peak memory.

python tests/benchmarks/replay.py ranges [--rounds 100] [--queries 10000] [--cells 1048576]
python tests/benchmarks/replay.py conjunctions [--rounds 20] [--queries 1000000] [--attributes 16] [--size 2]
python tests/benchmarks/replay.py rows [--rounds 20] [--queries 100000] [--attributes 4] [--size 16]
python tests/benchmarks/replay.py predicates [--rounds 20] [--queries 100000] [--attributes 4] [--size 16]

Each is `dpqr release --schedule queries` from the queries file to the answers, in this process, on a made-up table. A
round is selection, measurement and replay of everything measured; its median is shown beside that of one numpy cumsum
over an array of |X| entries, float64 and int64, taken between the rounds of the same run. The bar for ranges is 4 times
a cumsum; for conjunctions 5 seconds a round and 2 GB.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.noise.source import SystemNoise
from dpqr.kernel.sealed import Private
from dpqr.releases.draws import Draws
from dpqr.releases.loop import iterative_construction
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.releases.result import assemble
from dpqr.strategies.guard import make_filter


@dataclass
class Clock:
    """Times what lies between the ends of two rounds, and a cumsum after each."""

    cells: int
    rounds: list[tuple[float, float]] = field(default_factory=list)
    sums: dict[str, list[float]] = field(default_factory=lambda: {"float64": [], "int64": []})
    since: tuple[float, float] | None = None

    def finished(self, rounds: int, planned: int) -> None:
        now = time.perf_counter(), time.process_time()
        if self.since:
            self.rounds.append((now[0] - self.since[0], now[1] - self.since[1]))
        for kind, taken in self.sums.items():
            array = np.ones(self.cells, dtype=kind)
            began = time.process_time()
            np.cumsum(array)
            taken.append(time.process_time() - began)
        self.since = time.perf_counter(), time.process_time()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=CASES)
    for name in ("rounds", "queries", "attributes", "size", "cells"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--eps", default="1")
    given = parser.parse_args()
    defaults = {"ranges": (100, 10_000, 1, 2, 2**20), "conjunctions": (20, 10**6, 16, 2, 0)}
    rounds, queries, attributes, size, cells = defaults.get(given.case, (20, 10**5, 4, 16, 0))
    shape = [given.size or size] * (given.attributes or attributes) if not cells else [given.cells or cells]
    with tempfile.TemporaryDirectory() as folder:
        timed(CASES[given.case], Path(folder), shape, given.queries or queries, given.rounds or rounds, given.eps)


def timed(
    write: Callable[[Path, list[int], int], list[object]],
    folder: Path,
    shape: list[int],
    queries: int,
    rounds: int,
    eps: str,
) -> None:
    """Plan, run and answer one case, and print how long that took."""
    document = {"domain": {f"a{i}": size for i, size in enumerate(shape)}, "queries": write(folder, shape, queries)}
    file = folder / "q.json"
    file.write_text(json.dumps(document))
    began = time.process_time()
    plan = plan_release(PlanRequest(queries=str(file), epsilon=eps, schedule="queries", rounds=rounds))
    planned = time.process_time() - began
    counts = table(shape)
    draws = Draws(data=Private(DenseHistogram(counts)), accountant=make_filter(plan), noise=SystemNoise())
    clock = Clock(int(np.prod(shape)))
    outcome = iterative_construction(draws, plan, clock)
    began = time.process_time()
    assemble(plan, outcome, {}, private=True)
    answered = time.process_time() - began
    told(plan, clock, planned, answered)


def table(shape: list[int]) -> np.ndarray:
    """A million records, bumps on a floor."""
    generator = np.random.default_rng(1)
    cells = int(np.prod(shape))
    centres = generator.integers(0, cells, 20)
    places = np.concatenate([np.clip(generator.normal(c, cells / 50, 50_000), 0, cells - 1) for c in centres])
    return np.bincount(places.astype(np.int64), minlength=cells).astype(np.int64).reshape(shape)


def told(plan, clock: Clock, planned: float, answered: float) -> None:
    """One line a figure."""
    problem = plan.problem
    wall, cpu = (np.array(each) for each in zip(*clock.rounds, strict=True))
    print(f"|X| {problem.domain.size:,}, |Q| {problem.workload.rows:,} in {len(problem.workload.blocks):,} blocks")
    print(f"documents and plan {planned:.2f} s, answers at the end {answered:.2f} s (processor)")
    print(f"round: median {np.median(cpu) * 1e3:.1f} ms, largest {cpu.max() * 1e3:.1f} ms (processor)", end="; ")
    print(f"median {np.median(wall) * 1e3:.1f} ms, last ten {np.median(wall[-10:]) * 1e3:.1f} ms (clock)")
    for kind, taken in clock.sums.items():
        share = np.median(cpu) / np.median(taken)
        print(f"one cumsum of {kind}: median {np.median(taken) * 1e3:.2f} ms; a round is {share:.2f} of it")
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


def ranges(folder: Path, shape: list[int], queries: int) -> list[object]:
    return [{"ranges": "a0", "random": queries, "seed": 1}]


def conjunctions(folder: Path, shape: list[int], queries: int) -> list[object]:
    return [{"conjunctions": {"random": queries, "seed": 1, "ways": [2, 4]}}]


def rows(folder: Path, shape: list[int], queries: int) -> list[object]:
    """Fifty random cells a query, each with a coefficient of its own."""
    from scipy.sparse import csr_array, save_npz

    generator = np.random.default_rng(2)
    cells = int(np.prod(shape))
    places, weights = generator.integers(0, cells, (queries, 50)), generator.integers(1, 101, (queries, 50)) / 100
    index = np.arange(0, 50 * queries + 1, 50)
    matrix = csr_array((weights.reshape(-1), places.reshape(-1), index), shape=(queries, cells))
    matrix.sum_duplicates()
    matrix.data = np.minimum(matrix.data, 1.0)
    save_npz(folder / "rows.npz", matrix)
    return [{"coefficients": "rows.npz"}]


def predicates(folder: Path, shape: list[int], queries: int) -> list[object]:
    """One entry each: one to three comparisons of unlike columns, some of them tied by `or`."""
    generator = np.random.default_rng(3)
    entries: list[object] = []
    for index in range(queries):
        columns = generator.choice(len(shape), min(len(shape), int(generator.integers(1, 4))), replace=False)
        parts = [_comparison(f"a{column}", shape[column], generator) for column in columns]
        entries.append({"where": " and ".join(parts), "name": f"p{index}"})
    return entries


def _comparison(column: str, size: int, generator: np.random.Generator) -> str:
    one, other = generator.integers(0, size, 2)
    sign = generator.choice(["=", "!=", "<=", ">=", "or"])
    return f"({column} = {one} or {column} = {other})" if sign == "or" else f"{column} {sign} {one}"


CASES = {"ranges": ranges, "conjunctions": conjunctions, "rows": rows, "predicates": predicates}

if __name__ == "__main__":
    main()
