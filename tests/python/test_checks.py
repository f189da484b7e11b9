"""What an option is given is checked once, for the command line and for Python."""

from __future__ import annotations

import traceback
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test

import dpqr
from dpqr.domain.histogram import RECORDS
from dpqr.kernel.errors import RESUMABLE, DataError, DpqrError, InfeasiblePlan
from dpqr.python.checks import MOST_RECORDS, figure, remark, run_sanitised, text


def test_the_most_records_are_those_that_mechanisms_count_exactly():
    """It stands here as well, for no help text may import numpy."""
    assert MOST_RECORDS == RECORDS


@in_one_test(
    ("given", "text"),
    [
        (1, "1"),
        (0.1, "0.1"),
        ("0.10", "0.10"),
        (1e-9, "1e-09"),
        (Decimal("1E-9"), "1E-9"),
        (np.float64(0.1), "0.1"),
        (np.int8(2), "2"),
    ],
)
def test_a_figure_is_the_decimal_that_it_prints_as(given, text):
    assert figure("eps", given) == text


def test_fractions_have_no_decimal():
    for given in (Fraction(1, 3), [1], 1j, True):
        with pytest.raises(dpqr.UsageFault, match="is no decimal number"):
            figure("eps", given)


def test_an_empty_text_is_refused_by_the_name_of_its_option():
    with pytest.raises(dpqr.UsageFault, match=r"^--count-dropped is empty"):
        text("count_dropped", "")
    assert remark("purpose", "") == ""


# What a program may read of a failure.


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
