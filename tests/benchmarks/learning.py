"""Errors of noisy means with learned bounds, over those with the best fixed bounds; and recall of learned labels.

python tests/benchmarks/learning.py [--rows 100000] [--runs 50] [--eps 0.1] [--seed 1]

Bounds: ten made-up columns. A mean is the sum of values cut to the bounds, with discrete Laplace noise of epsilon, over
the rows; its error is the root mean squared error, noise and cut included, and shown is the median over the runs, with
the share of runs in which a bound lies beyond all values by more than a doubling. Learned bounds cost a further
epsilon. The best fixed bounds are the pair of grid edges of least error, which nobody could know. Bar: 1.3. Labels:
the share of labels of 2, 5, 10 and 50 persons that are kept at epsilon 1 and delta 1e-6, and the share
under the optimal law in closed form. Columns are made up; their true means are used for that reason only.
"""

from __future__ import annotations

import argparse
import math
from fractions import Fraction
from itertools import product

import numpy as np

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.noise.keeping import KeepingLaw
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import PrivacyUnit
from dpqr.mechanisms.learning import EndScores, end_rank, geometric_grid
from dpqr.mechanisms.selection import ExponentialChoice
from dpqr.releases.learning import BEYOND, DOUBLINGS

UNIT = PrivacyUnit()
SIZES, LABELS = (2, 5, 10, 50), 100_000


def columns(rows: int, seed: int) -> dict[str, np.ndarray]:
    """Ten columns, of typical and of awkward kinds."""
    draw = np.random.default_rng(seed)
    return {
        "age": np.floor(draw.beta(2, 3, rows) * 100),
        "income": np.exp(draw.normal(10, 0.6, rows)),
        "wealth": np.exp(draw.normal(10, 1.5, rows)),
        "duration": draw.exponential(90, rows),
        "visits": draw.poisson(2, rows).astype(float),
        "temperature": draw.normal(-5, 10, rows),
        "balance": draw.standard_t(3, rows) * 1000,
        "pareto": draw.pareto(1.5, rows) * 10,
        "constant": np.full(rows, 37.0),
        "share": draw.integers(0, 101, rows).astype(float),
    }


def error(values: np.ndarray, low: float, high: float, epsilon: float) -> float:
    """Root mean squared error of the noisy mean of values that are cut to the bounds."""
    bias = float(np.clip(values, low, high).mean() - values.mean())
    scale = max(abs(low), abs(high)) / epsilon / len(values)
    return math.sqrt(bias**2 + 2 * scale**2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, default in (("rows", 100_000), ("runs", 50), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--eps", type=float, default=0.1)
    options = parser.parse_args()
    grid = geometric_grid(Fraction(1), DOUBLINGS)
    edges, cells = np.array(list(map(float, grid))), len(grid) - 1
    half = Fraction(str(options.eps)) / 2
    rank = end_rank(half, cells, UNIT, BEYOND)
    noise, ratios = SeededNoise(options.seed), []
    print(f"{'column':<12} {'best':>10} {'learned':>10} {'ratio':>6} {'beyond':>6}")
    for name, values in columns(options.rows, options.seed).items():
        counts = DenseHistogram(np.histogram(values, edges)[0])
        lows = sorted({0.0, *edges[np.searchsorted(edges, np.quantile(values, (0, 0.001, 0.01))) - 1]})
        highs = edges[(edges > np.median(values)) & (edges <= 2 * max(1.0, values.max()))]
        best = min(error(values, low, high, options.eps) for low, high in product(lows, highs) if low < high)
        errors, beyond = [], 0
        for _ in range(options.runs):
            low, high = (
                ExponentialChoice(
                    scores=EndScores(axis=0, bins=cells, rank=rank, top=top), unit=UNIT, epsilon=half
                ).sample(counts, noise)
                for top in (False, True)
            )
            bounds = edges[min(low, high)], edges[max(low, high) + 1]
            errors.append(error(values, *bounds, options.eps))
            beyond += max(map(abs, bounds)) > 2 * max(1.0, np.abs(values).max())
        learned = float(np.median(errors))
        ratios.append(learned / best)
        print(f"{name:<12} {best:>10.4g} {learned:>10.4g} {ratios[-1]:>6.2f} {beyond / options.runs:>6.2f}")
    print(f"{'geometric mean':<34} {math.exp(float(np.mean(np.log(ratios)))):>6.2f}")
    law = KeepingLaw(Fraction(1), Fraction(1, 10**6))
    for size in SIZES:
        kept = law.sample(np.full(LABELS, size), noise).mean()
        print(f"labels of {size:>2} persons: kept {kept:.5f}, optimal law {float(law.probability(size)):.5f}")


if __name__ == "__main__":
    main()
