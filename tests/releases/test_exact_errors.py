from fractions import Fraction

import numpy as np
import pytest

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.sealed import Private
from dpqr.releases.exact_errors import TrueAnswers, block_error, compare, true_answers
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix

COUNTS = np.arange(6).reshape(2, 3)
WEIGHTED = (
    QueryBlock(name="rows", factors=(Factor.identity(0, 2),)),
    QueryBlock(name="sums", factors=(Factor(axes=(1,), sizes=(3,), matrix=Prefix(3)),), scale=Fraction(1, 2)),
)


def test_true_answers_are_exact_and_in_the_blocks_own_unit():
    truth = true_answers(Private(DenseHistogram(COUNTS)), WEIGHTED)
    assert truth.records == 15
    assert truth.answers[0].tolist() == [3, 12]
    assert truth.answers[1].tolist() == [1.5, 4, 7.5]


BLOCKS = tuple(QueryBlock(name=name, factors=(Factor.identity(0, 3),)) for name in ("near", "far"))
TRUTH = TrueAnswers(records=10, answers=(np.array([1.0, 2.0, 7.0]), np.array([5.0, 5.0, 0.0])))


def test_the_worst_block_comes_first():
    found = compare(BLOCKS, TRUTH, (np.array([1.0, 2.0, 6.0]), np.array([2.0, 5.0, 4.0])))
    assert [block.name for block in found.blocks] == ["far", "near"]
    far = found.blocks[0]
    assert (far.l1, far.l2, far.largest, far.worst, far.queries) == (7.0, 5.0, 4.0, 2, 3)
    assert (found.mean_l1, found.mean_l2, found.largest) == pytest.approx((0.4, 0.3, 0.4))
    error = block_error(BLOCKS[1], TRUTH.answers[1], np.array([np.nan, 5.0, 0.0]))
    assert (error.l1, error.missing) == (5.0, 1), "a missing answer counts as nothing, and is counted"
    empty = TrueAnswers(records=0, answers=(np.zeros(3),))
    assert compare(BLOCKS[:1], empty, (np.ones(3),)).mean_l1 == 3.0, "an empty table has finite errors"


def test_a_sum_is_told_as_a_share_of_what_it_can_be():
    incomes = Factor(axes=(0,), sizes=(3,), matrix=Dense(np.array([[-50, 10, 400]])))
    blocks = (*BLOCKS, QueryBlock(name="sum", factors=(incomes,), scale=Fraction(1, 4)))
    truth = TrueAnswers(records=10, answers=(*TRUTH.answers, np.array([300.0])))
    found = compare(blocks, truth, (*TRUTH.answers[:1], TRUTH.answers[1] + 2, np.array([500.0])))
    assert [block.name for block in found.blocks] == ["far", "sum", "near"]
    told = found.blocks[1]
    assert (told.l1, told.reach) == (200.0, 100.0)
    assert found.mean_l1 == pytest.approx((0.6 + 0.2) / 3)


def test_the_document_is_plain_and_can_be_cut():
    found = compare(BLOCKS, TRUTH, TRUTH.answers)
    assert len(found.document()["blocks"]) == 2
    assert found.document(1)["blocks"] == [
        {
            "name": "near",
            "queries": 3,
            "l1": 0.0,
            "l2": 0.0,
            "largest": 0.0,
            "over_n": {"l1": 0.0, "l2": 0.0, "largest": 0.0},
            "worst": 0,
            "missing": 0,
        }
    ]
