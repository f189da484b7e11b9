"""Formats of tables on disk. A new one is a row here, and a class in `dpqr.releases.files.tidy` that writes and reads
it.

Nothing heavy is imported before a table is written or read: the command line lists the formats.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from dpqr.releases.files.tidy import TableFiles, Tidy

TableFormat = Literal["csv", "parquet", "json"]


class Format(Struct, frozen=True, kw_only=True):
    """One format of tables.

    Attributes:
        kind: the class in `dpqr.releases.files.tidy` that writes and reads it.
        media_type: by which web pages and Croissant name it.
        size: of a file of answers, beside CSV.
    """

    kind: str
    media_type: str
    size: float

    @property
    def files(self) -> TableFiles:
        """What writes and reads it, imported now."""
        made: TableFiles = getattr(import_module("dpqr.releases.files.tidy"), self.kind)()
        return made


FORMATS: dict[TableFormat, Format] = {
    "csv": Format(kind="CsvFiles", media_type="text/csv", size=1.0),
    "parquet": Format(kind="ParquetFiles", media_type="application/x-parquet", size=0.4),
    "json": Format(kind="JsonFiles", media_type="application/json", size=2.5),
}
"""By the ending of a file's name."""
ENDINGS = "|".join(FORMATS)
"""For patterns of names of files."""


def files_of(path: str | os.PathLike[str]) -> TableFiles:
    """The files of a file's format by its ending; that of CSV for an ending that names none."""
    ending = os.path.splitext(path)[1].removeprefix(".")
    return next((form.files for name, form in FORMATS.items() if name == ending), FORMATS["csv"].files)


def listed_endings(last: str = "or") -> str:
    """The endings in words: ".csv, .parquet or .json"."""
    *first, final = (f".{name}" for name in FORMATS)
    return f"{', '.join(first)} {last} {final}"


def write_table(table: Tidy, path: Path, form: TableFormat) -> None:
    """Write a table to a new file. Raises: OSError, for the caller to name the path."""
    FORMATS[form].files.write(iter((table,)), path)
