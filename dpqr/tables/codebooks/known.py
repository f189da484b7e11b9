"""The forms of codebooks: how a file of each is recognised and read.

A new form is one file in this folder, and one row of FORMS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct

from dpqr.domain.text.decoding import Location
from dpqr.domain.text.documents import MAX_BYTES, document_root, read_document, read_regular_file, require_reachable
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.tables.codebooks.columns import Codebook, own_missing, require_sound
from dpqr.tables.codebooks.csvw import is_csvw, read_csvw
from dpqr.tables.codebooks.ddi import is_ddi, read_ddi
from dpqr.tables.codebooks.ddl import is_ddl, read_ddl
from dpqr.tables.codebooks.frictionless import is_frictionless, read_frictionless
from dpqr.tables.codebooks.plain_schemas import is_schema, is_sizes, read_schema, read_sizes
from dpqr.tables.codebooks.smartnoise import is_smartnoise, read_smartnoise

Tables = tuple[Codebook, ...]


@dataclass(frozen=True)
class CodebookFile:
    """A file, of which no more is read than a form needs: its first bytes, all bytes, or the tree that they write."""

    path: Path

    @cached_property
    def head(self) -> bytes:
        """The first 8 bytes. Raises: UsageFault."""
        with require_reachable(self.path), self.path.open("rb") as opened:
            return opened.read(8)

    @cached_property
    def data(self) -> bytes:
        """All bytes. Raises: UsageFault."""
        return read_regular_file(self.path, MAX_BYTES)

    @cached_property
    def tree(self) -> Any:
        """The content of JSON, YAML or TOML; None for a file of neither their endings nor JSON's first sign."""
        has_ending = self.path.suffix.lower() in (".yaml", ".yml", ".toml")
        begins_object = self.data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
        return read_document(self.path) if has_ending or begins_object else None

    @property
    def location(self) -> Location:
        """The top of the document, for messages."""
        return document_root(self.path)


class CodebookReader(Struct, frozen=True):
    """How files of one form are read.

    Attributes:
        is_form: whether a file has it.
        read: the tables that a file of it describes; a DocumentError where it is none or a broken one.
    """

    is_form: Callable[[CodebookFile], bool]
    read: Callable[[CodebookFile], Tables]


def _tree_form(is_form: Callable[[Any], bool], read: Callable[[Any, Location], Tables]) -> CodebookReader:
    return CodebookReader(lambda file: is_form(file.tree), lambda file: read(file.tree, file.location))


def _text_form(is_form: Callable[[bytes], bool], read: Callable[[bytes, Location], Tables]) -> CodebookReader:
    return CodebookReader(lambda file: is_form(file.data), lambda file: read(file.data, file.location))


FORMS: dict[str, CodebookReader] = {
    "arrow": CodebookReader(lambda file: is_schema(file.head), lambda file: (read_schema(file.path),)),
    "ddi": _text_form(is_ddi, read_ddi),
    "ddl": _text_form(is_ddl, read_ddl),
    "sizes": _tree_form(is_sizes, read_sizes),
    "frictionless": _tree_form(is_frictionless, read_frictionless),
    "csvw": _tree_form(is_csvw, read_csvw),
    "smartnoise": _tree_form(is_smartnoise, read_smartnoise),
}
"""Every form by its name, in the order in which a file is tried: first those that need no tree of JSON or YAML."""


def read_codebook(path: str, form: str | None = None, table: str | None = None) -> Codebook:
    """What a file states about one table.

    Args:
        path: of the file.
        form: its form; None: by its content.
        table: which of several tables.

    Raises:
        UsageFault: the file cannot be read, or holds several tables and none is chosen.
        DocumentError: it has no such form.
    """
    file = CodebookFile(Path(path))
    _ = file.head  # a file that cannot be read is refused as such, whatever its form
    if form is None:
        form = next((name for name, each in FORMS.items() if each.is_form(file)), None)
    if form not in FORMS:
        raise file.location.fault(f"is no codebook of a known form; forms: {', '.join(FORMS)} (topic `codebooks`)")
    tables = FORMS[form].read(file)
    names = ", ".join(each.name for each in tables[:20])
    # One table is chosen by its name; a file of a single table without a name describes whatever is named.
    if table is not None and not (len(tables) == 1 and not tables[0].name):
        tables = tuple(each for each in tables if each.name == table)
        if not tables:
            raise UsageFault(f"--table {table}: {path} does not describe it; tables: {names}")
    if len(tables) > 1:
        raise UsageFault(f"{path} describes {len(tables)} tables; choose one by --table: {names}")
    found = tables[0]
    for column in found.outline.fields:
        require_sound(column, Path(path).name)
    seen: set[str] = set()
    for column in found.outline.fields:
        if column.name in seen:
            raise DocumentError(f"{Path(path).name}: describes the column {column.name!r} twice; keep one")
        seen.add(column.name)
    return Codebook(name=found.name, outline=own_missing(found.outline), remarks=found.remarks)
