"""Aggregates beyond those of the sixty statements."""

import pytest

from dpqr.kernel.errors import DocumentError
from dpqr.workload.sql.reading import translate
from dpqr.workload.sql.statements import SqlColumns, SqlText


def test_a_sample_variance_is_noted():
    found = translate(SqlText("SELECT VARIANCE(AGEP) FROM d"))
    assert found.entries == ({"variance": "AGEP"},)
    assert found.notes == (
        "line 1, column 8: VARIANCE is answered as VAR_POP, which divides by the number of records n, not by n - 1",
    )


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
