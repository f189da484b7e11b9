"""SQL as entries of a queries document: half of the statements are refused, where they are at fault."""

import pytest
from support.sql_cases import ASKED, COLUMNS, REFUSED

from dpqr.errors import DocumentError
from dpqr.io.sql.translation import translated
from dpqr.io.sql.words import Columns, Words


def test_there_are_sixty_statements():
    assert len(ASKED) >= 30
    assert len(REFUSED) >= 30


@pytest.mark.parametrize(("sql", "entries"), ASKED, ids=[sql[:40] for sql, _ in ASKED])
def test_statements_ask_what_their_json_twins_ask(sql, entries):
    assert list(translated(Words(sql, columns=COLUMNS)).entries) == entries


@pytest.mark.parametrize(("marked", "words"), REFUSED, ids=[sql[:40] for sql, _ in REFUSED])
def test_anything_else_is_refused_by_name_where_it_stands(marked, words):
    before, _, after = marked.partition("^")
    place = f"line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))}"
    with pytest.raises(DocumentError) as refusal:
        translated(Words(before + after, "q.sql", COLUMNS))
    (fault,) = refusal.value.faults
    assert (fault.path, fault.message[: len(words)]) == (place, words)
    assert str(refusal.value).startswith(f"q.sql: {place}: ")


def test_every_statement_at_fault_is_named():
    with pytest.raises(DocumentError) as refusal:
        translated(Words("SELECT MIN(AGEP) FROM d; SELECT COUNT(*) FROM d; SELECT COUNT(*) FROM d LIMIT 3"))
    assert [fault.path for fault in refusal.value.faults] == ["line 1, column 8", "line 1, column 73"]


def test_places_are_those_of_the_aggregates():
    found = translated(Words("SELECT SEX,\n COUNT(*), SUM(AGEP) FROM d GROUP BY CUBE (SEX)"))
    assert [place.path for place in found.places] == ["line 2, column 2"] * 2 + ["line 2, column 12"] * 2


def test_a_sample_variance_is_noted():
    found = translated(Words("SELECT VARIANCE(AGEP) FROM d"))
    assert found.entries == ({"variance": "AGEP"},)
    assert found.notes == (
        "line 1, column 8: VARIANCE is answered as VAR_POP, which divides by the number of records n, not by n - 1",
    )


@pytest.mark.parametrize(
    "sql",
    [
        "",
        " ; ; -- nothing",
        "SELECT 'open",
        "SELECT /* COUNT(*) FROM d",
        "EXPLAIN SELECT 1",
        "CREATE TABLE d (a INT)",
        "SELECT COUNT(*)",
        "SELECT COUNT(*) FROM read_parquet('d')",
        "SELECT COUNT(*) FROM d TABLESAMPLE (10 PERCENT)",
        "SELECT COUNT(*) INTO t FROM d",
        "SELECT COUNT(*) FROM d FOR UPDATE",
        "SELECT COUNT(a, b) FROM d",
        "SELECT COUNT(*) FROM d GROUP BY 7",
        "SELECT ROUND(AVG(x), 2) FROM d",
        "SELECT f(x) FROM d",
        "SELECT -COUNT(*) FROM d",
        "SELECT 3 FROM d",
        "SELECT 100 * COUNT(*) / COUNT(*) FROM d",
        "SELECT CASE WHEN a > 1 THEN b ELSE c END, COUNT(*) FROM d GROUP BY 1",
        "SELECT COUNT(*) FROM d WHERE a || 'x' = 'y'",
        "SELECT COUNT(*) FROM d WHERE lower(a) = 'y'",
        "SELECT COUNT(*) FROM d WHERE 1 = 1",
        "SELECT COUNT(*) FROM d WHERE a BETWEEN SYMMETRIC 3 AND 1",
        "SELECT COUNT(*) FROM d GROUP BY CUBE (" + ", ".join(f"c{n}" for n in range(13)) + ")",
        "SELECT COUNT(*) FROM d WHERE " + "(" * 3000 + "a = 1" + ")" * 3000,
        "SELECT " + "x" * 2**20,
    ],
)
def test_what_is_no_question_is_one_refusal_of_a_line_or_two(sql):
    with pytest.raises(DocumentError) as refusal:
        translated(Words(sql))
    assert len(refusal.value.faults) == 1
    assert len(str(refusal.value)) < 300


def test_names_are_taken_as_written_where_no_domain_is_known():
    assert translated(Words('SELECT "A b", COUNT(*) FROM d GROUP BY "A b"')).entries == ({"marginal": ["A b"]},)


def test_quoted_names_keep_their_capitals():
    columns = Columns(("sex",))
    assert translated(Words("SELECT COUNT(*) FROM d GROUP BY SEX", columns=columns)).entries == ({"marginal": ["sex"]},)
    with pytest.raises(DocumentError, match="no column 'SEX'"):
        translated(Words('SELECT COUNT(*) FROM d GROUP BY "SEX"', columns=columns))
