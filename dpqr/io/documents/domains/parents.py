"""The `parent` of a domain column, from the document or from a file of two columns: the levels above its cells."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from dpqr.errors import UsageFault
from dpqr.io.documents.domains.forms import Field, ParentForm
from dpqr.io.documents.text.decoding import Location, decode, fitting, spoken
from dpqr.io.documents.text.faults import Faults
from dpqr.io.documents.text.json_text import read_regular_file

MAX_FILE_BYTES = 2**28
CHILD, PARENT = "child", "parent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """parents: of every child. location: of the mapping, or of the file's name. rows: where the file states each child,
    as "codes.csv, line 7"."""

    parents: Mapping[str, str]
    levels: tuple[str, ...] | None
    location: Location
    rows: Mapping[str, str] = field(default_factory=dict)

    def at(self, child: str) -> tuple[Location, str]:
        """Where the parent of `child` stands; of a file, the row as the beginning of a message too."""
        return (self.location, f"{self.rows[child]}: ") if self.rows else (self.location.key(child), "")


def links(column: Field, location: Location) -> Links | None:
    """What a column states of parents; None: nothing. location: of the column.

    Raises:
        DocumentError: it is neither a mapping of labels nor a file of two columns; one fault a place.
    """
    if column.parent is UNSET:
        return None
    at = location.key("parent")
    if not _structured(column.parent):
        return Links(parents=_texts(column.parent, at), levels=None, location=at)
    form = decode(column.parent, ParentForm, at)
    levels = None if form.levels is UNSET else form.levels
    if (form.file is UNSET) == (form.map is UNSET):
        raise at.fault("give the parents either as a file or as a map")
    if form.map is not UNSET:
        return Links(parents=_texts(form.map, at.key("map")), levels=levels, location=at.key("map"))
    assert form.file is not UNSET
    rows = _file_rows((location.file.parent if location.file else Path()) / form.file, at.key("file"))
    return _linked(rows, levels, at.key("file"))


def _structured(stated: Mapping[str, Any]) -> bool:
    """Whether it is an object of this form's keys; else it maps labels themselves."""
    return bool(stated) and set(stated) <= {"file", "map", "levels"} and not {"file", "map"}.isdisjoint(stated)


def _texts(stated: Mapping[str, Any], location: Location) -> dict[str, str]:
    faults = Faults()
    for child, parent in stated.items():
        if not isinstance(parent, str) or not parent:
            faults.keep(location.key(child).fault(f"the parent of {spoken(child)} is no text; name it"))
    faults.pass_on()
    return dict(stated)


def _file_rows(path: Path, location: Location) -> Iterator[tuple[str, str, str]]:
    """The place of each row of a CSV or Parquet file, its child and its parent."""
    try:
        data = read_regular_file(path, MAX_FILE_BYTES)
    except UsageFault as error:
        raise location.fault(str(error)) from None
    reader = {".csv": _csv_columns, ".parquet": _parquet_columns}.get(path.suffix.lower())
    if reader is None:
        raise location.fault(f"{path.name!r} ends in neither .csv nor .parquet; give one of these formats")
    columns = reader(data, location)
    if sorted(columns) != [CHILD, PARENT]:
        raise location.fault(f"{path.name} needs the two columns '{CHILD}' and '{PARENT}', and no others")
    first, unit = (2, "line") if reader is _csv_columns else (1, "row")
    for at, pair in enumerate(zip(columns[CHILD], columns[PARENT], strict=True), first):
        yield f"{path.name}, {unit} {at}", *pair


def _csv_columns(data: bytes, location: Location) -> dict[str, Sequence[str]]:
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error):
        raise location.fault("is no CSV file in UTF-8; save it as one") from None
    while rows and not rows[-1]:
        rows.pop()  # empty lines at the end
    short = next((at for at, row in enumerate(rows, 1) if len(row) != len(rows[0])), None)
    if short is not None:
        raise location.fault(f"line {short} of the file has another number of cells than its header; correct it")
    columns = list(zip(*rows[1:], strict=True)) or [()] * len(rows[0] if rows else ())
    return dict(zip(rows[0], columns, strict=True)) if rows else {}


def _parquet_columns(data: bytes, location: Location) -> dict[str, Sequence[str]]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(pa.BufferReader(data))
    except (OSError, pa.ArrowException):
        raise location.fault("is no Parquet file that can be read; save it again") from None
    columns = {name: table[name].to_pylist() for name in table.column_names}
    return {name: ["" if value is None else str(value) for value in column] for name, column in columns.items()}


def _linked(rows: Iterator[tuple[str, str, str]], levels: tuple[str, ...] | None, location: Location) -> Links:
    """A node at the top may stand in a row without a parent."""
    faults, parents, places = Faults(), dict[str, str](), dict[str, str]()
    for row, child, parent in rows:
        known = parents.get(child, parent)
        if not child:
            faults.keep(location.fault(f"{row}: names no child", place=f"{location.path} {row}"))
        elif known != parent:
            said = f"{row}: {spoken(child)} has two parents, {spoken(known)} and {spoken(parent)}; keep one"
            faults.keep(location.fault(said, place=f"{location.path} {row}"))
        elif parent:
            parents[child] = parent
            places.setdefault(child, row)
    faults.pass_on()
    if not parents:
        raise location.fault("names no parent")
    return Links(parents=parents, levels=levels, location=location, rows=places)


def labelled(column: Field, stated: Links | None) -> Field:
    """The column with the children that are no parents as its labels, where it is of text and lists none."""
    listed = column.constraints.enum is not UNSET or column.categories is not UNSET
    if stated is None or listed or column.type != "string":
        return column
    above = set(stated.parents.values())
    leaves = tuple(child for child in stated.parents if child not in above)
    return msgspec.structs.replace(column, constraints=msgspec.structs.replace(column.constraints, enum=leaves))


def with_parents(document: Any, location: Location) -> Any:
    """A sound domain document with the content of its files of parents in place of their names: it needs no file."""
    fields = document.get("fields") if isinstance(document, dict) else None
    if not isinstance(fields, list) or not any("parent" in each for each in fields):
        return document
    return {**document, "fields": [_inlined(each, location.key("fields").item(at)) for at, each in enumerate(fields)]}


def _inlined(stated: dict[str, Any], location: Location) -> dict[str, Any]:
    column = fitting(stated, Field)
    found = links(column, location) if column is not None else None
    if found is None or not found.rows:
        return stated
    levels = {} if found.levels is None else {"levels": list(found.levels)}
    return {**stated, "parent": {"map": dict(found.parents), **levels}}
