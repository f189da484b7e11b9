import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import in_one_test

from dpqr.kernel.accountants.losses import concentrated_rho
from dpqr.kernel.budget import (
    NO_COST,
    Cost,
    Price,
    PrivacyBudget,
    downward_text,
    exact_decimal,
    root_below,
    upward,
    upward_text,
)
from dpqr.kernel.errors import InfeasiblePlan, UsageFault
from dpqr.kernel.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    PermuteAndFlipEvent,
    PureSumEvent,
    RhoSumEvent,
)

NUMBERS = {
    "1": Fraction(1),
    "0.1": Fraction(1, 10),
    ".5": Fraction(1, 2),
    "2.": Fraction(2),
    "+3": Fraction(3),
    "1e-9": Fraction(1, 10**9),
    "2.5E+1": Fraction(25),
    "1e-999": Fraction(1, 10**999),
    " 1 ": Fraction(1),
    "\t1": Fraction(1),
    "007": Fraction(7),
}
NO_NUMBERS = [
    *("", " ", ".", "1e", "e5", "--1", "-1", "-0", "1 2", "one", "1j", "1/3", "1,5", "1_000", "0x10", "0x1p3"),
    *("nan", "NaN", "inf", "-inf", "Infinity", "1e1000", "1e-1000", "1e999999999", "1e-999999999999"),
    *("1\n", "1\x0b", "\x0c1", "1\x1c", "1\x85", "1\xa0", "\u20031", "\ufeff1", "1\x00", "1\n2"),
    *("\u0661", "\uff11", "\u00b2", "1\u0660", "\u0be7e2", "1e\u0662"),
    *("9" * 10_000, "0." + "0" * 5000 + "1", "1" * 101),
]


@in_one_test(("text", "value"), NUMBERS.items())
def test_decimal_text_is_exact(text, value):
    assert exact_decimal(text, option="--eps") == value


@in_one_test("parse", [lambda text: PrivacyBudget.parse(text), lambda text: PrivacyBudget.parse("1", text)])
def test_everything_else_is_refused_in_one_short_line(parse):
    for text in NO_NUMBERS:
        with pytest.raises(UsageFault) as refusal:
            parse(text)
        message = str(refusal.value)
        assert message.startswith(("--eps", "--delta")), ascii(text)
        assert "give a" in message, ascii(text)
        assert "\n" not in message, ascii(text)
        assert len(message) < 250, ascii(text)


@in_one_test("text", ["0", "0.0", "1e-10", "9.99e-10", "1000.0001", "1e30", "1e999", "1e-999"])
def test_an_epsilon_out_of_range_is_refused(text):
    with pytest.raises(UsageFault, match=r"--eps .*: epsilon must lie between 1e-9 and 1000"):
        PrivacyBudget.parse(text, "1e-9")


@in_one_test("text", ["1", "1.0", "2", "9.9e-31", "1e-300", "1e-999", "1e999"])
def test_a_delta_out_of_range_is_refused(text):
    with pytest.raises(UsageFault, match=r"--delta .*: delta must be 0"):
        PrivacyBudget.parse("1", text)


@in_one_test(("epsilon", "delta"), [("1e-9", "1e-30"), ("1000", "0.999999999999999999999")])
def test_the_ends_of_the_ranges_belong(epsilon, delta):
    budget = PrivacyBudget.parse(epsilon, delta)
    assert (budget.epsilon, budget.delta) == (Fraction(epsilon), Fraction(delta))


@in_one_test("delta", [None, "0", "0.000", "0e5"])
def test_no_delta_is_pure(delta):
    budget = PrivacyBudget.parse("0.3", delta)
    assert budget.pure
    assert budget == PrivacyBudget(Fraction(3, 10))
    assert not PrivacyBudget.parse("0.3", "1e-30").pure


@in_one_test(
    ("epsilon", "delta"),
    [
        (Fraction(0), Fraction(0)),
        (Fraction(-1), Fraction(0)),
        (Fraction(1), Fraction(1)),
        (Fraction(1), Fraction(-1, 10)),
        (1.0, Fraction(0)),
        (float("nan"), Fraction(0)),
        (Fraction(1), 1e-9),
        ("1", Fraction(0)),
    ],
)
def test_a_budget_made_by_hand_is_checked_too(epsilon, delta):
    with pytest.raises(UsageFault):
        PrivacyBudget(epsilon, delta)


SHORT = 1 - Fraction(1, 2**48)
PARTS = st.integers(min_value=1, max_value=10**60)


@given(PARTS, PARTS, st.integers(-300, 300))
def test_the_root_is_below_and_nearly_exact(numerator, denominator, power):
    value = Fraction(numerator, denominator) * Fraction(2) ** power
    assert value * SHORT**2 <= root_below(value) ** 2 <= value
    for near in (-1, 0, 1):
        value = Fraction(2) ** power * (1 + near * Fraction(1, 2**200))
        assert value * SHORT**2 <= root_below(value) ** 2 <= value


def test_the_root_of_squares_is_exact():
    assert root_below(Fraction(0)) == 0
    assert root_below(Fraction(9, 16)) == Fraction(3, 4)
    assert root_below(Fraction(10**40)) == 10**20


def test_a_pure_price_is_what_every_pure_draw_may_spend():
    price = Price(epsilon=Fraction(1, 3))
    assert price.pure == price.bounded_range == Fraction(1, 3)
    with pytest.raises(InfeasiblePlan, match=r"no Gaussian noise; use the zcdp accountant"):
        _ = price.concentrated


@given(PARTS, PARTS)
def test_whatever_is_bought_with_rho_costs_at_most_rho(numerator, denominator):
    price = Price(rho=Fraction(numerator, denominator))
    bought = [
        ExponentialEvent(epsilon=price.bounded_range),
        PermuteAndFlipEvent(epsilon=price.pure),
        DiscreteLaplaceEvent(sensitivity=3, scale=3 / price.pure),
        DiscreteGaussianEvent(squared_sensitivity=5, variance=5 / (2 * price.concentrated)),
    ]
    for event in bought:
        assert price.rho * (1 - Fraction(1, 2**46)) <= concentrated_rho(event) <= price.rho


@in_one_test(
    "figures",
    [
        {},
        {"epsilon": Fraction(1), "rho": Fraction(1)},
        {"epsilon": Fraction(0)},
        {"rho": Fraction(-1)},
        {"epsilon": 0.5},
        {"rho": float("nan")},
    ],
)
def test_a_price_is_one_exact_positive_fraction(figures):
    with pytest.raises(InfeasiblePlan, match="one exact positive fraction"):
        Price(**figures)


def test_prices_of_one_currency_add_up_and_draws_within_a_price_are_one_event():
    third = Fraction(1, 3)
    for currency, event in (("epsilon", PureSumEvent(epsilon=third)), ("rho", RhoSumEvent(rho=third))):
        price = Price(**{currency: third})
        assert price.plus(price) == Price(**{currency: 2 * third})
        assert price.event == event
    with pytest.raises(InfeasiblePlan, match="do not add up"):
        Price(rho=third).plus(Price(epsilon=third))


ONE, TENTH = Fraction(1), Fraction(1, 10)


def test_costs_add_up_by_components():
    assert Cost(ONE, TENTH) + Cost(TENTH, ONE) == Cost(Fraction(11, 10), Fraction(11, 10))
    assert Cost(ONE, TENTH) - Cost(TENTH, TENTH) == Cost(Fraction(9, 10))
    assert Cost(ONE, TENTH).least(Cost(TENTH, ONE)) == Cost(TENTH, TENTH)


def test_one_cost_is_at_most_another_if_both_figures_are():
    assert Cost(TENTH, TENTH) <= Cost(ONE, TENTH)
    assert Cost(ONE, TENTH) >= Cost(TENTH, TENTH)
    for one, other in ((Cost(ONE, TENTH), Cost(TENTH, ONE)), (Cost(ONE, TENTH), Cost(ONE))):
        assert not one <= other
    assert not Cost(TENTH, ONE) <= Cost(ONE, TENTH)


def test_there_is_no_less_than():
    """Of two costs neither need be at most the other, so `asked > left` would let through what does not fit."""
    with pytest.raises(TypeError):
        assert Cost(ONE) < Cost(TENTH)
    with pytest.raises(TypeError):
        assert Cost(ONE) > 0


def test_a_bare_number_is_an_amount_without_a_delta():
    assert Cost(ONE) == 1 >= Cost(TENTH)
    assert Cost(ONE, TENTH) != 1
    assert not Cost(ONE, TENTH) <= 1
    assert hash(Cost(ONE)) == hash(1)
    assert Cost(ONE) != "1"
    assert not NO_COST
    assert Cost(delta=TENTH)


@in_one_test(
    ("value", "text"),
    [
        *((Fraction(text), text) for text in ("0", "1", "100", "0.1", "1e-9", "1e+15", "0.00001")),
        (Fraction(1, 3), "0.333333333334"),
        (Fraction(2, 3), "0.666666666667"),
    ],
)
def test_text_is_exact_or_rounded_up(value, text):
    assert upward_text(value) == text
    assert Fraction(text) >= value


def test_fewer_digits_are_rounded_too_and_what_is_left_is_rounded_down():
    assert [upward_text(Fraction(text), 4) for text in ("0.12341", "0.99991")] == ["0.1235", "1"]
    assert downward_text(Fraction(2, 3), 4) == "0.6666"
    assert downward_text(Fraction("0.1")) == "0.1"


@in_one_test("value", [Fraction(1, 3), Fraction(2, 3), Fraction(1, 10), Fraction(10**40 + 1, 7)])
def test_float_is_the_smallest_that_is_not_below(value):
    shown = upward(value)
    assert Fraction(shown) >= value
    assert Fraction(math.nextafter(shown, -math.inf)) < value
