from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpqr
from dpqr.kernel.errors import DocumentError
from dpqr.releases.files import document_text
from dpqr.releases.record.plan_document import seal_document

TOWNS = [f"t{place}" for place in range(12)]
PARENTS = {
    **{town: f"r{place // 3}" for place, town in enumerate(TOWNS)},
    **{f"r{place}": f"c{place // 2}" for place in range(4)},
}
FIELDS = [
    {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}},
    {"name": "town", "type": "string", "parent": {"map": PARENTS, "levels": ["region", "country"]}},
    {"name": "job", "type": "string", "constraints": {"enum": ["a", "b", "c"]}},
    {"name": "children", "type": "integer", "constraints": {"minimum": 0, "maximum": 5}},
]
RANDOM = np.random.default_rng(3)
TABLE = pd.DataFrame(
    {
        "sex": RANDOM.choice(["f", "m"], 200),
        "town": RANDOM.choice(TOWNS, 200),
        "job": RANDOM.choice([*"abc"], 200),
        "children": RANDOM.integers(0, 6, 200),
    }
)


def require_nodes_add_up(views: pd.DataFrame, levels: dict[str, str], by: str) -> None:
    """levels: names of blocks by what holds their nodes, the finest first."""
    for name in ("integer", "rounded"):
        cells: pd.Series | None = None
        for query, column in levels.items():
            own = views[views["query"] == query]
            found = own.set_index([column, by])[name]
            if cells is not None:
                summed = cells.groupby([cells.index.get_level_values(0).map(PARENTS), cells.index.get_level_values(1)])
                assert summed.sum().sort_index().tolist() == found.sort_index().tolist()
            cells = found


@pytest.mark.parametrize(
    ("asked", "levels", "by"),
    [
        (
            [
                {"hierarchy": "town", "by": ["sex"]},
                {"marginal": ["job", "sex"]},
                {"sum": "children", "by": ["sex"]},
                {"marginal": ["sex"], "weight": {"column": "children", "maximum": 3}},
                {"where": "job = 'a'", "by": ["sex"]},
                {"proportion": "job = 'a'"},
            ],
            {
                "hierarchy(town) by sex": "town",
                "hierarchy(town: region) by sex": "detail",
                "hierarchy(town: country) by sex": "detail",
            },
            "sex",
        ),
        (
            [{"hierarchy": "town", "levels": ["country", "region"], "by": ["job"]}, {"marginal": ["town", "sex"]}],
            {"hierarchy(town: region) by job": "detail", "hierarchy(town: country) by job": "detail"},
            "job",
        ),
    ],
)
def test_views_of_a_hierarchy_add_up_at_every_node_from_files_and_memory(
    tmp_path: Path, asked: list[dict[str, object]], levels: dict[str, str], by: str
) -> None:
    made = dpqr.release(
        TABLE, queries={"queries": asked}, domain={"fields": FIELDS}, eps=0.5, out=tmp_path / "o", views=5
    )
    before = made.answers.copy()
    views = made.views(5)
    require_nodes_add_up(views, levels, by)
    assert set(views["query"]) == {
        name for name in made.answers["query"] if name.startswith(("hierarchy", "marginal")) and "weighted" not in name
    }
    pd.testing.assert_frame_equal(dpqr.read_release(tmp_path / "o").views(5), views, check_like=True)
    assert pd.read_csv(tmp_path / "o" / "views.csv")["rounded"].tolist() == views["rounded"].tolist()
    pd.testing.assert_frame_equal(made.answers, before)


def test_a_record_whose_queries_cannot_be_read_is_named(tmp_path: Path) -> None:
    queries = {"queries": [{"hierarchy": "town"}]}
    dpqr.release(TABLE, queries=queries, domain={"fields": FIELDS}, eps=1, out=tmp_path / "o")
    path = tmp_path / "o" / "release.json"
    record = json.loads(path.read_text())
    record["plan"]["request"]["queries"] = {"queries": [3]}
    path.write_bytes(document_text(seal_document(record)).encode())
    with pytest.raises(DocumentError, match="states queries that dpqr cannot read"):
        dpqr.read_release(tmp_path / "o").views(5)
