"""Mixed workloads over disjoint columns: the default beside every schedule that has a plan for the whole.

python tests/benchmarks/mixed.py [--cells seen|reported] [--delta 1e-9] [--runs 1]

Asked: all prefixes and 50 random ranges of one wide column (the ordered part), all pairs of small columns and ten
conjunctions over them. Figures: mean over all blocks of L1 over n, as in regret.py; the default (its schedule, its
error) over the least of all. Constants were looked at on the cells `seen` alone.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "marginals"))

from regret import SEED

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.releases.forecast.simulation import PublicTable, reaches, simulate
from dpqr.releases.planning import plan_release, read_documents
from dpqr.releases.requests import PlanRequest

Cell = tuple[str, int, int, str, tuple[int, ...]]
"""Distribution and cells of the wide column, records, epsilon, cells of the small columns."""

SMALL = (6, 8, 5, 10, 4)
WIDE = (("exponential", 1024), ("spikes", 1024), ("normal", 256), ("exponential", 4096), ("even", 64))
CELLS: dict[str, tuple[Cell, ...]] = {
    "seen": tuple((kind, cells, records, "1", SMALL) for records in (3_000, 30_000) for kind, cells in WIDE),
    "reported": (
        ("two humps", 2048, 1_000, "1", (2, 2, 3, 12)),
        ("two humps", 512, 10_000, "0.1", (4, 4, 4, 4, 4, 4)),
        ("zipf", 1500, 5_000, "1", (3, 9, 7)),
        ("zipf", 300, 100_000, "0.1", (2, 3, 5, 7)),
        ("steps", 1000, 20_000, "1", (10, 10, 10)),
        ("steps", 128, 2_000, "10", (5, 6, 2, 3)),
        ("exponential", 3000, 100_000, "1", (8, 8, 3, 2, 2)),
        ("normal", 700, 1_000, "10", (6, 4, 3)),
        ("spikes", 2000, 10_000, "1", (2, 2, 2, 2, 2, 2)),
        ("even", 200, 50_000, "0.1", (7, 5, 3, 4)),
    ),
}
METHODS = ("marginals", "rounds", "strategy", "ordered", "parts")
ORDERED: list[object] = [{"prefix": "x"}, {"ranges": "x", "random": 50, "seed": 1}]


def others(names: list[str]) -> list[object]:
    return [
        {"marginals": {"ways": 2, "columns": names}},
        {"conjunctions": {"random": 10, "seed": 1, "ways": [2, 3], "columns": names}},
    ]


def wide(kind: str, cells: int, records: int, generator: np.random.Generator) -> np.ndarray:
    codes = {
        "exponential": lambda: generator.exponential(cells / 5, records),
        "spikes": lambda: generator.choice(generator.choice(cells, 12), records),
        "normal": lambda: generator.normal(cells / 2, cells / 8, records),
        "even": lambda: generator.integers(cells, size=records),
        "zipf": lambda: generator.permutation(cells)[np.minimum(generator.zipf(1.5, records), cells) - 1],
        "steps": lambda: (
            generator.choice([0, 1, 2, 3], records, p=[0.5, 0.1, 0.3, 0.1]) * (cells // 4)
            + generator.integers(cells // 4, size=records)
        ),
        "two humps": lambda: (
            np.where(generator.random(records) < 0.3, cells / 5, cells * 0.7) + generator.normal(0, cells / 20, records)
        ),
    }[kind]()
    return np.clip(codes, 0, cells - 1).astype(np.int64)


def made(kind: str, cells: int, records: int, small: tuple[int, ...], *seed: int) -> tuple[dict[str, int], np.ndarray]:
    """The small columns depend on one hidden value, all but one of them."""
    generator = np.random.default_rng([SEED, cells, records, *seed])
    alone = min(3, len(small) - 1)
    hidden, even = generator.integers(3, size=records), generator.integers(small[alone], size=records)
    near = [(2 * hidden + generator.integers(3, size=records)) % size for size in small]
    near[alone] = even
    sizes = {"x": cells} | {chr(ord("a") + place): size for place, size in enumerate(small)}
    return sizes, np.stack([wide(kind, cells, records, generator), *near], axis=1)


def errors(
    queries: list[object], sizes: dict[str, int], codes: np.ndarray, schedule: str, request: dict[str, str], runs: int
) -> tuple[str, float]:
    """The schedule that is planned, and the mean over blocks and runs of L1 over n."""
    document = {"domain": sizes, "queries": queries}
    domain = read_documents(document, None).domain
    table = PublicTable.of("mixed", domain.shape, codes[:, [list(sizes).index(name) for name in domain.names]])
    plan = plan_release(PlanRequest(queries=document, schedule=schedule, error_bars="none", **request))
    rows = np.array([block.rows for block in plan.problem.workload.blocks]) / reaches(plan)
    if not runs:
        return plan.schedule.name, 0.0
    runs_of = [simulate(plan, table, SEED + run).errors * rows for run in range(runs)]
    return plan.schedule.name, float(np.mean(runs_of)) / len(codes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", choices=CELLS, default="seen")
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--only", type=int, nargs="+", help="numbers of cells, from 0")
    given = parser.parse_args()
    ratios = []
    for kind, cells, records, epsilon, small in [CELLS[given.cells][place] for place in given.only or range(10)]:
        sizes, codes = made(kind, cells, records, small)
        queries, request = ORDERED + others([*sizes][1:]), {"epsilon": epsilon, "delta": given.delta}
        found = {}
        for method in given.methods:
            try:
                found[method] = errors(queries, sizes, codes, method, request, given.runs)[1]
            except InfeasiblePlan:
                continue
        chosen = errors(queries, sizes, codes, "auto", request, 0)[0]
        ratios.append(found[chosen] / min(found.values()))
        shown = ", ".join(f"{method} {error:.4g}" for method, error in found.items())
        print(
            f"{records:,} records, eps {epsilon}, {kind} {cells:,} | {chosen} | {shown} | {ratios[-1]:.2f}", flush=True
        )
    print(f"default over least: geometric mean {np.exp(np.mean(np.log(ratios))):.3f}, largest {max(ratios):.2f}")


if __name__ == "__main__":
    main()
