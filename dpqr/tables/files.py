"""TableFile: one file of a table, or what is read in its place: standard input, or a table in memory."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal, Protocol

from dpqr.kernel.errors import DataError
from dpqr.tables.policy import UTF_8

STDIN = "-"
Kind = Literal["csv", "parquet", "frame", "foreign"]


class TableColumns(Protocol):
    """The columns of a table. name: what messages call it. names: of its columns."""

    @property
    def name(self) -> str: ...
    @property
    def names(self) -> tuple[str, ...]: ...

    def kind(self, name: str) -> Any:
        """The Arrow type of a column, which no row decides. Raises: DataError for a type that Arrow lacks."""
        ...


class InMemoryTable(TableColumns, Protocol):
    """A table in memory.

    size: bytes it takes, private; None: not known. repeatable: whether it can be read more than once, with the same
    rows in the same order.
    """

    @property
    def size(self) -> int | None: ...
    @property
    def repeatable(self) -> bool: ...

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        """These columns of all rows as Arrow record batches of at most `rows` rows."""
        ...

    def digest(self) -> bytes:
        """Of the whole content, the same in every process; only of a frame that is repeatable."""
        ...


@dataclass(slots=True)
class StandardInput:
    """Standard input, which can be read once. What a look at the header takes is kept for the reading after it."""

    _kept: bytes = field(default=b"", repr=False)
    _at: int = 0
    _looking: bool = False

    def begin(self, *, look: bool) -> None:
        """Begin with the first byte; look: whatever is read stays readable."""
        self._at, self._looking = 0, look

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        if self._at < len(self._kept):
            piece = self._kept[self._at : self._at + size]
        else:
            piece = sys.stdin.buffer.read(size)
            self._kept = self._kept + piece if self._looking else b""
        self._at = self._at + len(piece) if self._kept else 0
        return piece


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """One regular file of the table. bytes: its size on disk, private where rows are.

    stdin, frame: what is read in place of a file. The path is then what messages call it: "-" for standard input, whose
    size is not known, or the frame's name.
    """

    path: str
    kind: Kind
    delimiter: str
    bytes: int | None
    stdin: StandardInput | None = None
    encoding: str = UTF_8
    frame: InMemoryTable | None = field(default=None, repr=False)


# Files of other kinds, known by how they begin.

PIPED = "the table on standard input"
"""What messages call it."""
_ZIP = "give a workbook as a file that ends in .xlsx, and unpack any other archive"
_KINDS = (
    (rb"[^\r\n]{8}DUCK[^\r\n]{2}\0\0", "a DuckDB database", "write duckdb:{file}?table=NAME", ()),
    (
        rb"SQLite format 3\0",
        "an SQLite database",
        "write CSV: sqlite3 -csv -header {file} 'SELECT * FROM NAME' > table.csv",
        (),
    ),
    (rb"PK\x03\x04", "a zip archive, as Excel workbooks are", _ZIP, (".xlsx",)),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel workbook, or the like", "save it as .xlsx or CSV", ()),
    (rb"ARROW1\0\0", "an Arrow file", "give it as a file that ends in .arrow", (".arrow", ".feather")),
    (rb"\0{12}\xc2\xea\x81\x60", "a SAS file", "give it as a file that ends in .sas7bdat", (".sas7bdat",)),
    (rb"PAR1", "Parquet", "give Parquet as a file that ends in .parquet", (".parquet", ".pq")),
    (rb"\x1f\x8b\x08", "packed by gzip", "unpack it; only CSV may be packed, and once", ()),
    (rb"%PDF-", "a PDF", "export the table as CSV from the program that made it", ()),
    (rb"\x89PNG|\xff\xd8\xff|GIF8[79]a", "a picture", "give the table itself, as CSV or Parquet", ()),
    (rb"(?i:<!DOCTYPE|<html|<\?xml)", "a web page or XML", "save the table as CSV or .xlsx", ()),
    (rb"\xfd7zXZ\0|\x28\xb5\x2f\xfd", "packed by xz or zstd", "unpack it, or pack CSV by gzip", ()),
)
"""How a kind of file begins, what it is, what to do, and the endings that are its own."""


def first_bytes(path: str) -> bytes:
    """What `other_kind` looks at; nothing where the file cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(16)
    except OSError:
        return b""


def other_kind(head: bytes, where: str, taken_for: str = "CSV") -> str | None:
    """What is wrong with a file that begins with these 16 bytes or more; None where they say nothing.

    Args:
        where: what messages call the file.
        taken_for: the kind that it was read as.

    Privacy:
        Names the kind, none of the bytes. A match lies in the first line, which is the header or part of no text at
        all, so tables that differ in rows alone have the same answer.
    """
    for begin, what, fix, endings in _KINDS:
        known = where.lower().endswith(endings) or what == taken_for
        if re.match(begin, head, re.DOTALL) and not known:
            way = fix.format(file="FILE" if where == PIPED else where)
            return f"{where} is {what}, not {taken_for}; {way}"
    return None


# Files that a directory, or a name with * ? [ ] and **, stands for.
#
# The standard library's glob is no help with **: it follows links to directories, and two links that lead back make
# it walk for ever.

MOST_FILES = 2**17
_ANY_DEPTH = "**"


def files_below(top: str) -> Iterator[str]:
    """Every file in a directory at any depth; links to directories are not followed.

    Raises: DataError beyond 131,072 files and directories.
    """
    seen = 0
    for folder, folders, names in os.walk(top):
        seen += len(folders) + len(names)
        if seen > MOST_FILES:
            raise DataError(f"{top} holds more than {MOST_FILES} files and directories; name a smaller place")
        yield from (os.path.join(folder, name) for name in names)


def files_matching(pattern: str) -> list[str]:
    """The files of a pattern, sorted. As in the shell, * and ? match no separator and no dot at the start of a name."""
    steps = pattern.split(os.sep)
    if _ANY_DEPTH not in steps:
        return sorted(path for path in glob.glob(pattern) if not os.path.isdir(path))
    deep = steps.index(_ANY_DEPTH)
    found = set()
    for top in [""] if deep == 0 else glob.glob(os.sep.join(steps[:deep]) + os.sep):
        for path in files_below(top or os.curdir):
            inner = os.path.relpath(path, top or os.curdir)
            # Whether the names of a file's path fit a pattern's steps.
            names = inner.split(os.sep)
            places = {0}
            for step in steps[deep:]:
                inside = [place for place in places if place < len(names)]
                if step == _ANY_DEPTH:
                    places = {end for start in inside for end in _reach(names, start)}
                else:
                    dotted = step.startswith(".")
                    fits = [fnmatchcase(names[at], step) and (dotted or not names[at].startswith(".")) for at in inside]
                    places = {at + 1 for at, fit in zip(inside, fits, strict=True) if fit}
            if len(names) in places:
                found.add(os.path.join(top, inner))
    return sorted(found)


def _reach(names: list[str], start: int) -> Iterator[int]:
    """The places that ** can lead to: over any number of names without a dot before them."""
    yield start
    for place in range(start, len(names)):
        if names[place].startswith("."):
            return
        yield place + 1
