"""Prefixes, ranges and rectangles of ordered columns: root mean square error a query over n, against closed forms.

python tests/benchmarks/dense.py --data FOLDER [--runs 50] [--eps 0.01 0.1 1] [--schedule auto]

FOLDER holds HEPTH.npy, MEDCOST.npy, NETTRACE.npy (4,096 cells; 1,024 are sums of 4 neighbours), ADULT-2D.npy and
STROKE.npy (64 x 64): public histograms (DPBench). Each run is a release with pure eps under add-remove, n private,
through planning, gate and noise. HDMM: its expected error at eps 1, which scales with 1/eps; the ranges are drawn anew
here, so its figure for ranges is that of other draws (a percent apart). Identity, tree, p-Identity, Kronecker: closed
forms of this house, with the whole budget. s = n eps / cells. Brackets: 95% bootstrap interval over the runs. Regret:
over the best of HDMM, identity and tree. Errors against true counts are shown because the histograms are public.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.noise.source import SystemNoise
from dpqr.kernel.sealed import Private
from dpqr.releases.draws import Draws
from dpqr.releases.loop import SILENT, iterative_construction
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.designs.kronecker import designs
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Plan
from dpqr.workload.sensitivity import Norm

NAMES = {1: ("HEPTH", "MEDCOST", "NETTRACE"), 2: ("ADULT-2D", "STROKE")}
HDMM = {(1024, "prefix"): 9.56, (1024, "rand2000"): 11.46, (4096, "prefix"): 12.98, (4096, "rand2000"): 15.22}
REGIMES = {"s < 1": (0.0, 1.0), "s 1-5": (1.0, 5.0), "s > 5": (5.0, math.inf)}
BARS = {"s < 1": 0.70, "s 1-5": 0.75, "s > 5": 1.05}


@dataclass(frozen=True)
class Cell:
    """One line of the grid: errors are root mean squares over queries and runs, in records."""

    sizes: tuple[int, ...]
    workload: str
    eps: str
    data: str
    records: int
    closed: dict[str, float]
    squares: np.ndarray

    @property
    def signal(self) -> float:
        return self.records * float(self.eps) / math.prod(self.sizes)

    @property
    def error(self) -> float:
        return float(np.sqrt(self.squares.mean()))

    @property
    def interval(self) -> tuple[float, float]:
        draws = np.random.default_rng(0).choice(self.squares, (2000, len(self.squares)))
        low, high = np.quantile(np.sqrt(draws.mean(axis=1)), (0.025, 0.975))
        return float(low), float(high)

    @property
    def reference(self) -> float:
        """HDMM on one axis, the Kronecker strategy on two."""
        return self.closed["HDMM" if len(self.sizes) == 1 else "Kronecker"]

    @property
    def regret(self) -> float:
        return self.error / min(figure for name, figure in self.closed.items() if name != "p-Identity")

    def line(self) -> str:
        low, high = (bound / self.records for bound in self.interval)
        forms = " ".join(f"{name} {figure / self.records:.2e}" for name, figure in self.closed.items())
        size = "x".join(map(str, self.sizes))
        return (
            f"{size:>6} {self.workload:>8} {self.eps:>5} {self.data:>9} s {self.signal:8.3f}  "
            f"{self.error / self.records:.2e} [{low:.2e}, {high:.2e}]  "
            f"over reference {self.error / self.reference:.3f}  regret {self.regret:.3f}  | {forms}"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--eps", nargs="+", default=["0.01", "0.1", "1"])
    parser.add_argument("--cells", nargs="+", type=int, default=[1024, 4096])
    parser.add_argument("--schedule", default="auto")
    given = parser.parse_args()
    started = time.process_time()
    found = []
    for cell in grid(given):
        found.append(cell)
        print(cell.line(), flush=True)
    summary(found)
    print(
        f"{time.process_time() - started:.0f} s of processor time, {given.runs} runs each, --schedule {given.schedule}"
    )


def grid(given: argparse.Namespace) -> Iterator[Cell]:
    """One axis: both sizes, both workloads; two axes: rectangles."""
    cases = [((cells,), workload) for cells in given.cells for workload in ("prefix", "rand2000")]
    for sizes, workload in [*cases, ((64, 64), "rect2000")]:
        for eps in given.eps:
            plan = planned(sizes, workload, eps, given.schedule)
            closed = closed_forms(plan, sizes, workload, float(eps))
            for name in NAMES[len(sizes)]:
                table = np.load(given.data / f"{name}.npy").astype(np.int64)
                counts = table.reshape(sizes[0], -1).sum(axis=1) if len(sizes) == 1 else table.reshape(sizes)
                squares = np.array([square(plan, counts) for _ in range(given.runs)])
                yield Cell(sizes, workload, eps, name, int(counts.sum()), closed, squares)


def planned(sizes: tuple[int, ...], workload: str, eps: str, schedule: str) -> Plan:
    names = ["v", "w"][: len(sizes)]
    random = {"random": 2000, "seed": 1}
    asked = {"prefix": {"prefix": "v"}, "rand2000": {"ranges": "v", **random}, "rect2000": {"ranges": names, **random}}
    document = {"domain": dict(zip(names, sizes, strict=True)), "queries": [asked[workload]]}
    with tempfile.TemporaryDirectory() as folder:
        queries = Path(folder, "q.json")
        queries.write_text(json.dumps(document), encoding="utf-8")
        return plan_release(PlanRequest(queries=str(queries), epsilon=eps, schedule=schedule))


def closed_forms(plan: Plan, sizes: tuple[int, ...], workload: str, eps: float) -> dict[str, float]:
    """Expected errors with continuous noise of the whole budget, in records."""
    blocks, axes = plan.problem.workload.blocks, tuple(range(len(sizes)))
    names = {"identity": "identity", "hierarchy": "tree", "p-identity": "p-Identity"}
    found = {} if len(sizes) > 1 else {"HDMM": HDMM[sizes[0], workload] / eps}
    for design in designs("strategy", axes, sizes, blocks, Norm.L1):
        column = math.prod(factor.matrix.column_norm(1) for factor in design.strategy.factors)
        figure = math.sqrt(2 * design.error * column**2 / blocks[0].rows) / eps
        found["identity" if set(design.kinds) == {"identity"} else names.get(design.kinds[0], "mixed")] = figure
    if len(sizes) > 1:
        found = {"identity": found["identity"], "Kronecker": min(found.values())}
    return found


def square(plan: Plan, counts: np.ndarray) -> float:
    """Mean square over the queries, in squared records."""
    draws = Draws(data=Private(DenseHistogram(counts)), accountant=make_filter(plan), noise=SystemNoise())
    estimate = iterative_construction(draws, plan, SILENT).hypothesis
    block = plan.problem.workload.blocks[0]
    gaps = estimate.answer(block) - block.apply(counts)
    return float((gaps**2).mean())


def summary(found: list[Cell]) -> None:
    """Geometric means by regime against the bars, and the largest regrets."""
    one = [cell for cell in found if len(cell.sizes) == 1]
    for name, (low, high) in REGIMES.items():
        ratios = [cell.error / cell.reference for cell in one if low <= cell.signal < high]
        if ratios:
            mean = math.exp(np.mean(np.log(ratios)))
            print(f"{name}: over HDMM {mean:.3f} (bar {BARS[name]}), largest {max(ratios):.3f}, {len(ratios)} cases")
    if one:
        print(f"largest regret on one axis: {max(cell.regret for cell in one):.3f} (bar 1.25)")
    two = [cell.error / cell.reference for cell in found if len(cell.sizes) == 2]
    if two:
        print(
            f"rectangles over Kronecker: {math.exp(np.mean(np.log(two))):.3f} (bar 0.9), largest {max(two):.3f} (1.05)"
        )


if __name__ == "__main__":
    main()
