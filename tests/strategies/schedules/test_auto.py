"""Which schedule `auto` names, workload by workload."""

from __future__ import annotations

import numpy as np
import pytest

from dpqr.strategies.schedules.auto import Auto
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.workload import Workload


def prefix(axis, size=9):
    return Factor(axes=(axis,), sizes=(size,), matrix=Prefix(size))


def block(*factors):
    return QueryBlock(name=f"{[factor.axes for factor in factors]}", factors=factors)


MARGINAL = block(Factor.identity(0, 2), Factor.identity(1, 3))
PREDICATE = block(Factor(axes=(5,), sizes=(3,), matrix=Dense(np.array([[1, 0, 1]]))))


@pytest.mark.parametrize(
    ("blocks", "name"),
    [
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
