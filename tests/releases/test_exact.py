from fractions import Fraction

import numpy as np

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.sealed import Private
from dpqr.releases.exact_errors import true_answers
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix

COUNTS = np.arange(6).reshape(2, 3)
BLOCKS = (
    QueryBlock(name="rows", factors=(Factor.identity(0, 2),)),
    QueryBlock(name="sums", factors=(Factor(axes=(1,), sizes=(3,), matrix=Prefix(3)),), scale=Fraction(1, 2)),
)


def test_true_answers_are_exact_and_in_the_blocks_own_unit():
    truth = true_answers(Private(DenseHistogram(COUNTS)), BLOCKS)
    assert truth.records == 15
    assert truth.answers[0].tolist() == [3, 12]
    assert truth.answers[1].tolist() == [1.5, 4, 7.5]
