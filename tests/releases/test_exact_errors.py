from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.sealed import Private
from dpqr.releases.files.read_release import observed_error, published_epsilon
from dpqr.releases.forecast.exact_errors import TrueAnswers, block_error, compare, true_answers
from dpqr.releases.forecast.simulation import reaches
from dpqr.releases.record.plan_document import plan_document
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


# The mean error of a published release, from its record.

FINENESS = 64
BOUGHT = [["sex by age", "cdf"], ["young women"]]
VALUES = [10 * FINENESS, -2 * FINENESS]


@pytest.fixture
def record(plan):
    names = [block.name for block in plan.problem.workload.blocks]
    draws = [{"of": "sum", "groups": BOUGHT, "values": VALUES, "law": {"deviation": 3.0 * FINENESS}}]
    found = {
        "plan": plan_document(plan),
        "errors": {"fineness": FINENESS, "units": dict.fromkeys([*BOUGHT[0], *BOUGHT[1]], 1), "draws": draws},
        "error_bars": {"predicted": dict.fromkeys(names, 6.0)},
    }
    return json.loads(json.dumps(found))


def test_bought_errors_come_before_predicted_ones(plan, record):
    found, reach = observed_error(record, plan, 100), reaches(plan)
    assert found.mean == pytest.approx(sum([5, 5, -2, 6, 6, 6] / reach) / 6 / 100)
    groups = [1.5 / reach[0] + 1.5 / reach[1], 3 / reach[2]]
    assert found.deviation == pytest.approx((groups[0] ** 2 + groups[1] ** 2) ** 0.5 / 6 / 100)


def test_a_unit_above_one_is_given_back_with_what_rounding_down_takes(plan, record):
    before = observed_error(record, plan, 100).mean
    record["errors"]["units"]["young women"] = 2
    more = (2 * -2 + 1 / 2 / FINENESS) - -2
    assert observed_error(record, plan, 100).mean - before == pytest.approx(more / reaches(plan)[2] / 6 / 100)


def nothing_bought(record):
    record["errors"] = None


def older(record):
    del record["errors"]


def not_all_predicted(record):
    del record["error_bars"]["predicted"]["all"]


def other_queries(record):
    record["plan"]["workload"]["blocks"].reverse()


def other_schedule(record):
    record["plan"]["schedule"]["name"] = "auto"


def infinite(record):
    record["errors"]["draws"][0]["values"][0] = 1e999


@pytest.mark.parametrize("change", [nothing_bought, older, not_all_predicted, other_queries, other_schedule, infinite])
def test_without_errors_of_the_same_plan_nothing_is_known(plan, record, change):
    change(record)
    assert observed_error(record, plan, 100) is None


def test_an_epsilon_is_read_as_it_can_be_typed(record):
    assert published_epsilon(record) == "1"
    record["plan"]["budget"]["epsilon"]["exact"] = "1/8"
    assert published_epsilon(record) == "0.125"
    for damaged in ({}, {"exact": None}, {"exact": "1/0"}, {"exact": "one"}):
        record["plan"]["budget"]["epsilon"] = damaged
        assert published_epsilon(record) is None
