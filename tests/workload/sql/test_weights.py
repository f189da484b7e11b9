"""Survey weights of SQL are those of a queries document, and cost their largest value."""

import pytest

from dpqr.kernel.errors import DocumentError
from dpqr.workload.queries_file import read_queries
from dpqr.workload.sql.reading import read_sql

DOMAIN = {
    "fields": [
        {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}, "dpqr": {"width": 1}},
        {"name": "w", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "dpqr": {"width": 1}},
    ]
}
WEIGHT = {"column": "w", "maximum": 40}


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    "asked", ["SUM(w * age)", "SUM(LEAST(w) * age)", "SUM(LEAST(w, 4) * LEAST(w, 4))", "SUM(-w * 2)"]
)
def test_other_products_are_refused_with_the_form(asked):
    with pytest.raises(DocumentError, match=r"SUM\(LEAST\(w, 40\) \* x\)"):
        read_sql({"sql": f"SELECT {asked} FROM d"}, DOMAIN)
