import numpy as np
import pytest

from dpqr.report.answers import answer_texts, error_texts, lower_texts, upper_texts

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


def test_errors_have_two_digits():
    assert error_texts(np.array([390.2, 48.61, 7.06, 0.123, NAN])) == ["390", "49", "7.1", "0.12", ""]
