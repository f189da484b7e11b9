"""Cases of a parametrised test that the plain run leaves out."""

import pytest


def slowly(*values):
    """Each value of one parameter as a case marked slow."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def slow_but(kept, rows):
    """Rows of several parameters, marked slow apart from those in the places `kept`."""
    return [row if place in kept else pytest.param(*row, marks=pytest.mark.slow) for place, row in enumerate(rows)]
