"""Prefixes and ranges of one ordered column: root mean square error a query over n, against closed forms.

python tests/benchmarks/dense.py --data FOLDER [--runs 10] [--eps 0.01 0.1 1] [--cells 1024 4096]

FOLDER holds HEPTH.npy, MEDCOST.npy, NETTRACE.npy: public histograms of 4,096 cells (DPBench); fewer cells are sums of
neighbours. Each run is `--schedule strategy` with pure eps under add-remove, through planning, gate and noise. HDMM,
OptTree: their expected error at eps 1, which scales with 1/eps; the ranges are drawn anew here, so their figure for
ranges is that of other draws (a percent apart). Identity and the best tree: closed forms of this house.
A ratio of 1.05 is the bar. Errors against true counts are shown because the histograms are public.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from dpqr.app.planning import plan_release
from dpqr.app.request import PlanRequest
from dpqr.construction.draws import Draws
from dpqr.construction.loop import iterative_construction
from dpqr.data.histogram import DenseHistogram
from dpqr.noise.source import SystemNoise
from dpqr.privacy.sealed import Private
from dpqr.strategies.designs.kronecker import designs
from dpqr.strategies.guard import guarded
from dpqr.strategies.plan import Plan
from dpqr.workload.sensitivity import Norm

NAMES = ("HEPTH", "MEDCOST", "NETTRACE")
HDMM = {(1024, "prefix"): 9.56, (1024, "rand2000"): 11.46, (4096, "prefix"): 12.98, (4096, "rand2000"): 15.22}
OPT_TREE = {(1024, "prefix"): 10.9, (1024, "rand2000"): 13.4, (4096, "prefix"): 13.9, (4096, "rand2000"): 17.4}


class Quiet:
    def finished(self, rounds: int, planned: int) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--eps", nargs="+", default=["0.01", "0.1", "1"])
    parser.add_argument("--cells", nargs="+", type=int, default=[1024, 4096])
    given = parser.parse_args()
    tables = {name: np.load(given.data / f"{name}.npy").astype(np.int64) for name in NAMES}
    print(
        f"{'cells':>5} {'workload':>8} {'eps':>5} {'data':>9} {'RMSE/n':>9} {'std err':>8} {'/ HDMM':>7} {'/ form':>7}"
    )
    ratios = []
    for cells in given.cells:
        for workload in ("prefix", "rand2000"):
            for eps in given.eps:
                plan, seconds = planned(cells, workload, eps)
                if eps == given.eps[0]:
                    closed_forms(plan, cells, workload, seconds)
                for name, table in tables.items():
                    counts = table.reshape(cells, -1).sum(axis=1)
                    errors = [error(plan, counts) for _ in range(given.runs)]
                    mean = float(np.sqrt(np.mean(np.square(errors))))
                    spread = float(np.std(errors) / max(len(errors) - 1, 1) ** 0.5) / counts.sum()
                    ratios.append(mean * float(eps) / HDMM[cells, workload])
                    form = mean / plan.forecast[0].deviation
                    print(
                        f"{cells:>5} {workload:>8} {eps:>5} {name:>9} {mean / counts.sum():>9.2e} {spread:>8.1e} "
                        f"{ratios[-1]:>7.3f} {form:>7.3f}",
                        flush=True,
                    )
    print(f"geometric mean of the ratios to HDMM: {np.exp(np.mean(np.log(ratios))):.3f}, largest {max(ratios):.3f}")


def planned(cells: int, workload: str, eps: str) -> tuple[Plan, float]:
    query = {"prefix": "v"} if workload == "prefix" else {"ranges": "v", "random": 2000, "seed": 1}
    with tempfile.TemporaryDirectory() as folder:
        queries = Path(folder, "q.json")
        queries.write_text(json.dumps({"domain": {"v": cells}, "queries": [query]}))
        started = time.perf_counter()
        plan = plan_release(PlanRequest(queries=str(queries), epsilon=eps, schedule="strategy"))
        return plan, time.perf_counter() - started


def closed_forms(plan: Plan, cells: int, workload: str, seconds: float) -> None:
    """Expected errors at eps 1 with continuous noise, of every design that was offered."""
    blocks = plan.problem.workload.blocks
    found = {}
    for design in designs("strategy(v)", (0,), (cells,), blocks, Norm.L1):
        column = design.strategy.factors[0].matrix.column_norm(1)
        found[design.kinds[0]] = (2 * design.error * column**2 / blocks[0].rows) ** 0.5
    figures = ", ".join(f"{kind} {figure:.2f}" for kind, figure in found.items())
    peers = f"HDMM {HDMM[cells, workload]}, OptTree {OPT_TREE[cells, workload]}"
    ratio = min(found.values()) / HDMM[cells, workload]
    print(f"# {cells} {workload} at eps 1, expected: {figures}; {peers}; ratio {ratio:.3f}; planned in {seconds:.1f} s")


def error(plan: Plan, counts: np.ndarray) -> float:
    """Root mean square over the queries, in records."""
    draws = Draws(data=Private(DenseHistogram(counts)), accountant=guarded(plan), noise=SystemNoise())
    estimate = iterative_construction(draws, plan, Quiet()).hypothesis
    block = plan.problem.workload.blocks[0]
    gaps = estimate.answer(block) - block.apply(counts)
    return float(np.sqrt((gaps**2).mean()))


if __name__ == "__main__":
    main()
