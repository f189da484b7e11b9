"""Queries under conditions, on made-up tables: error of the default, and beside that of another checkout.

python tests/benchmarks/conditions.py [--half setting|reporting] [--every 4] [--adult ../shared/data]
    [--family conditions] [--eps .1 .3 1 3] [--delta 1e-6] [--runs 4] [--kept FILE] [--before FILE]

Figures: mean over all blocks of L1 over n, as in regret.py, mean of the runs; the same of blocks of one query alone.
--kept writes them to a file; --before reads that of another checkout, and prints the ratios: geometric mean, least and
largest. The same seeds serve both. Anything was set on the half `setting` alone. --adult takes six columns of Adult,
drawn four times, in place of the made-up tables.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow.csv as pc

sys.path.insert(0, str(Path(__file__).parent / "marginals"))

from families import FAMILIES
from regret import SEED
from shapes import HALVES, made
from task import Task

from dpqr.releases.forecast.simulation import PublicTable, reaches, simulate
from dpqr.releases.planning import plan_release, read_documents
from dpqr.releases.requests import PlanRequest

KINDS = ("all blocks", "single queries")


def adult(place: Path, draw: int) -> Task:
    """Six columns of Adult."""
    sizes = json.loads((place / "adult-coded-domain.json").read_text())
    names = np.random.default_rng(draw).permutation([name for name in sizes if name != "fnlwgt"])[:6].tolist()
    table = pc.read_csv(place / "adult-coded.csv")
    codes = np.stack([table[name].to_numpy() for name in names], axis=1)
    plain = {name.replace("-", "_").replace(">", "gt"): sizes[name] for name in names}
    return Task(name=f"adult{draw}", sizes=plain, codes=codes, marginals=())


def errors(task: Task, family: str, epsilon: str, delta: str, runs: int) -> dict[str, float]:
    """By kind of block."""
    document = {"domain": task.sizes, "queries": FAMILIES[family](task.sizes)}
    domain = read_documents(document, None).domain
    table = PublicTable.of(task.name, domain.shape, task.codes[:, [list(task.sizes).index(n) for n in domain.names]])
    plan = plan_release(PlanRequest(queries=document, epsilon=epsilon, delta=delta, error_bars="none"))
    blocks = plan.problem.workload.blocks
    rows = np.array([block.rows for block in blocks])
    found = np.mean([simulate(plan, table, SEED + run).errors for run in range(runs)], axis=0)
    found = found * rows / reaches(plan) / task.records
    single = [place for place, block in enumerate(blocks) if block.rows == 1 and block.axes]
    kinds = (found, found[single]) if single else (found,)
    return {kind: float(of_kind.mean()) for kind, of_kind in zip(KINDS, kinds, strict=False)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=HALVES, default="setting")
    parser.add_argument("--every", type=int, default=4, help="of the half's tables, every so many")
    parser.add_argument("--adult", type=Path)
    parser.add_argument("--family", choices=FAMILIES, default="conditions")
    parser.add_argument("--eps", nargs="+", default=[".1", ".3", "1", "3"])
    parser.add_argument("--delta", default="1e-6")
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--before", type=Path)
    given = parser.parse_args()
    before = json.loads(given.before.read_text()) if given.before else {}
    kept = dict[str, dict[str, float]]()
    made_up = (made(name) for name in HALVES[given.half][:: given.every])
    for task in (adult(given.adult, draw) for draw in range(1, 5)) if given.adult else made_up:
        for epsilon in given.eps:
            found = errors(task, given.family, epsilon, given.delta, given.runs)
            kept[f"{task.name} {epsilon}"] = found
            shown = ", ".join(f"{kind} {error:.4g}" for kind, error in found.items())
            print(f"{task.name}, eps {epsilon}: {shown}", flush=True)
    if given.kept:
        given.kept.write_text(json.dumps(kept, indent=1))
    for kind in KINDS if before else ():
        for epsilon in (*given.eps, "all"):
            cells = [cell for cell in kept if kind in kept[cell] and epsilon in ("all", cell.split()[1])]
            ratios = np.array([kept[cell][kind] / before[cell][kind] for cell in cells])
            shown = f"geometric mean {np.exp(np.log(ratios).mean()):.3f}, {ratios.min():.2f} to {ratios.max():.2f}"
            print(f"{kind}, eps {epsilon}, {len(cells)} cells, over the error before: {shown}")


if __name__ == "__main__":
    main()
