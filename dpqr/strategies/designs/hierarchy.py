"""Hierarchies: trees whose level weights minimise the expected error of a workload."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.fitting.descent import Descent
from dpqr.strategies.designs.gram import Queries
from dpqr.workload.sensitivity import Norm
from dpqr.workload.tree import Tree, dyadic


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Limits of precision and of time."""

    precision: int = 1024  # sum of the integer weights, about; finer ones change the error by less than a thousandth
    steps: int = 500  # descent steps, at most
    tolerance: float = 1e-6  # of the logarithm's gradient: below what integer weights resolve, above rounding
    smallest: float = 1e-4  # share of the lowest level during the search, so that single cells stay identifiable


TUNING = Tuning()


def hierarchy(queries: Queries, norm: Norm, precision: int = TUNING.precision) -> Tree:
    """The binary tree with the best level weights, rounded to integers whose sum is about `precision`.

    On 2^h cells with weights w_l for the groups of width s_l, A^T A = sum w_l^2 s_l P_l, P_l the projection on vectors
    constant on those groups. The P_l are nested, so their differences Q_j are orthogonal projections and A^T A has the
    eigenvalue lambda_j = sum over l >= j of w_l^2 s_l on Q_j. The expected squared error is

        (sum w_l)^2 sum over j of |W Q_j|^2 / lambda_j      (for squared L2: sum w_l^2 in front),

    which is minimised over the h + 1 weights. Levels whose weight rounds to 0 are left out, so trees of larger
    branching are included.

    Args:
        queries: the workload over the cells.
        norm: of a column, L1 or squared L2, to which the noise is scaled.

    References:
        Hay, Rastogi, Miklau and Suciu 2010 (equal weights); Li, Miklau, Hay, McGregor and Rastogi 2015 (weights).

    >>> from dpqr.strategies.designs.gram import AxisQueries
    >>> from dpqr.workload.matrix import Prefix
    >>> hierarchy(AxisQueries(size=64, terms=((Prefix(64), np.ones(64)),)), Norm.L1).cells
    64
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
    """Level weights with sum 1: the best of a descent from every branching, as there are local minima."""
    levels = len(widths)
    scaled = np.maximum(energies, 0.0) / max(float(energies.sum()), 1e-300)
    starts = [np.where((np.arange(levels)[::-1] % step) == 0, 1.0, 0.02) for step in range(1, max(levels, 2))]
    floor = np.where(np.arange(levels) == levels - 1, TUNING.smallest, 0.0)

    def objective(roots: FloatArray) -> tuple[float, FloatArray]:
        error, slope = log_error(roots**2 + floor, scaled, widths, norm)
        return error, slope * 2 * roots

    found = [
        Descent(tolerance=TUNING.tolerance, steps=TUNING.steps).run(objective, np.sqrt(start / start.sum()))
        for start in starts
    ]
    best = min(found, key=lambda roots: objective(roots)[0]) ** 2 + floor
    shares: FloatArray = best / best.sum()
    return shares


def log_error(weights: FloatArray, energies: FloatArray, widths: FloatArray, norm: Norm) -> tuple[float, FloatArray]:
    """Logarithm of the expected squared error, and its gradient in the weights.

    Args:
        weights: of the levels, shape (levels,).
        energies: |W Q_j|^2 (`hierarchy`), shape (levels,).
        widths: cells of a group on each level, shape (levels,).
        norm: of a column, L1 or squared L2.

    Returns:
        The logarithm, and the gradient of shape (levels,).
    """
    values = np.cumsum((weights**2 * widths)[::-1])[::-1]
    error = float((energies / values).sum())
    slope = -np.cumsum(energies / values**2) * 2 * weights * widths / error
    if norm is Norm.L1:
        column = float(weights.sum())
        return np.log(error) + 2 * np.log(column), slope + 2 / column
    squared = float(weights @ weights)
    return np.log(error) + np.log(squared), slope + 2 * weights / squared
