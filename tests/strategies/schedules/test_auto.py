"""Which schedule `auto` names, workload by workload."""

from __future__ import annotations

import numpy as np
import pytest

from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.schedules.planner import Auto
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity, Prefix
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.workload import Workload


def prefix(axis, size=9):
    return Factor(axes=(axis,), sizes=(size,), matrix=Prefix(size))


def block(*factors):
    return QueryBlock(name=f"{[factor.axes for factor in factors]}", factors=factors)


MARGINAL = block(Factor.identity(0, 2), Factor.identity(1, 3))
PREDICATE = block(Factor(axes=(5,), sizes=(3,), matrix=Dense(np.array([[1, 0, 1]]))))


LEVEL = Factor(axes=(2,), sizes=(4,), matrix=BucketMatrix(Identity(2), np.array([0, 1, 1, 0])))


@pytest.mark.parametrize(
    ("blocks", "name"),
    [
        ((block(LEVEL, Factor.identity(0, 2)), block(Factor.identity(0, 2), Factor.identity(2, 4))), "strategy"),
        ((block(LEVEL), MARGINAL), "strategy"),
        ((block(LEVEL, Factor.identity(0, 2)), MARGINAL), "rounds"),
        ((block(LEVEL), block(prefix(1))), "strategy"),
        ((block(LEVEL), PREDICATE), "strategy"),
        ((block(LEVEL, Factor.identity(0, 2**21)),), "rounds"),
        ((block(prefix(0)),), "ordered"),
        ((block(prefix(0), prefix(1)), block(prefix(2))), "ordered"),
        ((block(prefix(0), prefix(1), prefix(2)),), "rounds"),
        ((MARGINAL,), "marginals"),
        ((MARGINAL, block(prefix(2))), "rounds"),
        ((PREDICATE, MARGINAL), "rounds"),
        ((PREDICATE,), "rounds"),
    ],
)
def test_the_workload_names_the_schedule(blocks, name):
    chosen = Auto().choose(Workload(tuple(blocks)))
    assert chosen.name == name
    assert chosen.reason == "" or name in chosen.reason


@pytest.mark.parametrize(
    ("columns", "cells", "count", "name"),
    [(16, 2, 255, "rounds"), (16, 2, 256, "queries"), (16, 2, 700, "queries"), (3, 2**8, 256, "rounds")],
)
def test_many_blocks_over_few_cells_are_asked_query_by_query(columns, cells, count, name):
    row = Dense(np.eye(1, cells, dtype=np.int64))
    factors = [Factor(axes=(axis,), sizes=(cells,), matrix=row) for axis in range(columns)]
    blocks = [QueryBlock(name=str(place), factors=(factors[place % columns],)) for place in range(count)]
    chosen = Auto().choose(Workload(tuple(blocks)))
    assert (chosen.name, chosen.rivalled) == (name, True)


@pytest.mark.parametrize(
    ("blocks", "rivalled"),
    [
        ((MARGINAL,), False),
        ((block(prefix(0)), block(prefix(1), prefix(2))), False),
        ((block(prefix(0), prefix(1)), block(prefix(1), prefix(2))), True),
        ((PREDICATE,), True),
    ],
)
def test_marginals_rival_rounds_and_strategies_that_share_columns(blocks, rivalled):
    assert Auto().choose(Workload(tuple(blocks))).rivalled is rivalled


@pytest.mark.parametrize(
    ("entries", "epsilon", "schedule"),
    [
        ([{"prefix": "a", "by": ["b"]}, {"prefix": "c", "by": ["b"]}], "1", "marginals"),
        ([{"prefix": "a"}, {"prefix": "b"}], "1", "strategy"),
        ([{"where": "a >= 3"}, {"prefix": "a", "by": ["b"]}, {"sum": "b", "by": ["c"]}], "0.1", "marginals"),
        ([{"where": "a >= 3 or b >= 2"}], "1", "marginals"),
    ],
)
def test_the_least_forecast_error_decides_between_them(entries, epsilon, schedule):
    document = {"domain": {"a": 6, "b": 3, "c": 4}, "queries": entries}
    plan = plan_release(PlanRequest(queries=document, epsilon=epsilon))
    assert plan.schedule.name == schedule
    assert schedule == "strategy" or any(blocks[0].is_marginal for blocks in plan.opening), "rows need a total"
