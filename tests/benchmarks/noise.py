"""Medians of the exact samplers, beside numpy's floating-point ones. Run: python tests/benchmarks/noise.py.

The numpy columns leak (holes in the floats, rounded weights): they are here as a yardstick of speed only.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from statistics import median
from time import perf_counter

import numpy as np

from dpqr.noise.discrete_gaussian import DiscreteGaussian
from dpqr.noise.discrete_laplace import DiscreteLaplace
from dpqr.noise.exponential_draw import draw_exponential
from dpqr.noise.permute_and_flip import draw_permute_and_flip
from dpqr.noise.source import SystemNoise

NOISE = SystemNoise()
LEAKY = np.random.default_rng()
RATE = Fraction(12345678901234567890123, 10**24)


def milliseconds(job: Callable[[], object], repeats: int) -> float:
    job()
    times = []
    for _ in range(repeats):
        start = perf_counter()
        job()
        times.append(perf_counter() - start)
    return 1000 * median(times)


def show(title: str, exact: float, leaky: float | None = None) -> None:
    beside = "" if leaky is None else f"   numpy {leaky:9.3f} ms   ratio {exact / leaky:5.2f}"
    print(f"{title:48} {exact:9.3f} ms{beside}", flush=True)


def softmax_choice(scores: np.ndarray) -> int:
    weights = np.exp(float(RATE) * (scores - scores.max()))
    return int(LEAKY.choice(len(scores), p=weights / weights.sum()))


def selections() -> None:
    for count, repeats in ((1, 500), (200, 500), (10**4, 100), (10**6, 15), (10**7, 5)):
        scores = np.random.default_rng(0).integers(0, 1001, count)
        exact = milliseconds(lambda scores=scores: draw_exponential(scores, RATE, NOISE), repeats)
        leaky = milliseconds(lambda scores=scores: softmax_choice(scores), repeats)
        show(f"exponential draw, {count:,} scores 0..1000", exact, leaky)
    wide = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 10**7)
    show(
        "exponential draw, 10,000,000 scores, all of int64",
        milliseconds(lambda: draw_exponential(wide, Fraction(1, 2**62), NOISE), 5),
    )
    for count, repeats in ((200, 500), (10**6, 7)):
        scores = np.random.default_rng(0).integers(0, 1001, count)
        flipped = milliseconds(lambda scores=scores: draw_permute_and_flip(scores, RATE, NOISE), repeats)
        show(f"permute-and-flip, {count:,} scores 0..1000", flipped)


def noises() -> None:
    for count, repeats in ((1, 1000), (10**3, 100), (10**6, 5)):
        for scale in (Fraction(1, 30), Fraction(1), Fraction(20), Fraction(1000), Fraction(3**126, 2**165)):
            law = DiscreteLaplace(scale)
            exact = milliseconds(lambda law=law, count=count: law.sample(count, NOISE), repeats)
            leaky = milliseconds(lambda scale=scale, count=count: LEAKY.laplace(0, float(scale), count), repeats)
            show(f"{count:,} discrete Laplace, scale {float(scale):.4g}", exact, leaky)
        for variance in (Fraction(1, 50), Fraction(1), Fraction(400), Fraction(10**6), Fraction(10**20)):
            gaussian = DiscreteGaussian(variance)
            exact = milliseconds(lambda law=gaussian, count=count: law.sample(count, NOISE), repeats)
            leaky = milliseconds(lambda v=variance, count=count: LEAKY.normal(0, float(v) ** 0.5, count), repeats)
            show(f"{count:,} discrete Gaussian, variance {float(variance):.4g}", exact, leaky)


if __name__ == "__main__":
    selections()
    noises()
