"""Added loss: what independent noise of mean 0 adds to a mean loss at most, by its deviation and its law."""

from __future__ import annotations

import math

from dpqr.prediction.forms import OBJECTIVES, Noise
from dpqr.prediction.learners.losses import Cornered, Loss


def mean_share(noise: Noise) -> float:
    """Mean absolute noise over its standard deviation, at most.

    Laplace: sqrt(2 q) / (1 + q) with q = exp(-1 / scale), below 1 / sqrt(2); normal: sqrt(2 / pi), and as much for the
    spherical law, which is a mixture of normal ones; others: 1 (Jensen).
    """
    shares: dict[Noise, float] = {"laplace": math.sqrt(1 / 2)}
    return shares.get(noise, 1.0 if noise in OBJECTIVES else math.sqrt(2 / math.pi))


def tail_share(noise: Noise) -> float:
    """Noise that one draw in 20 exceeds, over its standard deviation: log(20) scales of a Laplace law, the widest."""
    return 1.96 if noise == "gaussian" else math.log(20) / math.sqrt(2)


def added_loss(loss: Loss | Cornered, slope: float, spread: float, share: float) -> float:
    """What independent noise of mean 0 adds to a mean loss at most, of deviation `spread` and mean absolute size
    `share` of it: min(G e, smoothness d^2 / 2).

    References:
        Rana 2019, Theorem 4 (its smoothness gamma^2 / epsilon^2 is that of a mean square of 2 gamma^2 / epsilon^2).
    """
    by_slope = slope * share * spread
    return by_slope if isinstance(loss, Cornered) else min(by_slope, float(loss.smoothness) * spread**2 / 2)


def most_noise(loss: Loss | Cornered, slope: float, added: float, share: float) -> float:
    """The largest deviation of noise for which `added_loss` is `added` at most."""
    by_slope = added / (slope * share)
    return by_slope if isinstance(loss, Cornered) else max(by_slope, math.sqrt(2 * added / float(loss.smoothness)))
