import dataclasses
from fractions import Fraction

import pytest

from dpqr.errors import UsageFault
from dpqr.privacy.budget import PrivacyBudget, decimal

NUMBERS = {
    "1": Fraction(1),
    "0.1": Fraction(1, 10),
    ".5": Fraction(1, 2),
    "2.": Fraction(2),
    "+3": Fraction(3),
    "1e-9": Fraction(1, 10**9),
    "2.5E+1": Fraction(25),
    " 1 ": Fraction(1),
    "\t1": Fraction(1),
    "007": Fraction(7),
    "1e-999": Fraction(1, 10**999),
}
NO_NUMBERS = [
    "",
    " ",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "Infinity",
    "0x1p3",
    "0x10",
    "1_000",
    "1,5",
    "1/3",
    "-1",
    "-0",
    "--1",
    "1e",
    "e5",
    ".",
    "1e1000",
    "1e-1000",
    "1e999999999",
    "1e-999999999999",
    "1 2",
    "1\n",
    "1\x0b",
    "\x0c1",
    "1\x1c",
    "1\x85",
    "1\xa0",
    "\u20031",
    "\ufeff1",
    "1\x00",
    "1\n2",
    "one",
    "1j",
    "\u0661",
    "\uff11",
    "\u00b2",
    "1\u0660",
    "\u0be7e2",
    "1e\u0662",
    "9" * 10_000,
    "0." + "0" * 5000 + "1",
    "1" * 101,
]


@pytest.mark.parametrize(("text", "value"), NUMBERS.items())
def test_decimal_text_is_exact(text, value):
    assert decimal(text, option="--eps") == value


@pytest.mark.parametrize("text", NO_NUMBERS, ids=lambda text: ascii(text)[:20])
@pytest.mark.parametrize("parse", [lambda text: PrivacyBudget.parse(text), lambda text: PrivacyBudget.parse("1", text)])
def test_everything_else_is_refused_in_one_short_line(text, parse):
    with pytest.raises(UsageFault) as refusal:
        parse(text)
    message = str(refusal.value)
    assert message.startswith(("--eps", "--delta"))
    assert "give a" in message
    assert "\n" not in message
    assert len(message) < 250


@pytest.mark.parametrize("text", ["0", "0.0", "1e-10", "9.99e-10", "1000.0001", "1e30", "1e999", "1e-999"])
def test_an_epsilon_out_of_range_is_refused(text):
    with pytest.raises(UsageFault, match=r"--eps .*: epsilon must lie between 1e-9 and 1000"):
        PrivacyBudget.parse(text, "1e-9")


@pytest.mark.parametrize("text", ["1", "1.0", "2", "9.9e-31", "1e-300", "1e-999", "1e999"])
def test_a_delta_out_of_range_is_refused(text):
    with pytest.raises(UsageFault, match=r"--delta .*: delta must be 0"):
        PrivacyBudget.parse("1", text)


def test_the_message_repeats_the_text_without_what_surrounds_it():
    with pytest.raises(UsageFault) as refusal:
        PrivacyBudget.parse("\t 2000 ")
    assert str(refusal.value).startswith("--eps 2000: ")


@pytest.mark.parametrize(("epsilon", "delta"), [("1e-9", "1e-30"), ("1000", "0.999999999999999999999")])
def test_the_ends_of_the_ranges_belong(epsilon, delta):
    budget = PrivacyBudget.parse(epsilon, delta)
    assert (budget.epsilon, budget.delta) == (Fraction(epsilon), Fraction(delta))


@pytest.mark.parametrize("delta", [None, "0", "0.000", "0e5"])
def test_no_delta_is_pure(delta):
    budget = PrivacyBudget.parse("0.3", delta)
    assert budget.pure
    assert budget == PrivacyBudget(Fraction(3, 10))
    assert not PrivacyBudget.parse("0.3", "1e-30").pure


@pytest.mark.parametrize(
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


def test_a_budget_is_a_value():
    budget = PrivacyBudget.parse("1", "1e-9")
    assert hash(budget) == hash(PrivacyBudget(Fraction(1), Fraction(1, 10**9)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        budget.epsilon = Fraction(2)
