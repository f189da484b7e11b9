"""A release looked at again: what a record says, however old it is and whoever wrote it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.handmade_release import make_release

import dpqr
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.published.show import rows_shown, show, show_answers, stored_receipt
from dpqr.releases.files.atomic import document_text, reserve
from dpqr.releases.receipt import receipt
from dpqr.releases.record.plan_document import seal_document
from dpqr.releases.release import write_release
from dpqr.releases.requests import OutputRequest

RELEASE = make_release()


@pytest.fixture
def place(tmp_path):
    write_release(RELEASE, reserve(str(tmp_path / "out")), OutputRequest())
    return tmp_path / "out"


def changed(place, **parts):
    record = json.loads((place / "release.json").read_text())
    (place / "release.json").write_text(json.dumps(record | parts))


@pytest.mark.parametrize("file", ["", "answers.csv", "release.json"])
def test_by_its_directory_or_any_of_its_files(place, file):
    kept = show(str(place / file))
    assert kept.receipt == receipt(RELEASE)
    assert [entry.name for entry in kept.entries] == [each.block.name for each in RELEASE.answers]
    assert show_answers(str(place / file), "cdf").rows == 3


def test_of_which_rows_figures_are_is_said_where_a_reader_may_take_them_for_others(place):
    plan = json.loads((place / "release.json").read_text())["plan"]
    period = {"name": "2024-06", "since": "2024-04", "every": "month", "column": "day"}
    assert rows_shown(str(place)) == ""
    changed(place, plan=plan | {"period": period})
    assert rows_shown(str(place)) == ""
    counter = {"periods": 8, "base": 3, "first": "2024-01", "number": 6, "life": plan["budget"]}
    changed(place, plan=plan | {"period": period, "counter": counter})
    assert (
        rows_shown(str(place)) == "of the rows of 2024-04 to 2024-06 alone; cumulative answers stand in their own file"
    )
    changed(place, rehearsal=True)
    assert rows_shown(str(place)).startswith("rehearsal: ")


def test_a_record_without_a_receipt_says_what_it_has_in_words(place):
    changed(place, receipt=[], warning="look", trust=["the fit is heuristic"])
    names = [name for name, _ in show(str(place)).receipt]
    assert names == ["Not verified", "Warning", "Guarantee", "Accuracy", "Note"]


def test_of_a_receipt_that_is_none_nothing_is_shown():
    """Predictions and models have no form that is checked when they are shown."""
    assert stored_receipt({"receipt": True, "warning": "look"}) == (("Warning", "look"),)


@pytest.mark.parametrize(
    "parts", [{"receipt": None}, {"receipt": "words"}, {"receipt": [["a", 1]]}, {"trust": ["the fit", 7]}]
)
def test_a_record_with_parts_of_another_form_is_refused(place, parts):
    changed(place, **parts)
    with pytest.raises(DocumentError, match="does not fit the form that `dpqr schema release` prints"):
        show(str(place))


def test_no_release_and_a_damaged_one(tmp_path, place):
    for name in ("nowhere", "", "a\0b"):
        for look in (show, lambda given: show_answers(given, "cdf")):
            with pytest.raises(UsageFault, match="is no release; give the directory or file that dpqr release or pred"):
                look(str(tmp_path / name))
    (place / "release.json").write_text("{")
    with pytest.raises(DocumentError):
        show(str(place))


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


@pytest.mark.slow
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
