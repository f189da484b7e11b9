"""The levels above a column's cells, and what is wrong with parents: one line each, with its path."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import in_one_test

from dpqr.domain.attribute import Attribute, Hierarchy, HierarchyLevel, Labels
from dpqr.domain.domain_file import domain_text, read_domain
from dpqr.domain.hierarchies import MOST_LEVELS
from dpqr.domain.text.sources import public_documents
from dpqr.kernel.errors import DocumentError
from dpqr.workload.queries_file import read_queries

TOWNS = {"Oslo": "East", "Moss": "East", "Bergen": "West", "Umea": "North"}
REGIONS = {"East": "Norway", "West": "Norway", "North": "Sweden"}


def domain(parent: Any, **more: Any):
    labels = {"constraints": {"enum": list(TOWNS)}}
    return read_domain({"fields": [{"name": "town", "type": "string", "parent": parent, **labels, **more}]})


def found(parent: Any, **more: Any) -> Hierarchy:
    hierarchy = domain(parent, **more).attributes[0].hierarchy
    assert hierarchy is not None
    return hierarchy


def test_chains_of_parents_are_levels() -> None:
    region, country = found(TOWNS | REGIONS).levels
    assert (region.name, region.nodes, region.places.tolist()) == ("level 1", ("East", "West", "North"), [0, 0, 1, 2])
    assert (country.name, country.nodes, country.places.tolist()) == ("level 2", ("Norway", "Sweden"), [0, 0, 0, 1])


def test_levels_have_the_stated_names_and_a_fault_cell_is_a_node_of_its_own() -> None:
    levels = found({"map": TOWNS | REGIONS, "levels": ["region", "country"]}).levels
    assert [level.name for level in levels] == ["region", "country"]
    region, country = found(TOWNS | REGIONS, dpqr={"null": "cell"}).levels
    assert (region.nodes[-1], region.places[-1], country.nodes[-1]) == ("(null)", 3, "(null)")


def test_bins_have_parents_by_their_titles_and_are_not_cut() -> None:
    ages = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 3}, "dpqr": {"width": 2}}
    parent = {"[0, 2)": "young", "[2, 3]": "old"}
    titles = read_domain({"fields": [ages]}).attributes[0].titles()
    stated = dict(zip(titles, parent.values(), strict=True))
    (level,) = read_domain({"fields": [{**ages, "parent": stated}]}).attributes[0].hierarchy.levels
    assert (level.nodes, level.places.tolist()) == (("young", "old"), [0, 1])


def test_labels_may_come_from_the_parents() -> None:
    (town,) = read_domain({"fields": [{"name": "town", "type": "string", "parent": TOWNS | REGIONS}]}).attributes
    assert town.titles() == tuple(TOWNS)
    assert town.declared is None


def test_other_children_are_no_fault() -> None:
    assert len(found({**TOWNS, "Rome": "South"}).levels) == 1


WRONG = [
    (
        {key: TOWNS[key] for key in ("Oslo", "Moss", "Umea")} | {"Bergan": "West"},
        "$.fields[0].parent: the label 'Bergen' has no parent; add it (did you mean 'Bergan'?)",
    ),
    (
        {**TOWNS, "Moss": "Eest", **REGIONS},
        "$.fields[0].parent.Moss: unknown parent 'Eest' of 'Moss': it has no parent itself, as others of its level "
        "have; did you mean 'West'?",
    ),
    (
        {**TOWNS, "Umea": "East", "East": "West", "West": "East"},
        "$.fields[0].parent.East: the parents form a cycle: West -> East -> West; correct one of them",
    ),
    (
        {**TOWNS, "Oslo": "Oslo"},
        "$.fields[0].parent.Oslo: 'Oslo' is its own parent; at the top leave it out, else name the two levels "
        "differently",
    ),
    (
        {**TOWNS, "Moss": "Oslo"},
        "$.fields[0].parent.Moss: the parent 'Oslo' of 'Moss' is also a label of the column; give one of them another "
        "name",
    ),
    (
        {**TOWNS, "East": "Norway", "West": "North", "North": "Sweden"},
        "$.fields[0].parent.West: the parent 'North' of 'West' is also on a lower level; give one of them another name",
    ),
    (
        {"map": TOWNS, "levels": ["region", "country"]},
        "$.fields[0].parent.map: 'levels' names 2 levels above the column, and the parents make 1",
    ),
    (
        {"map": TOWNS, "levels": ["town"]},
        "$.fields[0].parent.map: two levels have one name (the lowest has the column's); give each its own",
    ),
    ({**TOWNS, "Oslo": 7}, "$.fields[0].parent.Oslo: the parent of 'Oslo' is no text; name it"),
]


@in_one_test(("parent", "said"), WRONG)
def test_wrong_parents_are_one_line_with_their_path(parent, said) -> None:
    with pytest.raises(DocumentError) as error:
        domain(parent)
    assert str(error.value) == f"domain: {said}"


def test_labels_without_a_parent_names_of_fault_cells_and_endless_levels_are_refused() -> None:
    with pytest.raises(DocumentError) as error:
        domain({"Oslo": "East"})
    assert str(error.value).count("has no parent") == 3
    with pytest.raises(DocumentError, match=r"'\(null\)' is the name of a fault cell"):
        domain(TOWNS | {"Oslo": "(null)"}, dpqr={"null": "cell"})
    parents = dict.fromkeys(TOWNS, "0") | {str(level): str(level + 1) for level in range(MOST_LEVELS + 5)}
    with pytest.raises(DocumentError, match=f"more than {MOST_LEVELS} levels"):
        domain(parents)


# Levels are values: their places cannot be changed.

REGION = HierarchyLevel(name="region", nodes=("north", "south"), places=np.array([0, 0, 1]))


def test_places_are_read_only_and_columns_of_the_same_cells_are_equal_whatever_their_levels() -> None:
    with pytest.raises(ValueError, match="read-only"):
        REGION.places[0] = 1
    towns = Labels(("a", "b", "c"))
    plain, levelled = (Attribute(name="t", axis=towns, hierarchy=each) for each in (None, Hierarchy(levels=(REGION,))))
    assert plain == levelled


# Parents in files of two columns, and the document without its files.

ROWS = [("Oslo", "East"), ("Bergen", "West"), ("East", "Norway"), ("West", "Norway")]
QUERIES = [{"hierarchy": "town"}]


def field(**parent):
    return {"fields": [{"name": "town", "type": "string", "parent": parent}]}


def csv(*rows, header="child,parent"):
    return "\n".join([header, *(",".join(row) for row in rows)]) + "\n"


@pytest.fixture
def read(tmp_path):
    def reading(text, name="codes.csv", **more):
        if isinstance(text, str):
            (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / "d.json").write_text(json.dumps(field(file=name, **more)))
        return read_domain(tmp_path / "d.json").attributes[0]

    return reading


def test_a_csv_file(read) -> None:
    town = read(csv(*ROWS, ("Norway", "")) + "\n\n", levels=["region", "country"])
    assert town.titles() == ("Oslo", "Bergen")
    assert [(level.name, level.nodes) for level in town.hierarchy.levels] == [
        ("region", ("East", "West")),
        ("country", ("Norway",)),
    ]


def test_columns_in_any_order_and_a_row_twice(read) -> None:
    rows = [pair[::-1] for pair in (*ROWS, ROWS[0])]
    assert len(read(csv(*rows, header="parent,child")).hierarchy.levels) == 2


def test_a_parquet_file(read, tmp_path) -> None:
    pq.write_table(pa.table({"child": [11, 12, 1], "parent": pa.array([1, 1, None])}), tmp_path / "codes.parquet")
    town = read(None, "codes.parquet")
    assert (town.titles(), town.hierarchy.levels[0].nodes) == (("11", "12"), ("1",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (csv(*ROWS, ("Oslo", "West")), "codes.csv, line 6: 'Oslo' has two parents, 'East' and 'West'; keep one"),
        (csv(*ROWS, ("", "West")), "codes.csv, line 6: names no child"),
        (
            csv(*ROWS, ("East", "Norway"), ("Norway", "East")),
            "codes.csv, line 4: the parents form a cycle: East -> Norway -> East",
        ),
        (csv(*ROWS[:3]), "codes.csv, line 3: unknown parent 'West' of 'Bergen'"),
        (csv(*ROWS, header="code,parent"), "codes.csv needs the two columns 'child' and 'parent', and no others"),
        (csv(("a", "b", "c"), header="child,parent,name"), "codes.csv needs the two columns"),
        (csv(("a", "b", "c")), "line 2 of the file has another number of cells than its header; correct it"),
        ('child,parent\n"a', "is no CSV file in UTF-8; save it as one"),
        ("", "codes.csv needs the two columns"),
        ("child,parent\nOslo,\n", "names no parent"),
    ],
)
def test_a_wrong_file_is_one_line_with_path_and_line(read, text, said) -> None:
    with pytest.raises(DocumentError) as error:
        read(text)
    assert str(error.value).startswith("d.json: $.fields[0].parent.file: ")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_other_files(read, tmp_path) -> None:
    for name, said in (("gone.csv", "gone.csv"), ("codes.txt", "ends in neither .csv nor .parquet")):
        with pytest.raises(DocumentError, match=said):
            read(csv(*ROWS) if name == "codes.txt" else None, name)
    with pytest.raises(DocumentError, match="is no Parquet file"):
        read("no", "codes.parquet")


def test_either_a_file_or_a_map() -> None:
    with pytest.raises(DocumentError, match="either as a file or as a map"):
        read_domain(field(file="codes.csv", map={"a": "b"}))
    with pytest.raises(DocumentError, match="unknown key 'level'"):
        read_domain(
            field(map={"a": "b"}, file="x", levels=["y"]) | {"fields": [{"name": "t", "type": "string", "level": 1}]}
        )


def test_a_label_may_be_called_file() -> None:
    (town,) = read_domain(field(file="f", other="f")).attributes
    assert town.titles() == ("file", "other")


def test_a_release_holds_the_parents_and_not_the_name_of_their_file(tmp_path) -> None:
    (tmp_path / "codes.csv").write_text(csv(*ROWS))
    (tmp_path / "d.json").write_text(json.dumps(field(file="codes.csv", levels=["region", "country"])))
    (tmp_path / "q.json").write_text(json.dumps({"domain": "d.json", "queries": QUERIES}))
    inline = field(map=dict(ROWS), levels=["region", "country"])
    (tmp_path / "inline.json").write_text(json.dumps({"domain": inline, "queries": QUERIES}))
    one, other = (public_documents(read_queries(tmp_path / name).sources) for name in ("q.json", "inline.json"))
    assert one.domain == other.domain == inline


def test_the_text_that_is_kept_of_a_domain_needs_no_file(tmp_path) -> None:
    (tmp_path / "codes.csv").write_text(csv(*ROWS))
    wage = {"name": "w", "type": "number", "dpqr": {"edges": [0, 0.1234567890123456789, 1]}}
    (tmp_path / "d.json").write_text(json.dumps({"fields": [*field(file="codes.csv")["fields"], wage]}))
    text = domain_text(str(tmp_path / "d.json"))
    (tmp_path / "codes.csv").unlink()
    (tmp_path / "kept.json").write_text(text)
    town, wages = read_domain(tmp_path / "kept.json").attributes
    assert [level.nodes for level in town.hierarchy.levels] == [("East", "West"), ("Norway",)]
    assert wages.axis.size == 2
