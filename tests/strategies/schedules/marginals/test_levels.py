"""Candidates of a search, level after level."""

from __future__ import annotations

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.marginals.candidate_blocks import candidate_levels, joint
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.workload import Workload


def problem(*groups: tuple[int, ...]) -> Problem:
    domain = Domain(tuple(Attribute(name=f"c{axis}", axis=Codes(3)) for axis in range(4)))
    blocks = tuple(
        QueryBlock(name=str(axes), factors=tuple(Factor.identity(axis, 3) for axis in axes)) for axes in groups
    )
    return Problem(domain=domain, workload=Workload(blocks), unit=PrivacyUnit(neighbours=Neighbours.ADD_REMOVE))


def test_pairs_come_first_with_those_below_triples_that_nobody_asks_for() -> None:
    narrow, wide = candidate_levels(problem((0,), (0, 1), (0, 1, 2), (2, 3)))
    assert [block.axes for block in narrow] == [(0, 1), (2, 3), (0, 2), (1, 2)]
    assert [block.name for block in narrow][2:] == ["below(c0, c2)", "below(c1, c2)"]
    assert [block.axes for block in wide] == [(0, 1, 2)]


def test_no_level_is_empty() -> None:
    assert candidate_levels(problem((0,), (3,))) == ()
    assert len(candidate_levels(problem((0, 1), (0, 2)))) == 1


def test_single_columns_are_no_candidates() -> None:
    assert [block.axes for block in joint(problem((0,), (0, 1), (1,), (1, 2, 3)))] == [(0, 1), (1, 2, 3)]
