"""Public documents: check them, print their schema, write a new file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

from dpqr.app.planning.notes import failing_notes
from dpqr.app.planning.planning import read_documents
from dpqr.app.planning.units import unit_notes
from dpqr.data.attribute import Attribute
from dpqr.data.domain import Domain, possible_faults, unstated_faults
from dpqr.errors import DocumentError
from dpqr.io.documents.entries.queries import QueriesDocument
from dpqr.io.documents.schemas import schema
from dpqr.io.documents.sources import plain
from dpqr.io.documents.text.fixing import Fixed, write_fixes
from dpqr.io.outputs.atomic import reserve_file, write_text
from dpqr.io.outputs.records.record_form import release_schema

Given = str | dict[str, Any]
"""A document: its file, or its content."""
ROUNDS = 100
"""Looks at the documents, after each of which fixes are written: one error names few faults."""


def document_schema(document: Literal["domain", "queries", "release"]) -> dict[str, Any]:
    """The JSON Schema of "domain", "queries" or "release" (release.json)."""
    return release_schema() if document == "release" else schema(document)


def check_documents(queries: Given, domain: Given | None, *, strict: bool = False) -> dict[str, Any]:
    """Decode and compile both documents; what a release would work on, in public sizes. Raises: DocumentError."""
    document = read_documents(queries, domain, strict=strict)
    return {
        "queries": document.workload.rows,
        "blocks": len(document.workload.blocks),
        "figures": [figure.name for figure in document.workload.figures],
        "cells": document.domain.size,
        "columns": [
            {"name": attribute.name, "cells": attribute.size, **_levels(attribute), "rules": _rules(attribute)}
            for attribute in document.domain.attributes
        ],
        "notes": [*document.notes, *failing_notes(document.domain), *_unstated(document.domain), *_unit(document)],
    }


def fix_documents(queries: Given, domain: Given | None) -> list[Fixed]:
    """Write the obvious fixes of both documents into their files; what was written.

    What no obvious fix removes is left to `check_documents`. Raises: UsageFault where a file cannot be written.
    """
    written: list[Fixed] = []
    for _ in range(ROUNDS):
        try:
            read_documents(queries, domain)
        except DocumentError as error:
            fixed = write_fixes(error.faults)
            written += fixed
            if fixed:
                continue
        break
    return written


def write_queries(path: str, queries: Given, domain: Given | None) -> None:
    """Write queries, which may be SQL, into a new file as a JSON document. Raises: UsageFault, DocumentError."""
    document = {"dpqr": "queries/1", **plain(read_documents(queries, domain).sources.queries)}
    write_new(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def write_new(path: str, text: str, option: str = "--out") -> None:
    """Write a new text file; an existing one is never overwritten, and of a failed write nothing is left. option: that
    named it."""
    reserve_file(path, option=option).write(lambda draft: write_text(draft, text))


def _levels(attribute: Attribute) -> dict[str, dict[str, int]]:
    """Nodes by level of a column with a hierarchy."""
    above = attribute.hierarchy
    return {} if above is None else {"levels": {level.name: len(level.nodes) for level in above.levels}}


def _rules(attribute: Attribute) -> dict[str, str]:
    return {fault: attribute.rule(fault).value for fault in possible_faults(attribute.axis)}


def _unit(document: QueriesDocument) -> Iterator[str]:
    stated = document.domain.unit
    if stated is not None:
        yield f"unit: persons, by column {stated.column!r}; at most {stated.rows} rows of each are used"
    yield from unit_notes(stated, document.columns)


def _unstated(domain: Domain) -> Iterator[str]:
    columns = unstated_faults(domain)
    if columns:
        yield f"--neighbours replace would need every rule stated; not all are for: {', '.join(map(repr, columns))}"
    if domain.malformed is None:
        yield '--neighbours replace would need a rule for malformed rows: "malformed": "drop"'
