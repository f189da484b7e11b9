"""The default beside AIM on made-up tables: all marginals of a table, same eps, delta and neighbours (add-remove).

python tests/benchmarks/marginals/beside_aim.py --peers PYTHON [--half reporting|setting] [--tables NAME ...]
    [--tables-at-most N] [--eps 1] [--delta 1e-9] [--runs 3] [--peer-runs 1] [--megabytes 80] [--iterations 1000]

Error: mean over the marginals of the L1 distance from the true counts, over the true n, mean of the runs. The peers'
Python is that of an environment with `pip install dpmm`; megabytes and iterations are AIM's own defaults, and its last
fit has the iterations of the published one. Tables of few and narrow columns come first, so that a run that is ended
early has many; figures of one run of AIM are known within 5 to 10%.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from pathlib import Path

from methods import Contest
from shapes import HALVES, REPORTING, SETTING, made


def main() -> None:
    given = options()
    print(f"{'table':<24} {'rows':>7} {'columns':>7} {'eps':>4} {'dpqr':>8} {'AIM':>8} {'ratio':>6} {'CPU s':>13}")
    ratios = []
    for name in given.tables or sorted(HALVES[given.half], key=_work)[: given.tables_at_most]:
        ratios += compared(name, given)
    mean = math.exp(statistics.mean(map(math.log, ratios)))
    print(f"{len(ratios)} cells: geometric mean {mean:.3f}, largest {max(ratios):.3f}")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", required=True, metavar="PYTHON")
    parser.add_argument("--half", choices=HALVES, default="reporting")
    parser.add_argument("--tables", nargs="+", metavar="NAME")
    parser.add_argument("--tables-at-most", type=int)
    parser.add_argument("--eps", nargs="+", default=["1"])
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peer-runs", type=int, default=1)
    parser.add_argument("--megabytes", type=float, default=80)
    parser.add_argument("--iterations", type=int, default=1000)
    return parser.parse_args()


def compared(name: str, given: argparse.Namespace) -> list[float]:
    """The error of dpqr over that of AIM, one at each eps."""
    task, found = made(name), []
    limits = {"megabytes": given.megabytes, "iterations": given.iterations, "rounds": 0, "mst_iterations": 0}
    with tempfile.TemporaryDirectory() as folder:
        task.written(Path(folder))
        contest = Contest(
            task=task, truth=task.truth(), folder=Path(folder), peers=given.peers, more=(), options=limits
        )
        for eps in given.eps:
            ours = [contest.run("dpqr", eps, given.delta) for _ in range(given.runs)]
            theirs = [contest.run("aim", eps, given.delta) for _ in range(given.peer_runs)]
            own, other = (statistics.mean(run.error for run in runs) for runs in (ours, theirs))
            spent = " / ".join(f"{statistics.median(run.cpu for run in runs):.1f}" for runs in (ours, theirs))
            head = f"{name:<24} {task.records:>7} {len(task.sizes):>7} {eps:>4}"
            print(f"{head} {own:>8.4f} {other:>8.4f} {own / other:>6.3f} {spent:>13}", flush=True)
            found.append(own / other)
    return found


def _work(name: str) -> float:
    """Cells of all asked marginals."""
    *_, sizes, ways = (SETTING | REPORTING)[name]
    return sum(sizes) ** ways


if __name__ == "__main__":
    main()
