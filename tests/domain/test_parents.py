"""Parents in files of two columns, and the document without its files."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpqr.domain.domain_file import domain_text, read_domain
from dpqr.domain.text.sources import public_documents
from dpqr.kernel.errors import DocumentError
from dpqr.workload.queries_file import read_queries

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
    pq.write_table(
        pa.table(
            {
                "child": [11, 12, 1],
                "parent": pa.array([1, 1, None]),
            }
        ),
        tmp_path / "codes.parquet",
    )
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
