from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.models.hypothesis import GroupEstimate, LinearEstimate
from dpqr.releases.answers.refits import bucket_margins
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity, Prefix
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.workload import Measurement

BUCKETS = np.array([0, 0, 1, 1, 1, 2])


def measured(matrix: Identity | BucketMatrix) -> Measurement:
    factor = Factor(axes=(0, 1), sizes=(2, 3), matrix=matrix)
    block = QueryBlock(name="buckets", factors=(factor,))
    values = (np.zeros(matrix.rows, dtype=np.int64),)
    return Measurement(blocks=(block,), values=values, law=DiscreteLaplace(Fraction(2)))


def test_no_table_with_the_same_buckets_lies_further_away() -> None:
    random = np.random.default_rng(2)
    counts = np.array([6, 9, 4])
    shares = counts / np.bincount(BUCKETS)
    estimate = LinearEstimate(groups=(GroupEstimate(axes=(0, 1), cells=shares[BUCKETS].reshape(2, 3)),))
    blocks = (
        QueryBlock(name="prefix", factors=(Factor.identity(0, 2), Factor(axes=(1,), sizes=(3,), matrix=Prefix(3)))),
        QueryBlock(name="turned", factors=(Factor(axes=(1,), sizes=(3,), matrix=Dense(np.array([[2, -1, 0]]))),)),
    )
    for block in blocks:
        found = bucket_margins(block, estimate, [measured(BucketMatrix(Identity(3), BUCKETS))])
        assert found is not None
        answers = estimate.answer(block)
        for _ in range(300):
            table = np.zeros(6)
            for bucket, count in enumerate(counts):
                np.add.at(table, random.choice(np.flatnonzero(bucket == BUCKETS), count), 1)
            truth = block.answer(GroupEstimate(axes=(0, 1), cells=table.reshape(2, 3)))
            assert (truth >= answers - found.below - 1e-9).all()
            assert (truth <= answers + found.above + 1e-9).all()


def test_without_buckets_nothing_is_hidden() -> None:
    estimate = LinearEstimate(groups=(GroupEstimate(axes=(0, 1), cells=np.ones((2, 3))),))
    block = QueryBlock(name="sex", factors=(Factor.identity(0, 2),))
    assert bucket_margins(block, estimate, [measured(Identity(6))]) is None
