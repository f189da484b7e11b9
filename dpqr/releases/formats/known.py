"""Formats of tables on disk. To add one takes its row here and its module beside, which writes it and reads it back.

Nothing heavy is imported before a table is written or read: the command line lists the formats.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, cast

if TYPE_CHECKING:
    import pyarrow as pa

    from dpqr.releases.tidy import Tidy

TableFormat = Literal["csv", "parquet", "json"]


class FormatModule(Protocol):
    """What a format's module does."""

    def write(self, tables: Iterator[Tidy], path: Path) -> None:
        """Write one or more tables of the same columns, row below row, to a new file. Equal tables give equal bytes.

        Raises: OSError, for the caller to name the path.
        """
        ...

    def read(self, path: Path, only: Sequence[str] | None = None) -> pa.Table:
        """A table as the file has it: columns of the names of FIGURES as numbers, all else as text.

        Args:
            path: of a regular file.
            only: columns that are wanted; None: all.

        Raises:
            OSError, ValueError, KeyError, TypeError or pyarrow.ArrowException where it is no such table.
        """
        ...

    def declared_rows(self, path: Path) -> int | None:
        """How many rows the file says that it has, before any is read; None: it does not. Raises: as `read`."""
        ...

    def column_names(self, path: Path) -> Sequence[str] | None:
        """Names of the columns; None where the format does not say them before its rows. Raises: as `read`."""
        ...

    def label(self, text: str) -> str:
        """What a text of the file says."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format of tables.

    Attributes:
        module: in this folder, that writes and reads it.
        media_type: by which web pages and Croissant name it.
        size: of a file of answers, beside CSV.
    """

    module: str
    media_type: str
    size: float

    @property
    def files(self) -> FormatModule:
        """Its module, imported now."""
        return cast(FormatModule, import_module(f"{__package__}.{self.module}"))


FORMATS: dict[TableFormat, Format] = {
    "csv": Format(module="csv_files", media_type="text/csv", size=1.0),
    "parquet": Format(module="parquet_files", media_type="application/x-parquet", size=0.4),
    "json": Format(module="json_files", media_type="application/json", size=2.5),
}
"""By the ending of a file's name."""
ENDINGS = "|".join(FORMATS)
"""For patterns of names of files."""


def files_of(path: str | os.PathLike[str]) -> FormatModule:
    """The module of a file's format by its ending; that of CSV for an ending that names none."""
    ending = os.path.splitext(path)[1].removeprefix(".")
    return next((form.files for name, form in FORMATS.items() if name == ending), FORMATS["csv"].files)


def listed_endings(last: str = "or") -> str:
    """The endings in words: ".csv, .parquet or .json"."""
    *first, final = (f".{name}" for name in FORMATS)
    return f"{', '.join(first)} {last} {final}"
