import math
import time
from datetime import date, datetime

from support.cases import in_one_test

from dpqr.domain.attribute import Spelling
from dpqr.tables.cell_values import moment_reader, number, number_reader

GERMAN = Spelling(decimal=",", group=".", bare=False)
ENGLISH = Spelling(group=",", bare=False)
FRENCH = Spelling(decimal=",", group=" ")
SWISS = Spelling(group="'", bare=False)

NUMBERS = [
    (GERMAN, "1.234,50 EUR", 1234.5),
    (GERMAN, "EUR 1.234.567,8", 1234567.8),
    (GERMAN, " -0,5\xa0€ ", -0.5),
    (GERMAN, "1234,5", 1234.5),
    (GERMAN, "12.5", None),
    (GERMAN, "1.2345", None),
    (GERMAN, "1,234.50", None),
    (GERMAN, "1.234,5,6", None),
    (GERMAN, "5-10 EUR", None),
    (GERMAN, "(5,00)", None),
    (GERMAN, "5-", None),
    (GERMAN, "EUR", None),
    (GERMAN, "", None),
    (GERMAN, "5e3 EUR", 5000),
    (ENGLISH, "$1,234.50", 1234.5),
    (ENGLISH, "-$5", -5),
    (ENGLISH, "$-5", -5),
    (ENGLISH, "-$-5", None),
    (ENGLISH, "+5%", 5),
    (ENGLISH, "$.50", 0.5),
    (ENGLISH, "Rs.500", 500),
    (ENGLISH, "Rs. 5,00,000", 500000),
    (ENGLISH, "1.", 1),
    (ENGLISH, "12,34", None),
    (ENGLISH, "٣", None),
    (FRENCH, "1 234 567,5", 1234567.5),
    (FRENCH, "1\u202f234\xa0567", 1234567),
    (FRENCH, "12 34", None),
    (FRENCH, "1 234 EUR", None),
    (SWISS, "CHF 1'234.50", 1234.5),
    (SWISS, "Fr. 1\u2019234", 1234),
]


@in_one_test(("spelling", "text", "value"), NUMBERS)
def test_numbers(spelling, text, value) -> None:
    assert number_reader(spelling)(text) == value


@in_one_test("spelling", [GERMAN, ENGLISH, FRENCH, SWISS, Spelling()])
def test_nan_and_infinities_keep_their_names(spelling) -> None:
    read = number_reader(spelling)
    assert math.isnan(read("NaN") or 0)
    assert (read("-Inf"), read("+infinity")) == (-math.inf, math.inf)
    assert read("1" + "0" * 400) == math.inf


def test_the_plain_spelling_reads_what_is_read_without_one() -> None:
    read = number_reader(Spelling())
    for text in ["1", "-1.5", "+.5", "1.", "1e5", "1E-5", " 7 ", "1_0", "0x1", "1,5", "", ".", "e5", "-", "1e", "٣"]:
        assert read(text) == number(text), text


def test_long_texts_take_no_longer_than_their_length() -> None:
    """Milliseconds; the square of their length would take minutes."""
    began = time.process_time()
    for text in ("9" * 10**5, "1." * 10**5, "x" * 10**5, "1.234" * 10**4, "-" * 10**5):
        for spelling in (GERMAN, ENGLISH):
            number_reader(spelling)(text)
    assert time.process_time() - began < 10


DAYS = [
    ("%d/%m/%Y", "03/11/2024", date(2024, 11, 3)),
    ("%d/%m/%Y", " 3/1/2024 ", date(2024, 1, 3)),
    ("%d/%m/%Y", "31/02/2024", None),
    ("%d/%m/%Y", "11/23/2024", None),
    ("%d/%m/%Y", "2024-11-03", None),
    ("%d/%m/%Y", "03/11/2024 12:00", None),
    ("%d.%m.%y", "03.11.24", date(2024, 11, 3)),
    ("%d %b %Y", "3 nov 2024", date(2024, 11, 3)),
    ("%Y%j", "2024366", date(2024, 12, 31)),
    ("%d/%m/%Y %H:%M", "03/11/2024 23:59", date(2024, 11, 3)),
    ("%d/%m/%Y", "", None),
    ("%d/%m/%Y", "\x00", None),
]


@in_one_test(("pattern", "text", "value"), DAYS)
def test_days(pattern, text, value) -> None:
    expected = None if value is None else (value - date(1970, 1, 1)).days
    assert moment_reader(Spelling(pattern=pattern), days=True)(text) == expected


def test_moments_are_in_utc_and_without_a_pattern_the_iso_form_is_read() -> None:
    read = moment_reader(Spelling(pattern="%d/%m/%Y %I:%M %p %z"), days=False)
    moment = (datetime(2024, 11, 2, 23, 30) - datetime(1970, 1, 1)).total_seconds() * 1e6
    assert read("03/11/2024 01:30 AM +0200") == moment
    assert read("01/01/0001 00:30 AM +0200") is None
    assert read("03/11/2024 01:30 +0200") is None
    assert moment_reader(Spelling(trim=True), days=True)("1970-01-02") == 1
    assert moment_reader(Spelling(), days=False)("1970-01-01T00:00:01Z") == 10**6
