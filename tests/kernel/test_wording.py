from fractions import Fraction

import pytest

from dpqr.kernel.budget import Price
from dpqr.kernel.wording import amount, bytes_words, count_words, figures_words, optional, plain, price_words


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[20, 30)", "[20, 30)"),
        ("Zürich", "Zürich"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("two\nlines\t", "two\\nlines\\t"),
        ("\u202egnp", "\\u202egnp"),
        ("\x9b1m", "\\x9b1m"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_escaped(text, shown):
    assert plain(text) == shown


def test_prices_are_rounded_up():
    assert price_words(Price(epsilon=Fraction("0.123401"))) == "eps 0.1235"
    assert price_words(Price(rho=Fraction(1, 3_000_000))) == "rho 3.334e-7"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (7.0593, "7.06"),
        (99.96, "100"),
        (123.5, "124"),
        (-1234567.0, "-1,234,567"),
        (1e-5, "1e-05"),
    ],
)
def test_amounts_are_short(value, text):
    assert amount(value) == text
    assert optional(value) == text


def test_no_amount_is_no_text():
    assert optional(float("nan")) == ""


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (2_500_000, "2.5 MB"), (10**19, "1e+07 TB")]
)
def test_sizes_in_memory(count, text):
    assert bytes_words(count) == text


def test_counted_nouns():
    assert [count_words(1, "query"), count_words(2, "query"), count_words(1200, "block")] == [
        "1 query",
        "2 queries",
        "1,200 blocks",
    ]


def test_figures_are_counted_and_named():
    assert figures_words([]) == ""
    assert figures_words(["mean(pay) by sex", "a\x1bb"]) == "2: mean(pay) by sex, a\\x1bb"
    assert figures_words(["m"] * 9) == f"9: {', '.join('m' * 8)}, ..."
