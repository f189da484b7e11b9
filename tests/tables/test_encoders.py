from datetime import date, datetime, timedelta
from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from support.cases import in_one_test

from dpqr.domain.attribute import Attribute, Axis, Bins, Codes, Fault, Labels, Rule, Spelling
from dpqr.domain.domain import Domain
from dpqr.kernel.values import replace
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


@in_one_test("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_labels_are_compared_as_exact_text(kind) -> None:
    assert codes(LABELS, pa.array(["7", "b", " b", "B", "", "07", "7.0"], kind)) == [1, 0, 7, 7, 7, 7, 7]


@in_one_test("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_text_of_a_boolean_column_counts_in_any_case(kind) -> None:
    cells = pa.array(["True", "FALSE", "true", "fAlse", "1", " true", "t"], kind)
    assert codes(Labels(("false", "true"), folded=True), cells) == [1, 0, 1, 0, 6, 6, 6]


@in_one_test("kind", [pa.int8(), pa.uint8(), pa.int64(), pa.uint64()])
def test_labels_of_whole_numbers(kind) -> None:
    assert codes(LABELS, pa.array([7, 8, 0, 127, 7], kind)) == [1, 7, 7, 7, 1]
    assert codes(Labels(("99999999999999999999999", "x", "-3")), pa.array([7], kind)) == [7]


@in_one_test("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float16(), pa.float32(), pa.float64()])
def test_codes_of_any_signed_type(kind) -> None:
    cells = pa.array(np.array([2, 0, -1, 3, 1], dtype=kind.to_pandas_dtype()))
    assert codes(Codes(3), cells) == [2, 0, 7, 7, 1]


DAYS = Bins(tuple(map(Fraction, (0, 1, 2, 3))), kind="date", integral=True)
"""1 January 1970 to the 4th: the last edge belongs to the last bin."""
WHEN = [datetime(1970, 1, 1), datetime(1970, 1, 2, 23, 59), datetime(1970, 1, 4, 12), datetime(1969, 12, 31, 23)]
SPAN = [0, 1, 2, 7]


@in_one_test("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_days_of_timestamps(unit, zone) -> None:
    """A zoned timestamp counts by its instant in UTC, wherever the zone's days begin."""
    cells = pa.array(WHEN, pa.timestamp("us")).cast(pa.timestamp(unit)).cast(pa.timestamp(unit, zone))
    assert codes(DAYS, cells) == SPAN


HOURS = Bins(tuple(Fraction(hour * 3600 * 10**6) for hour in (0, 24, 47, 48)), kind="datetime", closed="right")


@in_one_test("unit", ["s", "ms", "us", "ns"])
def test_moments_of_timestamps(unit) -> None:
    when = [datetime(1970, 1, 1, second=s) + timedelta(days=d) for d, s in ((0, 0), (1, 0), (1, 1), (2, 0), (3, 0))]
    cells = pa.array(when, pa.timestamp("us")).cast(pa.timestamp(unit))
    assert codes(HOURS, cells) == [0, 0, 1, 2, 7]


CLIP: dict[Fault, Rule] = {"outside": Rule.CLIP}
CLIPPED: dict[Fault, Rule] = {"outside": Rule.CLIP, "infinite": Rule.CLIP, "nan": Rule.FAIL}
FLOATS = pa.array([0.0, 9.99, 10.0, 30.0, 30.5, -0.1, NAN, INF, -INF])
FLOAT_TEXTS = pa.array(["0", "9.99", "10", "30.0", "30.5", "-.1", "nan", "inf", "-Infinity"])
TWINS = Labels(("north", "9"), texts=(("N", "No."), ("9", "99")))
WORDS = Labels(("false", "true"), texts=(("no",), ("yes", "1")))
MIDNIGHTS = [date(1970, 1, 1), date(1970, 1, 2), date(1970, 1, 3)]
TENTHS, THREE = pa.decimal128(30, 3), Bins(tuple(map(Fraction, range(4))), kind="datetime", closed="right")
MINUTES = Bins(tuple(map(Fraction, (0, 60 * 10**6, 3600 * 10**6, 86400 * 10**6))), kind="datetime")
PLAIN_DAYS = Bins(tuple(map(Fraction, range(4))), kind="date")
DAY_TEXTS = ["1970-01-02", "yesterday", "1970-01-03T23:59", "1970-01-03T01:00+02:00", "1971-01-01"]
MINUTE_TEXTS = ["1970-01-01", "1970-01-01T00:01Z", "1970-01-01T03:00", "soon"]
CODE_TEXTS = ["1.0", "1.5", "nan", "inf", "-inf", "-0", "1e300", "-.5", "3.5", "2", "two", "0x1"]
CODED = {
    "negative numbers": (Labels(("5", "-3", "+2")), pa.array([-3, 5, 2, 4], pa.int32()), OWN, [1, 0, 7, 7]),
    "booleans": (LABELS, pa.array([True, False]), OWN, [2, 7]),
    "dates": (Labels(("1970-01-02", "x", "1970-01-01")), pa.array(MIDNIGHTS), OWN, [2, 0, 7]),
    "dates in ms": (Labels(("1970-01-02", "x", "1970-01-01")), pa.array(MIDNIGHTS, pa.date64()), OWN, [2, 0, 7]),
    "letters beyond ASCII": (Labels(("i", "k"), folded=True), pa.array(["I", "\u0130", "\u212a"]), OWN, [0, 6, 1]),
    "sharp s": (Labels(("stra\xdfe", "\xe9"), folded=True), pa.array(["STRASSE", "\xc9", "e"]), OWN, [0, 1, 6]),
    "other texts": (TWINS, pa.array(["No.", "N", "north", "n", "99", "9"]), OWN, [0, 0, 6, 6, 1, 1]),
    "numbers as other texts": (TWINS, pa.array([9, 99, 8], pa.int16()), OWN, [1, 1, 6]),
    "words": (WORDS, pa.array(["yes", "no", "true", "Yes", "1"]), OWN, [1, 0, 6, 6, 1]),
    "words for booleans": (WORDS, pa.array([True, False]), OWN, [1, 0]),
    "words for numbers": (WORDS, pa.array([1, 0]), OWN, [1, 6]),
    "true as a word": (Labels(("n", "y"), texts=(("n",), ("y", "true"))), pa.array([True, False]), OWN, [1, 6]),
    "unsigned": (Codes(3), pa.array([2, 2**64 - 1, 3], pa.uint64()), OWN, [2, 7, 7]),
    "unsigned, clipped": (Codes(3), pa.array([2**64 - 1, 2**63], pa.uint64()), CLIP, [2, 2]),
    "as wide as the type": (Codes(300), pa.array([255, 0], pa.uint8()), OWN, [255, 0]),
    "wider than the type": (Codes(300), pa.array([127, -1], pa.int8()), CLIP, [127, 0]),
    "floats": (Codes(3), pa.array([1, 1.5, NAN, INF, -INF, -0.0, 1e300, -0.5]), OWN, [1, 4, 5, 6, 6, 0, 7, 4]),
    "texts of codes": (Codes(3), pa.array(CODE_TEXTS), OWN, [1, 4, 5, 6, 6, 0, 7, 4, 4, 2, 4, 4]),
    "numbers": (TENS, FLOATS, OWN, [0, 0, 1, 2, 7, 7, 5, 6, 6]),
    "texts of numbers": (TENS, FLOAT_TEXTS, OWN, [0, 0, 1, 2, 7, 7, 5, 6, 6]),
    "no numbers": (TENS, pa.array(["5", "five", " 15 ", "1,5"]), OWN, [0, 4, 1, 4]),
    "clipped": (TENS, FLOATS, CLIPPED, [0, 0, 1, 2, 2, 0, FAILED, 2, 0]),
    "texts, clipped": (TENS, FLOAT_TEXTS, CLIPPED, [0, 0, 1, 2, 2, 0, FAILED, 2, 0]),
    "infinities by their rule": (TENS, pa.array([40.0, INF, -INF]), CLIP, [2, DROPPED, DROPPED]),
    "infinities alone": (TENS, pa.array([40.0, INF, -INF]), {"infinite": Rule.CLIP}, [DROPPED, 2, 0]),
    **{
        f"{kind}": (TENS, pa.array([0, 10, 30, 31], pa.int64()).cast(kind), OWN, [0, 1, 2, 7])
        for kind in (pa.int16(), pa.uint64(), TENTHS)
    },
    "decimals, clipped": (TENS, pa.array([40, 5], pa.int64()).cast(TENTHS), CLIP, [2, 0]),
    "fractions among whole numbers": (
        Bins(tuple(map(Fraction, (18, 19, 20, 21))), integral=True), pa.array([18.0, 18.7, 21.0]), OWN, [0, 0, 2],
    ),
    "days": (DAYS, pa.array([each.date() for each in WHEN]), OWN, SPAN),
    "days in ms": (DAYS, pa.array([each.date() for each in WHEN], pa.date64()), OWN, SPAN),
    "midnights": (HOURS, pa.array(MIDNIGHTS), OWN, [0, 0, 2]),
    "midnights in ms": (HOURS, pa.array(MIDNIGHTS, pa.date64()), OWN, [0, 0, 2]),
    "between microseconds": (
        THREE, pa.array([0, 999, 1000, 1001, 3000, 3001], pa.timestamp("ns")), OWN, [0, 0, 0, 1, 2, 7],
    ),
    "texts of days, by their instant in UTC": (PLAIN_DAYS, pa.array(DAY_TEXTS), OWN, [1, 4, 2, 1, 7]),
    "texts of moments": (MINUTES, pa.array(MINUTE_TEXTS), OWN, [0, 1, 2, 4]),
    **{
        f"nothing {place}": (axis, pa.array([], kind), OWN, [])
        for place, (axis, kind) in enumerate(
            [(LABELS, pa.string()), (Codes(3), pa.string()), (TENS, pa.string()), (PLAIN_DAYS, pa.string()),
             (Codes(3), pa.int8()), (TENS, pa.float32()), (DAYS, pa.date32())]
        )
    },
}  # fmt: skip


@in_one_test(("axis", "cells", "rules", "expected"), CODED.values())
def test_cells_of_each_type_and_their_codes(axis, cells, rules, expected) -> None:
    assert codes(axis, cells, rules) == expected


@in_one_test(
    ("axis", "good", "bad"),
    [
        (
            LABELS,
            [pa.string(), pa.bool_(), pa.int8(), pa.large_string()],
            [pa.float64(), pa.timestamp("s"), pa.binary(), pa.list_(pa.int8())],
        ),
        (Codes(3), [pa.int8(), pa.uint64(), pa.float32()], [pa.string(), pa.bool_(), pa.decimal128(3, 0)]),
        (TENS, [pa.int8(), pa.float16(), pa.decimal256(50, 3)], [pa.string(), pa.date32(), pa.decimal128(5, -2)]),
        (DAYS, [pa.date32(), pa.date64(), pa.timestamp("ns", "UTC")], [pa.string(), pa.int64(), pa.time32("s")]),
    ],
)
def test_typed_columns_that_may_and_may_not_be_read(axis, good, bad) -> None:
    refusal = encoder(Attribute(name="x", axis=axis)).refusal
    assert [refusal(kind) for kind in good] == [None] * len(good)
    assert all(refusal(kind) for kind in bad)


TIMES = Bins(tuple(map(Fraction, range(19_000, 23_001, 1000))), kind="date", integral=True)
MONEY = Spelling(decimal=",", group=".", bare=False)


@in_one_test("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_blanks_go_before_a_text_is_compared_with_anything(kind) -> None:
    cells = pa.array([" x", "x\xa0", "x", " NA ", "NA", "", None, "y x"], kind)
    attribute = Attribute(name="x", axis=Labels(("x",)), rules=OWN, missing=("NA ", "q"), spelling=Spelling(trim=True))
    assert ColumnEncoder.of(attribute).encode(cells).codes.tolist() == [0, 0, 0, 1, 1, 5, 1, 5]
    coded = cells.cast(pa.string()).dictionary_encode()
    assert ColumnEncoder.of(attribute).encode(coded).codes.tolist() == [0, 0, 0, 1, 1, 5, 1, 5]


@in_one_test("kind", [pa.string(), pa.large_string(), pa.string_view()])
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
        expected = ColumnEncoder.of(plain).encode(cells).codes.tolist()
        assert ColumnEncoder.of(stated).encode(cells).codes.tolist() == expected
        trimmed = replace(stated, spelling=Spelling(trim=True))
        tidy = [text.strip() for text in texts]
        assert ColumnEncoder.of(trimmed).encode(cells).codes.tolist() == [
            *ColumnEncoder.of(plain).encode(pa.array(tidy, pa.large_string())).codes.tolist()
        ]


def column(**rules) -> ColumnEncoder:
    return ColumnEncoder.of(Attribute(name="x", axis=Codes(9), rules=rules, missing=("", "NA")))


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


@in_one_test("axis", [Codes(3), Bins((Fraction(0), Fraction(1)))])
@pytest.mark.parametrize("rows", [0, 2])
def test_a_column_of_nulls_alone_is_read_with_any_number_of_rows(axis, rows) -> None:
    """Which rows of a batch are left decides nothing, also where a column has Arrow's type null."""
    column = ColumnEncoder.of(Attribute(name="v", axis=axis))
    assert column.encode(pa.nulls(rows)).codes.tolist() == [DROPPED] * rows


def domain(null_a: Rule = Rule.DROP, null_b: Rule = Rule.CELL) -> Domain:
    return Domain(
        (
            Attribute(name="a", axis=Codes(3), rules={"null": null_a, "outside": Rule.DROP}),
            Attribute(name="b", axis=Labels(("x", "y")), rules={"null": null_b}, missing=("", "NA")),
        )
    )


def encode(batch: dict, declared: Domain, *, cap: int | None = None):
    return RowEncoder.of(declared, count_cap=cap).encode(pa.record_batch(batch))


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


def test_missing_texts_stand_for_null_wherever_there_are_texts() -> None:
    text = {"a": ["0", "", "2"], "b": ["NA", "x", ""]}
    assert rows(encode(text, domain())) == [(0, 2), (2, 2)]
    typed = {"a": pa.array([0, 1]), "b": pa.array(["NA", "x"])}
    assert rows(encode(typed, domain())) == [(0, 2), (1, 0)]


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


@in_one_test(
    "cells",
    [pa.array([0, 3, 10]), pa.array([0, 3, 10], pa.uint8()), pa.array([0.0, 3.0, 10.0]), pa.array(["0", "3", "1e1"])],
)
def test_record_counts(cells) -> None:
    found, good = record_counts(cells, 10)
    assert (found.tolist(), found.dtype, good.all()) == ([0, 3, 10], np.int64, True)


@in_one_test("cells", [[-1], [11], [1, None], [2.5], [float("nan")], [float("inf")], [None]])
def test_cells_that_are_no_record_counts(cells) -> None:
    """Their rows are malformed, and stand for no record."""
    for counts in (pa.array([3, *cells]), pa.array([3, *cells]).dictionary_encode()):
        found, good = record_counts(counts, 10)
        assert (found.sum(), good.sum()) == (3 + (cells == [1, None]), 1 + (cells == [1, None]))
        batch = {"a": pa.array([0] * len(counts)), "b": pa.array(["x"] * len(counts)), "n": counts}
        coded = encode(batch, domain(), cap=10)
        assert (coded.failed, len(coded.malformed), coded.read) == (frozenset(), 1, found.sum())
        assert coded.kept == coded.read


@in_one_test("cell", ["x", "", "-1", "2.5", "11", "nan"])
def test_texts_that_are_no_record_counts(cell) -> None:
    assert [each.tolist() for each in record_counts(pa.array(["1", cell]), 10)] == [[1, 0], [True, False]]
    coded = encode({"a": ["0", ""], "b": ["x", "y"], "n": ["4", cell]}, domain(Rule.FAIL), cap=10)
    assert (rows(coded), coded.counts.tolist(), coded.failed) == ([(0, 0)], [4], frozenset())


def test_a_total_beyond_64_bits_is_exact() -> None:
    batch = {"a": pa.array([0] * 8192), "b": pa.array(["x"] * 8192), "n": pa.array([2**52] * 8192)}
    assert encode(batch, domain(), cap=2**52).read == 2**65
