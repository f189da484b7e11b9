"""Exact laws of noise, beside which draws and bounds are held."""

import numpy as np


def counts(draws, reach):
    """How often each number from -reach to reach was drawn."""
    inside = draws[np.abs(draws) <= reach]
    return np.bincount(inside + reach, minlength=2 * reach + 1)


def needed_for_weighted_sum(chances, weights, beta):
    """The least size that a sum of draws, times small whole weights, exceeds with a probability of at most beta.

    chances: of the draws from -reach to reach."""
    total = np.ones(1)
    for weight in weights:
        spread = np.zeros((len(chances) - 1) * abs(weight) + 1)
        spread[:: abs(weight)] = chances
        total = np.convolve(total, spread)
    sizes = np.abs(np.arange(len(total)) - len(total) // 2)
    return next(size for size in range(len(total)) if total[sizes > size].sum() <= beta)
