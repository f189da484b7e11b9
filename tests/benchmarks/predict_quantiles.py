"""Quantile functions of made-up tables: loss on fresh rows over that of the same learner without noise.

python tests/benchmarks/predict_quantiles.py [--runs 10] [--seed 7]

The default (objective perturbation), the same with twice the guess at the norm (`PULLED_REACH`), and output
perturbation, at delta 1e-6 and a declared n. Targets are a random linear score of deviation 1 in 5 and skewed noise,
in 50 bins.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from unittest.mock import patch

import numpy as np

from dpqr.data.attribute import Attribute, Bins, Codes
from dpqr.data.domain import Domain
from dpqr.data.histogram import SparseHistogram
from dpqr.data.unit import PrivacyUnit
from dpqr.mechanisms.learned_functions import step
from dpqr.noise.source import SystemNoise
from dpqr.prediction.bounds.penalties import PULLED_REACH
from dpqr.prediction.forms import DIRECT
from dpqr.prediction.learners.features import CellFeatures
from dpqr.prediction.planner import PlannerInput, least_spread
from dpqr.prediction.problem import PredictionProblem, Target
from dpqr.prediction.recipes import StableRecipe
from dpqr.privacy.accountants.known import PREDICTING
from dpqr.privacy.budget import PrivacyBudget

ACCOUNTANTS = [one for name, one in PREDICTING.items() if name != "pld"]
BINS = 50
HELD = 10_000


class Numbers:
    """Independent uniform columns, and a target."""

    def __init__(self, drawn: np.random.Generator, columns: int, size: int, records: int) -> None:
        names = [f"c{place}" for place in range(columns)]
        number = Attribute(name="y", axis=Bins(edges=tuple(Fraction(each) for each in range(BINS + 1))))
        target = Target(attribute=number, axis=columns)
        fields = (*(Attribute(name=name, axis=Codes(size)) for name in names), number)
        self.problem = PredictionProblem(domain=Domain(fields), target=target, unit=PrivacyUnit(), records=records)
        self.features = CellFeatures(domain=self.problem.features)
        rows = drawn.integers(size, size=(records + HELD, columns))
        weights = drawn.normal(size=(columns, size)) / columns**0.5
        score = weights[np.arange(columns), rows].sum(axis=1)
        wanted = 0.3 + 0.1 * score + 0.15 * drawn.gamma(2, size=len(rows)) / 2**0.5
        codes = np.clip((wanted * BINS).astype(int), 0, BINS - 1)
        cells, times = np.unique(np.column_stack([rows, codes])[:records], axis=0, return_counts=True)
        self.counts = SparseHistogram(self.problem.domain.shape, cells, times)
        self.points, self.truth = self.features.of(rows[records:]), target.scaled()[codes[records:]]

    def loss(self, tau: str, weights: np.ndarray) -> float:
        apart = self.truth - np.clip(self.points @ weights, -1, 1)
        return float(np.mean(np.maximum(float(tau) * apart, (float(tau) - 1) * apart)))

    def without_noise(self, tau: str) -> float:
        given = {"name": "quantile", "features": self.features, "tau": Fraction(tau), "penalty": Fraction(1, 10**6)}
        return self.loss(tau, StableRecipe(**given).learner(self.problem, self.problem.records, 0.0).fit(self.counts))

    def ratios(self, tau: str, eps: str, method: str | None, runs: int) -> tuple[str, list[float]]:
        recipe = StableRecipe(name="quantile", features=self.features, tau=Fraction(tau), method=method)
        asked = {"budget": PrivacyBudget.parse(eps, "1e-6"), "recipe": recipe, "accountants": ACCOUNTANTS}
        plan = least_spread(PlannerInput(problem=self.problem, **asked))
        mechanism = plan.direct() if plan.noise in DIRECT else plan.weights(plan.learner(self.problem.records))
        grid = mechanism.grid if plan.noise in DIRECT else step(mechanism.learner.bound)
        found = (mechanism.sample(self.counts, SystemNoise()) * grid for _ in range(runs))
        free = self.without_noise(tau)
        return plan.noise, [self.loss(tau, each) / free for each in found]


def told(noise: str, ratios: list[float]) -> str:
    return f"{noise} {np.mean(ratios):.4f} +-{np.std(ratios) / len(ratios) ** 0.5:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    drawn = np.random.default_rng(given.seed)
    for columns, size in ((8, 5), (20, 10)):
        for records in (5000, 50_000):
            table = Numbers(drawn, columns, size, records)
            for tau, eps in (("0.5", "1"), ("0.9", "1"), ("0.9", "0.1")):
                found = [table.ratios(tau, eps, None, given.runs)]
                with patch.dict(PULLED_REACH, {"quantile": 2 * PULLED_REACH["quantile"]}):
                    found.append(table.ratios(tau, eps, None, given.runs))
                found.append(table.ratios(tau, eps, "rounded", given.runs))
                what = f"{columns} x {size}, n {records:,}, tau {tau}, eps {eps}"
                print(f"  {what:<36}: {', '.join(told(*each) for each in found)}", flush=True)


if __name__ == "__main__":
    main()
