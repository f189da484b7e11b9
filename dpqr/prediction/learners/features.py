"""Feature maps: rows of codes become real vectors of norm at most 1, by public facts alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray
from dpqr.data.attribute import Attribute, Bins
from dpqr.data.domain import Domain
from dpqr.errors import InfeasiblePlan

MOST_FEATURES = 2**12
"""Most columns of features, which have to fit in memory beside the rows of a table."""


class FeatureMap(Protocol):
    """phi: a row of codes to a vector with ||phi(x)||_2 <= 1, so kappa = sup sqrt(K(x, x)) <= 1."""

    @property
    def width(self) -> int: ...

    def of(self, codes: AnyArray) -> FloatArray:
        """Vectors of rows, shape (rows, width).

        Args:
            codes: shape (rows, columns); a code below 0 fits no cell.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellFeatures:
    """Labels one-hot, numbers by the middle of their bin, a constant 1; a row of norm above 1 is divided by its norm.

    Numbers are on a scale of -1 to 1 between the declared outermost edges. A number's own cells (null, outside) are
    one-hot too, its scale then counts as 0. A cell that fits nothing, which only a point to be predicted can hold,
    gives zeros.

    Raises:
        InfeasiblePlan: more than MOST_FEATURES features.

    Privacy:
        A function of the row and the domain: no mean, spread or vocabulary of the data enters.

    >>> from dpqr.data.attribute import Codes
    >>> domain = Domain((Attribute(name="a", axis=Codes(2)), Attribute(name="b", axis=Codes(3))))
    >>> CellFeatures(domain=domain).of(np.array([[0, 2]])).round(2).tolist()
    [[0.58, 0.0, 0.0, 0.0, 0.58, 0.58]]
    """

    domain: Domain
    _tables: tuple[FloatArray, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        width = 1 + sum(map(_width, self.domain.attributes))
        if width > MOST_FEATURES:
            raise InfeasiblePlan(
                f"the domain's labels make {width:,} features, more than {MOST_FEATURES:,}; merge labels, or "
                "leave columns out"
            )
        object.__setattr__(self, "_tables", tuple(_table(attribute) for attribute in self.domain.attributes))

    @property
    def width(self) -> int:
        return 1 + sum(int(table.shape[1]) for table in self._tables)

    def of(self, codes: AnyArray) -> FloatArray:
        vectors = np.empty((len(codes), self.width))
        start = 0
        for column, table in enumerate(self._tables):
            stop = start + table.shape[1]
            vectors[:, start:stop] = table[np.where(codes[:, column] < 0, len(table) - 1, codes[:, column])]
            start = stop
        vectors[:, -1] = 1.0
        return clipped(vectors)


def clipped(vectors: FloatArray) -> FloatArray:
    """Rows of norm above 1 scaled to norm 1; changes `vectors` in place."""
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    vectors /= np.maximum(norms, 1.0)[:, None]
    return vectors


def _width(attribute: Attribute) -> int:
    """Number of features of a column."""
    return attribute.size if not isinstance(attribute.axis, Bins) else 1 + attribute.size - attribute.axis.size


def _table(attribute: Attribute) -> FloatArray:
    """Features of every cell, and a last row of zeros for what fits no cell."""
    axis, size = attribute.axis, attribute.size
    if not isinstance(axis, Bins):
        return np.vstack([np.eye(size), np.zeros(size)])
    low, high = float(axis.edges[0]), float(axis.edges[-1])
    own = size - axis.size
    table = np.zeros((size + 1, 1 + own))
    for index in range(axis.size):
        table[index, 0] = (2 * float(axis.midpoint(index)) - low - high) / (high - low)
    for index in range(own):
        table[axis.size + index, 1 + index] = 1.0
    return table
