"""Sources: the documents of a run as they were parsed, and their public form, which release and plan hold.

The public form is plain JSON: the queries without the domain that they hold or name, the domain, and files of
coefficients by the SHA-256 of their bytes. So the same content gives the same form, whether it was written as JSON,
YAML or TOML, built in Python, in one file or in two, and wherever the files lie. Turned back, the form gives the same
domain and workload: block names, which may hold the name of a file of coefficients, are written into it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from dpqr.domain.text.documents import MAX_FILE_BYTES, JsonObject, read_document, read_regular_file
from dpqr.kernel.errors import DocumentError

DECIMAL = "$decimal"
"""The key of an object that stands for a number of more digits than a double holds."""


class Sources(Struct, frozen=True, kw_only=True):
    """Documents as they were parsed, found sound. domain: None where it was decoded before. folder: where the files lie
    that the queries name."""

    queries: Mapping[str, Any]
    domain: Any
    folder: Path


class PublicDocuments(Struct, frozen=True, kw_only=True):
    """The public form. files: of coefficients, bytes by the name that the queries give them."""

    queries: JsonObject
    domain: Any
    files: Mapping[str, bytes]


def states_domain(queries: str | Mapping[str, Any]) -> bool:
    """Whether a queries document, or a file of one, holds or names a domain. Raises: UsageFault, DocumentError."""
    value = queries if isinstance(queries, Mapping) else read_document(Path(queries))
    return isinstance(value, Mapping) and "domain" in value


def states_sql(queries: str | Mapping[str, object]) -> bool:
    """Whether queries are SQL: a .sql file, or an object {"sql": its text}."""
    return "sql" in queries if isinstance(queries, Mapping) else Path(queries).suffix.lower() == ".sql"


def public_documents(sources: Sources) -> PublicDocuments:
    """The public form of documents. Raises: UsageFault where a file of coefficients cannot be read."""
    files: dict[str, bytes] = {}
    entries = []
    for entry in sources.queries["queries"]:
        if "coefficients" in entry:  # the file is named by its content
            path = sources.folder / entry["coefficients"]
            data = read_regular_file(path, MAX_FILE_BYTES)
            name = f"{hashlib.sha256(data).hexdigest()}{path.suffix.lower()}"
            files[name] = data
            entry = {"name": f"coefficients({path.name})", **entry, "coefficients": name}
        entries.append(entry)
    return PublicDocuments(queries={"queries": plain(entries)}, domain=plain(sources.domain), files=files)


def plain(value: object) -> Any:
    """JSON values that Python writes and reads without loss: a number of more digits than a double holds is an object.

    >>> plain({"edges": (Decimal("0.5"), Decimal("0.12345678901234567891"))})
    {'edges': [0.5, {'$decimal': '0.12345678901234567891'}]}
    """
    match value:
        case None | bool() | str() | int() | float():
            return value
        case Decimal():
            near = float(value)
            return near if Decimal(repr(near)) == value else {DECIMAL: str(value)}
        case list() | tuple():
            return [plain(each) for each in value]
        case Mapping():
            return {key: plain(each) for key, each in value.items()}
    raise DocumentError(f"a document holds a {type(value).__name__}, which is no JSON value; give plain values")


def parse_plain(value: Any) -> Any:
    """The inverse of `plain`, up to the types of numbers. DocumentError for a number that is none."""
    if isinstance(value, list):
        return [parse_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {DECIMAL}:
        try:
            return Decimal(value[DECIMAL])
        except (ArithmeticError, TypeError, ValueError):
            raise DocumentError(f"{DECIMAL}: is no decimal number; restore the document") from None
    return {key: parse_plain(each) for key, each in value.items()}
