"""Model: a released function, applied to any points free of charge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray
from dpqr.data.domain import Domain
from dpqr.prediction.features import FeatureMap
from dpqr.prediction.problem import without
from dpqr.prediction.rows import BLOCK
from dpqr.prediction.target import Target


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Model:
    """Released weights and what they are weights of.

    domain: of the table, target included. features: of the other columns. weights: on the scale of `Target`.
    classifies: whether values are scores of the positive label.

    **Privacy** Post-processing of a release: any number of predictions, at points chosen in any way, cost nothing.
    """

    domain: Domain
    target: Target
    classifies: bool
    features: FeatureMap
    weights: FloatArray

    @property
    def columns(self) -> Domain:
        """The columns that points need."""
        return without(self.domain, self.target)

    def scores(self, codes: AnyArray) -> FloatArray:
        """Values at points, by their codes; shape (points,)."""
        blocks = [self.features.of(codes[at : at + BLOCK]) @ self.weights for at in range(0, len(codes), BLOCK)]
        return np.concatenate([np.zeros(0), *blocks])

    def predictions(self, codes: AnyArray) -> AnyArray:
        """Labels, or numbers in the target's unit."""
        scores = self.scores(codes)
        return self.target.labels(scores) if self.classifies else self.target.unscaled(scores)
