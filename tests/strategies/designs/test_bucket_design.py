"""Designs for buckets: the best of three, and what a number of buckets costs."""

import numpy as np
import pytest
from strategies.designs.errors import every_norm

from dpqr.strategies.designs.buckets import (
    bucket_design,
    equal_buckets,
    level_queries,
    level_tree,
    merged_block,
    partition_design,
)
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity, Prefix
from dpqr.workload.sensitivity import Norm

CDF = QueryBlock(name="cdf", factors=(Factor(axes=(0,), sizes=(64,), matrix=Prefix(64)),))


@every_norm
def test_a_design_is_better_than_single_buckets(norm) -> None:
    queries = level_queries((CDF,), (0,), (64,), 4)
    matrix, error = bucket_design(queries, norm)
    assert matrix.cells == 16
    assert error < float(np.trace(queries.matrix))
    table = matrix.table(0, matrix.rows).astype(float)
    norms = (np.abs(table) ** norm.value).sum(axis=0).max()
    assert error == pytest.approx(queries.error(table) * (norms**2 if norm is Norm.L1 else norms))


def test_more_buckets_cost_more() -> None:
    table = equal_buckets((CDF,), (0,), (64,), Norm.L1, whole=1e6)
    errors = [table.error(count) for count in (0.5, 1, 3, 8, 40, 64, 1000)]
    assert errors == sorted(errors)
    assert errors[-2] == errors[-1] == pytest.approx(1e6)


def test_designs_of_partitions_and_levels_and_what_they_measure_of_cells() -> None:
    ends = ((0, 16), (16, 64))
    assert partition_design((CDF,), (0,), ends, Norm.L1) is partition_design((CDF,), (0,), ends, Norm.L1)
    assert level_tree((CDF,), (0,), (64,), 3, Norm.L1).cells == 8
    block = merged_block("buckets", (0,), (3,), Identity(2), np.array([0, 1, 1]))
    assert block.apply(np.array([1, 2, 3])).tolist() == [1, 5]
