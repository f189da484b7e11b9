"""Confidence limits of a probability, from how often an event was seen."""

from __future__ import annotations

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray

OUTWARD = 1e-9
"""Relative widening: covers every rounding of the inverse beta function, and costs nothing."""


def lower_limits(hits: IntArray, runs: int, alpha: float) -> FloatArray:
    """Lower Clopper-Pearson limits: each exceeds its event's true probability with probability at most `alpha`.

    hits: how often each event was seen in `runs` independent runs; shape (events,). Clopper and Pearson 1934: the
    limit p solves Pr[Binomial(runs, p) >= hits] = alpha, a quantile of a beta law; 0 without a hit.
    """
    from scipy.special import betaincinv

    counted = np.asarray(hits, dtype=np.float64)
    limits = betaincinv(np.maximum(counted, 1.0), runs - counted + 1.0, alpha)
    return np.where(counted > 0, limits * (1 - OUTWARD), 0.0)


def upper_limits(hits: IntArray, runs: int, alpha: float) -> FloatArray:
    """Upper Clopper-Pearson limits: each lies below the true probability with probability at most `alpha`."""
    from scipy.special import betainccinv

    counted = np.asarray(hits, dtype=np.float64)
    limits = betainccinv(counted + 1.0, np.maximum(runs - counted, 1.0), alpha)
    return np.where(counted < runs, np.minimum(limits * (1 + OUTWARD), 1.0), 1.0)
