"""IntMatrix: the integer matrices that blocks are made of, each with its own fast product.

A matrix has `rows` queries over `cells` cells. Products keep the dtype of their argument (int64 for counts, float64 for
a hypothesis). Sensitivities are built from norms and distances of the columns, which are exact Python integers.

>>> from scipy.sparse import csr_array
>>> Identity(2).rows, Prefix(2).table(1, 2), Dense(np.array([[2, 3]])).cells, Sparse(csr_array([[0, 5]])).column_norm(1)
(2, array([[1, 1]]), 2, 5)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import AnyArray, IntArray, freeze

PAIRWISE_WORK = 2**27
"""Limit on columns squared times rows, up to which a column distance is found by comparing all pairs."""


def largest_distance(vectors: IntArray, power: int) -> int | None:
    """Return the largest sum |v - w|^power over pairs of rows of `vectors`; None beyond PAIRWISE_WORK."""
    if vectors.size > PAIRWISE_WORK // 32:
        return None
    distinct = np.unique(vectors, axis=0)
    if len(distinct) * distinct.size > PAIRWISE_WORK:
        return None
    return max(largest_norm(distinct - vector, power) for vector in distinct)


def largest_norm(vectors: IntArray, power: int) -> int:
    """Return the largest sum |v|^power over the rows of `vectors` (power 0: largest |v|); exact beyond int64 too."""
    sizes = np.abs(vectors)
    largest = int(sizes.max(initial=0))
    if power == 0:
        return largest
    if largest**power * max(sizes.shape[1], 1) >= 2**62:
        return max(int(sum(int(c) ** power for c in row)) for row in sizes)
    return int((sizes**power).sum(axis=1).max(initial=0))


class IntMatrix(Protocol):
    """Integer coefficients, shape (rows, cells)."""

    @property
    def rows(self) -> int: ...
    @property
    def cells(self) -> int: ...

    def apply(self, tensor: AnyArray) -> AnyArray:
        """Multiply an array of shape (cells, k); returns shape (rows, k)."""
        ...

    def adjoint(self, tensor: AnyArray) -> AnyArray:
        """Multiply an array of shape (rows, k) by the transpose; returns shape (cells, k)."""
        ...

    def row(self, index: int) -> IntArray:
        """Coefficients of one query, shape (cells,)."""
        ...

    def table(self, start: int, stop: int) -> IntArray:
        """Coefficients of the queries start .. stop - 1, shape (stop - start, cells)."""
        ...

    @property
    def smallest(self) -> int:
        """The smallest coefficient (a lower bound for sparse ones: 0 counts)."""
        ...

    def column_norm(self, power: int) -> int:
        """max over columns of sum |c|^power, for power 1 or 2; power 0 means max |c|."""
        ...

    def column_distance(self, power: int) -> int | None:
        """max over pairs of columns of sum |c - c'|^power (power 0: max |c - c'|); None where it is not known."""
        ...


class Identity(Struct, frozen=True):
    """Every cell by itself: the matrix of a marginal."""

    smallest: ClassVar[int] = 0
    size: int

    @property
    def rows(self) -> int:
        return self.size

    @property
    def cells(self) -> int:
        return self.size

    def apply(self, tensor: AnyArray) -> AnyArray:
        return tensor

    def adjoint(self, tensor: AnyArray) -> AnyArray:
        return tensor

    def row(self, index: int) -> IntArray:
        row = np.zeros(self.size, dtype=np.int64)
        row[index] = 1
        return row

    def table(self, start: int, stop: int) -> IntArray:
        return np.eye(stop - start, self.size, start, dtype=np.int64)

    def column_norm(self, power: int) -> int:
        return 1

    def column_distance(self, power: int) -> int | None:
        if self.size == 1:
            return 0
        return 1 if power == 0 else 2


class Prefix(Struct, frozen=True):
    """Row r sums the cells 0..r: the lower-triangular matrix of a CDF. Products are running sums.

    size: number of ordered cells, one row each. others: cells after them that no row counts (null, outside).
    """

    smallest: ClassVar[int] = 0
    size: int
    others: int = 0

    @property
    def rows(self) -> int:
        return self.size

    @property
    def cells(self) -> int:
        return self.size + self.others

    def apply(self, tensor: AnyArray) -> AnyArray:
        return np.cumsum(tensor[: self.size], axis=0, dtype=tensor.dtype)

    def adjoint(self, tensor: AnyArray) -> AnyArray:
        sums = np.cumsum(tensor[::-1], axis=0, dtype=tensor.dtype)[::-1]
        if not self.others:
            return sums
        return np.concatenate([sums, np.zeros((self.others, *tensor.shape[1:]), dtype=tensor.dtype)])

    def row(self, index: int) -> IntArray:
        return (np.arange(self.cells) <= index).astype(np.int64)

    def table(self, start: int, stop: int) -> IntArray:
        return (np.arange(self.cells) <= np.arange(start, stop)[:, None]).astype(np.int64)

    def column_norm(self, power: int) -> int:
        return 1 if power == 0 else self.size

    def column_distance(self, power: int) -> int | None:
        """The first column and one that no row counts, or else the last one, are farthest apart."""
        if self.others:
            return self.column_norm(power)
        if self.size == 1:
            return 0
        return 1 if power == 0 else self.size - 1


@dataclass(frozen=True, eq=False)
class Dense:
    """Any coefficients, shape (rows, cells), int64, read-only (narrower integers are widened, or squares would wrap).

    Norms and distances are cached, as every draw of a long run asks for them.
    """

    coefficients: IntArray

    def __post_init__(self) -> None:
        wide = self.coefficients.astype(np.int64, casting="safe", copy=False).view()
        object.__setattr__(self, "coefficients", freeze(wide))

    @property
    def rows(self) -> int:
        return int(self.coefficients.shape[0])

    @property
    def cells(self) -> int:
        return int(self.coefficients.shape[1])

    @cached_property
    def _floats(self) -> AnyArray:
        return self.coefficients.astype(np.float64)

    def apply(self, tensor: AnyArray) -> AnyArray:
        return self._like(tensor) @ tensor

    def adjoint(self, tensor: AnyArray) -> AnyArray:
        return self._like(tensor).T @ tensor

    def _like(self, tensor: AnyArray) -> AnyArray:
        """Return the coefficients in the tensor's kind: float products use BLAS, counts stay int64."""
        return self._floats if tensor.dtype.kind == "f" else self.coefficients

    def row(self, index: int) -> IntArray:
        row: IntArray = self.coefficients[index]
        return row

    def table(self, start: int, stop: int) -> IntArray:
        rows: IntArray = self.coefficients[start:stop]
        return rows

    @property
    def smallest(self) -> int:
        return int(self.coefficients.min(initial=0))

    @cached_property
    def _norms(self) -> tuple[int, ...]:
        return tuple(largest_norm(self.coefficients.T, power) for power in (0, 1, 2))

    def column_norm(self, power: int) -> int:
        return self._norms[power]

    @cached_property
    def _distances(self) -> tuple[int | None, ...]:
        """A row's spread is the distance for one row and for power 0."""
        spread = int((self.coefficients.max(axis=1) - self.coefficients.min(axis=1)).max())
        if self.rows == 1:
            return spread, spread, spread * spread
        return spread, largest_distance(self.coefficients.T, 1), largest_distance(self.coefficients.T, 2)

    def column_distance(self, power: int) -> int | None:
        return self._distances[power]


@dataclass(frozen=True, eq=False)
class Sparse:
    """Mostly zero coefficients, such as many short ranges; `csr` is a scipy csr_array of int64."""

    csr: Any

    def __post_init__(self) -> None:
        if not np.can_cast(self.csr.dtype, np.int64, casting="safe"):
            raise TypeError("sparse coefficients must be integers")
        object.__setattr__(self, "csr", self.csr.astype(np.int64))

    @property
    def rows(self) -> int:
        return int(self.csr.shape[0])

    @property
    def cells(self) -> int:
        return int(self.csr.shape[1])

    @cached_property
    def _floats(self) -> Any:
        return self.csr.astype(np.float64)

    @cached_property
    def _transposed(self) -> Any:
        return self.csr.T.tocsr()

    def apply(self, tensor: AnyArray) -> AnyArray:
        product: AnyArray = (self._floats if tensor.dtype.kind == "f" else self.csr) @ tensor
        return product

    def adjoint(self, tensor: AnyArray) -> AnyArray:
        product: AnyArray = self._transposed.astype(tensor.dtype, copy=False) @ tensor
        return product

    def row(self, index: int) -> IntArray:
        row: IntArray = self.csr[[index], :].toarray()[0]
        return row

    def table(self, start: int, stop: int) -> IntArray:
        rows: IntArray = self.csr[start:stop, :].toarray()
        return rows

    @property
    def smallest(self) -> int:
        return min(0, int(self.csr.min())) if self.csr.nnz else 0

    @cached_property
    def _norms(self) -> tuple[int, ...]:
        sizes = abs(self.csr)
        largest = int(sizes.max()) if sizes.nnz else 0
        if largest**2 * self.rows >= 2**62:
            return tuple(largest_norm(self.csr.toarray().T, power) for power in (0, 1, 2))
        return (largest, *(int(sizes.power(power).sum(axis=0).max()) for power in (1, 2)))

    def column_norm(self, power: int) -> int:
        return self._norms[power]

    @cached_property
    def _distances(self) -> tuple[int | None, ...]:
        spread = int((self.csr.max(axis=1).toarray() - self.csr.min(axis=1).toarray()).max())
        if self.rows * self.cells**2 > PAIRWISE_WORK:
            return spread, None, None
        return spread, *(largest_distance(self.csr.toarray().T, power) for power in (1, 2))

    def column_distance(self, power: int) -> int | None:
        return self._distances[power]
