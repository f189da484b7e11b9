"""Tables of persons through the real loader: every person once a cell and in at most C cells of a table, whatever rows
others have; between all neighbours of tiny tables, and in all norms, they move by no more than `sensitivity` says."""

import itertools
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pytest
from support.cases import in_one_test, slowly

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain, Region
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.tables import load as loading
from dpqr.tables.frames import in_memory
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.sensitivity import Norm, sensitivity

SIZES = (3, 2)
DOMAIN = Domain(tuple(Attribute(name=name, axis=Codes(size)) for name, size in zip("ab", SIZES, strict=True)))
LEFT_OUT = (9, 0)
CELLS = [*itertools.product(*map(range, SIZES)), LEFT_OUT]
"""What one row can be; the domain's rules leave the last of them out."""


def table(axes, most) -> QueryBlock:
    factors = tuple(Factor.identity(axis, SIZES[axis]) for axis in axes)
    return QueryBlock(name=f"{axes} {most}", factors=factors, most_cells=most)


VALUES, WITHIN = (-1, 2), (-1, 3)
"""Of column b, and what the total of three rows is clipped to: both ends are passed."""


def totals(axes, most, *, times=1) -> QueryBlock:
    """A table of persons' totals of column b."""
    matrix = Dense(np.array([[-value for value in VALUES], VALUES]))
    factors = (*(Factor.identity(axis, SIZES[axis]) for axis in axes), Factor(axes=(1,), sizes=(2,), matrix=matrix))
    return QueryBlock(name=f"b by {axes} {most}", factors=factors, most_cells=most, within=WITHIN, times=times)


def total_of(rows, cell, axes):
    """A person's clipped total in a cell, as (most - total, total - least); (0, 0) where they have no row there."""
    own = [VALUES[row[1]] for row in rows if row != LEFT_OUT and tuple(row[axis] for axis in axes) == cell]
    total = min(max(sum(own), WITHIN[0]), WITHIN[1])
    return (WITHIN[1] - total, total - WITHIN[0]) if own else (0, 0)


TABLES = (table((0,), 1), table((0,), 2), table((1, 0), 2), table((1, 0), 3), table((), 1))


def counted(rows, *, tables=TABLES, most_rows=1, seed=0):
    """The tables of persons of rows (person, cell), all cells one after the other; and the records used."""
    frame = pd.DataFrame([(who, *cell) for who, cell in rows], columns=["who", "a", "b"], dtype="int64")
    found = load_table(
        TableSource(frame=in_memory(frame)),
        DOMAIN,
        Limits(),
        unit=PrivacyUnit(columns=("who",), rows=most_rows),
        noise=SeededNoise(seed),
        persons=[each.person_table for each in tables],
    )
    persons, records = (each._unseal(SealKey()) for each in (found.persons, found.counts))
    cells = [each.answer(persons) for each in tables]
    return np.concatenate([np.zeros(0, dtype=np.int64), *cells]), records.marginal((0, 1)).tolist()


def pieces(cells, tables=TABLES):
    return np.split(cells, np.cumsum([each.rows for each in tables])[:-1])


def distinct(rows, axes):
    return {tuple(row[axis] for axis in axes) for row in rows if row != LEFT_OUT}


EVERY_PERSON = [rows for size in range(4) for rows in itertools.combinations_with_replacement(CELLS, size)]
OTHERS = [(7, (0, 0)), (7, (2, 1)), (8, (2, 1)), (8, (2, 1)), (9, LEFT_OUT)]


def require_within_sensitivity(tables, moves, attained) -> None:
    """In every norm and relation: all tables together, and each alone, whose bound is reached where it is attained."""
    added = np.unique(moves, axis=0)
    replaced = np.unique((added[:, None] - added[None]).reshape(-1, added.shape[1]), axis=0)
    for relation, changes in ((Neighbours.ADD_REMOVE, added), (Neighbours.REPLACE, replaced)):
        unit = PrivacyUnit(neighbours=relation, columns=("who",), rows=2)
        for norm, largest in (
            (Norm.LARGEST, lambda moved: np.abs(moved).max()),
            (Norm.L1, lambda moved: np.abs(moved).sum(axis=1).max()),
            (Norm.L2_SQUARED, lambda moved: (moved**2).sum(axis=1).max()),
        ):
            assert largest(changes) <= sensitivity(tables, norm, unit)
            places = np.cumsum([each.rows for each in tables])
            for each, stop in zip(tables, places, strict=True):
                own, bound = largest(changes[:, stop - each.rows : stop]), sensitivity((each,), norm, unit)
                assert own == bound if attained(each, relation) else own <= bound, (relation, norm, each.name)


@pytest.mark.parametrize("seed", [1, *slowly(2)])
def test_neighbours_differ_by_no_more_than_the_sensitivity(seed) -> None:
    """All that one person can bring in three rows, and all pairs of such persons, under the key of the seed."""
    before, _ = counted(OTHERS, seed=seed)
    moves = []
    for rows in EVERY_PERSON:
        together, _ = counted([*OTHERS, *((5, row) for row in rows)], seed=seed)
        moves.append(together - before)
        for each, moved in zip(TABLES, pieces(moves[-1]), strict=True):
            assert set(moved.tolist()) <= {0, 1}
            assert moved.sum() == min(each.most_cells, len(distinct(rows, each.axes)))
    require_within_sensitivity(TABLES, moves, lambda each, relation: True)


HIGH = Region(text="b = 1", axes=(1,), cells=np.array([False, True]))
MIXED = Region(text="a = 0 or b = 1", axes=(0, 1), cells=np.array([[True, True], [False, True], [False, True]]))
CONDITIONS = (
    replace(table((0,), 1), where=(HIGH,)),
    replace(table((0,), 2), where=(MIXED,)),
    replace(table((1, 0), 3), where=(MIXED, HIGH)),
    replace(table((), 1), where=(HIGH,)),
    replace(totals((0,), 3), where=(MIXED,)),
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_under_conditions_neighbours_differ_by_what_their_own_rows_allow(seed) -> None:
    """Of the rows that fulfil a table's condition each person counts as in a table of these rows alone."""
    before, _ = counted(OTHERS, tables=CONDITIONS, seed=seed)
    moves = []
    for rows in EVERY_PERSON:
        together, _ = counted([*OTHERS, *((5, row) for row in rows)], tables=CONDITIONS, seed=seed)
        moves.append(together - before)
        for each, moved in zip(CONDITIONS, pieces(moves[-1], CONDITIONS), strict=True):
            inside = [row for row in rows if row == LEFT_OUT or all(r.cells[row[r.axes[0] :]] for r in each.where)]
            cells = distinct(inside, each.axes if each.within is None else each.axes[:-1])
            if each.within is None:
                assert set(moved.tolist()) <= {0, 1}
                assert moved.sum() == min(each.most_cells, len(cells))
            else:
                own = [total_of(inside, (cell,), (0,)) for cell in range(SIZES[0])]
                assert moved.reshape(-1, 2).tolist() == np.array(own).tolist()
    require_within_sensitivity(CONDITIONS, moves, lambda each, relation: False)


TOTALS = (totals((0,), 1), totals((0,), 3, times=3), totals((), 1), table((0,), 3))


@pytest.mark.parametrize("seed", [1, *slowly(2)])
def test_totals_of_neighbours_differ_by_no_more_than_the_sensitivity(seed) -> None:
    """All that one person can bring in three rows, and all pairs of such persons; totals beyond the bounds included."""
    before, _ = counted(OTHERS, tables=TOTALS, seed=seed)
    moves = []
    for rows in EVERY_PERSON:
        together, _ = counted([*OTHERS, *((5, row) for row in rows)], tables=TOTALS, seed=seed)
        moves.append(together - before)
        one, all_three, whole, persons = pieces(moves[-1], TOTALS)
        own = [total_of(rows, (cell,), (0,)) for cell in range(SIZES[0])]
        assert all_three.reshape(-1, 2).tolist() == (3 * np.array(own)).tolist()
        assert whole.tolist() == list(total_of(rows, (), ()))
        assert one.sum() == 4 * min(1, persons.sum())
        assert [tuple(pair) for pair in one.reshape(-1, 2).tolist() if any(pair)] in [[], *([pair] for pair in own)]

    def attained(each, relation):
        return each.most_cells == 1 or relation is Neighbours.ADD_REMOVE or each.within is None

    require_within_sensitivity(TOTALS, moves, attained)


def binned(axes, most):
    """A table of persons by the bin of their total of column b."""
    total = Factor(axes=(1,), sizes=(2,), matrix=Dense(np.array([VALUES] * 3)))
    factors = (*(Factor.identity(axis, SIZES[axis]) for axis in axes), total)
    return QueryBlock(name=f"by b, {axes} {most}", factors=factors, most_cells=most, within=(-1, 2, 4, 5))


BINNED = (binned((0,), 1), binned((0,), 3), binned((), 1))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_bins_of_totals_of_neighbours_differ_by_no_more_than_the_sensitivity(seed) -> None:
    """All that one person can bring in three rows, and all pairs of such persons: in each cell one bin moves by 1."""
    before, _ = counted(OTHERS, tables=BINNED, seed=seed)
    moves = []
    for rows in EVERY_PERSON:
        together, _ = counted([*OTHERS, *((5, row) for row in rows)], tables=BINNED, seed=seed)
        moves.append(together - before)
        one, all_three, whole = (piece.reshape(-1, 3) for piece in pieces(moves[-1], BINNED))
        cells = distinct(rows, (0,))
        assert [bool(own.any()) for own in all_three] == [(cell,) in cells for cell in range(SIZES[0])]
        assert one.sum() == whole.sum() == min(1, len(cells))
        assert set(moves[-1].tolist()) <= {0, 1}
        assert all_three.sum(axis=1).max() <= 1
    added = np.unique(moves, axis=0)
    replaced = np.unique((added[:, None] - added[None]).reshape(-1, added.shape[1]), axis=0)
    for relation, changes in ((Neighbours.ADD_REMOVE, added), (Neighbours.REPLACE, replaced)):
        unit = PrivacyUnit(neighbours=relation, columns=("who",), rows=2)
        assert np.abs(changes).sum(axis=1).max() <= sensitivity(BINNED, Norm.L1, unit)
        assert (changes**2).sum(axis=1).max() <= sensitivity(BINNED, Norm.L2_SQUARED, unit)
        assert np.abs(changes).max() == sensitivity(BINNED, Norm.LARGEST, unit) == 1
        whole = changes[:, -3:]
        assert np.abs(whole).sum(axis=1).max() == sensitivity(BINNED[-1:], Norm.L1, unit)


def test_totals_and_numbers_of_persons_are_of_the_same_cells() -> None:
    """Where they have one C: so their quotient is a mean of the persons who are counted."""
    tables = (table((0,), 1), totals((0,), 1))
    persons, sums = pieces(counted(ROWS, tables=tables, seed=3)[0], tables)
    assert persons.sum() == len({who for who, cell in ROWS if cell != LEFT_OUT})
    assert sums.reshape(-1, 2).sum(axis=1).tolist() == (4 * persons).tolist()


def test_several_tables_add_up_and_a_table_of_records_is_as_before() -> None:
    unit = PrivacyUnit(columns=("who",), rows=3)
    assert [sensitivity(TABLES, norm, unit) for norm in (Norm.LARGEST, Norm.L1, Norm.L2_SQUARED)] == [1, 9, 9]
    records = QueryBlock(name="records", factors=(Factor.identity(0, 3),))
    assert sensitivity((*TABLES, records), Norm.L2_SQUARED, unit) == 9 + 9
    one_row = PrivacyUnit(columns=("who",), rows=2, cell_rows=1)  # K := C, m := 1
    for norm in (Norm.L1, Norm.L2_SQUARED):
        assert sensitivity((TABLES[1],), norm, unit) == sensitivity((records,), norm, one_row)


ROWS = [(who, CELLS[(who * step + step) % 7]) for who in range(40) for step in range(1 + who % 6)]


@in_one_test("groups", [1, 4])
@pytest.mark.parametrize("most_rows", [1, 50])
def test_all_rows_of_a_person_count_in_any_order_and_number_of_passes(monkeypatch, groups, most_rows) -> None:
    """Where C is large, the tables are those of the distinct cells; K decides nothing here, and C nothing there."""
    wide = (table((0,), 3), table((0, 1), 6), table((), 1))
    monkeypatch.setattr(loading, "group_count", lambda *_: groups)
    rows_of = defaultdict(set)
    for who, cell in ROWS:
        rows_of[who].add(cell)
    expected = []
    for each in wide:
        persons = Counter(cell for rows in rows_of.values() for cell in distinct(rows, each.axes))
        expected += [persons[cell] for cell in itertools.product(*(range(SIZES[axis]) for axis in each.axes))]
    found, records = counted(ROWS, tables=wide, most_rows=most_rows)
    assert found.tolist() == expected
    assert counted(ROWS[::-1], tables=wide, most_rows=most_rows)[0].tolist() == expected
    assert counted(ROWS, tables=(), most_rows=most_rows)[1] == records


def test_the_cells_of_a_person_are_the_same_in_any_order_and_however_often_they_come() -> None:
    tables = (table((0,), 1), table((0, 1), 2))
    assert counted(ROWS, tables=tables)[0].tolist() == counted(ROWS[::-1] + ROWS, tables=tables)[0].tolist()


def test_every_cell_of_a_person_is_as_likely() -> None:
    """Persons with all three cells, and C = 1: a normal variable beyond 6.5 deviations has probability below 1e-10."""
    rows = [(who, (cell, 0)) for who in range(6000) for cell in range(3)]
    found, _ = counted(rows, tables=(table((0,), 1),))
    assert found.sum() == 6000
    assert np.abs(found - 2000).max() < 6.5 * (6000 * 2 / 9) ** 0.5


def test_records_and_persons_are_never_read_for_one_another() -> None:
    person, record = table((0,), 1), QueryBlock(name="records", factors=(Factor.identity(0, 3),))
    with pytest.raises(InfeasiblePlan, match="counts persons"):
        person.answer(DenseHistogram(np.zeros(SIZES, dtype=np.int64)))
    frame = pd.DataFrame({"who": [1], "a": [0], "b": [0]})
    unit = PrivacyUnit(columns=("who",))
    found = load_table(TableSource(frame=in_memory(frame)), DOMAIN, Limits(), unit=unit, persons=[person.person_table])
    counts = found.persons._unseal(SealKey())
    with pytest.raises(InfeasiblePlan, match="persons are counted here"):
        record.answer(counts)
    with pytest.raises(InfeasiblePlan, match="its plan does not"):
        table((0,), 2).answer(counts)
