"""Kernel: the choice of a feature map, as the user states it and as a model file keeps it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.data.domain import Domain
from dpqr.errors import UsageFault
from dpqr.prediction.features import MOST_FEATURES, CellFeatures, FeatureMap
from dpqr.prediction.kernels import (
    FourierFeatures,
    PolynomialFeatures,
    RandomPolynomialFeatures,
    UniverseFeatures,
    gaussian,
    lacking_sizes,
)

KernelName = Literal["linear", "gaussian", "polynomial"]
BANDWIDTH, DEGREE, FEATURES = Fraction(1), 2, 256
MOST_DEGREE = 5
EXACT_ROWS = 2**10
"""The Gaussian kernel is exact where no more rows than these can be."""
EXACT_RECORDS, EXACT_POINTS = 2**11, 2**14
"""Predictions for so many points from a public number of so many records need no features at all."""
EXACT_PRODUCTS = 2**10
"""A polynomial kernel is exact where it has no more products than these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """bandwidth: of gaussian, on rows of norm 1 at most; degree: of polynomial. features: how many random ones stand
    for a kernel that has too many of its own; None: FEATURES; a stated number is used even where the exact ones would
    be few. seed: theirs, public."""

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
        """Whether a table of so many rows is learned from by the kernel itself: where its features are random, nobody
        asked for them, and all numbers are small. Public."""
        drawn = isinstance(features, FourierFeatures | RandomPolynomialFeatures) and self.features is None
        return drawn and records <= EXACT_RECORDS and points <= EXACT_POINTS

    def of(self, domain: Domain) -> FeatureMap:
        """The features of rows of `domain` (without the target). InfeasiblePlan where its labels are too many."""
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
