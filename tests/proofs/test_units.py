"""P28 to P30 and P39: sensitivities, persons, and periods in parallel, by all neighbours of small tables."""

from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import in_one_test

from dpqr.kernel.budget import Cost
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.ledger.periods import PeriodBudgets
from dpqr.tables.persons import Bounding
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.sensitivity import Norm, sensitivity

CELLS = 4


def changes(matrix, unit, of_person):
    """The largest change in each norm: all that one unit brings, or what it brings in place of what it takes."""
    brought = [np.bincount(cells, minlength=CELLS) if cells else np.zeros(CELLS, int) for cells in of_person]
    pairs = product(brought, repeat=2) if unit.neighbours is Neighbours.REPLACE else ((one, 0 * one) for one in brought)
    moved = [matrix @ (one - other) for one, other in pairs]
    return {
        Norm.LARGEST: max(int(np.abs(one).max()) for one in moved),
        Norm.L1: max(int(np.abs(one).sum()) for one in moved),
        Norm.L2_SQUARED: max(int((one**2).sum()) for one in moved),
    }


def people(unit):
    every = [cells for size in range(unit.rows + 1) for cells in combinations_with_replacement(range(CELLS), size)]
    most = unit.cell_rows or unit.rows
    return [list(cells) for cells in every if all(cells.count(cell) <= most for cell in cells)]


UNITS = [
    PrivacyUnit(neighbours=relation, **more)
    for relation in Neighbours
    for more in ({}, {"columns": ("id",), "rows": 3}, {"columns": ("id",), "rows": 3, "cell_rows": 2})
]
BLOCKS = {
    "marginal": (Factor.identity(0, CELLS), np.eye(CELLS, dtype=int)),
    "running sums": (
        Factor(axes=(0,), sizes=(CELLS,), matrix=Prefix(CELLS)),
        np.tril(np.ones((CELLS, CELLS), dtype=int)),
    ),
    "weights": (
        Factor(axes=(0,), sizes=(CELLS,), matrix=Dense(np.array([[3, -1, 0, 2], [1, 1, 2, 0]]))),
        np.array([[3, -1, 0, 2], [1, 1, 2, 0]]),
    ),
}


@in_one_test("unit", UNITS)
@pytest.mark.parametrize("name", BLOCKS)
def test_p28_p29_no_neighbours_move_answers_further_and_some_move_them_so_far(name, unit):
    factor, matrix = BLOCKS[name]
    blocks = (QueryBlock(name=name, factors=(factor,)),)
    true = changes(matrix, unit, people(unit))
    for norm in Norm:
        stated = sensitivity(blocks, norm, unit)
        assert true[norm] <= stated
        # Where rows of a person may not meet in a cell, all but the squared norm of a table are those of K rows.
        if unit.cell_rows is None or (name == "marginal" and norm is Norm.L2_SQUARED):
            assert true[norm] == stated


@in_one_test("name", BLOCKS)
def test_p28_a_replaced_row_moves_at_most_twice_as_far_as_an_added_one(name):
    blocks = (QueryBlock(name=name, factors=(BLOCKS[name][0],)),)
    one, other = (PrivacyUnit(neighbours=relation) for relation in (Neighbours.ADD_REMOVE, Neighbours.REPLACE))
    for norm, times in ((Norm.LARGEST, 2), (Norm.L1, 2), (Norm.L2_SQUARED, 4)):
        assert (
            sensitivity(blocks, norm, one) <= sensitivity(blocks, norm, other) <= times * sensitivity(blocks, norm, one)
        )


@given(st.lists(st.lists(st.integers(-2, 2), min_size=CELLS, max_size=CELLS), min_size=1, max_size=2))
def test_p28_of_any_small_matrix_it_is_never_below_the_truth(rows):
    matrix = np.array(rows)
    blocks = (QueryBlock(name="any", factors=(Factor(axes=(0,), sizes=(CELLS,), matrix=Dense(matrix)),)),)
    for unit in UNITS[::3]:
        true = changes(matrix, unit, people(unit))
        assert all(true[norm] <= sensitivity(blocks, norm, unit) for norm in Norm)


def test_p29_the_most_squared_counts_of_a_person():
    for rows, most in product(range(1, 8), repeat=2):
        if most <= rows:
            counts = [found for found in product(range(most + 1), repeat=4) if sum(found) <= rows]
            true = max(sum(count**2 for count in found) for found in counts)
            unit = PrivacyUnit(columns=("id",), rows=rows, cell_rows=most)
            assert (true == unit.most_squared) if rows <= 4 * most else (true <= unit.most_squared)


@in_one_test("most", [1, 2])
def test_p30_the_kept_rows_of_all_others_do_not_depend_on_a_person(most):
    """Every table of three persons with up to three rows each, with and without each of them, under one key."""

    def kept(rows):
        """rows: how many each person has. The kept rows by person; a row is the number of its person and its own."""
        every = [(person, 8 * person + own) for person, count in enumerate(rows) for own in range(count)]
        bounding = Bounding(most=most, words=1, memory=2**20, key=bytes(range(32)))
        words = np.array([[word for _, word in every]], dtype=np.uint64)
        bounding.add(pa.array([f"person {person}" for person, _ in every]), np.arange(len(every)), words)
        found = {}
        for word in bounding.finish().rows[0].tolist():
            found.setdefault(word // 8, []).append(word)
        return {person: sorted(words) for person, words in found.items()}

    for rows in product(range(4), repeat=3):
        whole = kept(rows)
        assert [len(whole.get(person, ())) for person in range(3)] == [min(most, count) for count in rows]
        for gone in range(3):
            fewer = tuple(0 if place == gone else count for place, count in enumerate(rows))
            assert kept(fewer) == {person: words for person, words in whole.items() if person != gone}


@in_one_test("parallel", [True, False])
def test_p39_a_unit_pays_for_all_that_reads_its_rows(parallel):
    """A row lies in one period or in none; a person may have rows in every one. Releases of no period read all rows."""
    budgets = PeriodBudgets(column="day", every="month", share=Cost(Fraction(9)), parallel=parallel)
    for costs in product((Fraction(0), Fraction(1, 3), Fraction(2)), repeat=4):
        names = ["", "2026-01", "2026-02", "2026-03"]
        spent = {name: Cost(cost) for name, cost in zip(names, costs, strict=True)}
        held = [()] + [(name,) for name in names[1:]]
        if not parallel:
            held = [some for size in range(4) for some in combinations(names[1:], size)]
        true = max(costs[0] + sum(costs[names.index(name)] for name in periods) for periods in held)
        assert budgets.total(spent) == Cost(true)
