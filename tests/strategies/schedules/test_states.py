"""The states that schedules share: values that grow by one round at a time."""

from dataclasses import replace

import numpy as np
import pytest

from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.strategies.schedules.drafts import Progress, Released
from dpqr.strategies.transcript import Round
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement


def made(value):
    measured = Measurement(
        blocks=(QueryBlock(name="total"),), values=(np.array([value]),), law=DiscreteLaplace(scale=1)
    )
    return Round(choice=None, measurement=measured, charges=(0,))


LOST = replace(made(0), measurement=None)


def test_progress_counts_rounds_and_keeps_the_first_release():
    first, second = made(1), made(2)
    state = Progress().after(first).after(second).after(LOST)
    assert (state.rounds, state.first) == (3, first.measurement)


def test_a_first_round_that_was_lost_stays_lost():
    state = Progress().after(LOST).after(made(2))
    assert (state.rounds, state.first) == (2, None)


def test_released_keeps_every_round_in_order():
    first, second = made(1), made(2)
    state = Released().after(first).after(LOST).after(second)
    assert state.rounds == (first.measurement, None, second.measurement)
    assert state.measurements == (first.measurement, second.measurement)


@pytest.mark.parametrize("state", [Progress(), Released()], ids=lambda one: type(one).__name__)
def test_a_state_is_not_changed_by_what_follows(state):
    before = replace(state)
    state.after(made(1))
    assert state == before
