"""What an option is given is checked once, for the command line and for Python."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import dpqr
from dpqr.domain.histogram import RECORDS
from dpqr.python.checks import MOST_RECORDS, figure, remark, text


def test_the_most_records_are_those_that_mechanisms_count_exactly():
    """It stands here as well, for no help text may import numpy."""
    assert MOST_RECORDS == RECORDS


@pytest.mark.parametrize(
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
