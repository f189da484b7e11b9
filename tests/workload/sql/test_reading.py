"""SQL read over a domain: faults of its entries stand where the SQL asks, and empty branches fall away."""

import pytest
from support.cases import in_one_test
from support.refused_sql import REFUSED
from support.sql_cases import ASKED, COLUMNS

from dpqr.kernel.errors import DocumentError, DpqrError
from dpqr.workload.sql.reading import read_sql, translate
from dpqr.workload.sql.statements import SqlColumns, SqlText

DOMAIN = {
    "fields": [
        {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "dpqr": {"width": 10}},
    ]
}


def test_faults_of_entries_are_placed():
    sql = "SELECT COUNT(*)\nFROM d WHERE sex = 'x';\nSELECT COUNT(*), SUM(sex) FROM d"
    with pytest.raises(DocumentError) as refusal:
        read_sql({"sql": sql}, DOMAIN)
    assert [(fault.document, fault.path) for fault in refusal.value.faults] == [
        ("SQL", "line 2, column 14"),
        ("SQL", "line 3, column 18"),
    ]


def test_faults_of_weights_are_placed_and_say_what_must_be():
    with pytest.raises(DocumentError) as refusal:
        read_sql({"sql": "SELECT SUM(LEAST(age, 0)), SUM(LEAST(sex, 3)) FROM d"}, DOMAIN)
    assert [str(fault) for fault in refusal.value.faults] == [
        "SQL: line 1, column 8: weight.maximum: must be above 0 and at most 1000000000",
        "SQL: line 1, column 28: column 'sex' holds labels; name a column of numbers",
    ]


def test_branches_without_cells_fall_away():
    sql = "SELECT CASE WHEN sex = 'f' THEN 'w' WHEN sex = 'm' THEN 'm' END g, COUNT(*) n FROM d GROUP BY g"
    assert [block.name for block in read_sql({"sql": sql}, DOMAIN).workload.blocks] == ["n w", "n m"]


def test_a_condition_without_cells_is_refused():
    with pytest.raises(DocumentError, match="line 1, column 8: is true for no cell"):
        read_sql({"sql": "SELECT COUNT(*) FROM d WHERE sex = 'f' AND sex = 'm'"}, DOMAIN)
    with pytest.raises(DocumentError, match="line 1, column 32: is true for no cell"):  # beside another answer, too
        read_sql({"sql": "SELECT COUNT(*) FROM d; SELECT COUNT(*) FROM d WHERE sex = 'f' AND sex = 'm'"}, DOMAIN)


def test_a_file_of_statements(tmp_path):
    place = tmp_path / "q.sql"
    place.write_text("\ufeffSELECT COUNT(*) AS n FROM d WHERE age < 45;", encoding="utf-8")
    read = read_sql(str(place), DOMAIN)
    assert [block.name for block in read.workload.blocks] == ["n"]
    assert read.notes == ("bins of 'age' cut by the queries at 45 (10 -> 11 cells)",)


def test_a_domain_that_is_not_there_is_named_before_what_only_its_columns_can_say(tmp_path):
    query = {"sql": "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) FROM t GROUP BY month"}
    with pytest.raises(DpqrError, match=r"nowhere\.json"):
        read_sql(query, str(tmp_path / "nowhere.json"))


def test_a_broken_domain_is_its_reader_s_fault():
    with pytest.raises(DocumentError, match="domain"):
        read_sql({"sql": "SELECT COUNT(*) FROM d"}, {"fields": [{}]})


# SQL as entries of a queries document: half of the statements are refused, where they are at fault.


def test_there_are_a_hundred_statements():
    assert len(ASKED) >= 40
    assert len(REFUSED) >= 60


@in_one_test(("sql", "entries"), ASKED)
def test_statements_ask_what_their_json_twins_ask(sql, entries):
    assert list(translate(SqlText(sql, columns=COLUMNS)).entries) == entries


@in_one_test(("marked", "words"), REFUSED)
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


def test_the_distinct_values_of_the_units_column_are_persons():
    """Of each grouping set; the plan requires that it is the unit's (tests/releases/test_person_tables.py)."""
    found = translate(SqlText("SELECT ST, COUNT(DISTINCT pid) AS people FROM pums GROUP BY ROLLUP (ST)", "q", COLUMNS))
    assert found.entries == (
        {"persons": {"by": ["ST"], "of": "pid"}, "name": "people by ST"},
        {"persons": {"of": "pid"}, "name": "people in total"},
    )
    asked = "SELECT ST, COUNT(DISTINCT pid) FILTER (WHERE AGEP > 3) AS people FROM pums WHERE SEX = '1' GROUP BY ST"
    (found,) = translate(SqlText(asked, "q", COLUMNS)).entries
    assert found == {
        "persons": {"by": ["ST"], "of": "pid"},
        "where": "SEX = '1' and AGEP > 3",
        "name": "people",
    }


@in_one_test("asked", ["GROUP BY 1", "GROUP BY m", "GROUP BY date_trunc('month', seen)"])
def test_a_period_that_is_the_column_s_bin_is_the_column(asked):
    """Of another period, and in a condition, it is refused: no cell of the domain says it."""
    columns = SqlColumns(("seen", "sex"), every={"seen": "month"})
    sql = f"SELECT DATE_TRUNC('month', seen) AS m, COUNT(*) AS n FROM d {asked}"
    assert translate(SqlText(sql, columns=columns)).entries == ({"marginal": ["seen"], "name": "n"},)
    in_zone = sql.replace("seen)", "seen, 'Europe/Berlin')")
    for other in (
        sql.replace("month", "year"),
        in_zone,
        sql.replace("d GROUP", "d WHERE DATE_TRUNC('month', seen) = 1 GROUP"),
    ):
        with pytest.raises(DocumentError, match="DATE_TRUNC"):
            translate(SqlText(other, columns=columns))


def test_an_alias_of_an_earlier_statement_is_followed_by_the_columns():
    """Once: the same columns and name twice, with other rows, are refused (support/refused_sql.py)."""
    asked = "SELECT ST, COUNT(*) AS n FROM d GROUP BY ST; SELECT SEX, COUNT(*) AS n FROM d GROUP BY SEX"
    names = [entry["name"] for entry in translate(SqlText(f"{asked}; {asked}")).entries]
    assert names == ["n", "n by SEX"]
    with pytest.raises(DocumentError, match="choose another alias"):
        translate(SqlText(f"{asked}; SELECT SEX, COUNT(*) AS n FROM d WHERE AGEP > 3 GROUP BY SEX"))
