"""Hierarchies: the levels above a column's cells, climbed from the cells by the stated parents."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, Struct, field

from dpqr.domain.attribute import Attribute, Hierarchy, HierarchyLevel
from dpqr.domain.form import Field, ParentForm
from dpqr.domain.text.decoding import Location, decode, describe_value, fitting, nearest
from dpqr.domain.text.documents import read_regular_file
from dpqr.domain.text.faults import Faults
from dpqr.kernel.errors import UsageFault

MOST_LEVELS = 32
SHOWN = 4
"""Names of a cycle that an error shows."""


def hierarchy(attribute: Attribute, stated: Links) -> Hierarchy:
    """The levels above the cells of a column. A fault cell is a node of its own on every level.

    Raises:
        DocumentError: a label without a parent, an unknown parent, a cycle, or one name on two levels.
    """
    cells = attribute.axis.titles()
    own = attribute.titles()[len(cells) :]
    # The node of every cell on one level after the other, until no node has a parent.
    heights, nodes, levels = dict.fromkeys(cells, 0), tuple(cells), list[tuple[str, ...]]()
    while not levels or any(node in stated.parents for node in dict.fromkeys(nodes)):
        distinct = tuple(dict.fromkeys(nodes))
        _require_parents(distinct, len(levels), stated)
        _require_new_parents(distinct, heights, stated)
        nodes = tuple(stated.parents[node] for node in nodes)
        levels.append(nodes)
        heights |= dict.fromkeys(nodes, len(levels))
        if len(levels) > MOST_LEVELS:
            raise stated.location.fault(f"makes more than {MOST_LEVELS} levels; leave some out")
    names = stated.levels
    if names is None:
        names = tuple(f"level {place}" for place in range(1, len(levels) + 1))
    if len(names) != len(levels):
        raise stated.location.fault(
            f"'levels' names {len(names)} levels above the column, and the parents make {len(levels)}"
        )
    if stated.levels is not None and len({attribute.name, *names}) <= len(levels):
        raise stated.location.fault("two levels have one name (the lowest has the column's); give each its own")
    made = []
    for name, nodes in zip(names, levels, strict=True):
        distinct = tuple(dict.fromkeys(nodes))
        for node in own:
            if node in distinct:
                raise stated.location.fault(
                    f"{describe_value(node)} is the name of a fault cell; give the parent another name"
                )
        numbers = {node: number for number, node in enumerate((*distinct, *own))}
        places = np.array([numbers[node] for node in (*nodes, *own)], dtype=np.int64)
        made.append(HierarchyLevel(name=name, nodes=(*distinct, *own), places=places))
    return Hierarchy(levels=tuple(made))


def _require_new_parents(nodes: Sequence[str], heights: Mapping[str, int], stated: Links) -> None:
    """No parent stands on a level below: a name on two levels, or a cycle."""
    faults = Faults()
    for node in nodes:
        parent = stated.parents[node]
        if parent in heights:
            # The parents from `parent` up to `node`, both in it; empty if they do not lead there.
            chain = [parent]
            while chain[-1] != node and chain[-1] in stated.parents and len(chain) <= MOST_LEVELS:
                chain.append(stated.parents[chain[-1]])
            chain = chain if chain[-1] == node else []
            named = min(chain, default=node)  # a cycle is named once
            if node == parent:
                own = f"{describe_value(node)} is its own parent"
                said = f"{own}; at the top leave it out, else name the two levels differently"
            elif chain:
                shown = [*chain[:SHOWN], *(["..."] if len(chain) > SHOWN else []), parent]
                said = f"the parents form a cycle: {' -> '.join(shown)}; correct one of them"
            else:
                other = "a label of the column" if heights[parent] == 0 else "on a lower level"
                both = f"the parent {describe_value(parent)} of {describe_value(node)}"
                said = f"{both} is also {other}; give one of them another name"
            (at, row), place = stated.at(named), stated.location.key(named).path
            faults.keep(at.fault(f"{row}{said}", place=place))
        if faults.full:
            break
    faults.pass_on()


def _require_parents(nodes: Sequence[str], height: int, stated: Links) -> None:
    """On a level all nodes have parents, or none has."""
    orphans = [node for node in nodes if node not in stated.parents]
    if not orphans:
        return
    faults, held = Faults(), set(nodes)
    others = [child for child in stated.parents if child in held or height == 0]
    children = {stated.parents[node]: node for node in stated.parents} if height else {}
    for orphan in orphans:
        hint = nearest(orphan, others)
        if height == 0:
            said = f"the label {describe_value(orphan)} has no parent; add it ({hint})"
            faults.keep(stated.location.fault(said, place=stated.location.key(orphan).path))
        else:
            at, row = stated.at(children[orphan])
            names = f"{describe_value(orphan)} of {describe_value(children[orphan])}"
            said = f"{row}unknown parent {names}: it has no parent itself"
            place = stated.location.key(children[orphan]).path
            faults.keep(at.fault(f"{said}, as others of its level have; {hint}", place=place))
        if faults.full:
            break
    faults.pass_on()


# The `parent` of a domain column, from the document or from a file of two columns: the levels above its cells.

MAX_FILE_BYTES = 2**28
CHILD, PARENT = "child", "parent"


class Links(Struct, frozen=True, kw_only=True):
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
    # An object of this form's keys, or else labels themselves with their parents.
    keys = set(column.parent)
    if not (keys <= {"file", "map", "levels"} and keys & {"file", "map"}):
        return Links(parents=_texts(column.parent, at), levels=None, location=at)
    form = decode(column.parent, ParentForm, at)
    levels = None if form.levels is UNSET else form.levels
    if (form.file is UNSET) == (form.map is UNSET):
        raise at.fault("give the parents either as a file or as a map")
    if form.map is not UNSET:
        return Links(parents=_texts(form.map, at.key("map")), levels=levels, location=at.key("map"))
    assert form.file is not UNSET
    where = at.key("file")
    faults, parents, places = Faults(), dict[str, str](), dict[str, str]()
    for row, child, parent in _file_rows((location.file.parent if location.file else Path()) / form.file, where):
        known = parents.get(child, parent)
        if not child:
            faults.keep(where.fault(f"{row}: names no child", place=f"{where.path} {row}"))
        elif known != parent:
            both = f"{describe_value(known)} and {describe_value(parent)}"
            said = f"{row}: {describe_value(child)} has two parents, {both}; keep one"
            faults.keep(where.fault(said, place=f"{where.path} {row}"))
        elif parent:  # a node at the top may stand in a row without a parent
            parents[child] = parent
            places.setdefault(child, row)
    faults.pass_on()
    if not parents:
        raise where.fault("names no parent")
    return Links(parents=parents, levels=levels, location=where, rows=places)


def _texts(stated: Mapping[str, Any], location: Location) -> dict[str, str]:
    faults = Faults()
    for child, parent in stated.items():
        if not isinstance(parent, str) or not parent:
            faults.keep(location.key(child).fault(f"the parent of {describe_value(child)} is no text; name it"))
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
    whole = []
    for place, stated in enumerate(fields):
        column = fitting(stated, Field)
        found = links(column, location.key("fields").item(place)) if column is not None else None
        if found is not None and found.rows:
            levels = {} if found.levels is None else {"levels": list(found.levels)}
            stated = {**stated, "parent": {"map": dict(found.parents), **levels}}
        whole.append(stated)
    return {**document, "fields": whole}
