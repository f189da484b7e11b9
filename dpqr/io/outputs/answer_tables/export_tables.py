"""The tables of an exported release, as Arrow tables of plain texts and figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from dpqr.data.domain import Domain
from dpqr.io.outputs.answer_tables.answer_frames import read_answers_frame, read_synthetic_frame
from dpqr.io.outputs.answer_tables.answered_table import figures_of
from dpqr.io.outputs.answer_tables.parquet_file import arrow_table
from dpqr.io.outputs.releases.read_release import ReleaseFiles

PLAIN = ("version", "date", "publisher", "purpose", "by", "approved_by", "guarantee", "unit", "warning", "sha256")
"""Entries of the record that are facts as they stand."""


def answers_of(files: ReleaseFiles) -> pa.Table:
    """The answers, one row each, as in the file of answers. Raises: DocumentError."""
    return _plain(read_answers_frame(files))


def figures_table_of(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Means, quantiles and the like, from the rows of their file."""
    return _without_categories(arrow_table(figures_of(rows)))


def synthetic_of(files: ReleaseFiles) -> pa.Table:
    """Synthetic rows or cells. Raises: DocumentError where there are none."""
    return _plain(read_synthetic_frame(files))


def columns_of(record: Mapping[str, Any]) -> pa.Table:
    """The columns of the domain in their order. own_cells: cells for null and the like."""
    columns = record["plan"]["domain"]["columns"]
    return pa.table(
        {
            "position": pa.array(range(len(columns)), pa.int64()),
            "name": pa.array([each["name"] for each in columns], pa.string()),
            "kind": pa.array([each["kind"] for each in columns], pa.string()),
            "cells": pa.array([each["cells"] for each in columns], pa.int64()),
            "own_cells": pa.array([", ".join(each["own_cells"]) for each in columns], pa.string()),
        }
    )


def cells_of(domain: Domain) -> pa.Table:
    """The cells of every column in their order, by the texts that answers show. own: for null and the like."""
    listed = [
        (attribute.name, place, title, place >= attribute.axis.size)
        for attribute in domain.attributes
        for place, title in enumerate(attribute.titles())
    ]
    kinds = {"column": pa.string(), "position": pa.int64(), "cell": pa.string(), "own": pa.bool_()}
    return pa.table(
        {name: pa.array([row[at] for row in listed], kind) for at, (name, kind) in enumerate(kinds.items())}
    )


def facts_table(record: Mapping[str, Any]) -> pa.Table:
    """Rows of `fact` and `value`: budget, unit, versions, hashes. A value that was not stated is missing."""
    facts = dict(_facts(record))
    values = [None if value is None else str(value) for value in facts.values()]
    return pa.table({"fact": pa.array(facts, pa.string()), "value": pa.array(values, pa.string())})


def _facts(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    budget, ledger = record["plan"].get("budget") or {}, record.get("ledger")
    for name in PLAIN:
        yield name, record.get(name)
    for name in ("epsilon", "delta"):
        yield name, budget[name]["exact"] if name in budget else None
    yield "dataset", ledger.get("dataset") if isinstance(ledger, dict) else None
    yield "plan sha256", record["plan"].get("sha256")
    for name, version in (record.get("versions") or {}).items():
        yield f"made with {name}", version
    for name, digest in (record.get("hashes") or {}).items():
        yield f"sha256 of {name}", digest
    for number, note in enumerate(record.get("trust") or (), 1):
        yield f"note {number}", note


def _plain(frame: Any) -> pa.Table:
    """Texts in place of categories."""
    return _without_categories(pa.Table.from_pandas(frame, preserve_index=False))


def _without_categories(table: pa.Table) -> pa.Table:
    kinds = [pa.string() if pa.types.is_dictionary(each.type) else each.type for each in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))
