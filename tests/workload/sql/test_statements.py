"""What is no SELECT from one table is refused, in a line or two."""

import pytest

from dpqr.kernel.errors import DocumentError
from dpqr.workload.sql.reading import translate
from dpqr.workload.sql.statements import SqlText


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
