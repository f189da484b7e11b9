from fractions import Fraction

from support.cases import in_one_test

from dpqr.kernel.budget import Price
from dpqr.kernel.wording import amount, bytes_words, count_words, figures_words, optional, plain, price_words


@in_one_test(
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


@in_one_test(
    ("words", "cases"),
    [
        (amount, {-0.0: "0", 7.0593: "7.06", 99.96: "100", 123.5: "124", -1234567.0: "-1,234,567"}),
        (optional, {0.0: "0", 1e-5: "1e-05", float("nan"): "", 7.0593: "7.06"}),
        (bytes_words, {0: "0 bytes", 999: "999 bytes", 1000: "1 kB", 2_500_000: "2.5 MB", 10**19: "1e+07 TB"}),
        (lambda count: count_words(count, "query"), {1: "1 query", 2: "2 queries", 1200: "1,200 queries"}),
        (
            price_words,
            {Price(epsilon=Fraction("0.123401")): "eps 0.1235", Price(rho=Fraction(1, 3_000_000)): "rho 3.334e-7"},
        ),
        (figures_words, {(): "", ("mean(pay) by sex", "a\x1bb"): "2: mean(pay) by sex, a\\x1bb"}),
        (figures_words, {("m",) * 9: f"9: {', '.join('m' * 8)}, ..."}),
    ],
)
def test_amounts_sizes_counts_prices_and_figures_are_short(words, cases):
    """Prices are rounded up."""
    assert {given: words(given) for given in cases} == cases
