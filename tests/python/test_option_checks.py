"""Options of the Python interface are checked as those of the command line are."""

import pytest

import dpqr
from dpqr.python.requests import document


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


def test_names_that_are_no_option():
    with pytest.raises(TypeError, match="did you mean 'schedule'"):
        dpqr.plan(queries=dpqr.queries().marginal("a"), domain={"a": 2}, eps=1, scedule="rounds")


def test_documents():
    assert document("queries", dpqr.queries().marginal("a"))["queries"] == [{"marginal": ["a"]}]
    with pytest.raises(dpqr.UsageFault, match=r"list is no document.*dpqr\.domain_from\(\)"):
        document("domain", [1])
