"""Computed sensitivities against the truth: every column, and every pair of columns, of the whole domain."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.cases import in_one_test, slowly

from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.workload import matrix
from dpqr.workload import sensitivity as module
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity, Prefix, Sparse
from dpqr.workload.ranges import Ranges
from dpqr.workload.sensitivity import Norm, sensitivity

SHAPE = (3, 2, 2)
UNITS = {relation: PrivacyUnit(neighbours=relation) for relation in Neighbours}
ADD_REMOVE, REPLACE = UNITS[Neighbours.ADD_REMOVE], UNITS[Neighbours.REPLACE]
every_unit = pytest.mark.parametrize("unit", UNITS.values(), ids=[relation.value for relation in UNITS])
PERSONS = [
    PrivacyUnit(neighbours=relation, columns=("pid",), rows=most) for relation in Neighbours for most in (1, 2, 3)
]
every_person = pytest.mark.parametrize("unit", PERSONS, ids=[f"{u.neighbours.value}-{u.rows}" for u in PERSONS])


def over_all_cells(block: QueryBlock) -> np.ndarray:
    """What one record in each cell of the domain answers, shape (rows, |X|)."""
    columns = []
    for cell in itertools.product(*(range(size) for size in SHAPE)):
        marginal = np.zeros([SHAPE[axis] for axis in block.axes], dtype=np.int64)
        marginal[tuple(cell[axis] for axis in block.axes)] = 1
        columns.append(block.apply(marginal))
    return np.stack(columns, axis=1)


def changes(blocks: tuple[QueryBlock, ...], unit: PrivacyUnit) -> np.ndarray:
    """Sizes of all changes between neighbouring databases, shape (pairs, rows): the columns of all rows that one person
    can have (none, up to the unit's number, each kept or dropped), or the difference of what two persons can have."""
    columns = np.concatenate([over_all_cells(block) for block in blocks]).T
    columns = np.unique(np.concatenate([columns, np.zeros_like(columns[:1])]), axis=0)
    kept = itertools.combinations_with_replacement(range(len(columns)), unit.rows)
    found = np.array([columns[list(rows)].sum(axis=0) for rows in kept])
    if unit.neighbours is Neighbours.REPLACE:
        found = np.unique(found, axis=0)
        found = (found[:, None, :] - found[None, :, :]).reshape(-1, found.shape[1])
    return np.abs(found)


def largest(sizes: np.ndarray, norm: Norm) -> int:
    return int(sizes.max() if norm is Norm.LARGEST else (sizes**norm.value).sum(axis=1).max())


def truth(blocks: tuple[QueryBlock, ...], norm: Norm, unit: PrivacyUnit) -> int:
    return largest(changes(blocks, unit), norm)


def require_no_less(blocks: tuple[QueryBlock, ...], unit: PrivacyUnit) -> None:
    sizes = changes(blocks, unit)
    for norm in Norm:
        assert sensitivity(blocks, norm, unit) >= largest(sizes, norm), (norm, blocks)


def factor(axes, matrix) -> Factor:
    return Factor(axes=axes, sizes=tuple(SHAPE[axis] for axis in axes), matrix=matrix)


def random_matrix(generator: np.random.Generator, rows: int, cells: int):
    low = int(generator.integers(-3, 2))
    table = generator.integers(low, low + int(generator.integers(1, 5)), (rows, cells))
    return Sparse(csr_array(table)) if generator.integers(2) else Dense(table)


def random_block(seed: int) -> QueryBlock:
    generator = np.random.default_rng(seed)
    groups = [((0,), (2, 1)), ((1,), (0,)), ((2,), (1,), (0,)), ((0, 1, 2),), ((1, 0),)][seed % 5]
    rowwise = bool(generator.integers(2))
    rows = int(generator.integers(1, 4))
    factors = []
    for axes in groups:
        cells = int(np.prod([SHAPE[axis] for axis in axes]))
        kind = generator.integers(4)
        if not rowwise and kind == 0:
            factors.append(factor(axes, Identity(cells)))
        elif not rowwise and kind == 1:
            factors.append(factor(axes, Prefix(cells - 1, 1) if generator.integers(2) else Prefix(cells)))
        else:
            factors.append(factor(axes, random_matrix(generator, rows, cells)))
    return QueryBlock(name=f"random {seed}", rowwise=rowwise, factors=tuple(factors))


@every_unit
@pytest.mark.parametrize("seeds", [range(60), *slowly(range(60, 250))], ids=str)
def test_it_is_never_below_the_truth(unit, seeds) -> None:
    for seed in seeds:
        require_no_less((random_block(seed),), unit)


@every_unit
@pytest.mark.parametrize("seeds", [range(15), *slowly(range(15, 60))], ids=str)
def test_of_several_blocks_it_is_never_below_the_truth(unit, seeds) -> None:
    for seed in seeds:
        require_no_less(tuple(random_block(seed + offset) for offset in (0, 61, 122)), unit)


def test_the_truth_of_this_file_sees_an_understatement() -> None:
    """The control: a marginal's add-remove figure is below the truth under replace."""
    marginal = (QueryBlock(name="m", factors=(Factor.identity(0, 3),)),)
    assert sensitivity(marginal, Norm.L1, ADD_REMOVE) < truth(marginal, Norm.L1, REPLACE)


EXACT = {
    "marginal": (Factor.identity(0, 3),),
    "marginal of two": (Factor.identity(2, 2), Factor.identity(0, 3)),
    "total": (),
    "predicate": (factor((0,), Dense(np.array([[1, 0, 1]]))), factor((2,), Dense(np.array([[0, 1]])))),
    "certain predicate": (factor((1,), Dense(np.array([[1, 1]]))),),
    "signed query": (factor((0,), Dense(np.array([[-2, 0, 5]]))), factor((1,), Dense(np.array([[-1, 1]])))),
    "sparse query": (factor((0,), Sparse(csr_array(np.array([[0, 4, 0]])))),),
    "predicate by": (factor((0,), Dense(np.array([[1, 0, 1]]))), Factor.identity(1, 2)),
    "prefix": (factor((0,), Prefix(3)),),
    "prefix with others": (factor((0,), Prefix(2, 1)),),
    "ranges": (factor((0,), Dense(np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1]]))),),
    "signed rows": (factor((0, 1), Dense(np.arange(18).reshape(3, 6) - 8)),),
}


@in_one_test("norm", Norm)
@every_unit
@pytest.mark.parametrize("factors", EXACT.values(), ids=EXACT.keys())
def test_it_is_the_truth_for_the_usual_blocks(factors, norm, unit) -> None:
    block = QueryBlock(name="exact", factors=factors)
    assert sensitivity((block,), norm, unit) == truth((block,), norm, unit)


ROWWISE = {
    "ranges": (
        Ranges(np.array([0, 0, 2]), np.array([2, 2, 3]), 3),
        Ranges(np.array([0, 1, 0]), np.array([1, 2, 2]), 2),
    ),
    "predicates": (Dense(np.array([[1, 0, 1], [1, 0, 1], [0, 1, 0]])), Dense(np.array([[1, 0], [0, 1], [1, 1]]))),
}
"""No two of the rows hold one cell together, and two of them hold one value of each column."""


@in_one_test("norm", Norm)
@pytest.mark.parametrize("matrices", ROWWISE.values())
def test_an_added_row_moves_conjunctions_exactly_so_far(matrices, norm) -> None:
    factors = tuple(factor((axis,), matrix) for axis, matrix in enumerate(matrices))
    block = QueryBlock(name="rowwise", rowwise=True, factors=factors)
    assert sensitivity((block,), norm, ADD_REMOVE) == truth((block,), norm, ADD_REMOVE)


@in_one_test("limit", [0, 2**24])
def test_beyond_the_limit_of_time_it_is_a_bound(limit, monkeypatch) -> None:
    monkeypatch.setattr(module, "SUMMED", limit)
    factors = tuple(factor((axis,), matrix) for axis, matrix in enumerate(ROWWISE["ranges"]))
    block = QueryBlock(name="rowwise", rowwise=True, factors=factors)
    found = sensitivity((block,), Norm.L1, ADD_REMOVE)
    assert (found == truth((block,), Norm.L1, ADD_REMOVE)) == bool(limit)


@every_person
def test_of_persons_it_is_never_below_the_truth(unit) -> None:
    for seed in range(24):
        require_no_less((random_block(seed),), unit)


@in_one_test("unit", PERSONS)
def test_of_persons_it_is_the_truth_for_the_usual_blocks(unit) -> None:
    for name, factors in EXACT.items():
        block = QueryBlock(name=name, factors=factors)
        sizes = changes((block,), unit)
        for norm in Norm:
            assert sensitivity((block,), norm, unit) == largest(sizes, norm), (name, norm)


@in_one_test("most", [2, 3])
@pytest.mark.parametrize("relation", Neighbours)
def test_the_figure_of_one_row_is_below_the_truth_for_persons(relation, most) -> None:
    person = PrivacyUnit(neighbours=relation, columns=("pid",), rows=most)
    marginal = (QueryBlock(name="m", factors=(Factor.identity(0, 3),)),)
    for norm in Norm:
        assert sensitivity(marginal, norm, UNITS[relation]) < truth(marginal, norm, person)


@in_one_test(("norm", "added", "replaced"), [(Norm.L1, 1, 2), (Norm.L2_SQUARED, 1, 2), (Norm.LARGEST, 1, 1)])
def test_figures_of_a_marginal_and_of_a_predicate(norm, added, replaced) -> None:
    marginal = (QueryBlock(name="m", factors=(Factor.identity(0, 3), Factor.identity(1, 2))),)
    assert (sensitivity(marginal, norm, ADD_REMOVE), sensitivity(marginal, norm, REPLACE)) == (added, replaced)
    predicate = (QueryBlock(name="q", factors=(factor((0,), Dense(np.array([[1, 0, 1]]))),)),)
    assert sensitivity(predicate, norm, ADD_REMOVE) == sensitivity(predicate, norm, REPLACE) == 1
    assert sensitivity(marginal * 3, Norm.L1, REPLACE) == 6
    assert sensitivity((), norm, REPLACE) == 0


def test_a_distance_is_found_once(monkeypatch) -> None:
    searches = []
    search = matrix.largest_distance
    monkeypatch.setattr(matrix, "largest_distance", lambda *given: searches.append(given) or search(*given))
    wide = Dense(np.random.default_rng(0).integers(0, 2, (30, 40)))
    for name in ("one", "other"):
        block = (QueryBlock(name=name, factors=(Factor(axes=(0,), sizes=(40,), matrix=wide),)),)
        assert {sensitivity(block, Norm.L1, REPLACE) for _ in range(5)} == {wide.column_distance(1)}
    assert len(searches) == 2  # L1 and L2, once each


@in_one_test("relation", Neighbours)
@pytest.mark.parametrize(("rows", "most"), [(1, 1), (2, 1), (3, 1), (3, 2), (4, 1), (4, 2), (4, 3), (4, 4)])
def test_rows_that_may_not_come_together_in_one_cell(relation, rows, most):
    """Tables that count at most `most` rows of a person in a cell: over all that one person, or two, can have."""
    unit = PrivacyUnit(neighbours=relation, columns=("pid",), rows=rows, cell_rows=most)
    block = QueryBlock(name="", factors=(factor((0,), Identity(3)), factor((1,), Identity(2))))
    held = [
        np.bincount(kept, minlength=block.cells)
        for size in range(rows + 1)
        for kept in itertools.combinations_with_replacement(range(block.cells), size)
    ]
    counts = np.unique([np.minimum(each, most) for each in held], axis=0)
    others = counts if relation is Neighbours.REPLACE else counts[:1] * 0
    squares = max(int(((one - counts) ** 2).sum(axis=1).max()) for one in others)
    assert squares <= sensitivity((block,), Norm.L2_SQUARED, unit)
    assert squares == sensitivity((block,), Norm.L2_SQUARED, unit) or 2 * -(-rows // most) > block.cells
    whole = PrivacyUnit(neighbours=relation, columns=("pid",), rows=rows)
    narrow = QueryBlock(name="", factors=(factor((0,), Dense(np.ones((1, 3), dtype=np.int64))),))
    for other in (narrow, QueryBlock(name="")):
        assert sensitivity((other,), Norm.L2_SQUARED, unit) == sensitivity((other,), Norm.L2_SQUARED, whole)
    for norm in (Norm.LARGEST, Norm.L1):
        assert sensitivity((block,), norm, unit) == sensitivity((block,), norm, whole)
