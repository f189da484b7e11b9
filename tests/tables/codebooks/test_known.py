"""Every form: recognised by content, a sample read, and refused where it is broken."""

from __future__ import annotations

import copy
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import get_args

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet
from support.cases import in_one_test, thinned
from support.codebooks import SAMPLES, fields_of

from dpqr.domain.domain_file import read_domain
from dpqr.domain.text.decoding import Location
from dpqr.domain.text.documents import read_document
from dpqr.kernel.errors import DocumentError, DpqrError, UsageFault
from dpqr.python.owner_options import CodebookForm
from dpqr.tables.codebooks.columns import fill_gaps, outline_document, require_sound
from dpqr.tables.codebooks.csvw import read_csvw
from dpqr.tables.codebooks.frictionless import read_frictionless
from dpqr.tables.codebooks.known import FORMS, read_codebook
from dpqr.tables.codebooks.plain_schemas import read_sizes
from dpqr.tables.codebooks.smartnoise import read_smartnoise

FILES = {
    "frictionless": "clinic.schema.json",
    "csvw": "clinic.csvw.json",
    "smartnoise": "clinic.smartnoise.yaml",
    "sizes": "clinic.sizes.json",
    "ddl": "clinic.sql",
    "arrow": "clinic.arrow",
    "ddi": "clinic.ddi.xml",
}
BROKEN = {
    "frictionless": '{"fields": [{"title": "no name"}]}',
    "csvw": '{"@context": "http://www.w3.org/ns/csvw", "url": "a.csv"}',
    "smartnoise": "a: {b: {c: {max_ids: 1}}}",
    "sizes": '{"age": 85, "sex": 0}',
    "ddl": "CREATE TABLE t (age integer CHECK (age IN (1, 2)",
    "arrow": b"ARROW1\0\0SECRET",
    "ddi": "<codeBook><dataDscr/></codeBook>",
}


def test_the_samples_are_of_every_form_and_so_are_the_options():
    assert set(FILES) == set(BROKEN) == set(FORMS) == set(get_args(CodebookForm))
    assert {path.name for path in SAMPLES.iterdir()} == {*FILES.values(), "clinic.datapackage.json"}


@pytest.mark.parametrize("form", thinned(FILES, 4))
def test_a_sample_is_recognised_and_is_a_valid_domain_once_its_gaps_are_filled(form):
    path = str(SAMPLES / FILES[form])
    found = read_codebook(path)
    assert found == read_codebook(path, form)
    complete = [
        field for field in outline_document(fill_gaps(found.outline).outline)["fields"] if "FILL-IN" not in str(field)
    ]
    assert {"age", "insured"} & set(read_domain({"fields": complete}).names)


@in_one_test("form", BROKEN)
def test_a_broken_file_is_one_line_that_names_it(form, given):
    with pytest.raises(DocumentError, match=r"^book(\.yaml)?: [^\n]*$") as refused:
        given(BROKEN[form], "book.yaml" if form == "smartnoise" else "book", form=form)
    assert "SECRET" not in str(refused.value)


@in_one_test(
    "content", ["", "[]", '{"a": 0.5}', "name,age\nAlice,33\n", "a: b: c", "\ud800".encode("utf-8", "surrogatepass")]
)
def test_a_file_of_no_form_is_refused_without_a_word_of_it(content, given):
    for name in ("book", "book.yaml", "book.toml"):
        with pytest.raises(DocumentError, match=f"{name}: ") as refused:
            given(content, name)
        assert "Alice" not in str(refused.value)


def test_one_of_several_tables_is_chosen():
    with pytest.raises(UsageFault, match="cannot read 'nowhere'"):
        read_codebook("nowhere")
    path = str(SAMPLES / "clinic.datapackage.json")
    with pytest.raises(UsageFault, match="describes 2 tables; choose one by --table: clinic, wards"):
        read_codebook(path)
    with pytest.raises(UsageFault, match=r"--table beds: .* does not describe it; tables: clinic, wards"):
        read_codebook(path, table="beds")
    assert list(fields_of(read_codebook(path, table="wards"))) == ["ward", "beds"]


WRONG = (None, True, -1, 1e308, "", "x", [], {}, [[]], [{}], {"a": 1}, ["a", 1], [None], "FILL-IN", 10**30)


def places(tree, path=()):
    """The path of every part of a tree but its top."""
    for key, part in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield (*path, key)
        yield from places(part, (*path, key))


def put(tree, path, value):
    """The tree with another value at a path."""
    changed = copy.deepcopy(tree)
    part = reduce(lambda inner, key: inner[key], path[:-1], changed)
    part[path[-1]] = value
    return changed


READERS = {"frictionless": read_frictionless, "csvw": read_csvw, "smartnoise": read_smartnoise, "sizes": read_sizes}


@pytest.mark.slow
@pytest.mark.parametrize("form", READERS)
def test_whatever_stands_anywhere_is_read_or_refused(form):
    tree = read_document(SAMPLES / FILES[form])
    for number, path in enumerate(places(tree)):
        with suppress(DpqrError):
            for table in READERS[form](put(tree, path, WRONG[number % len(WRONG)]), Location("book")):
                for column in table.outline.fields:
                    require_sound(column, "book")


def test_every_code_of_sizes_is_a_cell_and_a_column_that_stands_twice_is_refused(given):
    found = given('{"age": 85, "zip": 40000, "only": 1}')
    assert fields_of(found)["zip"]["constraints"] == {"minimum": 0, "maximum": 39999, "required": True}
    with pytest.raises(DocumentError, match="book: describes the column 'a' twice"):
        given('{"fields": [{"name": "a", "type": "boolean"}, {"name": "a", "type": "date"}]}')


# Schemas: names and types, and nothing that comes from rows.

SECRET = "PRIVATEVALUE"
FRAME = pd.DataFrame({"who": pd.Categorical([SECRET, "x"]), "age": [987654321, 3]}, index=[123456789, 4])
TABLE = pa.Table.from_pandas(FRAME)


def write_file(table, path):
    """Feather's second version is Arrow's file format."""
    with ipc.new_file(path, table.schema) as file:
        file.write_table(table)


def write_stream(table, path):
    with ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table)


WRITERS = {
    "Parquet": parquet.write_table,
    "Feather": write_file,
    "stream": write_stream,
    "schema": lambda table, path: Path(path).write_bytes(table.schema.serialize()),
}


@in_one_test("write", WRITERS.values())
def test_names_and_types_alone_are_read(write, tmp_path):
    path = str(tmp_path / "t")
    write(TABLE, path)
    found = read_codebook(path)
    assert fields_of(found) == {
        "who": {"type": "string"},
        "age": {"type": "integer"},
        "__index_level_0__": {"type": "integer"},
    }
    assert not any(value in repr(found) for value in (SECRET, "987654321", "123456789"))


@in_one_test("content", [b"PAR1SECRETPAR1", b"ARROW1\0\0SECRET", b"\xff\xff\xff\xffSECRET"])
def test_a_damaged_file_is_refused_as_a_document(content, given):
    with pytest.raises(DocumentError, match="book") as refused:
        given(content)
    assert "SECRET" not in str(refused.value)


def test_a_type_that_the_domain_file_lacks_is_left_open(tmp_path):
    kinds = {"a": pa.list_(pa.int8()), "b": pa.decimal128(5, 2), "c": pa.timestamp("ms"), "d": pa.time32("s")}
    (tmp_path / "s").write_bytes(pa.schema(list(kinds.items())).serialize())
    found = read_codebook(str(tmp_path / "s"))
    assert fields_of(found) == {"a": {}, "b": {"type": "number"}, "c": {"type": "datetime"}, "d": {}}
