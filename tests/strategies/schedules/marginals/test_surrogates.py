"""Surrogate marginals, for blocks which count every record many times."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.arrays import IntArray
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.strategies.checks import Check, Gaussian, Laplace
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.marginals.candidate_blocks import with_surrogates
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.workload import Workload

SIZE = 12
CHECKS = pytest.mark.parametrize("check", [Laplace(), Gaussian()], ids=["laplace", "gaussian"])


def problem(*blocks: QueryBlock, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Problem:
    domain = Domain(tuple(Attribute(name=f"c{axis}", axis=Codes(SIZE)) for axis in range(4)))
    return Problem(domain=domain, workload=Workload(blocks), unit=PrivacyUnit(neighbours=neighbours), n=100)


def cells(*axes: int) -> QueryBlock:
    return QueryBlock(name=f"asked{axes}", factors=tuple(Factor.identity(axis, SIZE) for axis in axes))


def prefixes(along: int, *by: int, weight: int = 1) -> QueryBlock:
    first = Factor(axes=(along,), sizes=(SIZE,), matrix=Prefix(SIZE))
    others = tuple(Factor.identity(axis, SIZE) for axis in by)
    return QueryBlock(name=f"prefixes{along, *by}", factors=(first, *others), weight=Fraction(weight))


def rows(matrix: IntArray, axis: int = 0) -> QueryBlock:
    return QueryBlock(name="rows", factors=(Factor(axes=(axis,), sizes=(SIZE,), matrix=Dense(matrix)),))


def looked_at(found: Problem) -> list[tuple[str, tuple[int, ...]]]:
    return [(block.name, block.axes) for block in found.workload.blocks]


@CHECKS
def test_prefixes_give_way_to_the_cells_that_they_add_up(check: Check) -> None:
    found = with_surrogates(problem(prefixes(1, 0), cells(2, 3)), check)
    assert looked_at(found) == [("asked(2, 3)", (2, 3)), ("cells(c0, c1)", (0, 1))]
    assert all(block.is_marginal for block in found.workload.blocks)


@CHECKS
@pytest.mark.parametrize("neighbours", Neighbours)
def test_blocks_that_count_a_record_once_stay(check: Check, neighbours: Neighbours) -> None:
    halves = rows(np.repeat(np.eye(2, dtype=np.int64), SIZE // 2, axis=1))
    incomes = rows(1_000 * np.arange(SIZE, dtype=np.int64)[None, :])
    for block in (cells(0, 1), halves, incomes):
        asked = problem(block, neighbours=neighbours)
        assert with_surrogates(asked, check) is asked


@CHECKS
def test_a_few_ranges_of_many_cells_stay(check: Check) -> None:
    """Three ranges that overlap carry less noise than twelve cells."""
    ranges = np.zeros((3, SIZE), dtype=np.int64)
    ranges[0, :6] = ranges[1, 3:9] = ranges[2, 6:] = 1
    asked = problem(rows(ranges))
    assert with_surrogates(asked, check) is asked


@CHECKS
def test_blocks_of_the_same_columns_share_one_of_their_weights(check: Check) -> None:
    (found,) = with_surrogates(problem(prefixes(0, 1, weight=2), prefixes(1, 0, weight=3)), check).workload.blocks
    assert found.axes == (0, 1)
    assert found.weight == 5


@CHECKS
def test_a_marginal_that_is_asked_anyway_is_enough(check: Check) -> None:
    assert looked_at(with_surrogates(problem(prefixes(0, 1), cells(1, 0)), check)) == [("asked(1, 0)", (1, 0))]


def predicates(count: int) -> list[QueryBlock]:
    """Blocks of one query each: at least so much on one column, at most so much on another."""
    first = [
        Factor(axes=(0,), sizes=(SIZE,), matrix=Dense((np.arange(SIZE) >= k % SIZE)[None, :])) for k in range(count)
    ]
    others = [
        Factor(axes=(1,), sizes=(SIZE,), matrix=Dense((np.arange(SIZE) <= k // 3)[None, :])) for k in range(count)
    ]
    return [QueryBlock(name=f"p{k}", factors=pair) for k, pair in enumerate(zip(first, others, strict=True))]


@CHECKS
def test_many_single_queries_on_the_same_columns_give_way_together(check: Check) -> None:
    """k shares of the budget leave k times the noise, k^2 in all of them; Gaussian: k^1.5. The table has 144 cells."""
    fewest = 12 if check.pure else 28
    assert looked_at(with_surrogates(problem(*predicates(fewest)), check)) == [("cells(c0, c1)", (0, 1))]
    asked = problem(*predicates(fewest - 1))
    assert with_surrogates(asked, check) is asked


@CHECKS
def test_queries_on_columns_whose_marginal_takes_their_place_give_way_with_them(check: Check) -> None:
    (found,) = with_surrogates(problem(prefixes(0, 1), *predicates(1)), check).workload.blocks
    assert (found.axes, found.weight) == ((0, 1), 2)
