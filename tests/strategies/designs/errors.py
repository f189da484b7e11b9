"""Queries over the cells of one attribute, and what a strategy's error for them is at a given budget."""

import numpy as np
import pytest

from dpqr.strategies.designs.gram import AxisQueries
from dpqr.workload.sensitivity import Norm

every_norm = pytest.mark.parametrize("norm", [Norm.L1, Norm.L2_SQUARED], ids=["L1", "L2"])


def queries_of(*matrices, weights=None) -> AxisQueries:
    weights = weights or [1.0] * len(matrices)
    terms = tuple((one, np.full(one.rows, weight)) for one, weight in zip(matrices, weights, strict=True))
    return AxisQueries(size=matrices[0].cells, terms=terms)


def scaled_error(matrix, queries: AxisQueries, norm: Norm) -> float:
    column = matrix.column_norm(norm.value)
    error = sum(float(weights @ matrix.variances(term)) for term, weights in queries.terms)
    return error * (column**2 if norm is Norm.L1 else column)
