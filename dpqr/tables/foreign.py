"""Tables of other programs: workbooks, Stata, SPSS, SAS and Arrow files, each read by the library that knows it.

Columns of a workbook and of the statistical formats are text, whatever they hold, so that no cell decides a type: each
cell is what a CSV would hold. Dates are made from the numbers that stand for them here, for a library ends with an
error at a number that is on no calendar, and no row may end a run.
"""

from __future__ import annotations

import codecs
import hashlib
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zipfile import ZipFile

from dpqr.kernel.errors import DataError, UsageFault
from dpqr.tables.files import first_bytes, other_kind
from dpqr.tables.frames import column_reader
from dpqr.tables.limits import discreetly

if TYPE_CHECKING:
    from dpqr.tables.files import InMemoryTable

_STATISTICAL = {".dta": "read_dta", ".sav": "read_sav", ".sas7bdat": "read_sas7bdat"}
_ARROW = (".feather", ".arrow")
_PANDAS = "python -c \"import pandas; pandas.read_json({name!r}, dtype=False{more}).to_csv('table.csv', index=False)\""
_SPREADSHEET = "save it as .xlsx or CSV in the program that made it"
_R = "in R: arrow::write_parquet(TABLE, 'table.parquet')"
_CONVERTED = {
    ".json": _PANDAS,
    ".jsonl": _PANDAS,
    ".ndjson": _PANDAS,
    ".xls": _SPREADSHEET,
    ".xlsb": _SPREADSHEET,
    ".ods": _SPREADSHEET,
    ".rds": _R,
    ".rdata": _R,
    ".orc": "python -c \"import pandas; pandas.read_orc({name!r}).to_parquet('table.parquet')\"",
}
"""How to convert a table that is not read. JSON has neither header nor types: both would follow from rows."""


def foreign_frame(path: str, size: int) -> InMemoryTable | None:
    """The table in a file of another program; None for CSV and Parquet.

    Raises: DataError for a format that is not read, with the way to convert it; UsageFault where what reads it is not
    installed.
    """
    ending = Path(path).suffix.lower()
    if ending in _CONVERTED:
        more = ", lines=True" if ending in (".jsonl", ".ndjson") else ""
        way = _CONVERTED[ending].format(name=Path(path).name, more=more)
        raise DataError(f"{path}: {ending} tables are not read; convert it to CSV or Parquet\n{way}")
    if ending in _ARROW:
        return ArrowFile(path, size)
    if ending == ".xlsx":
        _require("openpyxl", path)
        return Workbook(path, size)
    if ending in _STATISTICAL:
        _require("pyreadstat", path)
        return StatisticalFile(path, size)
    return None


def unpacked_bytes(path: str) -> int:
    """What a workbook unpacks to, as its directory states it; 0 for the other formats."""
    if Path(path).suffix.lower() != ".xlsx":
        return 0
    with ZipFile(path) as packed:
        return sum(part.file_size for part in packed.infolist())


def _require(library: str, path: str) -> None:
    if find_spec(library) is None:
        raise UsageFault(
            f"{path}: what reads such tables is not installed; pip install 'dpqr[formats]', or convert it to CSV"
        )


def _looked(path: str, look: Callable[[], Any]) -> Any:
    """What a look at the header finds."""
    kind = Path(path).suffix
    damaged = f"{path} cannot be read as {kind}; save it again, or as CSV"
    return discreetly(lambda: _silently(look), lambda _: other_kind(first_bytes(path), path, kind) or damaged)


def _silently(work: Callable[[], Any]) -> Any:
    """Without the warnings of a library, for they may quote cells."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """A Frame in a file. size: bytes on the disk."""

    name: str
    size: int | None
    repeatable: bool = field(default=True, init=False)

    def digest(self) -> bytes:
        with open(self.name, "rb") as opened:
            return hashlib.file_digest(opened, "sha256").digest()


@dataclass(frozen=True, slots=True)
class ArrowFile(ForeignFile):
    """Feather (version 2) and Arrow's file format: typed columns, as in Parquet.

    **Privacy** Places that lie outside of the file are damage, which ends the run. A value that Arrow's own check
    refuses (a text that is no UTF-8, a date with a time, a decimal of too many digits) is a cell: were the run to end
    there too, its exit code would tell whether there is one.
    """

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._opened().schema.names)

    def kind(self, name: str) -> Any:
        return self._opened().schema.field(name).type

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        reader = self._opened()
        for index in range(reader.num_record_batches):
            batch = reader.get_batch(index).select(list(names))
            for column in batch.columns:
                _require_sound(column)
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)

    def _opened(self) -> Any:
        import pyarrow as pa

        return _looked(self.name, lambda: pa.ipc.open_file(pa.OSFile(self.name)))


def _require_sound(cells: Any) -> None:
    """ArrowInvalid where a place in an Arrow array lies outside of it, whatever its values are."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(cells.type):
        _require_sound(cells.dictionary)
        bare = pa.DictionaryArray.from_arrays(cells.indices, pa.nulls(len(cells.dictionary)), safe=False)
        bare.validate(full=True)
        return
    wide = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    as_bytes = wide.get(cells.type)
    cells.view(as_bytes).validate(full=True) if as_bytes else cells.validate()


@dataclass(frozen=True, slots=True)
class _TextFile(ForeignFile):
    """A file whose columns are text."""

    def kind(self, _: str) -> Any:
        import pyarrow as pa

        return pa.large_string()


@dataclass(frozen=True, slots=True)
class Workbook(_TextFile):
    """The first sheet of an Excel workbook: its first row holds the names; rows without any cell are none."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple("" if cell is None else str(cell) for cell in _looked(self.name, lambda: next(self._rows(), ())))

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        found = self._rows()
        header = [str(cell) for cell in _silently(lambda: next(found, ()))]
        places = [header.index(name) for name in names]
        while chunk := _silently(lambda: list(islice(found, rows))):
            yield _texts(names, [[row[at] if at < len(row) else None for row in chunk] for at in places])

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        import openpyxl

        book = openpyxl.load_workbook(self.name, read_only=True, data_only=True, keep_links=False)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()
        for row in sheet.iter_rows(values_only=True):
            if any(cell is not None for cell in row):
                yield row


@dataclass(frozen=True, slots=True)
class StatisticalFile(_TextFile):
    """Stata, SPSS and SAS. Labels of values have no effect: cells are the codes.

    **Privacy** The library ends with an error at a text that is none in the file's encoding. So it reads bytes, each as
    a character, and texts are made of them here: such a text makes its row malformed. It ended the run, and the exit
    code told whether there is one.
    """

    @property
    def names(self) -> tuple[str, ...]:
        def look() -> tuple[str, ...]:
            about = self._read(metadataonly=True)[1]
            _ = self._encoding(about)
            return tuple(about.column_names)

        return cast("tuple[str, ...]", _looked(self.name, look))

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        encoding = _silently(lambda: self._encoding(self._read(metadataonly=True)[1]))
        found = [name.encode(encoding, "surrogateescape").decode(_BYTES) for name in names]
        options = {"usecols": found, "disable_datetime_conversion": True, "encoding": _BYTES}
        table, about = _silently(lambda: self._read(**options))
        formats = about.original_variable_types
        moments = [_moments(Path(self.name).suffix.lower(), formats[name] or "") for name in found]

        def made(cell: Any, moment: Callable[[Any], Any]) -> Any:
            """A text of the file's encoding, or what a number stands for."""
            return cell.encode(_BYTES).decode(encoding, "surrogateescape") if isinstance(cell, str) else moment(cell)

        for start in range(0, len(table), rows):
            part = table.iloc[start : start + rows]
            columns = [part[name].tolist() for name in found]
            yield _texts(
                names, [[made(cell, moment) for cell in cells] for moment, cells in zip(moments, columns, strict=True)]
            )

    def _encoding(self, about: Any) -> str:
        """Of the file's texts, as its header states it: of Stata's UTF-8 from version 118 on, Windows' before that.
        LookupError for one that Python does not know."""
        stated = about.file_encoding or "utf-8"
        if Path(self.name).suffix.lower() == ".dta":
            with open(self.name, "rb") as opened:
                release = re.match(rb"<stata_dta><header><release>(\d+)", opened.read(64))
            stated = "utf-8" if release and int(release[1]) >= 118 else "cp1252"
        with suppress(LookupError):
            return codecs.lookup(stated).name
        return codecs.lookup(stated.replace("-", "")).name  # BIG-5, EUC-CN

    def _read(self, **options: Any) -> Any:
        import pyreadstat

        return getattr(pyreadstat, _STATISTICAL[Path(self.name).suffix.lower()])(self.name, **options)


_BYTES = "LATIN1"
"""The encoding in which each byte is a character."""
_DATES = re.compile(r"%-?t?d|(?:[AEJS]?DATE|DDMMYY|MMDDYY|YYMMDD|JULIAN|E8601DA|B8601DA)[A-Z]?\d*\.?\d*", re.IGNORECASE)
_TIMES = re.compile(r"%-?tc|(?:DATETIME|YMDHMS|E8601DT|B8601DT)\d*\.?\d*", re.IGNORECASE)
_ORIGIN = {".sav": datetime(1582, 10, 14), ".dta": datetime(1960, 1, 1), ".sas7bdat": datetime(1960, 1, 1)}


def _moments(ending: str, form: str) -> Callable[[Any], Any]:
    """What turns a cell of a column with this display format into a date or a time; other cells stay as they are."""
    stated = re.match(r"%-?t[a-zA-Z]|%-?d|.*", form)
    plain = stated[0] if stated else ""
    if _TIMES.fullmatch(plain):
        return _counted(_ORIGIN[ending], timedelta(milliseconds=1) if ending == ".dta" else timedelta(seconds=1))
    if _DATES.fullmatch(plain):
        return _counted(_ORIGIN[ending], timedelta(seconds=1) if ending == ".sav" else timedelta(days=1))
    return lambda cell: cell


def _counted(origin: datetime, unit: timedelta) -> Callable[[Any], Any]:
    """A number of units after the origin as a moment; one that is on no calendar stays the number."""

    def moment(cell: Any) -> Any:
        try:
            return origin + cell * unit
        except (ArithmeticError, TypeError, ValueError):
            return cell

    return moment


def _texts(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> Any:
    """Cells as a CSV would hold them; midnight is a date, for these formats hold dates as times."""
    import pandas
    import pyarrow as pa

    arrays = [
        column_reader(pandas.Series([_day(cell) for cell in cells], dtype=object))(slice(None)).cast(pa.large_string())
        for cells in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


def _day(cell: Any) -> Any:
    return date(cell.year, cell.month, cell.day) if isinstance(cell, datetime) and cell.time() == time() else cell
