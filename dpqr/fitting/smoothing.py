"""Smoothing of noisy counts along an attribute whose neighbouring cells hold similar counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dpqr.data.arrays import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Set by `python tests/benchmarks/marginals`; figures: tests/benchmarks/RESULTS.md, "Fitting"."""

    shortest: int = 8  # cells of an attribute that is smoothed, at least
    longest: int = 2**12  # the same, at most
    clear: float = 40.0  # deviations above which a count is exact: neighbours add nothing, and the chain restarts
    lowest: float = 0.02  # the smallest level, in deviations
    gain: float = 6.0  # log likelihood ratio, chain against independent cells, from which counts are smoothed
    rounds: int = 30  # EM steps of the prior
    prior_share: float = 0.05  # weight that the initial prior keeps in each of them


TUNING = Tuning()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Smoothed:
    """Posterior counts.

    Attributes:
        values: expected counts given all noisy ones, shape (cells,).
        deviation: root mean square of their posterior deviations.
    """

    values: FloatArray
    deviation: float


@dataclass(frozen=True, kw_only=True)
class HiddenMarkovSmoother:
    """A hidden Markov chain along the cells of one attribute: each has a level, observed with Gaussian noise.

    From cell to cell the logarithm of the level makes normal steps of one of the sizes `steps`, or, with probability
    `jump`, restarts from the prior of levels. That prior is the non-parametric maximum likelihood estimate for
    independent cells (Kiefer and Wolfowitz 1956), by EM steps (Laird 1978), stopped early. The step size of the largest
    likelihood is taken, and each cell's posterior expected level, by forward and backward sums (Baum, Petrie, Soules
    and Weiss 1970) on a grid of levels.

    Codes of occupations or countries have no such order, so the counts must show it: they are smoothed only where they
    are e^gain times likelier under the chain than under independent levels of the same prior.

    Privacy:
        Post-processing: reads released counts alone.

    >>> noisy = np.array([1.0, -1.0] * 20) + np.linspace(0.0, 30.0, 40)
    >>> smoothed = HiddenMarkovSmoother().run(noisy, 2.0)
    >>> smoothed.deviation < 2.0
    True
    """

    steps: tuple[float, ...] = (0.03, 0.1, 0.3)
    jump: float = 0.05

    def run(self, counts: FloatArray, deviation: float) -> Smoothed | None:
        """The smoothed counts; None where the counts show no chain.

        Args:
            counts: noisy counts, shape (cells,).
            deviation: of their noise, in the same unit.
        """
        seen = counts / deviation
        exact = seen > TUNING.clear
        if not TUNING.shortest <= seen.size <= TUNING.longest or exact.all():
            return None
        fits = self._fits(seen)
        prior = _estimated_prior(fits[~exact], self._initial_prior)
        moves = (1.0 - self.jump) * self._kernels + self.jump * prior
        forward, likelihoods = _forward(fits, exact, prior, moves)
        best = int(likelihoods.argmax())
        if likelihoods[best] - np.log(fits[~exact] @ prior).sum() < TUNING.gain:
            return None
        levels = _grid()
        odds = _posterior(forward[:, best], fits, exact, moves[best])
        means = odds @ levels
        spread = np.where(exact, 1.0, odds @ levels**2 - means**2)
        values: FloatArray = np.where(exact, seen, means) * deviation
        return Smoothed(values=values, deviation=float(np.sqrt(spread.mean())) * deviation)

    @staticmethod
    def _fits(seen: FloatArray) -> FloatArray:
        """The likelihood of every level over the largest, shape (cells, levels)."""
        logs = -0.5 * (seen[:, None] - _grid()) ** 2
        logs -= logs.max(axis=1, keepdims=True)
        with np.errstate(under="ignore"):
            fits: FloatArray = np.exp(logs)
        return fits

    @cached_property
    def _initial_prior(self) -> FloatArray:
        """Uniform in logarithms."""
        weights: FloatArray = np.gradient(np.log(_grid()))
        weights /= weights.sum()
        return weights

    @cached_property
    def _kernels(self) -> FloatArray:
        """Transition probabilities by step size, shape (steps, levels, levels)."""
        logs = np.log(_grid())
        sizes = np.array(self.steps)[:, None, None]
        with np.errstate(under="ignore"):
            kernels: FloatArray = np.exp(-0.5 * ((logs[:, None] - logs) / sizes) ** 2) * self._initial_prior
        kernels /= kernels.sum(axis=2, keepdims=True)
        return kernels


@lru_cache(maxsize=1)
def _grid() -> FloatArray:
    """Levels in deviations: geometric below one, then steps of the larger of 0.5 and 4%."""
    levels = list(np.geomspace(TUNING.lowest, 1.0, 15))
    while levels[-1] < TUNING.clear + 6.0:
        levels.append(levels[-1] + max(0.5, 0.04 * levels[-1]))
    return np.array(levels)


def _estimated_prior(fits: FloatArray, before: FloatArray) -> FloatArray:
    """The prior of levels, estimated from independent cells."""
    prior = before
    for _ in range(TUNING.rounds):
        odds = fits * prior
        odds /= odds.sum(axis=1, keepdims=True)
        prior = (1.0 - TUNING.prior_share) * odds.mean(axis=0) + TUNING.prior_share * before
    return prior


def _forward(
    fits: FloatArray, exact: np.ndarray, prior: FloatArray, moves: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Odds of the levels given the cells so far, shape (cells, steps, levels), and every step size's log likelihood."""
    odds = np.empty((len(fits), len(moves), prior.size))
    likelihoods = np.zeros(len(moves))
    ahead = restart = np.tile(prior, (len(moves), 1))
    for cell, fit in enumerate(fits):
        if exact[cell]:
            odds[cell] = ahead = restart
            continue
        joint = ahead * fit
        sums = joint.sum(axis=1)
        likelihoods += np.log(sums)
        odds[cell] = joint / sums[:, None]
        ahead = np.matmul(odds[cell][:, None, :], moves)[:, 0]
    return odds, likelihoods


def _posterior(forward: FloatArray, fits: FloatArray, exact: np.ndarray, moves: FloatArray) -> FloatArray:
    """Odds of the levels given all cells, shape (cells, levels)."""
    odds = np.empty_like(forward)
    behind = restart = np.ones(len(moves))
    for cell in range(len(fits) - 1, -1, -1):
        odds[cell] = forward[cell] * behind
        odds[cell] /= odds[cell].sum()
        behind = restart if exact[cell] else moves @ (fits[cell] * behind)
        behind = behind / behind.max()
    return odds
