"""The pair moves all errors at once, as far as the events say."""

import numpy as np
import pytest

from dpqr.audit.cases.noisy_answers import error_cases
from dpqr.kernel.events import DiscreteGaussianEvent

CASES = list(error_cases())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_pair_moves_the_errors_by_what_the_event_states(case) -> None:
    (mechanism,) = case.trial.mechanisms
    here, there = (mechanism.errors.evaluate(database) for database in case.pair)
    moved, event = np.abs(there - here), mechanism.event
    if isinstance(event, DiscreteGaussianEvent):
        assert int((moved**2).sum()) == event.squared_sensitivity
    else:
        assert int(moved.sum()) == event.sensitivity
    for errors, laws in zip((here, there), case.laws, strict=True):
        assert [law.answer for law in laws] == errors.tolist()
