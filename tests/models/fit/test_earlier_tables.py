"""Earlier tables: at today's size, and believed as far as today's measurements agree."""

from dataclasses import replace

import numpy as np
import pytest

from dpqr.models.fit.evidence import EarlierTables, LinearMeasurement


def table(axes, values, deviation=1.0):
    return LinearMeasurement(key=axes, axes=axes, values=np.asarray(values, dtype=float), deviation=deviation)


PAIR = table((0, 1), [[400.0, 100.0], [100.0, 400.0]])
EARLIER = EarlierTables(sha256="", records=1000.0, tables=(PAIR,))
COLUMNS = [table((0,), [500.0, 500.0]), table((1,), [500.0, 500.0])]


def aged(today, records=1000.0, earlier=EARLIER):
    (found,) = earlier.aged(today, records)
    return found


def test_values_and_noise_grow_with_the_records():
    found = aged([replace(each, values=2 * each.values) for each in COLUMNS], 2000.0)
    assert found.values.tolist() == (2 * PAIR.values).tolist()
    assert found.deviation >= 2.0


def test_unchanged_columns_leave_what_two_samples_differ_by():
    """A cell of 250 records on average, counted in two samples: a variance of 500, beside the noise."""
    assert aged(COLUMNS).deviation == pytest.approx((1.0 + 2 * 1000.0 / 4) ** 0.5)


def test_changed_columns_make_the_table_of_their_pair_weak():
    found = aged([table((0,), [900.0, 100.0]), COLUMNS[1]])
    relative = 2 * 400.0**2 / (900.0**2 + 100.0**2)
    assert found.deviation > (0.99 * relative * (PAIR.values**2).mean()) ** 0.5


def test_a_table_that_is_measured_again_is_as_weak_as_it_is_wrong():
    swapped = aged([*COLUMNS, replace(PAIR, values=PAIR.values[:, ::-1])])
    assert swapped.deviation == pytest.approx(300.0, rel=0.01)
    assert aged([*COLUMNS, PAIR]).deviation < 30.0


def test_a_table_of_columns_that_nobody_measured_is_left_out():
    assert EARLIER.aged(COLUMNS[:1], 1000.0) == ()
