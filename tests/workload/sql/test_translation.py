"""SQL as entries of a queries document: half of the statements are refused, where they are at fault."""

import pytest
from support.refused_sql import REFUSED
from support.sql_cases import ASKED, COLUMNS

from dpqr.kernel.errors import DocumentError
from dpqr.workload.sql.reading import translate
from dpqr.workload.sql.statements import SqlText


def test_there_are_a_hundred_statements():
    assert len(ASKED) >= 40
    assert len(REFUSED) >= 60


@pytest.mark.parametrize(("sql", "entries"), ASKED, ids=[sql[:40] for sql, _ in ASKED])
def test_statements_ask_what_their_json_twins_ask(sql, entries):
    assert list(translate(SqlText(sql, columns=COLUMNS)).entries) == entries


@pytest.mark.parametrize(("marked", "words"), REFUSED, ids=[sql[:40] for sql, _ in REFUSED])
def test_anything_else_is_refused_by_name_where_it_stands(marked, words):
    before, _, after = marked.partition("^")
    place = f"line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))}"
    with pytest.raises(DocumentError) as refusal:
        translate(SqlText(before + after, "q.sql", COLUMNS))
    (fault,) = refusal.value.faults
    assert (fault.path, fault.message[: len(words)]) == (place, words)
    assert str(refusal.value).startswith(f"q.sql: {place}: ")


def test_every_statement_at_fault_is_named():
    with pytest.raises(DocumentError) as refusal:
        translate(SqlText("SELECT MIN(AGEP) FROM d; SELECT COUNT(*) FROM d; SELECT COUNT(*) FROM d LIMIT 3"))
    assert [fault.path for fault in refusal.value.faults] == ["line 1, column 8", "line 1, column 73"]


def test_the_most_frequent_cells_are_of_one_count_alone():
    asked = "SELECT SEX, COUNT(*){} FROM d GROUP BY SEX ORDER BY COUNT(*) DESC LIMIT 1"
    assert translate(SqlText(asked.format(""))).entries == ({"top": "SEX", "k": 1},)
    with pytest.raises(DocumentError, match="LIMIT: true answers would decide what is shown"):
        translate(SqlText(asked.format(", SUM(AGEP)")))


def test_places_are_those_of_the_aggregates():
    found = translate(SqlText("SELECT SEX,\n COUNT(*), SUM(AGEP) FROM d GROUP BY CUBE (SEX)"))
    assert [place.path for place in found.places] == ["line 2, column 2"] * 2 + ["line 2, column 12"] * 2
