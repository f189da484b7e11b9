"""Times of the exact samplers beside numpy's floating-point ones and opendp's: medians, interleaved.

python tests/benchmarks/noise.py [--repeats 20] [--their-draws 100000]
python tests/benchmarks/noise.py more

Bars: one exponential draw at most 1.0 times numpy's softmax and choice at 10^6 scores of 0..1000, at most 0.6 times
at 10^7; 10^6 discrete Laplace draws at least 25 times, discrete Gaussian at least 20 times faster than opendp's vector
call (extra [opendp]; skipped where it is absent). The numpy columns leak (holes in the floats, rounded weights): they
are here as a yardstick of speed only.

opendp takes 9 to 23 seconds for 10^6 draws, so by default each of its calls makes 10^5, and its time is scaled by
ten; one call of all 10^6 says how true that is. `--their-draws 1000000` scales nothing.
Ratios are of CPU time (user and system), which other jobs on the machine disturb least; the clock's stand beside.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.gaussian import DiscreteGaussian
from dpqr.kernel.noise.selection import draw_exponential, draw_permute_and_flip
from dpqr.kernel.noise.source import SystemNoise

NOISE = SystemNoise()
LEAKY = np.random.default_rng()
RATE = Fraction(12345678901234567890123, 10**24)
DRAWS = 10**6

Job = Callable[[], object]
Times = tuple[float, float]
"""Milliseconds of CPU and of the clock."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["bars", "more"], nargs="?", default="bars")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--their-draws", type=int, default=DRAWS // 10)
    given = parser.parse_args()
    if given.what == "more":
        more_selections()
        more_noises()
        return
    selections(given.repeats)
    noises(given.repeats, given.their_draws)


def selections(repeats: int) -> None:
    for count, bar in ((10**6, 1.0), (10**7, 0.6)):
        scores = np.random.default_rng(0).integers(0, 1001, count)
        exact, leaky = partial(draw_exponential, scores, RATE, NOISE), partial(softmax_choice, scores)
        ours, theirs = beside(exact, leaky, repeats)
        print(f"exponential draw, {count:,} scores 0..1000: {words(ours)}; numpy {words(theirs)}")
        print(f"    {ours[0] / theirs[0]:.2f} times numpy's CPU, {ours[1] / theirs[1]:.2f} times its clock", end="")
        print(f" (bar: at most {bar})", flush=True)


def noises(repeats: int, draws: int) -> None:
    theirs = opendp_samplers()
    if theirs is None:
        print("discrete Laplace and Gaussian beside opendp: SKIPPED, opendp is not installed (dpqr[opendp])")
        return
    for name, law, bar in (
        ("discrete Laplace, scale 20", DiscreteLaplace(Fraction(20)), 25),
        ("discrete Gaussian, variance 400", DiscreteGaussian(Fraction(400)), 20),
    ):
        part, whole = np.zeros(draws, dtype=np.int64), np.zeros(DRAWS, dtype=np.int64)
        call, scale = theirs[type(law)], DRAWS / draws
        ours, other = beside(partial(law.sample, DRAWS, NOISE), partial(call, part), repeats)
        other = (other[0] * scale, other[1] * scale)
        stated = f"opendp {words(other)}" + (f", {scale:g} times a call of {draws:,}" if scale != 1 else "")
        print(f"{DRAWS:,} draws, {name}: {words(ours)}; {stated}")
        print(f"    {other[0] / ours[0]:.1f} times faster by CPU, {other[1] / ours[1]:.1f} by the clock", end="")
        print(f" (bar: at least {bar})", flush=True)
        if scale != 1:
            print(f"    one call of opendp for all {DRAWS:,}: {words(timed(partial(call, whole)))}", flush=True)


def opendp_samplers() -> dict[Any, Any] | None:
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    integers = dp.vector_domain(dp.atom_domain(T="i64"))
    return {
        DiscreteLaplace: dp.m.make_laplace(integers, dp.l1_distance(T="i64"), 20.0),
        DiscreteGaussian: dp.m.make_gaussian(integers, dp.l2_distance(T="f64"), 20.0),
    }


def beside(ours: Job, theirs: Job, repeats: int) -> tuple[Times, Times]:
    """Medians of both, run in turn after one run each that is not counted."""
    timed(ours), timed(theirs)
    both = [(timed(ours), timed(theirs)) for _ in range(repeats)]
    return middle([first for first, _ in both]), middle([second for _, second in both])


def middle(times: list[Times]) -> Times:
    return median(cpu for cpu, _ in times), median(clock for _, clock in times)


def timed(job: Job) -> Times:
    cpu, clock = process_time(), perf_counter()
    job()
    return 1000 * (process_time() - cpu), 1000 * (perf_counter() - clock)


def words(times: Times) -> str:
    return f"{times[0]:,.1f} ms CPU ({times[1]:,.1f} by the clock)"


def show(title: str, exact: Job, leaky: Job | None, repeats: int) -> None:
    ours, theirs = beside(exact, leaky or (lambda: None), repeats)
    other = "" if leaky is None else f"   numpy {theirs[0]:9.3f} ms   ratio {ours[0] / theirs[0]:5.2f}"
    print(f"{title:48} {ours[0]:9.3f} ms CPU{other}", flush=True)


def softmax_choice(scores: np.ndarray) -> int:
    weights = np.exp(float(RATE) * (scores - scores.max()))
    return int(LEAKY.choice(len(scores), p=weights / weights.sum()))


def more_selections() -> None:
    for count, repeats in ((1, 500), (200, 500), (10**4, 100)):
        scores = np.random.default_rng(0).integers(0, 1001, count)
        exact, leaky = partial(draw_exponential, scores, RATE, NOISE), partial(softmax_choice, scores)
        show(f"exponential draw, {count:,} scores 0..1000", exact, leaky, repeats)
    wide = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 10**7)
    exact = partial(draw_exponential, wide, Fraction(1, 2**62), NOISE)
    show("exponential draw, 10,000,000 scores, all of int64", exact, None, 5)
    for count, repeats in ((200, 500), (10**6, 7)):
        scores = np.random.default_rng(0).integers(0, 1001, count)
        flip = partial(draw_permute_and_flip, scores, RATE, NOISE)
        show(f"permute-and-flip, {count:,} scores 0..1000", flip, None, repeats)


def more_noises() -> None:
    for count, repeats in ((1, 1000), (10**3, 100), (10**6, 5)):
        for scale in (Fraction(1, 30), Fraction(1), Fraction(20), Fraction(1000), Fraction(3**126, 2**165)):
            exact = partial(DiscreteLaplace(scale).sample, count, NOISE)
            leaky = partial(LEAKY.laplace, 0, float(scale), count)
            show(f"{count:,} discrete Laplace, scale {float(scale):.4g}", exact, leaky, repeats)
        for variance in (Fraction(1, 50), Fraction(1), Fraction(400), Fraction(10**6), Fraction(10**20)):
            exact = partial(DiscreteGaussian(variance).sample, count, NOISE)
            leaky = partial(LEAKY.normal, 0, float(variance) ** 0.5, count)
            show(f"{count:,} discrete Gaussian, variance {float(variance):.4g}", exact, leaky, repeats)


if __name__ == "__main__":
    main()
