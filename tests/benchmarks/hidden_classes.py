"""Dense tables, many columns that follow a few hidden ones: the default over the best fit of plain noise.

python tests/benchmarks/hidden_classes.py [--half setting|reporting ...] [--tables NAME ...] [--runs 2]
    [--kept hindsight.jsonl] [--baselines] [--eps 1] [--adult ../shared]

All pairs of columns are asked for. Error: the mean over the pairs of their L1 errors over n, mean of the runs; every
run draws table and noise anew. Hindsight: the least error of a junction tree, of 1 to 32 latent classes, each fitted to
plain noise of all pairs, and of this noise itself (`marginals/hindsight.py`); where columns differ in size, of noise in
shares of least error and in equal ones. The figure: the default's error over it; bars: 1.03 for the geometric mean,
1.10 for the largest. Both halves have the same five kinds of tables besides others; no two tables share a seed. Adult's
(reporting) stays the same from run to run.

Errors of the fits stay in the file --kept, so that a second call runs the default alone. --baselines: fits only.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from regret import DEFAULT, Case, Kept, task_of

sys.path.insert(0, str(Path(__file__).parent / "marginals"))

from hindsight import hindsight_error, methods
from makers import correlated, even, factors, markov, mixture, non_linear
from task import Task

MEAN, LARGEST = 1.03, 1.10
"""Bars."""
MIXED = (2, 3, 5, 8, 12)


@dataclass(frozen=True)
class Dense:
    """A kind of table: maker, rows, sizes of the columns."""

    maker: Callable[[np.random.Generator, int, tuple[int, ...]], np.ndarray]
    rows: int
    sizes: tuple[int, ...]
    delta: str = "1e-5"

    def made(self, name: str, run: int) -> Task:
        codes = self.maker(np.random.default_rng([*name.encode(), run]), self.rows, self.sizes)
        return Task(name=name, sizes={f"c{i:03}": size for i, size in enumerate(self.sizes)}, codes=codes, marginals=())


BOTH = {
    "one-factor": Dense(partial(correlated, correlation=0.64), 50_000, (8,) * 30),
    "four-factors": Dense(partial(factors, rank=4), 100_000, (10,) * 100),
    "non-linear": Dense(non_linear, 50_000, (6,) * 20),
    "five-factors": Dense(partial(factors, rank=5), 50_000, (6,) * 20),
    "even": Dense(even, 1_500, (6, 8, 5, 10, 7), "1e-9"),
}
OTHERS = {
    "setting": {
        "factors-1": Dense(partial(factors, rank=1), 20_000, MIXED * 4),
        "factors-3": Dense(partial(factors, rank=3), 50_000, (8,) * 16),
        "copula-.1": Dense(partial(correlated, correlation=0.1), 20_000, (10,) * 12),
        "copula-.7": Dense(partial(correlated, correlation=0.7), 5_000, MIXED * 3),
        "markov": Dense(markov, 30_000, MIXED * 5),
        "mixture": Dense(mixture, 10_000, (4, 6, 9) * 5),
    },
    "reporting": {
        "factors-2": Dense(partial(factors, rank=2), 10_000, (5,) * 24),
        "factors-6": Dense(partial(factors, rank=6), 100_000, MIXED * 3),
        "copula-.4": Dense(partial(correlated, correlation=0.4), 50_000, MIXED * 5),
        "copula-.9": Dense(partial(correlated, correlation=0.9), 20_000, (12,) * 10),
        "markov": Dense(partial(markov, states=8), 80_000, (6,) * 25),
        "mixture": Dense(mixture, 40_000, MIXED * 4),
    },
}


ADULT = "reporting-adult"


def tables(half: str) -> dict[str, Dense | None]:
    """None: Adult."""
    found: dict[str, Dense | None] = {f"{half}-{kind}": dense for kind, dense in (BOTH | OTHERS[half]).items()}
    return found | ({ADULT: None} if half == "reporting" else {})


def compare(name: str, dense: Dense | None, given: argparse.Namespace, kept: Kept) -> float | None:
    """Print a line; the default's error over that with hindsight. None: fits only."""
    delta = dense.delta if dense else "1e-9"
    fits: dict[str, list[float]] = {}
    defaults, seconds = [], 0.0
    for run in range(given.runs):
        task = dense.made(name, run) if dense else task_of("adult W-all2 48842", given.adult)
        for method in methods(tuple(task.sizes.values())):
            key = (name, given.eps, str(run), method)
            if key not in kept.errors:
                kept.add(key, [hindsight_error(task, method, given.eps, delta, run)])
            fits.setdefault(method, []).extend(kept.errors[key])
        if not given.baselines:
            start = time.process_time()
            case = Case.asked(task, [{"marginals": {"ways": 2}}], delta)
            defaults += case.errors(case.plan(given.eps, DEFAULT), 1, run)
            seconds += time.process_time() - start
    means = {fit: float(np.mean(errors)) for fit, errors in fits.items()}
    best = min(means, key=means.__getitem__)
    shown = ", ".join(
        f"{fit.replace('classes ', '').replace(' shares', '')} {error:.4f}" for fit, error in means.items()
    )
    ratio = float(np.mean(defaults)) / means[best] if defaults else None
    default = f"{ratio:.3f}: {np.mean(defaults):.4f} ({seconds / given.runs:.0f} s), " if defaults else ""
    print(f"{name:22} {default}hindsight {means[best]:.4f} ({best}); {shown}", flush=True)
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", nargs="+", choices=OTHERS, default=list(OTHERS))
    parser.add_argument("--tables", nargs="+", help="names without their half")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--eps", default="1")
    parser.add_argument("--kept", type=Path, default=Path("hindsight.jsonl"))
    parser.add_argument("--baselines", action="store_true")
    parser.add_argument("--adult", type=Path, default=Path("../shared"))
    given = parser.parse_args()
    kept = Kept.read(given.kept, [])
    for half in given.half:
        chosen = {
            name: dense
            for name, dense in tables(half).items()
            if name.partition("-")[2] in (given.tables or [name.partition("-")[2]])
        }
        if ADULT in chosen and not (given.adult / "data" / "adult-coded.csv").exists():
            print(f"adult left out: no data/adult-coded.csv in {given.adult}; name its folder with --adult")
            del chosen[ADULT]
        found = [compare(name, dense, given, kept) for name, dense in chosen.items()]
        ratios = [ratio for ratio in found if ratio is not None]
        if ratios:
            mean = math.exp(float(np.mean(np.log(ratios))))
            most = f"largest {max(ratios):.3f} (bar {LARGEST:.2f})"
            print(f"{half}: {len(ratios)} tables, geometric mean {mean:.3f} (bar {MEAN:.2f}), {most}", flush=True)


if __name__ == "__main__":
    main()
