"""Refinement: measured marginals that the model has no room for, each fitted by itself on the model's answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dpqr.data.arrays import FloatArray, frozen
from dpqr.hypotheses.dense_distribution import DenseDistribution
from dpqr.hypotheses.factored.distribution import FactoredDistribution
from dpqr.hypotheses.refined import RefinedDistribution
from dpqr.strategies.updates.evidence import Evidence
from dpqr.strategies.updates.local_fit import local_fit


def refined(
    model: DenseDistribution | FactoredDistribution, left: Sequence[Evidence]
) -> DenseDistribution | FactoredDistribution | RefinedDistribution:
    """The model, and a table for each of the marginals `left`: the model's own, drawn to the noisy one, with the
    model's one-way sums."""
    if model.total <= 0.0:
        return model
    tables = {}
    for seen in left:
        faces = [model.marginal((axis,)) for axis in seen.axes]
        cells = local_fit(model.marginal(seen.axes), seen.values, seen.deviation, faces)
        tables[seen.axes] = frozen(cells / model.total)
    return RefinedDistribution(model=model, tables=tables)


def by_interaction(evidence: Iterable[Evidence]) -> list[Evidence]:
    """The evidence in the order in which a model of limited room should take it: single attributes, blocks that are no
    marginals, then marginals by how far they are from independence, noise aside."""
    return sorted(evidence, key=lambda seen: (-_distance(seen), seen.axes))


def _distance(seen: Evidence) -> float:
    """L1 distance, in records, between a fit to the noisy marginal and the product of its own one-way sums; infinite
    where no comparison is needed."""
    total = float(seen.values.sum())
    if seen.order < 2 or seen.block is not None:
        return np.inf
    if total <= 0.0:
        return 0.0
    faces = [_face(seen.values, axis, total) for axis in range(seen.order)]
    base = _product(faces, total)
    return float(np.abs(local_fit(base, seen.values, seen.deviation, faces) - base).sum())


def _face(values: FloatArray, axis: int, total: float) -> FloatArray:
    """Sums along `axis`, clipped at zero and brought to the total."""
    sums = np.maximum(values.sum(axis=tuple(other for other in range(values.ndim) if other != axis)), 0.0)
    face: FloatArray = sums * (total / sums.sum())
    return face


def _product(faces: Sequence[FloatArray], total: float) -> FloatArray:
    base = np.asarray(total)
    for face in faces:
        base = np.multiply.outer(base, face / total)
    return base
