"""What a program may read of a failure."""

import traceback

import pytest

from dpqr.kernel.errors import RESUMABLE, DataError, DpqrError, InfeasiblePlan
from dpqr.python.checks import run_sanitised

SECRET = "987654321"


def failing(error):
    error.add_note(RESUMABLE)
    error.add_note(SECRET)

    def work():
        raise error

    return work


def test_a_foreign_failure_leaves_no_trace():
    with pytest.raises(DpqrError) as raised:
        run_sanitised(failing(ValueError(SECRET)))
    error = raised.value
    assert type(error) is DpqrError
    assert SECRET not in "".join(traceback.format_exception(error))
    assert error.__context__ is None
    assert error.__notes__ == [RESUMABLE]


def test_memory_and_errors_of_the_family():
    with pytest.raises(InfeasiblePlan, match="not enough memory"):
        run_sanitised(failing(MemoryError()))
    known = DataError("known")
    with pytest.raises(DataError) as raised:
        run_sanitised(failing(known))
    assert raised.value is known
    assert run_sanitised(lambda: 7) == 7


def test_an_interrupt_passes():
    with pytest.raises(KeyboardInterrupt):
        run_sanitised(failing(KeyboardInterrupt()))
