from fractions import Fraction

from dpqr.domain.attribute import Bins


def fractions(*values: str) -> tuple[Fraction, ...]:
    return tuple(Fraction(value) for value in values)


def test_bins_of_numbers_show_their_closed_side() -> None:
    assert Bins(fractions("0", "0.5", "2")).titles() == ("[0, 0.5)", "[0.5, 2]")
    assert Bins(fractions("0", "0.5", "2"), closed="right").titles() == ("[0, 0.5]", "(0.5, 2]")


def test_bins_of_one_whole_value_are_called_by_it() -> None:
    bins = Bins(fractions("-0.5", "0.5", "1.5", "2.5"), integral=True, edge_titles=("0", "1", "2", "2"))
    assert bins.titles() == ("0", "1", "2")
    assert bins.span_title(0, 2) == "[0, 2]"
    assert bins.span_title(1, 1) == "1"


def test_spans_join_bins() -> None:
    bins = Bins(fractions("0", "10", "20", "30"), integral=True)
    assert bins.span_title(0, 1) == "[0, 20)"
    assert bins.span_title(1, 2) == "[10, 30]"


def test_days_and_times_are_shown_in_iso_form() -> None:
    assert Bins(fractions("0", "31"), integral=True, kind="date").titles() == ("[1970-01-01, 1970-02-01]",)
    hour = Bins(fractions("0", "3600000000"), kind="datetime")
    assert hour.titles() == ("[1970-01-01T00:00:00, 1970-01-01T01:00:00]",)
