"""Releases of one period: which are asked for in vain, and what their plans say."""

from datetime import datetime

import pytest
from support.cases import in_one_test
from support.command_desk import DOMAIN

from dpqr.domain.domain import Domain
from dpqr.domain.domain_file import decode_domain
from dpqr.domain.periods import Period, PeriodColumn, PeriodRows
from dpqr.domain.text.decoding import Location
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.releases import counters as periods
from dpqr.releases.counters import period_note, period_rows, require_files
from dpqr.releases.requests import PlanRequest
from dpqr.tables.source import TableSource

MONTHLY = {**DOMAIN, "period": {"column": "day", "every": "month"}}
JANUARY = PeriodRows(column="day", period=Period.parse("2024-01"))


def decoded(**parts):
    return decode_domain({**DOMAIN, **parts}, Location("domain"))


def test_the_domain_file_names_the_column_and_the_kind_of_period():
    assert decoded(period=MONTHLY["period"]).period == PeriodColumn(column="day", every="month")
    assert decoded().period is None
    for wrong in ({"column": "day"}, {"column": "", "every": "month"}, {"column": "day", "every": "decade"}, "day"):
        with pytest.raises(DocumentError, match="period"):
            decoded(period=wrong)


REFUSED = {
    "no period of the calendar": ({"period": "2024-13"}, "give a period of the calendar, such as 2026-03"),
    "another kind": ({"period": "2024"}, "give a period of the calendar, such as 2026-03"),
    "the future": ({"period": "9000-01"}, "begins on 9000-01-01, which is to come"),
    "replaced rows": ({"period": "2024-01", "neighbours": "replace", "n": 5}, "may leave one period and enter another"),
    "a number of rows": ({"period": "2024-01", "n": 5}, "so --n cannot state it"),
}


@in_one_test(("asked", "words"), REFUSED.values())
def test_what_is_no_public_question_is_refused(asked, words):
    with pytest.raises(UsageFault, match=words):
        period_rows(PlanRequest(**asked), decoded(period=MONTHLY["period"]))


@in_one_test(("today", "come"), [((2024, 2, 29), False), ((2024, 3, 1), True), ((2024, 3, 31), True)])
def test_a_period_may_be_released_from_its_first_day_on(monkeypatch, today, come):
    class Clock:
        @staticmethod
        def now(zone):
            return datetime(*today, tzinfo=zone)

    monkeypatch.setattr(periods, "datetime", Clock)
    asked, domain = PlanRequest(period="2024-03"), decoded(period=MONTHLY["period"])
    if come:
        assert period_rows(asked, domain) == PeriodRows(column="day", period=Period.parse("2024-03"))
    else:
        with pytest.raises(UsageFault, match="begins on 2024-03-01, which is to come"):
            period_rows(asked, domain)


def test_a_period_needs_a_date_column_and_no_totals_of_all_rows():
    with pytest.raises(DocumentError, match="does not say which period a row is in"):
        period_rows(PlanRequest(period="2024-01"), decoded())
    with pytest.raises(DocumentError, match="known totals count all rows"):
        period_rows(PlanRequest(period="2024-01"), decoded(period=MONTHLY["period"], totals=[{"count": 5}]))
    domain = decoded(period=MONTHLY["period"])
    for fact in ({"least": 5}, {"most": 0}, {"most": 9}):
        with pytest.raises(DocumentError, match="known totals count all rows"):
            period_rows(PlanRequest(period="2024-01"), replace(domain, facts=replace(domain.facts, **fact)))
    assert period_rows(PlanRequest(), Domain(())) is None


@in_one_test("place", ["duckdb:stays.db?table=stays", "postgresql://h/db?table=stays", "postgres://h/d?table=s"])
def test_an_engine_is_refused_by_name_before_it_is_asked(place):
    """Nothing is there: no file, and no server. Files are read by period."""
    require_files(TableSource(paths=("stays.csv",)), JANUARY)
    with pytest.raises(UsageFault, match="cannot be asked for one period yet"):
        require_files(TableSource(paths=(place,)), JANUARY)


def test_a_note_says_whether_a_unit_is_in_one_period():
    assert period_note(JANUARY, PrivacyUnit()).endswith("each row is in one period")
    assert period_note(JANUARY, PrivacyUnit(columns=("who",))).endswith("a person may have rows in many periods")
