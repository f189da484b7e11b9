"""Later answers: their errors cover, and nothing is claimed of what was never measured together."""

from __future__ import annotations

import numpy as np
import pytest

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.published.later import answer_from_model
from dpqr.releases.draws import Draws
from dpqr.releases.loop import SILENT, iterative_construction
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.guard import make_filter
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.workload import Workload

SIZES = {"a": 3, "b": 4, "c": 2}
COUNTS = np.random.default_rng(23).integers(200, 900, tuple(SIZES.values()))


def ended(seed=1, **options):
    queries = {"domain": SIZES, "queries": [{"marginal": ["a", "b"]}, {"marginal": ["c"]}]}
    plan = plan_release(PlanRequest(queries=queries, epsilon="1", **options))
    draws = Draws(data=Private(DenseHistogram(COUNTS)), accountant=make_filter(plan), noise=SeededNoise(seed))
    return plan, iterative_construction(draws, plan, SILENT)


def identity(*axes):
    return tuple(Factor.identity(axis, tuple(SIZES.values())[axis]) for axis in axes)


def some(axis, *cells):
    row = np.isin(np.arange(tuple(SIZES.values())[axis]), cells).astype(np.int64)[None, :]
    return Factor(axes=(axis,), sizes=row.shape[1:], matrix=Dense(row))


MEASURED = {"schedule": "strategy", "update": "multiplicative-weights"}
INSIDE = QueryBlock(name="inside", factors=(some(0, 0, 2), some(1, 1)))
ACROSS = QueryBlock(name="across", factors=identity(0, 2))


def test_sums_of_a_measured_table_have_errors():
    plan, outcome = ended(**MEASURED)
    found = answer_from_model(plan, outcome, Workload((INSIDE, QueryBlock(name="b", factors=identity(1)))), {})
    truth = COUNTS[[0, 2], 1].sum(), COUNTS.sum(axis=(0, 2))
    assert found.unknown == {}
    for one, true in zip(found.answers, truth, strict=True):
        assert not np.isnan(one.error).any()
        assert (np.abs(one.estimate - true) < 6 * one.error).all()


def test_nothing_is_claimed_across_measured_tables():
    plan, outcome = ended(**MEASURED)
    found = answer_from_model(plan, outcome, Workload((ACROSS, INSIDE)), {})
    assert list(found.unknown) == ["across"]
    assert "'a' and 'c' were never measured together" in found.unknown["across"]
    assert np.isnan(found.answers[0].error).all()
    assert not np.isnan(found.answers[1].error).any()


def test_a_factor_of_the_release_widens_what_lies_in_its_block():
    plan, outcome = ended(**MEASURED)
    (plain,) = answer_from_model(plan, outcome, Workload((INSIDE,)), {}).answers
    (same,) = answer_from_model(plan, outcome, Workload((INSIDE,)), {"marginal(a,b)": 3.0}).answers
    assert same.error.tolist() == plain.error.tolist(), "the block was measured, so the factor is not about it"


def test_single_tables_refuse_what_they_do_not_join():
    plan, outcome = ended(schedule="strategy", update="least-squares")
    with pytest.raises(InfeasiblePlan, match="'a' and 'c' were never measured together"):
        answer_from_model(plan, outcome, Workload((ACROSS,)), {})
    (found,) = answer_from_model(plan, outcome, Workload((INSIDE,)), {}).answers
    assert abs(found.estimate[0] - COUNTS[[0, 2], 1].sum()) < 6 * found.error[0]


def test_rules_that_cannot_be_refitted_say_so():
    plan, outcome = ended(schedule="rounds", update="multiplicative-weights", rounds=2, replay=False)
    found = answer_from_model(plan, outcome, Workload((QueryBlock(name="one", factors=identity(0)),)), {})
    assert all("errors are not estimated" in words or "not measured" in words for words in found.unknown.values())
    assert np.isnan(found.answers[0].error).all() == bool(found.unknown)
