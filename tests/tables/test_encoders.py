from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from dpqr.domain.attribute import Attribute, Axis, Bins, Codes, Fault, Labels, Rule, Spelling
from dpqr.domain.domain import Domain
from dpqr.tables.cell_values import DROPPED, FAILED
from dpqr.tables.encoders import ColumnEncoder, RowEncoder, encoder, record_counts

NAN, INF = float("nan"), float("inf")
OWN: dict[Fault, Rule] = dict.fromkeys(("null", "unparsable", "nan", "infinite", "outside"), Rule.CELL)  # type: ignore[misc]
"""With three declared cells: null 3, unparsable 4, nan 5, infinite 6, outside 7."""
LABELS = Labels(("b", "7", "true"))
TENS = Bins(tuple(map(Fraction, (0, 10, 20, 30))))


def codes(axis: Axis, cells: pa.Array, rules: dict[Fault, Rule] = OWN) -> list[int]:
    encoded = encoder(Attribute(name="x", axis=axis, rules=rules)).encode(cells)
    assert not (encoded.clean and (encoded.codes < 0).any())
    return encoded.codes.tolist()


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_labels_are_compared_as_exact_text(kind) -> None:
    assert codes(LABELS, pa.array(["7", "b", " b", "B", "", "07", "7.0"], kind)) == [1, 0, 7, 7, 7, 7, 7]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_text_of_a_boolean_column_counts_in_any_case(kind) -> None:
    cells = pa.array(["True", "FALSE", "true", "fAlse", "1", " true", "t"], kind)
    assert codes(Labels(("false", "true"), folded=True), cells) == [1, 0, 1, 0, 6, 6, 6]


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int64(), pa.uint64()])
def test_labels_of_whole_numbers(kind) -> None:
    assert codes(LABELS, pa.array([7, 8, 0, 127, 7], kind)) == [1, 7, 7, 7, 1]
    assert codes(Labels(("99999999999999999999999", "x", "-3")), pa.array([7], kind)) == [7]


def test_labels_of_negative_numbers_in_any_order() -> None:
    assert codes(Labels(("5", "-3", "+2")), pa.array([-3, 5, 2, 4], pa.int32())) == [1, 0, 7, 7]


def test_labels_of_booleans() -> None:
    assert codes(LABELS, pa.array([True, False])) == [2, 7]


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float16(), pa.float32(), pa.float64()]
)
def test_codes_of_any_signed_type(kind) -> None:
    cells = pa.array(np.array([2, 0, -1, 3, 1], dtype=kind.to_pandas_dtype()))
    assert codes(Codes(3), cells) == [2, 0, 7, 7, 1]


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_labels_of_dates(kind) -> None:
    cells = pa.array([date(2024, 1, 31), date(1969, 1, 1), date(2024, 2, 1)], kind)
    assert codes(Labels(("1969-01-01", "x", "2024-01-31")), cells) == [2, 0, 7]


def test_codes_of_unsigned_types() -> None:
    assert codes(Codes(3), pa.array([2, 2**64 - 1, 3], pa.uint64())) == [2, 7, 7]
    clip: dict[Fault, Rule] = {"outside": Rule.CLIP}
    assert codes(Codes(3), pa.array([2**64 - 1, 2**63], pa.uint64()), clip) == [2, 2]
    assert codes(Codes(300), pa.array([255, 0], pa.uint8())) == [255, 0]
    assert codes(Codes(300), pa.array([127, -1], pa.int8()), clip) == [127, 0]


def test_codes_as_floating_point_numbers() -> None:
    cells = pa.array([1.0, 1.5, NAN, INF, -INF, -0.0, 1e300, -0.5, 3.5])
    assert codes(Codes(3), cells) == [1, 4, 5, 6, 6, 0, 7, 4, 4]


FLOATS = pa.array([0.0, 9.99, 10.0, 30.0, 30.5, -0.1, NAN, INF, -INF])


def test_numbers_and_their_faults() -> None:
    assert codes(TENS, FLOATS) == [0, 0, 1, 2, 7, 7, 5, 6, 6]


def test_clip_sends_numbers_to_the_nearest_bin() -> None:
    rules: dict[Fault, Rule] = {"outside": Rule.CLIP, "infinite": Rule.CLIP, "nan": Rule.FAIL}
    assert codes(TENS, FLOATS, rules) == [0, 0, 1, 2, 2, 0, FAILED, 2, 0]


def test_clip_of_outside_alone_leaves_infinities_to_their_rule() -> None:
    assert codes(TENS, pa.array([40.0, INF, -INF]), {"outside": Rule.CLIP}) == [2, DROPPED, DROPPED]
    assert codes(TENS, pa.array([40.0, INF, -INF]), {"infinite": Rule.CLIP}) == [DROPPED, 2, 0]


@pytest.mark.parametrize("kind", [pa.int16(), pa.uint64(), pa.decimal128(30, 3)])
def test_numbers_of_exact_types(kind) -> None:
    assert codes(TENS, pa.array([0, 10, 30, 31], pa.int64()).cast(kind)) == [0, 1, 2, 7]
    assert codes(TENS, pa.array([40, 5], pa.int64()).cast(kind), {"outside": Rule.CLIP}) == [2, 0]


def test_an_integral_axis_places_fractions_by_its_edges() -> None:
    ages = Bins(tuple(map(Fraction, (18, 19, 20, 21))), integral=True)
    assert codes(ages, pa.array([18.0, 18.7, 21.0])) == [0, 0, 2]


DAYS = Bins(tuple(map(Fraction, (0, 1, 2, 3))), kind="date", integral=True)
"""1 January 1970 to the 4th: the last edge belongs to the last bin."""
WHEN = [datetime(1970, 1, 1), datetime(1970, 1, 2, 23, 59), datetime(1970, 1, 4, 12), datetime(1969, 12, 31, 23)]
SPAN = [0, 1, 2, 7]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_days_of_timestamps(unit, zone) -> None:
    """A zoned timestamp counts by its instant in UTC, wherever the zone's days begin."""
    cells = pa.array(WHEN, pa.timestamp("us")).cast(pa.timestamp(unit)).cast(pa.timestamp(unit, zone))
    assert codes(DAYS, cells) == SPAN


@pytest.mark.parametrize(
    "cells",
    [pa.array([each.date() for each in WHEN], pa.date32()), pa.array([each.date() for each in WHEN], pa.date64())],
)
def test_days_of_dates(cells) -> None:
    assert codes(DAYS, cells) == SPAN


HOURS = Bins(tuple(Fraction(hour * 3600 * 10**6) for hour in (0, 24, 47, 48)), kind="datetime", closed="right")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_moments_of_timestamps(unit) -> None:
    when = [
        datetime(1970, 1, 1),
        datetime(1970, 1, 2),
        datetime(1970, 1, 2, 0, 0, 1),
        datetime(1970, 1, 3),
        datetime(1970, 1, 4),
    ]
    cells = pa.array(when, pa.timestamp("us")).cast(pa.timestamp(unit))
    assert codes(HOURS, cells) == [0, 0, 1, 2, 7]


def test_moments_of_dates_are_their_midnights() -> None:
    for kind in (pa.date32(), pa.date64()):
        assert codes(HOURS, pa.array([date(1970, 1, 1), date(1970, 1, 2), date(1970, 1, 3)], kind)) == [0, 0, 2]


def test_moments_between_microseconds() -> None:
    bins = Bins((Fraction(0), Fraction(1), Fraction(2), Fraction(3)), kind="datetime", closed="right")
    assert codes(bins, pa.array([0, 999, 1000, 1001, 3000, 3001], pa.timestamp("ns"))) == [0, 0, 0, 1, 2, 7]


@pytest.mark.parametrize(
    ("axis", "good", "bad"),
    [
        (
            LABELS,
            [pa.string(), pa.bool_(), pa.int8(), pa.large_string()],
            [pa.float64(), pa.timestamp("s"), pa.binary()],
        ),
        (Codes(3), [pa.int8(), pa.uint64(), pa.float32()], [pa.string(), pa.bool_(), pa.decimal128(3, 0)]),
        (TENS, [pa.int8(), pa.float16(), pa.decimal256(50, 3)], [pa.string(), pa.date32(), pa.list_(pa.int8())]),
        (DAYS, [pa.date32(), pa.date64(), pa.timestamp("ns", "UTC")], [pa.string(), pa.int64(), pa.time32("s")]),
    ],
)
def test_typed_columns_that_may_and_may_not_be_read(axis, good, bad) -> None:
    refusal = encoder(Attribute(name="x", axis=axis)).refusal
    assert [refusal(kind) for kind in good] == [None] * len(good)
    assert all(refusal(kind) for kind in bad)


@pytest.mark.parametrize(
    ("axis", "kind"), [(LABELS, pa.string()), (Codes(3), pa.int8()), (TENS, pa.float32()), (DAYS, pa.date32())]
)
def test_no_cells(axis, kind) -> None:
    assert codes(axis, pa.array([], kind)) == []


DAYS = Bins(tuple(map(Fraction, range(4))), kind="date")
MOMENTS = Bins(tuple(map(Fraction, (0, 60 * 10**6, 3600 * 10**6, 86400 * 10**6))), kind="datetime")
FLOAT_TEXTS = ["0", "9.99", "10", "30.0", "30.5", "-.1", "nan", "inf", "-Infinity"]


def text_codes(axis: Axis, texts: list[str], rules: dict[Fault, Rule] = OWN) -> list[int]:
    return codes(axis, pa.array(texts, pa.large_string()), rules)


def test_labels_of_a_text_table() -> None:
    assert text_codes(LABELS, ["7", "b", " b", "B", "", "07", "7.0"]) == [1, 0, 7, 7, 7, 7, 7]


def test_folded_labels_of_a_text_table() -> None:
    texts = ["True", "FALSE", "true", "fAlse", "1", " true", "t"]
    assert text_codes(Labels(("false", "true"), folded=True), texts) == [1, 0, 1, 0, 6, 6, 6]
    assert text_codes(Labels(("i", "k"), folded=True), ["I", "\u0130", "\u212a"]) == [0, 6, 1]
    assert text_codes(Labels(("stra\xdfe", "\xe9"), folded=True), ["STRASSE", "\xc9", "e"]) == [0, 1, 6]


TWO = Labels(("north", "9"), texts=(("N", "No."), ("9", "99")))


def test_other_texts_of_labels() -> None:
    assert text_codes(TWO, ["No.", "N", "north", "n", "99", "9"]) == [0, 0, 6, 6, 1, 1]
    assert codes(TWO, pa.array([9, 99, 8], pa.int16())) == [1, 1, 6]
    words = Labels(("false", "true"), texts=(("no",), ("yes", "1")))
    assert text_codes(words, ["yes", "no", "true", "Yes", "1"]) == [1, 0, 6, 6, 1]
    assert codes(words, pa.array([True, False])) == [1, 0]
    assert codes(words, pa.array([1, 0])) == [1, 6]
    assert codes(Labels(("no", "yes"), texts=(("no",), ("yes", "true"))), pa.array([True, False])) == [1, 6]


TIMES = Bins(tuple(map(Fraction, range(19_000, 23_001, 1000))), kind="date", integral=True)
MONEY = Spelling(decimal=",", group=".", bare=False)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_blanks_go_before_a_text_is_compared_with_anything(kind) -> None:
    cells = pa.array([" x", "x\xa0", "x", " NA ", "NA", "", None, "y x"], kind)
    attribute = Attribute(name="x", axis=Labels(("x",)), rules=OWN, missing=("NA ", "q"), spelling=Spelling(trim=True))
    assert ColumnEncoder.of(attribute, text=True).encode(cells).codes.tolist() == [0, 0, 0, 1, 1, 5, 1, 5]
    assert ColumnEncoder.of(attribute, text=False).encode(cells).codes.tolist() == [0, 0, 0, 5, 5, 5, 1, 5]
    coded = cells.cast(pa.string()).dictionary_encode()
    assert ColumnEncoder.of(attribute, text=True).encode(coded).codes.tolist() == [0, 0, 0, 1, 1, 5, 1, 5]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_texts_in_a_stated_spelling(kind) -> None:
    money = Attribute(name="x", axis=TENS, rules=OWN, spelling=MONEY)
    cells = pa.array(["5,5 EUR", "1.000 \u20ac", "15 EUR", "15.5", "inf", "EUR"], kind)
    assert encoder(money).encode(cells).codes.tolist() == [0, 7, 1, 4, 6, 4]
    days = Attribute(name="x", axis=TIMES, rules=OWN, spelling=Spelling(pattern="%d/%m/%Y"))
    cells = pa.array(["03/11/2024", "3/1/2024", "31/02/2024", "2024-11-03", "01/01/1999"], kind)
    assert encoder(days).encode(cells).codes.tolist() == [1, 0, 5, 5, 8]


def test_a_typed_column_may_be_text_where_a_spelling_is_stated() -> None:
    for axis, stated in ((TENS, MONEY), (TIMES, Spelling(pattern="%d/%m/%Y"))):
        assert encoder(Attribute(name="x", axis=axis, spelling=stated)).refusal(pa.string()) is None
        assert encoder(Attribute(name="x", axis=axis, spelling=Spelling(trim=True))).refusal(pa.string())


def test_without_a_stated_spelling_nothing_changes() -> None:
    """Random texts: keys that state the default leave every code as it is."""
    random, alphabet = Random(5), ["1", "2", "-", ".", ",", " ", "e", "x", "/", "t", "NA", "true", "2024-01-0", "nan"]
    texts = ["".join(random.choices(alphabet, k=random.randint(0, 4))) for _ in range(3000)]
    cells = pa.array(texts, pa.large_string())
    for axis in (LABELS, Labels(("false", "true"), folded=True), TENS, TIMES, Codes(3)):
        plain = Attribute(name="x", axis=axis, rules=OWN, missing=("", "NA"))
        stated = replace(plain, spelling=Spelling(trim=False, pattern=None, decimal=".", group=None, bare=True))
        if isinstance(axis, Labels):
            own = tuple((value,) for value in axis.values)
            stated = replace(stated, axis=replace(axis, texts=own))
        expected = ColumnEncoder.of(plain, text=True).encode(cells).codes.tolist()
        assert ColumnEncoder.of(stated, text=True).encode(cells).codes.tolist() == expected
        trimmed = replace(stated, spelling=Spelling(trim=True))
        tidy = [text.strip() for text in texts]
        assert ColumnEncoder.of(trimmed, text=True).encode(cells).codes.tolist() == [
            *ColumnEncoder.of(plain, text=True).encode(pa.array(tidy, pa.large_string())).codes.tolist()
        ]


def test_texts_of_codes_are_whole_numbers() -> None:
    texts = ["1.0", "1.5", "nan", "inf", "-inf", "-0", "1e300", "-.5", "3.5", "2", "two", "0x1"]
    assert text_codes(Codes(3), texts) == [1, 4, 5, 6, 6, 0, 7, 4, 4, 2, 4, 4]


def test_texts_of_numbers_and_their_faults() -> None:
    assert text_codes(TENS, FLOAT_TEXTS) == [0, 0, 1, 2, 7, 7, 5, 6, 6]
    assert text_codes(TENS, ["5", "five", " 15 ", "1,5"]) == [0, 4, 1, 4]


def test_clip_sends_texts_of_numbers_to_the_nearest_bin() -> None:
    rules: dict[Fault, Rule] = {"outside": Rule.CLIP, "infinite": Rule.CLIP, "nan": Rule.FAIL}
    assert text_codes(TENS, FLOAT_TEXTS, rules) == [0, 0, 1, 2, 2, 0, FAILED, 2, 0]


def test_texts_of_days_and_moments() -> None:
    """A zoned moment counts by its instant in UTC."""
    assert text_codes(
        DAYS, ["1970-01-02", "yesterday", "1970-01-03T23:59", "1970-01-03T01:00+02:00", "1971-01-01"]
    ) == [1, 4, 2, 1, 7]
    assert text_codes(MOMENTS, ["1970-01-01", "1970-01-01T00:01Z", "1970-01-01T03:00", "soon"]) == [0, 1, 2, 4]


@pytest.mark.parametrize("axis", [LABELS, Codes(3), TENS, DAYS])
def test_no_texts(axis) -> None:
    assert text_codes(axis, []) == []


def column(**rules) -> ColumnEncoder:
    return ColumnEncoder.of(Attribute(name="x", axis=Codes(9), rules=rules, missing=("", "NA")), text=True)


def test_missing_texts_are_null_and_others_are_encoded() -> None:
    encoded = column(null=Rule.CELL).encode(pa.array(["3", "", "8", "NA", "3"]))
    assert encoded.codes.tolist() == [3, 9, 8, 9, 3]
    assert (encoded.codes >= 0).all()


def test_rows_that_a_rule_drops_or_refuses_are_not_clean() -> None:
    encoded = column(null=Rule.DROP, outside=Rule.FAIL).encode(pa.array(["3", "", "11"]))
    assert encoded.codes.tolist() == [3, DROPPED, FAILED]
    assert not encoded.clean


def test_codes_do_not_depend_on_what_came_before() -> None:
    cells = ["1", "2", "", "x", "1e0", " 7", "NA", "9"]
    alone = [column(null=Rule.CELL).encode(pa.array([cell])).codes.tolist()[0] for cell in cells]
    together = column(null=Rule.CELL)
    assert together.encode(pa.array(cells)).codes.tolist() == alone
    assert together.encode(pa.array(cells * 9)).codes.tolist() == alone * 9
    assert together.encode(pa.array(cells[::-1])).codes.tolist() == alone[::-1]


def test_codes_do_not_depend_on_the_form_of_the_column() -> None:
    cells = pa.array(["1", "2", "", "x", "1e0", " 7", "NA", "9"])
    plain = column(null=Rule.CELL).encode(cells).codes.tolist()
    for form in (cells.cast(pa.large_string()), cells.dictionary_encode()):
        assert column(null=Rule.CELL).encode(form).codes.tolist() == plain


def test_missing_texts_are_texts_like_others_in_typed_columns() -> None:
    axis = Labels(("NA",))
    for text, code in ((True, DROPPED), (False, 0)):
        attribute = Attribute(name="x", axis=axis, missing=("NA",), rules={"null": Rule.DROP})
        assert ColumnEncoder.of(attribute, text=text).encode(pa.array(["NA"])).codes.tolist() == [code]


@pytest.mark.parametrize("axis", [Codes(3), Bins((Fraction(0), Fraction(1)))])
@pytest.mark.parametrize("rows", [0, 2])
def test_a_column_of_nulls_alone_is_read_with_any_number_of_rows(axis, rows) -> None:
    """Which rows of a batch are left decides nothing, also where a column has Arrow's type null."""
    column = ColumnEncoder.of(Attribute(name="v", axis=axis), text=False)
    assert column.encode(pa.nulls(rows)).codes.tolist() == [DROPPED] * rows


def domain(null_a: Rule = Rule.DROP, null_b: Rule = Rule.CELL) -> Domain:
    return Domain(
        (
            Attribute(name="a", axis=Codes(3), rules={"null": null_a, "outside": Rule.DROP}),
            Attribute(name="b", axis=Labels(("x", "y")), rules={"null": null_b}, missing=("", "NA")),
        )
    )


def encode(batch: dict, declared: Domain, *, text: bool = False, cap: int | None = None):
    return RowEncoder.of(declared, text=text, count_cap=cap).encode(pa.record_batch(batch))


def rows(coded) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in coded.codes), strict=True))


def test_a_row_is_left_out_if_any_cell_is_dropped() -> None:
    coded = encode({"a": pa.array([0, None, 2, 9]), "b": pa.array(["x", "x", None, "y"])}, domain())
    assert rows(coded) == [(0, 0), (2, 2)]
    assert (coded.rows, coded.read, coded.counts, coded.failed) == (2, 4, None, frozenset())


def test_counts_follow_their_rows() -> None:
    batch = {"a": pa.array([0, None, 2]), "b": pa.array(["x", "x", "y"]), "n": pa.array([5, 7, 0])}
    coded = encode(batch, domain(), cap=10)
    assert (rows(coded), coded.counts.tolist(), coded.read) == ([(0, 0), (2, 1)], [5, 0], 12)


def test_every_broken_fail_rule_is_told() -> None:
    batch = {"a": pa.array([0, None, 1]), "b": pa.array(["x", "z", None])}
    coded = encode(batch, domain(Rule.FAIL, Rule.FAIL))
    assert coded.failed == {"a", "b"}
    assert encode({"a": pa.array([0]), "b": pa.array(["x"])}, domain(Rule.FAIL, Rule.FAIL)).failed == frozenset()


def test_missing_texts_stand_for_null_in_text_tables_only() -> None:
    text = {"a": ["0", "", "2"], "b": ["NA", "x", ""]}
    assert rows(encode(text, domain(), text=True)) == [(0, 2), (2, 2)]
    typed = {"a": pa.array([0, 1]), "b": pa.array(["NA", "x"])}
    assert rows(encode(typed, domain())) == [(1, 0)]


def test_dictionaries_are_looked_up_and_unused_entries_do_nothing() -> None:
    labels = pa.DictionaryArray.from_arrays(pa.array([1, None, 0, 2, 1], pa.int8()), pa.array(["y", "x", None, "gone"]))
    batch = {"a": pa.array([0, 0, 1, 1, 2]), "b": labels}
    assert rows(encode(batch, domain())) == [(0, 0), (0, 2), (1, 1), (1, 2), (2, 0)]
    strict = Domain((Attribute(name="b", axis=Labels(("x", "y")), rules={"outside": Rule.FAIL}),))
    used = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["x", "y", "gone"]))
    assert encode({"b": used}, strict).failed == frozenset()
    assert encode({"b": pa.DictionaryArray.from_arrays(pa.array([2]), pa.array(["x", "y", "gone"]))}, strict).failed
    codes = pa.array([2, 0]).dictionary_encode()
    assert rows(encode({"a": codes, "b": pa.array(["x", "y"])}, domain())) == [(2, 0), (0, 1)]
    empty = pa.DictionaryArray.from_arrays(pa.array([None], pa.int8()), pa.array([], pa.string()))
    assert rows(encode({"a": pa.array([0]), "b": empty}, domain())) == [(0, 2)]


def test_a_column_without_any_value() -> None:
    assert rows(encode({"a": pa.array([0, 1]), "b": pa.nulls(2)}, domain())) == [(0, 2), (1, 2)]


@pytest.mark.parametrize(
    "cells",
    [pa.array([0, 3, 10]), pa.array([0, 3, 10], pa.uint8()), pa.array([0.0, 3.0, 10.0]), pa.array(["0", "3", "1e1"])],
)
def test_record_counts(cells) -> None:
    found, good = record_counts(cells, 10)
    assert (found.tolist(), found.dtype, good.all()) == ([0, 3, 10], np.int64, True)


@pytest.mark.parametrize("cells", [[-1], [11], [1, None], [2.5], [float("nan")], [float("inf")], [None]])
def test_cells_that_are_no_record_counts(cells) -> None:
    """Their rows are malformed, and stand for no record."""
    for counts in (pa.array([3, *cells]), pa.array([3, *cells]).dictionary_encode()):
        found, good = record_counts(counts, 10)
        assert (found.sum(), good.sum()) == (3 + (cells == [1, None]), 1 + (cells == [1, None]))
        batch = {"a": pa.array([0] * len(counts)), "b": pa.array(["x"] * len(counts)), "n": counts}
        coded = encode(batch, domain(), cap=10)
        assert (coded.failed, len(coded.malformed), coded.read) == (frozenset(), 1, found.sum())
        assert coded.kept == coded.read


@pytest.mark.parametrize("cell", ["x", "", "-1", "2.5", "11", "nan"])
def test_texts_that_are_no_record_counts(cell) -> None:
    assert [each.tolist() for each in record_counts(pa.array(["1", cell]), 10)] == [[1, 0], [True, False]]
    coded = encode({"a": ["0", ""], "b": ["x", "y"], "n": ["4", cell]}, domain(Rule.FAIL), text=True, cap=10)
    assert (rows(coded), coded.counts.tolist(), coded.failed) == ([(0, 0)], [4], frozenset())


def test_a_total_beyond_64_bits_is_exact() -> None:
    batch = {"a": pa.array([0] * 8192), "b": pa.array(["x"] * 8192), "n": pa.array([2**52] * 8192)}
    assert encode(batch, domain(), cap=2**52).read == 2**65
