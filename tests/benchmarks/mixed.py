"""Mixed workloads over disjoint columns: one release, or one for each part with a share of the budget.

python tests/benchmarks/mixed.py [--eps 1] [--delta 1e-9] [--records 3000 30000] [--shares 0.2 0.5] [--runs 1]

Asked: all prefixes and 50 random ranges of one wide column (the ordered part), all pairs of five small columns and ten
conjunctions over them. In parts: each by `--schedule auto`, the ordered one at epsilon times the root of the share, so
that rhos are shares of the whole. Figures: mean over all blocks of L1 over n, as in regret.py: of `auto` and `strategy`
for the whole workload, of the parts by share of the ordered one; the least of the parts over that of the whole.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "marginals"))

from regret import SEED

from dpqr.app.planning.planning import plan_release, read_documents
from dpqr.app.requests import PlanRequest
from dpqr.construction.forecasts.forecast import reaches, simulated_errors
from dpqr.construction.forecasts.public_tables import PublicTable

SMALL = {"a": 6, "b": 8, "c": 5, "d": 10, "e": 4}
WIDE = (("exponential", 1024), ("spikes", 1024), ("normal", 256), ("exponential", 4096), ("even", 64))
ORDERED: list[object] = [{"prefix": "x"}, {"ranges": "x", "random": 50, "seed": 1}]
OTHERS: list[object] = [
    {"marginals": {"ways": 2, "columns": list(SMALL)}},
    {"conjunctions": {"random": 10, "seed": 1, "ways": [2, 3], "columns": list(SMALL)}},
]


def wide(kind: str, cells: int, records: int, generator: np.random.Generator) -> np.ndarray:
    codes = {
        "exponential": lambda: generator.exponential(cells / 5, records),
        "spikes": lambda: generator.choice(generator.choice(cells, 12), records),
        "normal": lambda: generator.normal(cells / 2, cells / 8, records),
        "even": lambda: generator.integers(cells, size=records),
    }[kind]()
    return np.clip(codes, 0, cells - 1).astype(np.int64)


def made(kind: str, cells: int, records: int) -> tuple[dict[str, int], np.ndarray]:
    generator = np.random.default_rng([SEED, cells, records])
    hidden, even = generator.integers(3, size=records), generator.integers(SMALL["d"], size=records)
    near = [(2 * hidden + generator.integers(3, size=records)) % size for size in SMALL.values()]
    near[list(SMALL).index("d")] = even
    return {"x": cells, **SMALL}, np.stack([wide(kind, cells, records, generator), *near], axis=1)


def errors(
    queries: list[object], sizes: dict[str, int], codes: np.ndarray, schedule: str, request: dict[str, str], runs: int
) -> np.ndarray:
    """L1 over n of each block, mean of the runs."""
    document = {"domain": sizes, "queries": queries}
    domain = read_documents(document, None).domain
    table = PublicTable.of("mixed", domain.shape, codes[:, [list(sizes).index(name) for name in domain.names]])
    plan = plan_release(PlanRequest(queries=document, schedule=schedule, error_bars="none", **request))
    rows = np.array([block.rows for block in plan.problem.workload.blocks]) / reaches(plan)
    return np.mean([simulated_errors(plan, table, SEED + run) * rows for run in range(runs)], axis=0) / len(codes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eps", type=float, default=1.0)
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--records", type=int, nargs="+", default=[3_000, 30_000])
    parser.add_argument("--shares", type=float, nargs="+", default=[0.2, 0.5])
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args()
    print(f"{'records':>8} {'wide column':<18} {'auto':>8} {'strategy':>8}  parts by share of the ordered one   ratio")
    for records in given.records:
        for kind, cells in WIDE:
            sizes, codes = made(kind, cells, records)

            def of(queries: list[object], share: float, schedule: str = "auto") -> np.ndarray:
                request = {"epsilon": f"{given.eps * share**0.5:.6f}", "delta": given.delta}
                return errors(queries, sizes, codes, schedule, request, given.runs)  # noqa: B023

            whole = [float(of(ORDERED + OTHERS, 1.0, schedule).mean()) for schedule in ("auto", "strategy")]
            parts = {
                share: float(np.concatenate([of(ORDERED, share), of(OTHERS, 1 - share)]).mean())
                for share in given.shares
            }
            shown = " ".join(f"{share:g}: {found:.4f}" for share, found in parts.items())
            ratio = min(parts.values()) / min(whole)
            print(
                f"{records:>8} {kind + f' {cells}':<18} {whole[0]:>8.4f} {whole[1]:>8.4f}  {shown:<34} {ratio:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
