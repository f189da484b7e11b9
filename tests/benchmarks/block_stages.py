"""Stages of the anytime loop over whole marginals: what they certify of L1 errors, beside bought bounds of the default.

python tests/benchmarks/block_stages.py --data adult-coded.csv [--columns 4 6] [--eps 0.1 1 10] [--runs 5]

A simulation, of a schedule that is not built: a round selects the marginal of the largest L1 error, measures all of it,
and stops a stage where the noisy L1 gap is small (the guide's topic `sources`, "Blocks in stages", has the proof). Each
line: the smallest certified bound on the L1 error of every marginal, over n, the true largest one, and the paid rounds;
then the same of `dpqr release --certify 0.05` by the default schedule. All pairs of the first columns of Adult, delta
1e-9, add-remove, beta .05; n is taken as declared, and the perfect fit of no stage is counted. Noise is seeded.
"""

from __future__ import annotations

import argparse
import math
import statistics
from itertools import combinations
from pathlib import Path

import numpy as np
from adult import SIZES
from online import codes_of

from dpqr.kernel.accountants.sums import zcdp_to_epsilon
from dpqr.kernel.budget import PrivacyBudget
from dpqr.python.release import release

BETA, STAGES, RATIO, FREE = 0.05, 40, 0.8, 400
"""beta; stages that share it; each alpha over the last one; free updates before each round."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--columns", type=int, nargs="+", default=[4, 6])
    parser.add_argument("--eps", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    print("columns   eps   stages: certified   true  rounds   default: certified   true")
    for columns in given.columns:
        sizes = dict(list(SIZES.items())[:columns])
        codes = codes_of(given.data, sizes)
        counts = np.zeros(tuple(sizes.values()))
        np.add.at(counts, tuple(codes.T), 1)
        for epsilon in given.eps:
            found = [in_stages(counts, rho_of(epsilon), seed) for seed in range(given.runs)]
            bought = [by_default(given.data, sizes, epsilon, counts) for _ in range(given.runs)]
            one, other = (list(map(statistics.median, zip(*runs, strict=True))) for runs in (found, bought))
            print(
                f"{columns:>7} {epsilon:>5} {one[0]:>19.3g} {one[1]:>6.3g} {one[2]:>7g} {other[0]:>20.3g} "
                f"{other[1]:>6.3g}",
                flush=True,
            )


def rho_of(epsilon: str) -> float:
    """The zero-concentrated budget of (epsilon, 1e-9)."""
    low, high, wanted = 0.0, 100.0, PrivacyBudget.parse(epsilon, "1e-9")
    for _ in range(60):
        middle = (low + high) / 2
        fits = middle == 0 or zcdp_to_epsilon(type(wanted.epsilon)(middle), wanted.delta) <= wanted.epsilon
        low, high = (middle, high) if fits else (low, middle)
    return low


def in_stages(counts: np.ndarray, rho: float, seed: int) -> tuple[float, float, int]:
    """The smallest certified L1 error of every pair over n, the true one of its hypothesis, and the paid rounds."""
    noise, n = np.random.default_rng(seed), counts.sum()
    axes = [tuple(set(range(counts.ndim)) - set(pair)) for pair in combinations(range(counts.ndim), 2)]
    truth = [counts.sum(axis=each) for each in axes]
    model, known = np.full(counts.shape, n / counts.size), dict[int, tuple[np.ndarray, float]]()
    best, true, rounds, alpha = math.inf, math.inf, 0, 1.0
    for _ in range(STAGES):
        room = alpha * n / 8
        for turn in range(1, 1000):
            model = consistent(model, axes, known, 5 * room)
            gaps = np.array([np.abs(each - model.sum(axis=out)).sum() for each, out in zip(truth, axes, strict=True)])
            gamma = gamma_of(turn)
            choosing = 2 * math.log(len(axes) / gamma) / room
            chosen = int(np.argmax(choosing * gaps / 2 + noise.gumbel(size=len(axes))))
            cells = truth[chosen].size
            sigma = room / (math.sqrt(2 / math.pi) * cells + math.sqrt(2 * cells * math.log(1 / gamma)))
            rho -= choosing**2 / 8 + 1 / (2 * sigma**2)
            if rho < 0:
                return best / n, true / n, rounds
            rounds += 1
            values = truth[chosen] + noise.normal(0, sigma, truth[chosen].shape)
            known[chosen] = values, room
            gap = np.abs(values - model.sum(axis=axes[chosen])).sum()
            if gap < 6 * room:
                best, true = min((best, true), (gap + 2 * room, gaps.max()))
                break
        alpha *= RATIO
    return best / n, true / n, rounds


def gamma_of(turn: int) -> float:
    """As `Stages.gamma`."""
    doublings = turn.bit_length() - 1
    return BETA / (2 * STAGES * 2**doublings * (doublings + 1) * (doublings + 2))


def consistent(model: np.ndarray, axes: list, known: dict[int, tuple[np.ndarray, float]], clear: float) -> np.ndarray:
    """Multiplicative weights by every measured marginal whose gap is sure, furthest first: a step of the whole gap."""
    n = model.sum()
    for _ in range(FREE):
        sure = {
            place: np.abs(values - model.sum(axis=axes[place])).sum() - room for place, (values, room) in known.items()
        }
        place = max(sure, key=sure.__getitem__, default=None)
        if place is None or sure[place] < clear:
            break
        short = known[place][0] - model.sum(axis=axes[place], keepdims=False)
        step = np.exp(sure[place] / n * np.sign(short))
        model = model * np.expand_dims(step, axes[place])
        model *= n / model.sum()
    return model


def by_default(path: Path, sizes: dict[str, int], epsilon: str, counts: np.ndarray) -> tuple[float, float]:
    """The largest bought bound and the largest true L1 error of a pair, over n."""
    made = release(
        str(path),
        queries={"domain": sizes, "queries": [{"marginals": {"ways": 2}}]},
        eps=epsilon,
        delta="1e-9",
        certify="0.05",
    )
    bounds = [each["records"] for each in made.record["bounds"]["blocks"]]
    errors = []
    for pair in combinations(range(counts.ndim), 2):
        truth = counts.sum(axis=tuple(set(range(counts.ndim)) - set(pair)))
        names = [list(sizes)[axis] for axis in pair]
        shown = made.answers[made.answers["query"] == f"marginal({','.join(names)})"]
        errors.append(float(np.abs(shown["estimate"].to_numpy() - truth.reshape(-1)).sum()))
    return max(bounds) / counts.sum(), max(errors) / counts.sum()


if __name__ == "__main__":
    main()
