"""Cases of a parametrised test that the plain run leaves out."""

import pytest


def slowly(*values):
    """Each value of one parameter as a case marked slow."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def slow_but(kept, rows):
    """Rows of several parameters, marked slow apart from those in the places `kept`."""
    return [row if place in kept else pytest.param(*row, marks=pytest.mark.slow) for place, row in enumerate(rows)]


def thinned(cases, every):
    """One of so many cases in the plain run, the others marked slow; each a value of one parameter or a `param`."""
    return [case if place % every == 0 else slow_one(case) for place, case in enumerate(cases)]


def slow_one(case):
    """One value, or one `param` with its name, marked slow."""
    if hasattr(case, "marks"):
        return pytest.param(*case.values, id=case.id, marks=[*case.marks, pytest.mark.slow])
    return pytest.param(case, marks=pytest.mark.slow)
