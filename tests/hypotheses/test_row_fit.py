import numpy as np
import pytest

from dpqr.data.facts import Region
from dpqr.hypotheses import row_fit
from dpqr.hypotheses.row_fit import RowFit, reach, reachable

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


def test_rows_come_near_to_what_they_did_not_have_and_keep_what_they_had():
    wanted = {(0, 1): LINKED, (1, 2): APART}
    codes = moved(wanted)
    assert off(CODES, {(0, 1): LINKED}) > 0.5
    assert off(codes, wanted) < 0.05
    assert np.array_equal(codes, moved(wanted))


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


def test_nothing_moves_where_it_brings_nothing_nearer():
    wanted = {(0, 1): counted(CODES, (0, 1)), (1, 2): counted(CODES, (1, 2))}
    assert np.array_equal(moved(wanted), CODES)


def test_a_column_of_one_value_stays():
    codes = np.zeros((300, 2), dtype=np.int64, order="F")
    assert RowFit(shape=(1, 2), wanted={(0, 1): np.array([[100.0, 200.0]])}).run(codes) > 0
    assert not codes[:, 0].any()
    assert abs(int(codes[:, 1].sum()) - 200) <= 20


def test_of_too_many_records_the_first_move(monkeypatch):
    wanted = {(0, 1): LINKED}
    width = 9 + 2 * row_fit.OVERHEAD
    tables = row_fit.OVERHEAD * row_fit.BLOCKS * 2 * 20
    monkeypatch.setattr(row_fit, "WORK", 1000 * width + tables)
    codes = moved(wanted)
    assert not np.array_equal(codes[:1000], CODES[:1000])
    assert np.array_equal(codes[1000:], CODES[1000:])
    assert off(codes, wanted) < off(CODES, wanted)
    monkeypatch.setattr(row_fit, "WORK", 249 * width + tables)
    assert reach(SHAPE, wanted, RECORDS) == 0
    assert np.array_equal(moved(wanted), CODES)


def test_reach_of_large_jobs():
    pairs = [(one, other) for other in range(14) for one in range(other)]
    assert reach((48,) * 14, pairs, 48_842) == 48_842
    assert 200_000 < reach((48,) * 14, pairs, 10**6) < 400_000
    every = [(one, other) for other in range(100) for one in range(other)]
    assert reach((10,) * 100, every, 10**6) == 0
    assert reach(SHAPE, [], RECORDS) == 0


def test_groups_that_can_be_reached():
    assert reachable((2, 300, 300, 3), [(1, 2), (3, 0), (0, 3), (1,), ()]) == [(0, 3)]


@pytest.mark.parametrize("records", [0, 1])
def test_few_records(records):
    codes = np.zeros((records, 3), dtype=np.int64, order="F")
    assert RowFit(shape=SHAPE, wanted={(0, 1): LINKED * records / RECORDS}).run(codes) == 0
