"""Overlaps: how many cells each interval shares with each group of neighbouring cells, never written out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """The matrix O[r, i] = |interval r and group i|, held in memory of rows plus groups.

    An end x in group q, which starts at a_q, is ahead of all of the groups before q and of u = x - a_q cells of q. So
    row r of O is v(stop) - v(start), v(x) = sum over i < q of w_i e_i + u e_q, and products of O are running sums.

    ends: row r has 1 at the group of its stop, less 1 at that of its start; inner: u of the stop, less u of the start;
    both of shape (rows, groups). widths: w, cells a group.

    >>> overlaps = Overlaps.of(np.array([0, 1]), np.array([2, 5]), np.array([0, 2, 5]))
    >>> overlaps.dot(np.eye(2))
    array([[2., 0.],
           [1., 3.]])
    >>> overlaps.gram(np.ones(2))
    array([[5., 3.],
           [3., 9.]])
    """

    ends: csr_array
    inner: csr_array
    widths: FloatArray

    @classmethod
    def of(cls, starts: IntArray, stops: IntArray, edges: IntArray) -> Overlaps:
        """starts, stops: first cells of the intervals, and the cells behind them, shape (rows,). edges: first cells of
        the groups, and the end, shape (groups + 1,); what lies outside of them is in no group."""
        from scipy.sparse import csr_array

        rows, groups = len(starts), len(edges) - 1
        cells = np.clip(np.stack([stops, starts], axis=1), edges[0], edges[-1])
        places = np.minimum(np.searchsorted(edges, cells, side="right") - 1, groups - 1)
        signs = np.broadcast_to([1.0, -1.0], cells.shape)
        first = np.arange(0, 2 * rows + 1, 2)
        ends, inner = (
            csr_array((values.reshape(-1), places.reshape(-1), first), shape=(rows, groups))
            for values in (signs, signs * (cells - edges[places]))
        )
        return cls(ends, inner, np.diff(edges).astype(np.float64))

    def dot(self, steps: FloatArray) -> FloatArray:
        """O times `steps`, shape (groups, k)."""
        before = np.zeros_like(steps)
        np.cumsum((steps * self.widths[:, None])[:-1], axis=0, out=before[1:])
        product: FloatArray = self.ends @ before + self.inner @ steps
        return product

    def sums(self, weights: FloatArray) -> FloatArray:
        """O^T times one weight a row, shape (groups,)."""
        found: FloatArray = self._before((self.ends.T @ weights)[:, None])[:, 0] + self.inner.T @ weights
        return found

    def gram(self, weights: FloatArray) -> FloatArray:
        """O^T diag(weights) O, shape (groups, groups)."""
        inner = self.inner * weights[:, None]
        counts = (self.ends.T @ (self.ends * weights[:, None])).toarray()
        mixed, squares = (inner.T @ self.ends).toarray(), (inner.T @ self.inner).toarray()
        whole = self._before(self._before(counts).T)
        half = self._before(mixed.T)
        gram: FloatArray = whole + half + half.T + squares
        return gram

    def _before(self, table: FloatArray) -> FloatArray:
        """Row i is w_i times the sum of the rows behind i: the transpose of what an end's group puts before it."""
        found = np.zeros_like(table, dtype=np.float64)
        found[:-1] = np.cumsum(table[:0:-1], axis=0)[::-1]
        found *= self.widths[:, None]
        return found
