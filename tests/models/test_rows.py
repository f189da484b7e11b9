import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.domain.domain import Region
from dpqr.kernel.values import replace
from dpqr.models import rows as row_fit
from dpqr.models.factored import FactoredDistribution
from dpqr.models.hypothesis import DenseDistribution
from dpqr.models.rows import FULL, LISTED, TUNING, Face, RowFit, WeightedRows, fittable_records, reachable
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix

SHAPE = (4, 5, 6)
RECORDS = 4000
CODES = np.asfortranarray(np.random.default_rng(8).integers(0, SHAPE, (RECORDS, 3)))
LINKED = np.full((4, 5), RECORDS / 40) + np.eye(4, 5) * RECORDS / 8
"""Half the records agree in the first two columns."""
APART = np.repeat(LINKED.sum(axis=0)[:, None] / 6, 6, axis=1)


def counted(codes, axes):
    table = np.zeros([SHAPE[axis] for axis in axes])
    np.add.at(table, tuple(codes[:, axis] for axis in axes), 1.0)
    return table


def off(codes, wanted):
    return sum(np.abs(table - counted(codes, axes)).sum() for axes, table in wanted.items()) / len(codes)


def moved(wanted, fixed=()):
    codes = CODES.copy(order="F")
    found = RowFit(shape=SHAPE, wanted=wanted, fixed=fixed).run(codes)
    assert found == np.count_nonzero(codes != CODES)
    return codes


@pytest.mark.slow
def test_rows_come_near_to_what_they_did_not_have_and_keep_what_they_had():
    wanted = {(0, 1): LINKED, (1, 2): APART}
    codes = moved(wanted)
    assert off(CODES, {(0, 1): LINKED}) > 0.5
    assert off(codes, wanted) < 0.05
    assert np.array_equal(codes, moved(wanted))


def test_few_records_in_many_cells_come_near_too():
    """Moved all at once, they would fill the same gaps."""
    generator = np.random.default_rng(1)

    def drawn():
        steps = np.stack([generator.integers(0, 20, 400), *generator.integers(0, 4, (2, 400))], axis=1)
        return np.asfortranarray(steps.cumsum(axis=1) % 20)

    def tables(codes):
        pairs = {axes: codes[:, list(axes)].T for axes in ((0, 1), (0, 2), (1, 2))}
        return {axes: np.histogram2d(*pair, bins=(np.arange(21),) * 2)[0] for axes, pair in pairs.items()}

    def distance(codes):
        return sum(np.abs(tables(codes)[axes] - table).sum() for axes, table in wanted.items())

    codes, wanted = drawn(), tables(drawn())
    before = distance(codes)
    small = codes.astype(np.uint8, order="F")
    RowFit(shape=(20, 20, 20), wanted=wanted).run(codes)
    assert distance(codes) < before / 5
    RowFit(shape=(20, 20, 20), wanted=wanted).run(small)
    assert np.array_equal(small, codes), "400 cells of a pair have numbers beyond the codes' own type"


def test_tables_of_three_columns_and_columns_in_none():
    cube = np.zeros(SHAPE)
    cube[:2, :, :3] = RECORDS / 30
    assert off(moved({(0, 1, 2): cube}), {(0, 1, 2): cube}) < off(CODES, {(0, 1, 2): cube}) / 2
    assert np.array_equal(moved({(0, 1): LINKED})[:, 2], CODES[:, 2])


def test_nobody_enters_or_leaves_a_fixed_region():
    diagonal = Region(text="a = b", axes=(0, 1), cells=np.eye(4, 5, dtype=bool))
    third = Region(text="c = 0", axes=(2,), cells=np.arange(6) == 0)
    skewed = np.outer(np.full(4, RECORDS / 4), [0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    wanted = {(0, 1): LINKED, (0, 2): skewed}

    def inside(codes):
        return np.stack([codes[:, 0] == codes[:, 1], codes[:, 2] == 0])

    codes = moved(wanted, (diagonal, third))
    assert np.array_equal(inside(codes), inside(CODES))
    assert not np.array_equal(inside(moved(wanted)), inside(CODES))


def test_nothing_moves_where_it_brings_nothing_nearer_and_a_column_of_one_value_stays():
    wanted = {(0, 1): counted(CODES, (0, 1)), (1, 2): counted(CODES, (1, 2))}
    assert np.array_equal(moved(wanted), CODES)
    codes = np.zeros((300, 2), dtype=np.int64, order="F")
    assert RowFit(shape=(1, 2), wanted={(0, 1): np.array([[100.0, 200.0]])}).run(codes) > 0
    assert not codes[:, 0].any()
    assert abs(int(codes[:, 1].sum()) - 200) <= 20
    for records in (0, 1):
        few = np.zeros((records, 3), dtype=np.int64, order="F")
        assert RowFit(shape=SHAPE, wanted={(0, 1): LINKED * records / RECORDS}).run(few) == 0


def test_of_too_many_records_each_sweep_visits_others(monkeypatch):
    wanted = {(0, 1): LINKED}
    width = 9 + 2 * TUNING.overhead
    tables = TUNING.overhead * TUNING.blocks * 2 * 20
    monkeypatch.setattr(row_fit, "TUNING", replace(TUNING, work=1000 * width + tables, sweeps=2))
    codes = moved(wanted)
    assert not np.array_equal(codes[:1000], CODES[:1000])
    assert not np.array_equal(codes[1000:2000], CODES[1000:2000])
    assert np.array_equal(codes[2000:], CODES[2000:])
    assert off(codes, wanted) < off(CODES, wanted)
    monkeypatch.setattr(row_fit, "TUNING", replace(TUNING, work=83 * width + tables))
    assert fittable_records(SHAPE, wanted, RECORDS) == 0
    assert np.array_equal(moved(wanted), CODES)


def test_reach_of_large_jobs():
    pairs = [(one, other) for other in range(14) for one in range(other)]
    assert fittable_records((48,) * 14, pairs, 48_842) == 48_842
    assert 60_000 < fittable_records((48,) * 14, pairs, 10**6) < 140_000
    every = [(one, other) for other in range(100) for one in range(other)]
    assert fittable_records((10,) * 100, every, 10**6) == 0
    assert fittable_records(SHAPE, [], RECORDS) == 0
    assert reachable((2, 300, 300, 3), [(1, 2), (3, 0), (0, 3), (1,), ()]) == [(0, 3)]


def test_a_gain_is_what_one_record_takes_off_the_gap_and_less_within_the_spread_of_a_count():
    gap = np.array([[-3.0, -0.75, -0.25, 0.0, 0.25, 0.75, 3.0]])
    more, less = Face.of((0, 1), 1, gap, np.zeros_like(gap)).gains(7)
    unit = FULL // 7
    assert more == pytest.approx(unit * (np.abs(gap) - np.abs(gap - 1)), abs=1)
    assert less == pytest.approx(unit * (np.abs(gap) - np.abs(gap + 1)), abs=1)
    gap, wanted = np.array([[1.0, 1.0, 100.0]]), np.array([[0.0, 10_000.0, 10_000.0]])
    more, _ = Face.of((0, 1), 1, gap, wanted).gains(1)
    assert more[0] / FULL == pytest.approx([1.0, 1 / 101, 1.0], abs=1e-3)


@in_one_test("faces", [1, 14, 500, 5000])
def test_gains_of_all_faces_add_up_in_16_bits(faces):
    gap = np.array([[-1e6, 1e6]])
    for gains in Face.of((0, 1), 1, gap, np.zeros_like(gap)).gains(faces):
        assert gains.dtype == np.int16
        assert abs(int(gains[0, 0])) == abs(int(gains[0, 1])) == FULL // faces > 0


# Weighted rows answer as the table of their records does.

ROWS_SHAPE = (2, 3)
CELLS = np.array([[1.0, 2.0, 3.0], [4.0, 0.0, 6.0]])


@pytest.fixture
def rows():
    model = DenseDistribution(probabilities=CELLS / CELLS.sum(), total=32.0)
    return WeightedRows.of(model, ROWS_SHAPE, 0)


def test_few_cells_are_listed_and_answers_and_synthetic_rows_are_the_models(rows):
    table = CELLS / CELLS.sum() * 32.0
    first = Factor(axes=(0,), sizes=(2,), matrix=Dense(np.array([[0, 1]])))
    second = Factor(axes=(1,), sizes=(3,), matrix=Prefix(3))
    assert len(rows.codes) == CELLS.size
    assert rows.marginal(()) == pytest.approx(32.0)
    assert rows.marginal((1, 0)) == pytest.approx(table.T)
    assert rows.answer(QueryBlock(name="a", factors=(first,))) == pytest.approx([table[1].sum()])
    both = QueryBlock(name="b", factors=(first, second))
    assert rows.answer(both) == pytest.approx(np.cumsum(table[1]))
    assert rows.answer(both.row(1)) == pytest.approx([np.cumsum(table[1])[1]])
    assert rows.answer(QueryBlock(name="all")) == pytest.approx([32.0])
    drawn = rows.rows(2_000, seed=1)
    counts = np.zeros(ROWS_SHAPE)
    np.add.at(counts, tuple(drawn.T), 1)
    assert counts == pytest.approx(CELLS / CELLS.sum() * 2_000, abs=1)


def test_many_cells_are_drawn():
    made = WeightedRows.of(FactoredDistribution.uniform((50,) * 6, 10.0), (50,) * 6, 0)
    assert made.codes.shape == (LISTED, 6)
    assert made.codes.dtype.itemsize == 1
    assert made.marginal((0,)) == pytest.approx(np.full(50, 0.2), rel=0.05)
