"""Occupied: a histogram database as rows, for what looks at records and not at sums over them."""

from __future__ import annotations

import numpy as np

from dpqr.data.arrays import AnyArray, IntArray
from dpqr.data.counts import Counts
from dpqr.data.histogram import SparseHistogram


def occupied(counts: Counts) -> tuple[AnyArray, IntArray]:
    """Codes of the cells that hold records, shape (cells, attributes), sorted, and how many each holds. Private.

    The same for equal tables, whatever the order of their rows was.
    """
    if isinstance(counts, SparseHistogram):
        return counts.codes, counts.counts
    tensor = counts.marginal(tuple(range(len(counts.shape))))
    places = np.nonzero(tensor)
    return np.stack(places, axis=1) if places else np.zeros((1, 0), dtype=np.int64), tensor[places]
