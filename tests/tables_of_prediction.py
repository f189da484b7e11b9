"""Tiny tables for prediction tests: counts made of vectors, and features that are given as they are."""

import numpy as np

from dpqr.data.attribute import Attribute, Codes
from dpqr.data.domain import Domain
from dpqr.data.histogram import SparseHistogram
from dpqr.prediction.stable import Examples


class Given:
    """A feature map that looks vectors up by one column of codes."""

    def __init__(self, vectors):
        self.vectors = np.asarray(vectors, dtype=float)

    @property
    def width(self):
        return self.vectors.shape[1]

    def of(self, codes):
        return self.vectors[codes[:, 0]]


def examples(vectors, values):
    """Column 0: which vector; column 1, the target: which of the values."""
    return Examples(features=Given(vectors), axis=1, values=np.asarray(values, dtype=float))


def counts(rows, shape=(1000, 1000)):
    """A histogram of rows of codes, each once or as often as it stands there."""
    codes = np.array(rows, dtype=np.int64).reshape(len(rows), len(shape))
    found, often = np.unique(codes, axis=0, return_counts=True)
    return SparseHistogram(shape, found, often.astype(np.int64))


def domain(*sizes):
    return Domain(tuple(Attribute(name=f"c{place}", axis=Codes(size)) for place, size in enumerate(sizes)))
