"""SQL in place of a queries document: translated over the domain's columns, and its faults placed in the SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpqr.data.domain import Domain
from dpqr.errors import DocumentError, DpqrError, Fault
from dpqr.io.documents.entries.queries import QueriesDocument, read_queries
from dpqr.io.documents.text.document_text import read_document
from dpqr.io.documents.text.faults import combined
from dpqr.io.sql.translation import Translated, translated
from dpqr.io.sql.words import Columns, Words

_ENTRY = re.compile(r"\$\.queries\[(\d+)\]")
_CHARACTER = re.compile(r"at character \d+: ")
"""Of a predicate that the translation has written."""
_EMPTY = "is true for no cell"


def read_sql(
    sql: str | Mapping[str, Any], domain: str | dict[str, Any] | Domain | None, *, strict: bool = False
) -> QueriesDocument:
    """The statements as a queries document over a domain; its notes say where answers mean something else.

    Args:
        sql: a .sql file, or {"sql": its text}.
        strict: as of `read_queries`.

    Raises:
        DocumentError: they cannot be asked; each fault has the line and the column of the SQL.
        UsageFault: a file cannot be read, or the package that reads SQL is not installed.
    """
    found = translated_sql(sql, domain)
    if domain is None:
        raise DocumentError("SQL names no domain; give --domain FILE")
    return _read(found, domain, strict)


def _read(found: Translated, domain: str | dict[str, Any] | Domain, strict: bool) -> QueriesDocument:
    try:
        read = read_queries(found.document, domain, strict=strict)
    except DocumentError as error:
        empty = {place for fault in error.faults if (place := _empty_branch(fault, found)) is not None}
        if not empty or len(empty) == len(found.entries):
            raise combined(_distinct(_placed(fault, found, domain, strict) for fault in error.faults)) from None
        return _read(found.without(empty), domain, strict)
    return replace(read, notes=(*found.notes, *read.notes), spoken=(*found.notes, *read.spoken))


def _empty_branch(fault: Fault, found: Translated) -> int | None:
    """The entry at fault, if it is a branch of CASE that holds no cell: SQL has no group there either."""
    entry = _ENTRY.match(fault.path)
    place = int(entry[1]) if entry else -1
    return place if place in found.branches and fault.message.startswith(_EMPTY) else None


def translated_sql(sql: str | Mapping[str, Any], domain: str | dict[str, Any] | Domain | None = None) -> Translated:
    """The entries that statements ask for. domain: by whose columns names are understood. Raises: as `read_sql`."""
    text = sql if isinstance(sql, Mapping) else read_document(Path(sql))
    name = "SQL" if isinstance(sql, Mapping) else Path(sql).name
    return translated(Words(str(text["sql"]), name, _columns(domain)))


def _columns(domain: str | dict[str, Any] | Domain | None) -> Columns | None:
    """None where the domain cannot be read; its reader says why."""
    if isinstance(domain, Domain):
        nulls = (each.name for each in domain.attributes if "null" in each.own_cells)
        return Columns(domain.names, frozenset(nulls))
    with suppress(DpqrError):
        return Columns.of(read_document(Path(domain)) if isinstance(domain, str) else domain)
    return None


def _distinct(faults: Iterable[Fault]) -> list[Fault]:
    """Each once: several entries may come from one comparison."""
    return list({str(fault): fault for fault in faults}.values())


def _placed(fault: Fault, found: Translated, domain: str | dict[str, Any] | Domain, strict: bool) -> Fault:
    """A fault of a translated entry where the SQL has it: at the comparison that has the same fault by itself, or else
    where the entry is asked for."""
    number = _ENTRY.match(fault.path)
    if number is None:
        return fault
    entry, place = found.entries[int(number[1])], found.places[int(number[1])]
    message = _CHARACTER.sub("", fault.message)
    asked = f"{entry.get('where', '')} {entry.get('proportion', '')}"
    alone = (at for text, at in found.comparisons.items() if text in asked and message in _faults(text, domain, strict))
    place, key = next(alone, place), fault.path[number.end() :].lstrip(".")
    message = f"{key}: {message}" if message.startswith("must ") else message
    return Fault(message=message, document=place.document, path=place.path)


def _faults(comparison: str, domain: str | dict[str, Any] | Domain, strict: bool) -> tuple[str, ...]:
    """What is wrong with one comparison by itself."""
    try:
        read_queries({"queries": [{"where": comparison}]}, domain, strict=strict)
    except DocumentError as error:
        return tuple(_CHARACTER.sub("", fault.message) for fault in error.faults)
    return ()
