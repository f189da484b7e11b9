from fractions import Fraction

import pytest

from dpqr.data.attribute import Attribute, Axis, Bins, Codes, Fault, Labels, Rule
from dpqr.io.tables.fault_codes import FAILED
from dpqr.io.tables.text.encoders import text_encoder

OWN: dict[Fault, Rule] = dict.fromkeys(("null", "unparsable", "nan", "infinite", "outside"), Rule.CELL)  # type: ignore[misc]
"""With three declared cells: null 3, unparsable 4, nan 5, infinite 6, outside 7."""
LABELS = Labels(("b", "7", "true"))
TENS = Bins(tuple(map(Fraction, (0, 10, 20, 30))))
DAYS = Bins(tuple(map(Fraction, range(4))), kind="date")
MOMENTS = Bins(tuple(map(Fraction, (0, 60 * 10**6, 3600 * 10**6, 86400 * 10**6))), kind="datetime")
FLOATS = ["0", "9.99", "10", "30.0", "30.5", "-.1", "nan", "inf", "-Infinity"]


def codes(axis: Axis, texts: list[str], rules: dict[Fault, Rule] = OWN) -> list[int]:
    encoded = text_encoder(Attribute(name="x", axis=axis, rules=rules)).encode(texts)
    assert not (encoded.clean and (encoded.codes < 0).any())
    return encoded.codes.tolist()


def test_labels_are_compared_as_exact_text() -> None:
    assert codes(LABELS, ["7", "b", " b", "B", "", "07", "7.0"]) == [1, 0, 7, 7, 7, 7, 7]


def test_text_of_a_boolean_column_counts_in_any_case_of_ascii() -> None:
    texts = ["True", "FALSE", "true", "fAlse", "1", " true", "t"]
    assert codes(Labels(("false", "true"), folded=True), texts) == [1, 0, 1, 0, 6, 6, 6]
    assert codes(Labels(("i", "k"), folded=True), ["I", "\u0130", "\u212a"]) == [0, 6, 6]


def test_codes_are_whole_numbers() -> None:
    texts = ["1.0", "1.5", "nan", "inf", "-inf", "-0", "1e300", "-.5", "3.5", "2", "two", "0x1"]
    assert codes(Codes(3), texts) == [1, 4, 5, 6, 6, 0, 7, 4, 4, 2, 4, 4]


def test_numbers_and_their_faults() -> None:
    assert codes(TENS, FLOATS) == [0, 0, 1, 2, 7, 7, 5, 6, 6]
    assert codes(TENS, ["5", "five", " 15 ", "1,5"]) == [0, 4, 1, 4]


def test_clip_sends_numbers_to_the_nearest_bin() -> None:
    rules: dict[Fault, Rule] = {"outside": Rule.CLIP, "infinite": Rule.CLIP, "nan": Rule.FAIL}
    assert codes(TENS, FLOATS, rules) == [0, 0, 1, 2, 2, 0, FAILED, 2, 0]


def test_days_and_moments() -> None:
    """A zoned moment counts by its instant in UTC."""
    assert codes(DAYS, ["1970-01-02", "yesterday", "1970-01-03T23:59", "1970-01-03T01:00+02:00", "1971-01-01"]) == [
        1,
        4,
        2,
        1,
        7,
    ]
    assert codes(MOMENTS, ["1970-01-01", "1970-01-01T00:01Z", "1970-01-01T03:00", "soon"]) == [0, 1, 2, 4]


@pytest.mark.parametrize("axis", [LABELS, Codes(3), TENS, DAYS])
def test_no_cells(axis) -> None:
    assert codes(axis, []) == []
