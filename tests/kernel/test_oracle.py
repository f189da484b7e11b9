"""The figures that the source's schedule is known to afford: T0 = 26,616 rounds at eps 1, delta 1e-9."""

import math
from fractions import Fraction

import pytest

from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.budget import PrivacyBudget

ROUNDS = 26_616
BUDGET = PrivacyBudget.parse("1", "1e-9")


def affordable(name):
    """The common eps0 of the exponential mechanism and of the Laplace check, 2 T0 draws in all."""
    accountant = ACCOUNTANTS[name]
    measured = Fraction(4) if accountant.concentrated else Fraction(1)
    portions = [Portion(share=Fraction(1), count=ROUNDS), Portion(share=measured, count=ROUNDS)]
    select, measure = accountant.cut(BUDGET, portions)
    assert abs(select.bounded_range / measure.pure - 1) < Fraction(1, 2**46)
    return float(min(select.bounded_range, measure.pure))


def textbook_epsilon(step):
    """Dwork, Rothblum and Vadhan's bound for 2 T0 draws: the oracle's "advanced"."""
    draws = 2 * ROUNDS
    return step * math.sqrt(2 * draws * math.log(1e9)) + draws * step * math.expm1(step)


def test_basic():
    assert affordable("basic") == pytest.approx(1.9e-5, rel=0.02)
    assert affordable("basic") == 1 / (2 * ROUNDS)


def test_advanced_is_the_textbook_figure_but_for_its_smaller_drift():
    assert textbook_epsilon(6.55e-4) < 1 < textbook_epsilon(6.65e-4)
    assert 6.6e-4 < affordable("advanced") < 6.7e-4
    assert textbook_epsilon(affordable("advanced")) > 1


def test_every_theorem_beats_the_closed_formula_of_the_source():
    closed = 1 / (4 * math.sqrt(ROUNDS * math.log(1e9)))
    assert closed == pytest.approx(3.4e-4, rel=0.02)
    assert all(affordable(name) > closed for name in ("advanced", "optimal", "zcdp"))


def test_zero_concentrated():
    assert affordable("zcdp") == pytest.approx(9.5e-4, rel=0.005)


def test_optimal_lies_between_advanced_and_what_bounded_range_adds():
    assert affordable("advanced") < affordable("optimal") == pytest.approx(7.888e-4, rel=1e-3)
    assert affordable("optimal") < affordable("zcdp")
