"""Feature maps: rows of codes become real vectors of norm at most 1, by public facts alone."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Literal, Protocol

import numpy as np
from msgspec import Struct

from dpqr.domain.attribute import Attribute, Bins
from dpqr.domain.domain import Domain
from dpqr.kernel.arrays import AnyArray, FloatArray
from dpqr.kernel.errors import InfeasiblePlan, UsageFault
from dpqr.kernel.noise.public import public_normals

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

    >>> from dpqr.domain.attribute import Codes
    >>> domain = Domain((Attribute(name="a", axis=Codes(2)), Attribute(name="b", axis=Codes(3))))
    >>> CellFeatures(domain=domain).of(np.array([[0, 2]])).round(2).tolist()
    [[0.58, 0.0, 0.0, 0.0, 0.58, 0.58]]
    """

    domain: Domain
    _tables: tuple[FloatArray, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # A number, and a feature for each cell beside its bins; else one for each cell.
        numbers = [each.axis.size - 1 for each in self.domain.attributes if isinstance(each.axis, Bins)]
        width = 1 + sum(each.size for each in self.domain.attributes) - sum(numbers)
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
        return clip_to_unit_norm(vectors)


def clip_to_unit_norm(vectors: FloatArray) -> FloatArray:
    """Rows of norm above 1 scaled to norm 1; changes `vectors` in place."""
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    vectors /= np.maximum(norms, 1.0)[:, None]
    return vectors


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


# Kernels: the choice of one, and feature maps whose inner products are it, exactly or approximately.
#
# All maps are public, made of the domain and a public seed. The learners' proofs hold for them as for any other
# feature map, exact or approximate, for norms stay within 1.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FourierFeatures:
    """Random Fourier features of K(x, x') = exp(-||x - x'||^2 / (2 bandwidth^2)).

    A cosine and a sine for each frequency, so every row has norm exactly 1 whatever the seed; the kernel is
    approximated to about width^(-1/2).

    Attributes:
        width: number of features, even.

    References:
        Rahimi and Recht 2007.
    """

    rows: CellFeatures
    bandwidth: float
    width: int
    seed: int
    _frequencies: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        drawn = public_normals(self.seed, self.rows.width * (self.width // 2)) / self.bandwidth
        object.__setattr__(self, "_frequencies", drawn.reshape(self.rows.width, self.width // 2))

    def of(self, codes: AnyArray) -> FloatArray:
        angles = self.rows.of(codes) @ self._frequencies
        return np.hstack([np.cos(angles), np.sin(angles)]) / math.sqrt(self.width // 2)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UniverseFeatures:
    """The Gaussian kernel exactly, over a universe of few rows: the symmetric root of its matrix.

    The symmetric root is unique, so a model file is applied with the same features. A row of the universe may lack any
    cell, as a point to be predicted may.
    """

    rows: CellFeatures
    bandwidth: float
    _root: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sizes = lacking_sizes(self.rows)
        codes = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1) - 1
        vectors = self.rows.of(codes)
        values, axes = np.linalg.eigh(gaussian(vectors, vectors, self.bandwidth))
        object.__setattr__(self, "_root", clip_to_unit_norm((axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T))

    @property
    def width(self) -> int:
        return len(self._root)

    def of(self, codes: AnyArray) -> FloatArray:
        places = np.ravel_multi_index(tuple(np.maximum(codes, -1).T + 1), lacking_sizes(self.rows))
        found: FloatArray = self._root[places]
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PolynomialFeatures:
    """K(x, x') = <x, x'>^degree exactly: all products of `degree` features, times the root of their multiplicity.

    The constant among the features includes all lower degrees.
    """

    rows: CellFeatures
    degree: int
    _chosen: AnyArray = field(init=False, repr=False)
    _roots: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        chosen = np.array(list(combinations_with_replacement(range(self.rows.width), self.degree)), dtype=np.int64)
        object.__setattr__(self, "_chosen", chosen)
        # Of the multinomial number of orders of each product's factors.
        orders = [
            math.factorial(self.degree) // math.prod(math.factorial(count) for count in Counter(each).values())
            for each in chosen.tolist()
        ]
        object.__setattr__(self, "_roots", np.sqrt(orders))

    @property
    def width(self) -> int:
        return len(self._chosen)

    def of(self, codes: AnyArray) -> FloatArray:
        plain = self.rows.of(codes)
        product = np.ones((len(plain), self.width)) * self._roots
        for column in self._chosen.T:
            product *= plain[:, column]
        return clip_to_unit_norm(product)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RandomPolynomialFeatures:
    """<x, x'>^degree to about width^(-1/2): products of `degree` random sign projections, norms clipped to 1.

    References:
        Kar and Karnick 2012.
    """

    rows: CellFeatures
    degree: int
    width: int
    seed: int
    _signs: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        drawn = np.sign(public_normals(self.seed, self.degree * self.rows.width * self.width))
        object.__setattr__(self, "_signs", drawn.reshape(self.degree, self.rows.width, self.width))

    def of(self, codes: AnyArray) -> FloatArray:
        plain = self.rows.of(codes)
        product = np.full((len(plain), self.width), 1 / math.sqrt(self.width))
        for signs in self._signs:
            product *= plain @ signs
        return clip_to_unit_norm(product)


def gaussian(one: FloatArray, two: FloatArray, bandwidth: float) -> FloatArray:
    """exp(-||x - x'||^2 / (2 bandwidth^2)) of each row of `one` with each of `two`."""
    norms = [np.einsum("ij,ij->i", rows, rows) for rows in (one, two)]
    apart = np.maximum(norms[0][:, None] + norms[1] - 2 * one @ two.T, 0.0)
    return np.asarray(np.exp(-apart / (2 * bandwidth**2)), dtype=np.float64)


def lacking_sizes(rows: CellFeatures) -> tuple[int, ...]:
    """Cells of each column, and one for none of them."""
    return tuple(attribute.size + 1 for attribute in rows.domain.attributes)


KernelName = Literal["linear", "gaussian", "polynomial"]
BANDWIDTH, DEGREE, FEATURES = Fraction(1), 2, 256
"""What a kernel has where the user states nothing."""
MOST_DEGREE = 5
EXACT_ROWS = 2**10
"""The Gaussian kernel is exact on universes of at most this many rows."""
EXACT_RECORDS, EXACT_POINTS = 2**11, 2**14
"""A learner uses the kernel itself for at most this many records, a public number, and points."""
EXACT_PRODUCTS = 2**10
"""A polynomial kernel of at most this many products is exact."""


class Kernel(Struct, frozen=True, kw_only=True):
    """The choice of a feature map, as the user states it and a model file keeps it.

    Attributes:
        bandwidth: of gaussian, on rows of norm 1 at most.
        degree: of polynomial.
        features: number of random ones in place of a kernel that has too many of its own; None: FEATURES. A stated
            number is used even where the exact features would be few.
        seed: of the random features, public.

    Raises:
        UsageFault: a figure outside its range.

    >>> Kernel(name="gaussian").words
    'gaussian kernel of bandwidth 1'
    """

    name: KernelName = "linear"
    bandwidth: Fraction = BANDWIDTH
    degree: int = DEGREE
    features: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not Fraction(1, 1000) <= self.bandwidth <= 1000:
            raise UsageFault("--bandwidth must lie between 0.001 and 1000; rows have norm 1 at most")
        if not 1 <= self.degree <= MOST_DEGREE:
            raise UsageFault(f"--degree must lie between 1 and {MOST_DEGREE}")
        if self.features is not None and not (2 <= self.features <= MOST_FEATURES and self.features % 2 == 0):
            raise UsageFault(f"--features must be an even number between 2 and {MOST_FEATURES:,}")

    @property
    def words(self) -> str:
        """The kernel as a plan shows it."""
        if self.name == "gaussian":
            return f"gaussian kernel of bandwidth {float(self.bandwidth):g}"
        return f"polynomial kernel of degree {self.degree}" if self.name == "polynomial" else "linear"

    def matrix(self, one: FloatArray, two: FloatArray) -> FloatArray:
        """K of each row of `one` with each of `two`."""
        if self.name == "gaussian":
            return gaussian(one, two, float(self.bandwidth))
        return np.asarray((one @ two.T) ** (self.degree if self.name == "polynomial" else 1), dtype=np.float64)

    def exact_for(self, features: FeatureMap, records: int, points: int) -> bool:
        """Whether the learner uses the kernel itself, with no features. A function of public numbers.

        Where its features would be random, none were requested, and records and points are few.
        """
        drawn = isinstance(features, FourierFeatures | RandomPolynomialFeatures) and self.features is None
        return drawn and records <= EXACT_RECORDS and points <= EXACT_POINTS

    def of(self, domain: Domain) -> FeatureMap:
        """The features of rows of `domain` (without the target).

        Raises:
            InfeasiblePlan: its labels are too many.
        """
        rows = CellFeatures(domain=domain)
        width = self.features or FEATURES
        if self.name == "gaussian":
            if self.features is None and math.prod(lacking_sizes(rows)) <= EXACT_ROWS:
                return UniverseFeatures(rows=rows, bandwidth=float(self.bandwidth))
            return FourierFeatures(rows=rows, bandwidth=float(self.bandwidth), width=width, seed=self.seed)
        if self.name == "polynomial":
            if self.features is None and math.comb(rows.width + self.degree - 1, self.degree) <= EXACT_PRODUCTS:
                return PolynomialFeatures(rows=rows, degree=self.degree)
            return RandomPolynomialFeatures(rows=rows, degree=self.degree, width=width, seed=self.seed)
        return rows


LINEAR = Kernel()
