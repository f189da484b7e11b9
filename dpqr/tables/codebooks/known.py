"""The forms of codebooks by name: which a file has, and how each is read and written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpqr.domain.text.decoding import Location
from dpqr.domain.text.documents import MAX_BYTES, document_root, read_document, read_regular_file, require_reachable
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.tables.codebooks.columns import Codebook, Outline, Written, own_missing, require_sound
from dpqr.tables.codebooks.csvw import is_csvw, read_csvw, write_csvw
from dpqr.tables.codebooks.ddi import read_ddi, write_ddi
from dpqr.tables.codebooks.ddl import is_ddl, read_ddl, write_ddl
from dpqr.tables.codebooks.frictionless import is_frictionless, read_frictionless, write_frictionless
from dpqr.tables.codebooks.plain_schemas import is_schema, is_sizes, read_schema, read_sizes, write_sizes
from dpqr.tables.codebooks.smartnoise import is_smartnoise, read_smartnoise, write_smartnoise

TREES: dict[str, tuple[Callable[[Any], bool], Callable[[Any, Location], tuple[Codebook, ...]]]] = {
    "sizes": (is_sizes, read_sizes),
    "frictionless": (is_frictionless, read_frictionless),
    "csvw": (is_csvw, read_csvw),
    "smartnoise": (is_smartnoise, read_smartnoise),
}
"""Forms that are JSON, YAML or TOML: how each is recognised, in this order, and read."""

WRITERS: dict[str, Callable[[Outline, str], Written]] = {
    "frictionless": write_frictionless,
    "csvw": write_csvw,
    "smartnoise": write_smartnoise,
    "sizes": write_sizes,
    "ddl": write_ddl,
    "ddi": write_ddi,
}
FORMS = (*WRITERS, "arrow")
"""Every form that is read; those of WRITERS are written too."""


def read_codebook(path: str, form: str | None = None, table: str | None = None) -> Codebook:
    """What a file states about one table.

    Args:
        form: its form; None: by its content.
        table: which of several tables.

    Raises:
        UsageFault: the file cannot be read, or holds several tables and none is chosen.
        DocumentError: it has no such form.
    """
    tables = _tables(Path(path), form)
    if table is not None:
        tables = tuple(each for each in tables if each.name == table) or _no_table(path, table, tables)
    if len(tables) > 1:
        names = ", ".join(each.name for each in tables[:20])
        raise UsageFault(f"{path} describes {len(tables)} tables; choose one by --table: {names}")
    found = tables[0]
    for column in found.outline.fields:
        require_sound(column, Path(path).name)
    return Codebook(name=found.name, outline=own_missing(_distinct(found.outline, path)), remarks=found.remarks)


def _no_table(path: str, table: str, tables: tuple[Codebook, ...]) -> tuple[Codebook, ...]:
    if len(tables) == 1 and not tables[0].name:
        return tables
    names = ", ".join(each.name for each in tables[:20])
    raise UsageFault(f"--table {table}: {path} does not describe it; tables: {names}")


def _distinct(outline: Outline, path: str) -> Outline:
    seen: set[str] = set()
    for column in outline.fields:
        if column.name in seen:
            raise DocumentError(f"{Path(path).name}: describes the column {column.name!r} twice; keep one")
        seen.add(column.name)
    return outline


def _tables(path: Path, form: str | None) -> tuple[Codebook, ...]:
    with require_reachable(path), path.open("rb") as opened:
        head = opened.read(8)
    if form == "arrow" or (form is None and is_schema(head)):
        return (read_schema(path),)
    data, location = read_regular_file(path, MAX_BYTES), document_root(path)
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if form == "ddi" or (form is None and start == b"<"):
        return read_ddi(data, location)
    if form == "ddl" or (form is None and is_ddl(data)):
        return read_ddl(data, location)
    parsed = path.suffix.lower() in (".yaml", ".yml", ".toml") or start == b"{"
    tree = read_document(path) if parsed else None
    for name, (recognised, read) in TREES.items():
        if form == name or (form is None and recognised(tree)):
            return read(tree, location)
    raise location.fault(f"is no codebook of a known form; forms: {', '.join(FORMS)} (topic `codebooks`)")
