"""Likeness: how much alike two tables are, in the figures that SDNist reports. For public and synthetic tables only.

References:
    NIST Collaborative Research Cycle, SDNist Deidentified Data Report: univariates, pairwise correlation differences,
    k-marginals, propensity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dpqr.data.arrays import AnyArray, Axes, FloatArray, IntArray
from dpqr.data.domain import Domain

TRIPLES, CELLS = 40, 2**20
"""Three-way marginals that are compared, and cells of the largest one."""
LEAF, MOST = 50, 200_000
"""Rows of a tree's smallest leaf, and the most rows of either table that a tree sees."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A table's cells with their counts. codes: shape (cells, columns); counts: shape (cells,)."""

    codes: AnyArray
    counts: IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Univariate:
    """One column's shares in both tables, shape (cells,)."""

    name: str
    titles: tuple[str, ...]
    true: FloatArray
    given: FloatArray

    @property
    def distance(self) -> float:
        """Total variation: 0 for equal shares, at most 1."""
        return float(np.abs(self.true - self.given).sum() / 2)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Likeness:
    """Figures of two tables.

    univariates: furthest first. correlations: Cramer's V of every pair of columns, given minus true, shape (columns,
    columns). scores: by k, 1000 x (1 - mean total variation of k-way marginals): 1000 for equal tables. told_apart:
    area under the curve of a tree that tells the tables' rows apart, on rows it has not seen: 0.5 where it cannot, 1
    where it always does; None: scikit-learn is not installed, or a table is too small.
    """

    univariates: tuple[Univariate, ...]
    names: tuple[str, ...]
    correlations: FloatArray
    scores: dict[int, float]
    told_apart: float | None


def likeness(domain: Domain, true: Rows, given: Rows) -> Likeness:
    """Compare two tables over one domain. Privacy: none; both are public by declaration."""
    shape, columns = domain.shape, range(len(domain.shape))
    pairs = {axes: _shares(shape, axes, true, given) for axes in combinations(columns, 2)}
    correlations = np.zeros((len(shape), len(shape)))
    for (first, second), (here, there) in pairs.items():
        correlations[[first, second], [second, first]] = _association(there) - _association(here)
    found = [_univariate(domain, axis, true, given) for axis in columns]
    scores = {2: _score([_distance(*both) for both in pairs.values()])} if pairs else {}
    if triples := _triples(shape):
        scores[3] = _score([_distance(*_shares(shape, axes, true, given)) for axes in triples])
    return Likeness(
        univariates=tuple(sorted(found, key=lambda one: -one.distance)),
        names=domain.names,
        correlations=correlations,
        scores=scores,
        told_apart=_told_apart(true, given),
    )


def _univariate(domain: Domain, axis: int, true: Rows, given: Rows) -> Univariate:
    here, there = _shares(domain.shape, (axis,), true, given)
    attribute = domain.attributes[axis]
    return Univariate(name=attribute.name, titles=tuple(attribute.titles()), true=here, given=there)


def _shares(shape: tuple[int, ...], axes: Axes, *tables: Rows) -> tuple[FloatArray, ...]:
    """The marginal over `axes` of each table, as shares of its rows."""
    sizes = tuple(shape[axis] for axis in axes)
    found = []
    for table in tables:
        places = np.ravel_multi_index(tuple(table.codes[:, axis].astype(np.int64) for axis in axes), sizes)
        counts = np.bincount(places, weights=table.counts, minlength=int(np.prod(sizes)))
        found.append(counts.reshape(sizes) / max(counts.sum(), 1.0))
    return tuple(found)


def _distance(here: FloatArray, there: FloatArray) -> float:
    return float(np.abs(here - there).sum() / 2)


def _score(distances: Sequence[float]) -> float:
    return 1000 * (1 - float(np.mean(distances)))


def _triples(shape: tuple[int, ...]) -> list[Axes]:
    """Triples of columns, evenly chosen of all that are small enough."""
    sizes = np.array(shape)
    fitting: list[Axes] = [axes for axes in combinations(range(len(shape)), 3) if sizes[list(axes)].prod() <= CELLS]
    return fitting[:: max(-(-len(fitting) // TRIPLES), 1)]


def _association(joint: FloatArray) -> float:
    """Cramer's V: 0 for independent columns, 1 where one decides the other."""
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    taken = expected > 0
    chi = float((np.square(joint - expected)[taken] / expected[taken]).sum())
    least = min(int((joint.sum(axis=axis) > 0).sum()) for axis in (0, 1)) - 1
    return float(np.sqrt(chi / least)) if least > 0 else 0.0


def _told_apart(true: Rows, given: Rows) -> float | None:
    try:
        from sklearn.metrics import roc_auc_score
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        return None
    here, there = _rows(true), _rows(given)
    if min(len(here), len(there)) < 2 * LEAF:
        return None
    rows, labels = np.concatenate([here, there]), np.repeat([0, 1], [len(here), len(there)])
    weights = np.where(labels, 1 / len(there), 1 / len(here))
    seen = np.arange(len(rows)) % 2 == 0
    tree = DecisionTreeClassifier(min_samples_leaf=LEAF, random_state=0)
    tree.fit(rows[seen], labels[seen], sample_weight=weights[seen])
    told = tree.predict_proba(rows[~seen])[:, 1]
    return float(roc_auc_score(labels[~seen], told, sample_weight=weights[~seen]))


def _rows(table: Rows) -> IntArray:
    """Row by row, in the order of their cells, at most MOST evenly chosen: every second one is a fair half."""
    rows = np.repeat(table.codes.astype(np.int64), table.counts, axis=0)
    return rows[:: max(-(-len(rows) // MOST), 1)]
