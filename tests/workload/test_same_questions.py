"""Questions that are the same, and answers that follow from others."""

from fractions import Fraction

import numpy as np
import pytest

from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.related_blocks import follows_from, same_rows

SIZES = (2, 3, 4)


def factor(axis, *rows):
    matrix = Dense(np.array(rows, dtype=np.int64)) if rows else Factor.identity(axis, SIZES[axis]).matrix
    return Factor(axes=(axis,), sizes=(SIZES[axis],), matrix=matrix)


def block(*factors, **more):
    return QueryBlock(name="any", factors=factors, **more)


def test_order_does_not_matter():
    known = block(factor(0), factor(1, (1, 0, 1)), factor(2))
    asked = block(factor(2), factor(0), factor(1, (1, 0, 1)))
    counts = np.arange(24).reshape(SIZES)
    rows = same_rows(asked, known)
    assert known.apply(counts)[rows].tolist() == asked.apply(counts.transpose(2, 0, 1)).tolist()
    assert same_rows(block(), block()).tolist() == [0]


@pytest.mark.parametrize(
    "other",
    [
        block(factor(0), factor(1)),
        block(factor(0), factor(1, (1, 1, 0))),
        block(factor(0), factor(1, (1, 0, 1)), scale=Fraction(2)),
        block(factor(0), factor(1, (1, 0, 1), (0, 1, 0))),
        block(factor(0), factor(1, (1, 0, 1)), rowwise=True),
        block(factor(0), factor(1, (1, 0, 1)), factor(2)),
    ],
)
def test_other_questions_are_others(other):
    assert same_rows(block(factor(0), factor(1, (1, 0, 1))), other) is None


def test_answers_follow_from_a_span():
    known = block(factor(0), factor(1, (1, 0, 1), (0, 1, 0)))
    assert follows_from(known, block(factor(0)))
    assert follows_from(known, block(factor(0, (1, 0)), factor(1, (1, 0, 1))))
    assert follows_from(known, block())
    assert not follows_from(known, block(factor(1)))
    assert not follows_from(known, block(factor(2)))
    assert follows_from(block(Factor(axes=(1,), sizes=(3,), matrix=Prefix(3))), block(factor(1)))
