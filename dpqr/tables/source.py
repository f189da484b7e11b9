"""TableSource: where a private table lies, as its owner names it, and the files that this comes to."""

from __future__ import annotations

import glob
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpqr.domain.periods import PeriodRows
from dpqr.kernel.errors import DataError, UsageFault
from dpqr.kernel.values import replace
from dpqr.tables.engines.known import engine_at, local_files, refused_before
from dpqr.tables.files import STDIN, InMemoryTable, Kind, StandardInput, TableFile, files_below, files_matching
from dpqr.tables.limits import constantly
from dpqr.tables.policy import UTF_8, require_delimiter, require_encoding

if TYPE_CHECKING:
    from dpqr.tables.engines.engine import Engine

_CSV_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_PARQUET_ENDINGS = (".parquet", ".pq")
_PARQUET_MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSource:
    """A public description of a private table.

    paths: files, directories or glob patterns whose tables are read one after another; "-" alone: CSV on standard
    input. Rows are counted the same however they are spread over files.
    delimiter: one character between the cells of a CSV row; None: a tab in .tsv files, a comma elsewhere.
    encoding: of the text of CSV files; None: UTF-8.
    count_column: where the table is a histogram already, the column that says how many records a row stands for.
    period: whose rows are read; None: all rows are.
    frame: a table in memory, in the place of paths. engine: what counts the table in place of this program, given or
    named by the only path; it has no files. public: what the plan says of the table; None: nothing.
    named: whether the request names the table; else it is the one that the budget's owner registered, or none is read.
    digest: of that registered source (`Source.digest`); None: none is registered.
    workers: threads that code and count; they do not change the result.
    """

    paths: tuple[str, ...] = ()
    delimiter: str | None = None
    encoding: str | None = None
    count_column: str | None = None
    period: PeriodRows | None = None
    frame: InMemoryTable | None = field(default=None, repr=False)
    engine: Engine | None = field(default=None, repr=False)
    public: str | None = None
    named: bool = True
    digest: str | None = None
    workers: int = 1
    stdin: StandardInput = field(default_factory=StandardInput, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.paths and self.frame is None and self.engine is None:
            raise UsageFault("name the table: a CSV or Parquet file, a directory of them, or - for CSV on stdin")
        if STDIN in self.paths and len(self.paths) > 1:
            raise UsageFault("- (standard input) cannot be joined with other tables; give it alone")
        require_delimiter(self.delimiter)
        require_encoding(self.encoding)
        if self.engine is None:
            object.__setattr__(self, "engine", engine_at(self.paths))
        if self.engine is not None:
            engine = self.engine
            object.__setattr__(self, "public", constantly(lambda: engine.public, refused_before(engine)))

    @classmethod
    def unnamed(cls, **more: Any) -> TableSource:
        """A source that names no table."""
        return cls(paths=(STDIN,), named=False, **more)

    @property
    def from_stdin(self) -> bool:
        return self.paths == (STDIN,)

    @property
    def repeatable(self) -> bool:
        """Whether the table can be read a second time, and known to be as it was: files can; standard input and streams
        cannot. Of an engine's table that does not lie in local files only counts could be compared, which would be a
        look at them that nobody paid for.
        """
        if self.engine is not None:
            return local_files(self.engine) is not None
        return not self.from_stdin if self.frame is None else self.frame.repeatable

    def files(self) -> tuple[TableFile, ...]:
        """The regular files behind `paths`, in a fixed order; none of an engine. Looks at names, kinds and sizes only;
        of sizes, none but that of a file without bytes, and so without a header, decides anything here.

        Raises: DataError if a path does not exist, cannot be read, is no regular file, holds no table, mixes CSV with
        Parquet, or names a file twice (its rows would count twice, which no sensitivity covers).
        """
        if self.from_stdin:
            piped = TableFile(path=STDIN, kind="csv", delimiter=self.delimiter or ",", bytes=None, stdin=self.stdin)
            return (replace(piped, encoding=self.encoding or UTF_8),)
        if self.engine is not None:
            return ()
        if self.frame is not None:
            named, size = self.frame.name, self.frame.size
            return (TableFile(path=named, kind="frame", delimiter=",", bytes=size, frame=self.frame),)
        files = tuple(
            _regular_file(path, self.delimiter, self.encoding) for given in self.paths for path in _expand(given)
        )
        seen: set[tuple[int, int]] = set()
        for file in files:
            status = _status(file.path)
            if (status.st_dev, status.st_ino) in seen:
                raise DataError(f"{file.path} is named twice, so its rows would count twice; name every file once")
            seen.add((status.st_dev, status.st_ino))
        if len({file.kind for file in files}) > 1:
            raise DataError(
                "the table mixes CSV with Parquet or other files; name files of one kind, for example 'data/*.parquet'"
            )
        return files


def _regular_file(path: str, delimiter: str | None, encoding: str | None) -> TableFile:
    status = _status(path)
    if not stat.S_ISREG(status.st_mode):
        raise DataError(f"{path} is no regular file; give a file, or - to read CSV from standard input")
    if not os.access(path, os.R_OK):
        raise DataError(f"{path} cannot be read; check its permissions")
    if status.st_size == 0:
        raise DataError(f"{path} is empty: it has no bytes; a table without rows still has its header")
    from dpqr.tables.foreign import foreign_frame

    name = path.lower()
    frame = foreign_frame(path, status.st_size)
    kind: Kind = "foreign" if frame else "parquet" if name.endswith(_PARQUET_ENDINGS) else "csv"
    if kind == "csv" and not name.endswith(_CSV_ENDINGS):  # the ending says nothing: by the first bytes
        with open(path, "rb") as file:
            kind = "parquet" if file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC else "csv"
    between = delimiter or ("\t" if ".tsv" in Path(path).name.lower() else ",")
    known = TableFile(path=path, kind=kind, delimiter=between, bytes=status.st_size, frame=frame)
    return replace(known, encoding=encoding or UTF_8)


def _expand(given: str) -> list[str]:
    """The files that one given path stands for: itself, those of a directory (at any depth), or of a pattern."""
    if os.path.isdir(given):
        # Hidden files and marks such as _SUCCESS are no tables.
        found = []
        for path in files_below(given):
            parts = Path(path).relative_to(given).parts
            hidden = any(part.startswith((".", "_")) for part in parts)
            if not hidden and parts[-1].lower().endswith(_CSV_ENDINGS + _PARQUET_ENDINGS):
                found.append(path)
        if not found:
            raise DataError(f"{given} holds no table; tables end in {', '.join(_CSV_ENDINGS + _PARQUET_ENDINGS)}")
        return sorted(found)
    if not os.path.lexists(given) and glob.has_magic(given):
        found = files_matching(given)
        if not found:
            raise DataError(f"no file matches {given!r}; check the pattern and the directory")
        return found
    return [given]


def _status(path: str) -> os.stat_result:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        pass
    raise DataError(f"{path} does not exist or cannot be reached; check the path and its permissions")
