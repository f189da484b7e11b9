"""The audit of noisy answers: exact losses of the noise that is added, on every neighbouring pair."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import mpmath
import numpy as np
from audits.neighbours import Breach, Pair

from dpqr.kernel.events import DiscreteGaussianEvent, DiscreteLaplaceEvent
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.gaussian import DiscreteGaussian
from dpqr.mechanisms.noisy_answers import GaussianAnswers, LaplaceAnswers
from dpqr.workload.block import QueryBlock

DIGITS = 50
ORDERS = (Fraction(11, 10), Fraction(2), Fraction(7, 2), Fraction(20))


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The blocks that are answered, the law of the noise, and what is said to be paid."""

    blocks: tuple[QueryBlock, ...]
    law: DiscreteLaplace | DiscreteGaussian
    event: DiscreteLaplaceEvent | DiscreteGaussianEvent

    @classmethod
    def of(cls, mechanism: LaplaceAnswers | GaussianAnswers) -> "Claim":
        return cls(blocks=mechanism.blocks, law=mechanism.law, event=mechanism.event)

    def moves(self, pair: Pair) -> np.ndarray:
        """How far every entry of the exact answers moves between two neighbours."""
        return np.concatenate([block.answer(pair[0]) - block.answer(pair[1]) for block in self.blocks])


def laplace_loss(move: np.ndarray, scale: Fraction) -> Fraction:
    """sup over outputs of the log-ratio, sum (|o - a'| - |o - a|) / scale: reached at o = a."""
    return Fraction(int(np.abs(move).sum())) / scale


@lru_cache(maxsize=4096)
def gaussian_divergence(move: int, variance: Fraction, order: Fraction) -> mpmath.mpf:
    """Renyi divergence of the discrete Gaussian around `move` from the one around 0, from the two sums themselves."""
    with mpmath.workdps(DIGITS):
        spread, a = (
            mpmath.mpf(variance.numerator) / variance.denominator,
            mpmath.mpf(order.numerator) / order.denominator,
        )
        reach = int(20 * mpmath.sqrt(spread)) + int(a + 1) * (abs(move) + 1)
        support = range(-reach, reach + 1)
        norm = mpmath.fsum(mpmath.exp(-(k**2) / (2 * spread)) for k in support)
        powers = (mpmath.exp(-(a * (k - move) ** 2 + (1 - a) * k**2) / (2 * spread)) for k in support)
        return mpmath.log(mpmath.fsum(powers) / norm) / (a - 1)


def audit_answers(claim: Claim, neighbours: Iterable[Pair]) -> float:
    """Breach unless the loss is within the claim everywhere; returns the largest loss as a share of the claim."""
    moves = np.unique([np.abs(claim.moves(pair)) for pair in neighbours], axis=0)
    share = _laplace_share if isinstance(claim.law, DiscreteLaplace) else _gaussian_share
    return max(share(claim, move) for move in moves)


def _laplace_share(claim: Claim, move: np.ndarray) -> float:
    loss, allowed = laplace_loss(move, claim.law.scale), Fraction(claim.event.sensitivity) / claim.event.scale
    if loss > allowed:
        raise Breach(f"log-ratio {loss} beyond epsilon {allowed}")
    return float(loss / allowed)


def _gaussian_share(claim: Claim, move: np.ndarray) -> float:
    """zCDP: at every order a, the divergence is at most a rho. Entries are independent, so theirs add up."""
    rho = Fraction(claim.event.squared_sensitivity) / (2 * claim.event.variance)
    shares = []
    with mpmath.workdps(DIGITS):
        for order in ORDERS:
            allowed = mpmath.mpf((order * rho).numerator) / (order * rho).denominator
            loss = mpmath.fsum(gaussian_divergence(int(entry), claim.law.variance, order) for entry in move)
            if loss > allowed * (1 + mpmath.mpf(10) ** -30):
                raise Breach(f"divergence {mpmath.nstr(loss)} beyond {mpmath.nstr(allowed)} at order {order}")
            shares.append(float(loss / allowed))
    return max(shares)
