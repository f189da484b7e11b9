"""Options of the Python interface are checked as those of the command line are."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import dpqr
from dpqr.api.options import document, figure, plan_request


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
    assert plan_request({}, given, None, {}).epsilon == text


@pytest.mark.parametrize(
    "options",
    [
        {"n": 1.5},
        {"n": True},
        {"rounds": 0},
        {"seed": -1},
        {"max_rows": 2**40},
        {"neighbours": "both"},
        {"schedule": ""},
        {"schedule": 7},
        {"opening": 1},
        {"trust": 7},
        {"delta": [1]},
        {"max_memory": 5},
    ],
)
def test_values_of_another_kind_are_refused(options):
    with pytest.raises(dpqr.UsageFault):
        dpqr.plan(queries=dpqr.queries().marginal("a"), domain={"a": 2}, eps=1, **options)


def test_fractions_have_no_decimal():
    for given in (Fraction(1, 3), [1], 1j, True):
        with pytest.raises(dpqr.UsageFault, match="is no decimal number"):
            figure("eps", given)


def test_names_that_are_no_option():
    with pytest.raises(TypeError, match="did you mean 'schedule'"):
        dpqr.plan(queries=dpqr.queries().marginal("a"), domain={"a": 2}, eps=1, scedule="rounds")


def test_documents():
    assert document("queries", dpqr.queries().marginal("a"))["queries"] == [{"marginal": ["a"]}]
    with pytest.raises(dpqr.UsageFault, match=r"list is no document.*dpqr\.domain_from\(\)"):
        document("domain", [1])
