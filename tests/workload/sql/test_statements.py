"""What is no SELECT from one table is refused, in a line or two."""

import pytest
from support.cases import in_one_test

from dpqr.kernel.errors import DocumentError
from dpqr.workload.sql.reading import translate
from dpqr.workload.sql.statements import SqlColumns, SqlText, quoted_name


@in_one_test(
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
        "board.sql",
        "SELECT 100 * COUNT(*) / COUNT(*) FROM d",
        "SELECT CASE WHEN a > 1 THEN b ELSE c END, COUNT(*) FROM d GROUP BY 1",
        "SELECT COUNT(*) FROM d WHERE a || 'x' = 'y'",
        "SELECT COUNT(*) FROM d WHERE lower(a) = 'y'",
        "SELECT COUNT(*) FROM d WHERE 1 = 1",
        "SELECT COUNT(*) FROM d WHERE a BETWEEN SYMMETRIC 3 AND 1",
        "SELECT COUNT(*) FROM d GROUP BY CUBE (" + ", ".join(f"c{n}" for n in range(13)) + ")",
        "SELECT COUNT(*) FROM d WHERE " + "(" * 1000 + "a = 1" + ")" * 1000,
        "SELECT " + "x" * 2**18,
    ],
)
def test_what_is_no_question_is_one_refusal_of_a_line_or_two(sql):
    with pytest.raises(DocumentError) as refusal:
        translate(SqlText(sql))
    assert len(refusal.value.faults) == 1
    assert len(str(refusal.value)) < 300


# Names of columns, and places in a text.


def test_places_count_lines_and_columns_from_one():
    words = SqlText("ab\ncd", "q.sql")
    places = [(line, column) for line in (1, 2) for column in (1, 2)]
    assert [words.at(start).path for start in (0, 1, 3, 4)] == [f"line {one}, column {two}" for one, two in places]


@in_one_test(
    ("domain", "nulls"),
    [
        ({"fields": [{"name": "a", "dpqr": {"null": "cell"}}, {"name": "b"}]}, {"a"}),
        ({"fields": [{"name": "a", "dpqr": {"otherwise": "cell", "null": "drop"}}, {"name": "b", "dpqr": 3}]}, set()),
        ({"fields": [{"name": "a", "dpqr": {"otherwise": "cell"}}, "odd", {"name": "b"}]}, {"a"}),
        ({"a": 3, "b": 4}, set()),
    ],
)
def test_columns_of_a_domain_as_it_is_written(domain, nulls):
    found = SqlColumns.of(domain)
    assert (found.names, found.nulls) == (("a", "b"), frozenset(nulls))


def test_names_that_are_words_of_predicates_are_quoted():
    assert [quoted_name(name) for name in ("a.b-c", "Between", 'say "x"')] == ["a.b-c", '"Between"', '"say ""x"""']


def test_quoted_names_keep_their_capitals_and_are_taken_as_written_where_no_domain_is_known():
    assert SqlColumns.of(None) is None
    assert translate(SqlText('SELECT "A b", COUNT(*) FROM d GROUP BY "A b"')).entries == ({"marginal": ["A b"]},)
    asked, columns = "SELECT COUNT(*) FROM d GROUP BY ", SqlColumns(("sex",))
    assert translate(SqlText(f"{asked}SEX", columns=columns)).entries == ({"marginal": ["sex"]},)
    with pytest.raises(DocumentError, match="no column 'SEX'"):
        translate(SqlText(f'{asked}"SEX"', columns=columns))
