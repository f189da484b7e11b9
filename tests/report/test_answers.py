from __future__ import annotations

import numpy as np
import pytest
from support.plain_screen import kept, printed

from dpqr.kernel.values import replace
from dpqr.releases.answers.answered import answered_block
from dpqr.report.answers import (
    answer_texts,
    answers_view,
    bin_words,
    block_view,
    blocks_view,
    error_texts,
    figures_view,
    lower_texts,
    upper_texts,
    views_view,
)
from dpqr.report.html import text


@pytest.fixture
def blocks(release):
    return [answered_block(each, release.plan.problem.domain) for each in release.answers]


def test_all_answers_as_one_table(blocks):
    assert printed(answers_view(blocks)) == kept("answers")


def test_all_answers_block_by_block(blocks):
    shown = printed(blocks_view([blocks[1], blocks[0].first(2)]), 80).splitlines()
    assert shown[:3] == ["cdf: 3 answers", "detail  estimate", "< 20        11.0"]
    assert shown[6:10] == ["sex by age: 2 answers", *kept("block").splitlines()[:3]]


def test_the_first_answers_of_a_block(blocks):
    assert printed(block_view(blocks[0], 2), 80) == kept("block")


def test_one_answer_is_left(blocks):
    assert "... and 1 more answer; --rows N" in printed(block_view(blocks[0], 8))
    assert "more" not in printed(block_view(blocks[0], 9))


@pytest.mark.parametrize("width", [46, 20])
def test_where_columns_do_not_fit_they_share_one_and_no_figure_is_cut_off(blocks, width):
    assert printed(block_view(blocks[0], 2), 48).startswith(kept("narrow-block"))


def test_what_was_not_measured_says_so(blocks):
    assert printed(block_view(blocks[2], 1)) == (
        "estimate\n     9.5\nno error is known: these answers come from the model alone\n"
    )


def test_labels_can_neither_draw_nor_colour(blocks):
    column = replace(blocks[0].columns[0], texts=("[red]q\x1b[0m", "M", "(null)"))
    block = replace(blocks[0], name="\x1b[2J", columns=(column, *blocks[0].columns[1:]))
    for view in (answers_view([block]), blocks_view([block]), block_view(block, 9)):
        assert "[red]q\\x1b[0m" in printed(view)
        assert "\x1b" not in printed(view)


def test_every_terminal_can_show_it(blocks):
    assert printed(answers_view(blocks)).isascii()


ROW = {"figure": "mean(pay) by sex", "kind": "mean", "sex": "f", "detail": None, "basis": "measured"}


def test_a_row_names_its_group_and_its_flag() -> None:
    rows = [
        {**ROW, "estimate": 31.234, "error": 0.5, "lower": 30.2, "upper": 32.3, "flag": None},
        {**ROW, "sex": "m", "estimate": 12.0, "error": None, "lower": 0.0, "upper": 50.0, "flag": "small denominator"},
    ]
    shown = text(figures_view(rows))
    assert "mean(pay) by sex\nsex  estimate" in shown
    assert "+-0.50" in shown
    assert "small denominator: the interval is all that a table can give" in shown
    assert "sure:" not in shown
    assert "all that a table can give" not in text(figures_view(rows[:1]))


def test_a_quantile_of_one_whole_number_claims_no_error_of_nothing() -> None:
    row = {"figure": "median(days)", "kind": "median", "detail": "0.5", "basis": "estimate", "flag": None}
    shown = text(figures_view([{**row, "estimate": 3.0, "error": 0.0, "lower": 3.0, "upper": 3.0}]))
    assert "+-" not in shown
    assert shown.splitlines()[1].split() == ["median(days)", *"333", "estimate"]


def test_whole_numbers_are_shown_as_such_whatever_their_errors() -> None:
    row = {"figure": "stay", "kind": "quantiles", "basis": "estimate", "flag": None}
    rows = [
        {**row, "detail": "0.5", "estimate": 3.0, "error": 0.0, "lower": 3.0, "upper": 3.0},
        {**row, "detail": "0.75", "estimate": 6.0, "error": 0.255, "lower": 5.0, "upper": 6.0},
    ]
    assert [line.split()[1:-1] for line in text(figures_view(rows)).splitlines()[2:4]] == [
        ["3", "3", "3"],
        ["6", "+-0.26", "5", "6"],
    ]


def test_views_show_their_bias() -> None:
    row = {"query": "sex", "sex": "f", "answer": 12.4, "integer": 12, "rounded": 10, "mark": None}
    shown = text(views_view([row], ("integer: moves an answer by -0.4",), 5))
    assert all(word in shown for word in ("sex=f", "12", "by 5", "10", "moves an answer by -0.4"))


NAN = float("nan")


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (22861.749, 48.6, "22,862"),
        (22861.749, 3.31, "22,861.7"),
        (203_912_345.6, 813_200.0, "203,910,000"),
        (-3.04, 0.47, "-3.04"),
        (2.0, 1e-109, "2"),
        (2.5, 0.0, "2.5"),
        (22861.749, NAN, "22,860"),
        (0.0, 7.0, "0"),
        (-0.0001, 7.0, "0"),
        (NAN, 7.0, ""),
    ],
)
def test_two_digits_of_the_error_or_four_of_the_figure(value, error, text):
    assert answer_texts(np.array([value]), np.array([error])) == [text]


def test_without_errors_no_figure_has_more_decimals_than_the_largest():
    values, none = np.array([6012.3, 12.3456, 0.4]), np.full(3, NAN)
    assert answer_texts(values, none) == ["6,012", "12", "0"]
    assert answer_texts(values[1:], none[1:]) == ["12.35", "0.40"]


def test_zeros_that_all_share_behind_the_point_are_left_out():
    assert answer_texts(np.array([1.5, 2.0, NAN]), np.full(3, 0.25)) == ["1.5", "2.0", ""]
    assert answer_texts(np.array([1.0, 20.0]), np.full(2, 0.25)) == ["1", "20"]


@pytest.mark.parametrize("error", [0.31, 4.86, 48.6, 3171.0])
def test_intervals_are_never_narrowed(error):
    ends = np.linspace(-1234.5, 98765.4, 50)
    errors = np.full(50, error)
    shown = [[float(text.replace(",", "")) for text in texts(ends, errors)] for texts in (lower_texts, upper_texts)]
    assert (shown[0] <= ends).all()
    assert (shown[1] >= ends).all()
    assert (np.array(shown[1]) - shown[0] <= error / 5).all()


def test_an_end_at_0_has_no_digits_behind_the_point():
    assert lower_texts(np.array([0.0, 430.0]), np.array([NAN, 0.25])) == ["0", "430"]


def test_errors_have_two_digits():
    assert error_texts(np.array([390.2, 48.61, 7.06, 0.123, NAN])) == ["390", "49", "7.1", "0.12", ""]


@pytest.mark.parametrize(
    ("cell", "of_integers", "of_numbers"),
    [
        ("[0, 10)", "0 to 9", "0 to under 10"),
        ("[90, 99]", "90 to 99", "90 to 99"),
        ("(0, 10]", "1 to 10", "above 0 to 10"),
        ("[7, 8)", "7", "7 to under 8"),
        ("[0.5, 10.5)", "1 to 10", "0.5 to under 10.5"),
        ("[-20, -10)", "-20 to -11", "-20 to under -10"),
        ("[1990, 2000)", "1990 to 1999", "1990 to under 2000"),
        ("[50000, 1000000)", "50,000 to 999,999", "50,000 to under 1,000,000"),
        ("(null)", "(null)", "(null)"),
        ("[a, b)", "[a, b)", "[a, b)"),
        ("[1e999999999, 2e999999999)", "[1e999999999, 2e999999999)", "[1e999999999, 2e999999999)"),
    ],
)
def test_bins_of_numbers_in_words(cell, of_integers, of_numbers):
    assert (bin_words(cell, True), bin_words(cell, False)) == (of_integers, of_numbers)
