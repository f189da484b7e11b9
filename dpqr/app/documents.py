"""Public documents: check them, print their schema, start a new one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from dpqr.app.planning import read_documents
from dpqr.data.attribute import FAULTS, Attribute
from dpqr.errors import UsageFault
from dpqr.io.documents.schema import schema
from dpqr.io.documents.skeleton import skeleton_from_schema
from dpqr.io.tables.source import TableSource
from dpqr.io.tables.structure import column_types


def document_schema(document: Literal["domain", "queries"]) -> dict[str, Any]:
    """The JSON Schema of "domain" or "queries"."""
    return schema(document)


def check_documents(queries: str, domain: str | None) -> dict[str, Any]:
    """Decode and compile both documents; what a release would work on, in public sizes. Errors: DocumentError."""
    document = read_documents(queries, domain)
    return {
        "queries": document.workload.rows,
        "blocks": len(document.workload.blocks),
        "cells": document.domain.size,
        "columns": [
            {"name": attribute.name, "cells": attribute.size, "rules": _rules(attribute)}
            for attribute in document.domain.attributes
        ],
        "notes": list(document.notes),
    }


def domain_skeleton(path: str, delimiter: str) -> dict[str, Any]:
    """A domain file for the columns of a table, from their names and types alone."""
    return skeleton_from_schema(column_types(TableSource(paths=(path,), delimiter=delimiter)))


def write_new(path: str, text: str) -> None:
    """Write a new text file; an existing one is never overwritten."""
    try:
        with Path(path).open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageFault(f"--out {path}: the file exists; choose another name or remove it") from None
    except OSError as error:
        raise UsageFault(f"--out {path}: cannot be written ({error.strerror}); choose a writable place") from None


def _rules(attribute: Attribute) -> str:
    return ", ".join(f"{fault}: {attribute.rule(fault).value}" for fault in FAULTS)
