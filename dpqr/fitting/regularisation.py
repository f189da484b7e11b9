"""Regularisation strengths: how strongly a fit shrinks towards its base, in deviations of residual per potential."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.fitting.evidence import Evidence
from dpqr.hypotheses.factored.distribution import FactoredDistribution


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Set by `python tests/benchmarks/marginals`; figures: tests/benchmarks/RESULTS.md, "Fitting"."""

    singles: float = 0.1  # strength of single attributes on the uniform base, at least
    spread: float = 3.0  # variance of the log-odds between the cells of a single attribute, at most
    even: float = 0.1  # the same, at least
    most: float = 0.5  # variance of log-odds that a table is credited with, at most
    least: float = 0.3  # factor by which the cells of such a table lower their strength, at least


TUNING = Tuning()


def strengths(evidence: Sequence[Evidence], total: float) -> list[float]:
    """w, one per evidence.

    Several measured marginals share an interaction of two attributes, which would then cost 1/m of what it costs in a
    single one. So a marginal has the mean, over its pairs, of the number of measured marginals that contain the pair;
    single attributes and other blocks have 1.

    In the first stage, single attributes on the uniform base, it is at least `singles`: real columns have log-odds of
    five and more. Log-odds of variance v around cells of N / k records, observed with noise of deviation s, are best
    shrunk at w = s k / (v N), which is taken where it is more (v: `_spreads`).

    Args:
        total: N, records, more than 0.
    """
    if all(seen.order == 1 for seen in evidence):
        single = [seen for seen in evidence if seen.block is None]
        noise = np.array([seen.deviation * seen.values.size / total for seen in single])
        found = iter(np.maximum(TUNING.singles, noise / _spreads(single, noise, total)).tolist())
        return [next(found) if seen.block is None else 1.0 for seen in evidence]
    pairs = [list(combinations(sorted(seen.axes), 2)) if seen.block is None else [] for seen in evidence]
    times = Counter(pair for own in pairs for pair in own)
    return [sum(times[pair] for pair in own) / len(own) if own else 1.0 for own in pairs]


def _spreads(single: Sequence[Evidence], noise: FloatArray, total: float) -> FloatArray:
    """Variance v of the log-odds between the cells, one per single attribute: what it shows, and what all show.

    The shares of k cells, over even ones, have the mean square deviation that is seen less the noise's h^2, known to
    within sqrt(2 / k) h^2. Where that tells little, the mean over all attributes stands in for it (empirical Bayes; to
    begin with, `spread`). Twice the deviation that remains is added: to lean too much costs more than to lean too
    little. Such shares vary by k - 1 at most, log-odds without bound.

    Args:
        noise: h, the deviation of a cell over its even share N / k, one per attribute.
    """
    cells = np.array([seen.values.size for seen in single], dtype=float)
    most, precision, start = np.maximum(cells - 1, 1), cells / (2 * noise**4), TUNING.spread
    squares = [np.square(seen.values * seen.values.size / total - 1).mean() for seen in single]
    shown = np.array(squares) - noise**2
    doubt = 1 / precision + start**2
    mean = ((shown / doubt).sum() + 1 / start) / ((1 / doubt).sum() + 1 / start**2)
    mean = np.clip(mean, TUNING.even, start)
    precise = precision + 1 / mean**2
    likely = np.maximum((shown * precision + 1 / mean) / precise, 0) + 2 / np.sqrt(precise)
    likely = np.minimum(likely, most * start / (most + start))
    found: FloatArray = np.maximum(likely * most / (most - likely), TUNING.even)
    return found


def strengths_by_cell(evidence: Sequence[Evidence], base: FactoredDistribution, total: float) -> list[FloatArray]:
    """w, one array of shape (values,) per evidence: as `strengths`, lower where a table departs from its base.

    Log-odds of variance v around a cell of m records, observed with noise of deviation s, are best shrunk at
    w = s / (v m). v is estimated from the table of several attributes itself: its mean square contingency against the
    base, less the noise's, over the cells above the noise.

    Args:
        base: the fit to the lower orders, at one record.
        total: N, records, more than 0.

    >>> from dpqr.fitting.evidence import Evidence
    >>> seen = Evidence(key=(0,), axes=(0,), values=np.array([95.0, 5.0]), deviation=1.0)
    >>> strengths_by_cell([seen], FactoredDistribution.uniform((2,), 1.0), 100.0)
    [array([0.1, 0.1])]
    """
    return [
        _lowered(seen, figure, base, total) for seen, figure in zip(evidence, strengths(evidence, total), strict=True)
    ]


def _lowered(seen: Evidence, figure: float, base: FactoredDistribution, total: float) -> FloatArray:
    alike = np.full(seen.values.size, figure)
    if seen.block is not None or seen.order < 2:
        return alike
    expected, noise = (base.marginal(seen.axes) * total).reshape(-1), seen.deviation
    values = seen.values.reshape(-1)
    shown = min(TUNING.most, _contingency(expected, values, noise))
    if shown <= 0.0:
        return alike
    cells = np.maximum(np.maximum(expected, values), noise)
    return alike * np.clip(noise / (shown * cells), TUNING.least, 1.0)


def _contingency(expected: FloatArray, values: FloatArray, noise: float) -> float:
    """Pearson's mean square contingency of the cells expected above the noise, less the noise's share."""
    large = expected >= noise
    if not large.any():
        return 0.0
    squares = (values[large] - expected[large]) ** 2 - noise**2
    return float((squares / expected[large]).sum() / expected[large].sum())
