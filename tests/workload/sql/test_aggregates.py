"""Aggregates beyond those of the sixty statements."""

import pytest
from support.cases import in_one_test

from dpqr.kernel.errors import DocumentError
from dpqr.workload.queries_file import read_queries
from dpqr.workload.sql.reading import read_sql, translate
from dpqr.workload.sql.statements import SqlColumns, SqlText


def test_a_sample_variance_is_noted():
    found = translate(SqlText("SELECT VARIANCE(AGEP) FROM d"))
    assert found.entries == ({"variance": "AGEP"},)
    assert found.notes == (
        "line 1, column 8: VARIANCE is answered as VAR_POP, which divides by the number of records n, not by n - 1",
    )


@in_one_test(
    ("asked", "entry"),
    [
        ("SUM(1)", {"marginal": []}),
        ("COUNT(1)", {"marginal": []}),
        ("COUNT(CASE WHEN a > 3 THEN 'x' ELSE NULL END)", {"where": "a > 3"}),
        ("SUM(CASE WHEN a > 3 THEN b END) FILTER (WHERE c = 1)", {"sum": "b", "where": "a > 3 and c = 1"}),
        ("CAST(SUM(a) AS DOUBLE) / NULLIF(SUM(b), 0)", {"ratio": {"of": "a", "to": "b"}}),
        ("COUNT(a)::float / COUNT(*)", {"proportion": "a is not null"}),
        ("APPROX_QUANTILE(a, 0.25)", {"quantiles": "a", "at": [0.25]}),
        ("QUANTILE_CONT(a, [0.1, 0.9])", {"quantiles": "a", "at": [0.1, 0.9]}),
        ("VAR_SAMP(a)", {"variance": "a"}),
    ],
)
def test_other_spellings(asked, entry):
    assert translate(SqlText(f"SELECT {asked} FROM d")).entries == (entry,)


@in_one_test(
    "asked",
    [
        "AVG(CASE WHEN a > 3 THEN 1 END)",
        "SUM(CASE WHEN a > 3 THEN b ELSE c END)",
        "SUM(CASE WHEN a > 3 THEN 1 WHEN a > 2 THEN 2 END)",
        "COUNT(CASE WHEN a > 3 THEN 1 ELSE 0 END)",
        "SUM(a) FILTER (WHERE c = 1) / SUM(b)",
        "PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY a DESC)",
        "AVG(a + 1)",
        "AVG((a > 3)::int)",
        "MODE() WITHIN GROUP (ORDER BY a)",
        "GROUPING(a)",
        "TRUE",
    ],
)
def test_what_would_mean_something_else_is_refused(asked):
    with pytest.raises(DocumentError):
        translate(SqlText(f"SELECT {asked} FROM d", columns=SqlColumns(("a", "b", "c"), frozenset("abc"))))


# GROUP BY: sets, names and branches.


def asked(sql, nulls=""):
    return translate(SqlText(sql, columns=SqlColumns(("a", "b", "c"), frozenset(nulls)))).entries


@in_one_test(
    ("figure", "words"),
    [
        ("SUM(a) / COUNT(c)", "of the same records"),
        ("SUM(a) / COUNT(*)", "of the same records"),  # nulls of a are counted, and not summed
        ("SUM(a) FILTER (WHERE c = 1) / COUNT(a)", "of the same records"),
        ("COUNT(b)", "no cell for null in 'b'"),
        ("COUNT(DISTINCT b)", "how many values occur is no sum over records"),
    ],
)
def test_figures_of_other_records_and_values_that_nothing_tells_apart_are_refused(figure, words):
    with pytest.raises(DocumentError, match=words):
        asked(f"SELECT {figure} FROM d", nulls="ac")
    assert asked("SELECT SUM(a) / COUNT(a), SUM(b) / COUNT(*) FROM d", nulls="a") == ({"mean": "a"}, {"mean": "b"})


@in_one_test(
    ("group", "sets"),
    [
        ("ALL", [["a", "b"]]),
        ("2, 1", [["b", "a"]]),
        ("a, a, b", [["a", "b"]]),
        ("ROLLUP ((a, b), c)", [["a", "b", "c"], ["a", "b"], []]),
        ("ROLLUP (a), CUBE (b)", [["a", "b"], ["a"], ["b"], []]),
        ("GROUPING SETS (ROLLUP (a, b), (c))", [["a", "b"], ["a"], [], ["c"]]),
        ("(a, b)", [["a", "b"]]),
    ],
)
def test_grouping_sets(group, sets):
    assert [entry["marginal"] for entry in asked(f"SELECT a, b, COUNT(*) FROM d GROUP BY {group}")] == sets


def test_branches_of_one_label_are_one_group():
    sql = "SELECT CASE WHEN a < 2 THEN 'ends' WHEN a < 8 THEN 'middle' ELSE 'ends' END g, COUNT(*) n FROM d GROUP BY g"
    assert asked(sql) == (
        {"where": "a < 2 or a >= 2 and a >= 8", "name": "n ends"},
        {"where": "a >= 2 and a < 8", "name": "n middle"},
    )


def test_null_is_in_no_branch_but_else():
    sql = "SELECT CASE WHEN a < 2 THEN 'x' WHEN b = 1 THEN 'y' END g, COUNT(*) n FROM d {} GROUP BY g"
    assert asked(sql.format(""), nulls="ab") == (
        {"where": "a < 2", "name": "n x"},
        {"where": "(a >= 2 or a is null) and b = 1", "name": "n y"},
        {"where": "(a >= 2 or a is null) and (b != 1 or b is null)", "name": "n NULL"},
    )
    assert asked(sql.format("WHERE a > 0"), nulls="ab")[1]["where"] == "a > 0 and a >= 2 and b = 1"


@in_one_test("group", ["0", "9", "a + 1", "'a'", "COUNT(*)", "GROUPING SETS (a + 1)"])
def test_other_groups_are_refused(group):
    with pytest.raises(DocumentError):
        asked(f"SELECT COUNT(*) FROM d GROUP BY {group}")


@pytest.mark.slow
def test_too_many_groups_are_refused_before_they_are_made():
    case = "CASE " + " ".join(f"WHEN a = {n} THEN {n}" for n in range(70)) + " END"
    with pytest.raises(DocumentError, match="makes more than 4096 groups"):
        asked(f"SELECT COUNT(*) FROM d GROUP BY {case}, {case.replace('a =', 'b =')}")
    long = "CASE " + " ".join(f"WHEN a = {n} THEN {n}" for n in range(300)) + " END"
    with pytest.raises(DocumentError, match="more than 256 branches"):
        asked(f"SELECT COUNT(*) FROM d GROUP BY {long}")


# Survey weights of SQL are those of a queries document, and cost their largest value.

DOMAIN = {
    "fields": [
        {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}, "dpqr": {"width": 1}},
        {"name": "w", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "dpqr": {"width": 1}},
    ]
}
WEIGHT = {"column": "w", "maximum": 40}


@in_one_test(
    ("asked", "entry"),
    [
        ("SUM(LEAST(w, 40))", {"marginal": []}),
        ("SUM((age) * LEAST(40, w) * 1)", {"sum": "age"}),
        ("SUM(LEAST(w, 40) * CASE WHEN sex = 'f' THEN age END)", {"sum": "age", "where": "sex = 'f'"}),
        ("SUM(CASE WHEN sex = 'f' THEN LEAST(w, 40) * age ELSE 0 END)", {"sum": "age", "where": "sex = 'f'"}),
        ("SUM(LEAST(w, 40) * age) / SUM(LEAST(w, 40))", {"mean": "age"}),
        ("SUM(LEAST(w, 40)) FILTER (WHERE age > 3) / SUM(LEAST(w, 40))", {"proportion": "age > 3"}),
    ],
)
def test_blocks_and_prices_are_those_of_the_document(asked, entry):
    (found,) = read_sql({"sql": f"SELECT {asked} FROM d"}, DOMAIN).workload.blocks
    (twin,) = read_queries({"queries": [{**entry, "weight": WEIGHT}]}, DOMAIN).workload.blocks
    assert found.name == twin.name
    assert [factor.matrix.table(0, factor.matrix.rows).tolist() for factor in found.factors] == [
        factor.matrix.table(0, factor.matrix.rows).tolist() for factor in twin.factors
    ]
    assert found.scale == twin.scale
    assert found.largest_coefficient == twin.largest_coefficient >= 40 / found.scale


@in_one_test("asked", ["SUM(w * age)", "SUM(LEAST(w) * age)", "SUM(LEAST(w, 4) * LEAST(w, 4))", "SUM(-w * 2)"])
def test_other_products_are_refused_with_the_form(asked):
    with pytest.raises(DocumentError, match=r"SUM\(LEAST\(w, 40\) \* x\)"):
        read_sql({"sql": f"SELECT {asked} FROM d"}, DOMAIN)
