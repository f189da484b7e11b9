"""GROUP BY: sets, names and branches."""

import pytest

from dpqr.kernel.errors import DocumentError
from dpqr.workload.sql.reading import translate
from dpqr.workload.sql.statements import SqlColumns, SqlText


def asked(sql, nulls=""):
    return translate(SqlText(sql, columns=SqlColumns(("a", "b", "c"), frozenset(nulls)))).entries


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("group", ["0", "9", "a + 1", "'a'", "COUNT(*)", "GROUPING SETS (a + 1)"])
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
