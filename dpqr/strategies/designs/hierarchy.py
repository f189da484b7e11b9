"""Hierarchy: a tree whose level weights leave the workload the least error."""

from __future__ import annotations

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.strategies.designs.axis_queries import Queries
from dpqr.strategies.updates.descent import Descent
from dpqr.workload.sensitivity import Norm
from dpqr.workload.tree import Tree, dyadic

PRECISION = 1024
"""Sum of a tree's integer weights, about: finer ones would change the error by less than a thousandth."""

STEPS = 500
TOLERANCE = 1e-6
"""Of the logarithm's slope: far finer than integer weights can tell, and still above what rounding leaves of it."""
SMALLEST = 1e-4
"""Least share of the lowest level while weights are sought: without it single cells could not be told apart."""


def hierarchy(queries: Queries, norm: Norm, precision: int = PRECISION) -> Tree:
    """The binary tree with the best weights for noise scaled to `norm` (L1 or squared L2) of a column, rounded to
    integers whose sum is about `precision`.

    On 2^h cells with weights w_l for the groups of width s_l, A^T A = sum w_l^2 s_l P_l, P_l the projection on vectors
    constant on those groups. The P_l are nested, so their differences Q_j are orthogonal projections and A^T A has the
    eigenvalue lambda_j = sum over l >= j of w_l^2 s_l on Q_j: the expected squared error is, in closed form,

        (sum w_l)^2 sum over j of |W Q_j|^2 / lambda_j      (for squared L2: sum w_l^2 in front),

    which is minimised over the h + 1 weights. Levels whose weight rounds to 0 are left out, so trees of larger
    branching are among them. (Hay, Rastogi, Miklau and Suciu 2010 with all weights alike; weights: Li, Miklau, Hay,
    McGregor and Rastogi 2015.)
    """
    widths = dyadic(queries.size)
    energies = queries.energies(widths)
    shares = _best_shares(np.diff(energies, prepend=0.0), np.array(widths, dtype=np.float64), norm)
    weights = np.rint(shares * precision).astype(int)
    weights[-1] = max(weights[-1], 1)
    kept = [level for level, weight in enumerate(weights) if weight > 0]
    divisor = int(np.gcd.reduce(weights[kept]))
    return Tree(queries.size, tuple(widths[level] for level in kept), tuple(int(weights[k]) // divisor for k in kept))


def _best_shares(energies: FloatArray, widths: FloatArray, norm: Norm) -> FloatArray:
    """Level weights that add up to 1. The best of a descent from every branching: there are local minima."""
    levels = len(widths)
    scaled = np.maximum(energies, 0.0) / max(float(energies.sum()), 1e-300)
    starts = [np.where((np.arange(levels)[::-1] % step) == 0, 1.0, 0.02) for step in range(1, max(levels, 2))]
    floor = np.where(np.arange(levels) == levels - 1, SMALLEST, 0.0)

    def objective(roots: FloatArray) -> tuple[float, FloatArray]:
        error, slope = log_error(roots**2 + floor, scaled, widths, norm)
        return error, slope * 2 * roots

    found = [Descent(tolerance=TOLERANCE, steps=STEPS).run(objective, np.sqrt(start / start.sum())) for start in starts]
    best = min(found, key=lambda roots: objective(roots)[0]) ** 2 + floor
    shares: FloatArray = best / best.sum()
    return shares


def log_error(weights: FloatArray, energies: FloatArray, widths: FloatArray, norm: Norm) -> tuple[float, FloatArray]:
    """Logarithm of the expected squared error, and its gradient in the weights."""
    values = np.cumsum((weights**2 * widths)[::-1])[::-1]
    error = float((energies / values).sum())
    slope = -np.cumsum(energies / values**2) * 2 * weights * widths / error
    if norm is Norm.L1:
        column = float(weights.sum())
        return np.log(error) + 2 * np.log(column), slope + 2 / column
    squared = float(weights @ weights)
    return np.log(error) + np.log(squared), slope + 2 * weights / squared
