"""Surrogate marginals, for blocks which count every record many times."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from support.cases import in_one_test

import dpqr
from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.arrays import IntArray
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.strategies.checks import Check, Gaussian, Laplace
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.marginals.candidate_blocks import candidate_levels, coarsen, joint, with_surrogates
from dpqr.strategies.schedules.marginals.forecast import ExpectedError
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.sensitivity import Norm, sensitivity
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
def test_what_surrogates_replace_is_found_once_for_all_plans(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = problem(prefixes(1, 0), cells(2, 3))
    found = looked_at(with_surrogates(asked, check))
    monkeypatch.setattr("dpqr.strategies.schedules.marginals.candidate_blocks.sensitivity", None)
    assert looked_at(with_surrogates(replace(asked, seed=1), check)) == found


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


# Candidates of a search, level after level.


def levels_problem(*groups: tuple[int, ...]) -> Problem:
    domain = Domain(tuple(Attribute(name=f"c{axis}", axis=Codes(3)) for axis in range(4)))
    blocks = tuple(
        QueryBlock(name=str(axes), factors=tuple(Factor.identity(axis, 3) for axis in axes)) for axes in groups
    )
    return Problem(domain=domain, workload=Workload(blocks), unit=PrivacyUnit(neighbours=Neighbours.ADD_REMOVE))


def test_pairs_come_first_with_those_below_triples_that_nobody_asks_for() -> None:
    narrow, wide = candidate_levels(levels_problem((0,), (0, 1), (0, 1, 2), (2, 3)))
    assert [block.axes for block in narrow] == [(0, 1), (2, 3), (0, 2), (1, 2)]
    assert [block.name for block in narrow][2:] == ["below(c0, c2)", "below(c1, c2)"]
    assert [block.axes for block in wide] == [(0, 1, 2)]


def test_no_level_is_empty() -> None:
    assert candidate_levels(levels_problem((0,), (3,))) == ()
    assert len(candidate_levels(levels_problem((0, 1), (0, 2)))) == 1


def test_single_columns_are_no_candidates() -> None:
    assert [block.axes for block in joint(levels_problem((0,), (0, 1), (1,), (1, 2, 3)))] == [(0, 1), (1, 2, 3)]


SIZES = (40, 6, 2)
COUNTS = {
    0: np.array([6000.0, *np.full(38, 100.0), 200.0]),
    1: np.full(6, 10_000 / 6),
    2: np.array([10_000.0, -30.0]),
}
RECORDS = 10_000.0


def pair(*axes):
    return QueryBlock(name=f"{axes}", factors=tuple(Factor.identity(axis, SIZES[axis]) for axis in axes))


def found(blocks, deviation, counts=COUNTS):
    return coarsen(blocks, counts, ExpectedError.of(blocks, counts), RECORDS, deviation)


def test_each_record_is_counted_in_one_coarse_cell():
    (block,) = found([pair(0, 1)], 100.0)
    assert block.cells == 240
    assert 4 <= block.rows <= 80
    for row in block.adjoint(np.eye(block.rows, dtype=np.int64)[0]), block.adjoint(np.ones(block.rows, dtype=np.int64)):
        assert set(np.unique(row)) <= {0, 1}
    assert (block.adjoint(np.ones(block.rows, dtype=np.int64)) == 1).all()


@in_one_test(("neighbours", "moved"), [(Neighbours.ADD_REMOVE, 1), (Neighbours.REPLACE, 2)])
@pytest.mark.parametrize("norm", [Norm.L1, Norm.L2_SQUARED])
def test_neighbours_move_it_as_they_move_a_marginal(neighbours, moved, norm):
    (block,) = found([pair(0, 1)], 300.0)
    assert sensitivity((block,), norm, PrivacyUnit(neighbours=neighbours)) == moved


def test_large_cells_stand_alone_and_runs_hold_about_equal_counts():
    (block,) = found([pair(0, 1)], 100.0)
    rows = block.factors[0].matrix.table(0, block.factors[0].matrix.rows)
    assert rows[0].tolist() == [1, *[0] * 39]
    assert (rows @ COUNTS[0])[1:-1].max() <= 2 * RECORDS / 7
    assert all((np.diff(np.flatnonzero(row)) == 1).all() for row in rows)


def test_no_coarser_block_where_noise_leaves_little_or_cells_are_few():
    assert found([pair(0, 1)], 1.0) == ()
    assert found([pair(1, 2)], 1e6) != ()
    assert found([pair(2)], 1e6) == ()


def test_an_attribute_keeps_two_cells_whatever_was_released():
    for counts in ({**COUNTS, 0: np.zeros(40)}, {**COUNTS, 0: np.array([*np.zeros(39), 1e4])}):
        (block,) = found([pair(0, 1)], 1e5, counts)
        assert all(factor.matrix.rows >= 2 for factor in block.factors)


def test_conditions_that_join_columns_have_no_coarser_block():
    """Their cells are those of several columns together, or each of their rows is a condition of its own."""
    joined = Factor(axes=(1, 2), sizes=SIZES[1:], matrix=Dense(np.eye(2, 12, dtype=np.int64)))
    each = tuple(Factor(axes=(axis,), sizes=SIZES[axis : axis + 1], matrix=first_cells(SIZES[axis])) for axis in (1, 2))
    blocks = [QueryBlock(name="joined", factors=(joined,)), QueryBlock(name="row by row", factors=each, rowwise=True)]
    assert [block.name for block in found([*blocks, pair(1, 2)], 1e6)] == ["coarse((1, 2))"]


def first_cells(size):
    return Dense(np.tri(2, size, dtype=np.int64))


def test_a_release_of_a_condition_on_two_columns_of_few_records_ends():
    fields = [
        {"name": "a", "type": "integer", "constraints": {"minimum": 0, "maximum": 4}},
        {"name": "b", "type": "integer", "constraints": {"minimum": 0, "maximum": 5}},
    ]
    table = pa.table({"a": [0, 1, 2], "b": [0, 1, 2]})
    asked = {"domain": {"fields": fields}, "queries": [{"proportion": "b < 3 and a between 1 and 2"}]}
    release = dpqr.release(table, queries=asked, eps=1, delta="1e-6", accountant="gdp")
    assert len(release.answers) == 2
