import numpy as np

from dpqr.evaluation.outcomes import Outcomes


def test_rows_are_runs_and_empty_parts_have_no_columns():
    seen = Outcomes.of([((1,), (2, 3), ()), ((4,), (5, 6), ()), ((7,), (8, 9), ())])
    assert len(seen) == 3
    assert seen.measured.tolist() == [[2, 3], [5, 6], [8, 9]]
    assert seen.derived.shape == (3, 0)


def test_halves_share_no_run_and_are_equally_long():
    seen = Outcomes.of([((), (index,), ()) for index in range(5)])
    one, two = seen.halves()
    assert (one.measured[:, 0].tolist(), two.measured[:, 0].tolist()) == ([0, 1], [2, 3])


def test_parts_are_joined_in_order():
    parts = [Outcomes.of([((), (index,), (-index,))]) for index in range(3)]
    joined = Outcomes.joined(parts)
    assert np.array_equal(joined.measured[:, 0], [0, 1, 2])
    assert np.array_equal(joined.derived[:, 0], [0, -1, -2])
