"""Quantile functions of made-up tables: loss on fresh rows over that of the same learner without noise.

python tests/benchmarks/predict_quantiles.py [--half tuning reporting] [--tables 12] [--runs 2] [--eps 0.1 0.3 1 3]

Tables of either half: 3 to 12 columns of 2 to 12 labels with even or Zipf shares, 1,000 to 30,000 records, targets in
50 bins: a random linear score and noise (skewed to either side, normal, Laplace, of two groups, or rounded to multiples
of five). Constants are set on the tuning half. Delta 1e-6, n declared; the default method and output perturbation. A
line is a mean over tables and releases: of ratios, and of log ratios.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dpqr.domain.attribute import Attribute, Bins, Codes
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import SparseHistogram
from dpqr.kernel.accountants.known import PREDICTING
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.noise.source import SystemNoise
from dpqr.kernel.unit import PrivacyUnit
from dpqr.prediction.forms import DIRECT
from dpqr.prediction.learned_functions import step
from dpqr.prediction.learners.features import CellFeatures
from dpqr.prediction.planner import PlannerInput, least_spread
from dpqr.prediction.problem import PredictionProblem, Target
from dpqr.prediction.recipes import StableRecipe

ACCOUNTANTS = [one for name, one in PREDICTING.items() if name != "pld"]
BINS = 50
HELD = 10_000
TAUS = ("0.1", "0.25", "0.5", "0.75", "0.9")
HALVES = {"tuning": 2000, "reporting": 3000}
"""First seed of each."""
NOISES = {
    "skewed": lambda drawn, many: drawn.gamma(2, size=many) / 2**0.5 - 2**0.5,
    "skewed down": lambda drawn, many: 2**0.5 - drawn.gamma(2, size=many) / 2**0.5,
    "normal": lambda drawn, many: drawn.normal(size=many),
    "laplace": lambda drawn, many: drawn.laplace(size=many) / 2**0.5,
    "two groups": lambda drawn, many: drawn.choice([-1, 1], size=many) + drawn.normal(size=many) / 4,
    "in fives": lambda drawn, many: drawn.normal(size=many),
}


class Numbers:
    """Independent columns, and a target."""

    def __init__(self, seed: int) -> None:
        drawn, kind = np.random.default_rng(seed), list(NOISES)[seed % len(NOISES)]
        sizes, records = drawn.integers(2, 13, size=drawn.integers(3, 13)), int(10 ** drawn.uniform(3, 4.5))
        number = Attribute(name="y", axis=Bins(edges=tuple(Fraction(each) for each in range(BINS + 1))))
        columns = [Attribute(name=f"c{place}", axis=Codes(int(size))) for place, size in enumerate(sizes)]
        target, fields = Target(attribute=number, axis=len(sizes)), (*columns, number)
        self.problem = PredictionProblem(domain=Domain(fields), target=target, unit=PrivacyUnit(), records=records)
        self.features = CellFeatures(domain=self.problem.features)
        many, score = records + HELD, 0.0
        rows = np.empty((many, len(sizes)), dtype=int)
        for place, size in enumerate(sizes):
            shares = np.arange(1, size + 1) ** -drawn.choice([0.0, 1.0])
            rows[:, place] = drawn.choice(size, size=many, p=shares / shares.sum())
            score = score + drawn.normal(size=size)[rows[:, place]] / len(sizes) ** 0.5
        middle, signal, spread = drawn.uniform(0.3, 0.7), drawn.uniform(0.03, 0.15), drawn.uniform(0.05, 0.2)
        wanted = BINS * (middle + signal * score + spread * NOISES[kind](drawn, many))
        codes = np.clip(5 * np.round(wanted / 5) if kind == "in fives" else wanted, 0, BINS - 1).astype(int)
        cells, times = np.unique(np.column_stack([rows, codes])[:records], axis=0, return_counts=True)
        self.counts = SparseHistogram(self.problem.domain.shape, cells, times)
        self.points, self.truth = self.features.of(rows[records:]), target.scaled()[codes[records:]]

    def loss(self, tau: str, weights: np.ndarray) -> float:
        apart = self.truth - np.clip(self.points @ weights, -1, 1)
        return float(np.mean(np.maximum(float(tau) * apart, (float(tau) - 1) * apart)))

    def without_noise(self, tau: str) -> float:
        given = {"name": "quantile", "features": self.features, "tau": Fraction(tau), "penalty": Fraction(1, 10**6)}
        return self.loss(tau, StableRecipe(**given).learner(self.problem, self.problem.records, 0.0).fit(self.counts))

    def losses(self, tau: str, eps: str, method: str | None, runs: int) -> Iterator[float]:
        recipe = StableRecipe(name="quantile", features=self.features, tau=Fraction(tau), method=method)
        asked = {"budget": PrivacyBudget.parse(eps, "1e-6"), "recipe": recipe, "accountants": ACCOUNTANTS}
        plan = least_spread(PlannerInput(problem=self.problem, **asked))
        mechanism = plan.direct() if plan.noise in DIRECT else plan.weights(plan.learner(self.problem.records))
        grid = mechanism.grid if plan.noise in DIRECT else step(mechanism.learner.bound)
        return (self.loss(tau, mechanism.sample(self.counts, SystemNoise()) * grid) for _ in range(runs))


def told(ratios: np.ndarray) -> str:
    """ratios: shape (tables, runs)."""
    each = ratios.mean(axis=1)
    return f"{each.mean():.4f} +-{ratios.std() / ratios.size**0.5:.4f} (geometric {np.exp(np.log(ratios).mean()):.4f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", nargs="+", choices=HALVES, default=[*HALVES])
    parser.add_argument("--tables", type=int, default=12)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--eps", nargs="+", default=["0.1", "0.3", "1", "3"])
    parser.add_argument("--tau", nargs="+", default=[*TAUS])
    given = parser.parse_args()
    for half in given.half:
        tables = [Numbers(HALVES[half] + place) for place in range(given.tables)]
        for tau in given.tau:
            free = np.array([[table.without_noise(tau)] for table in tables])
            for eps in given.eps:
                found = []
                for method in (None, "rounded"):
                    losses = np.array([[*table.losses(tau, eps, method, given.runs)] for table in tables])
                    found.append(told(losses / free))
                print(f"  {half:<9} tau {tau:<4} eps {eps:<3}: default {found[0]}, output {found[1]}", flush=True)


if __name__ == "__main__":
    main()
