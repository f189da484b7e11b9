import numpy as np

from dpqr.hypotheses.factored.recent_tables import RecentTables


def test_the_last_ones_are_kept_up_to_the_room():
    made = []

    def maker(axes, size):
        def make():
            made.append(axes)
            return np.zeros(size)

        return make

    tables = RecentTables(room=10)
    tables.get((0,), maker((0,), 4))
    tables.get((1,), maker((1,), 4))
    assert tables.get((0,), maker((0,), 4)).size == 4
    assert made == [(0,), (1,)]
    tables.get((2,), maker((2,), 4))
    tables.get((0,), maker((0,), 4))
    tables.get((1,), maker((1,), 4))
    assert made == [(0,), (1,), (2,), (1,)]


def test_what_has_no_room_is_told_and_not_kept():
    tables = RecentTables(room=10)
    assert tables.get((0,), lambda: np.zeros(11)).size == 11
    assert tables.get((0,), lambda: np.ones(11)).all()
