"""Published files, read back: a release's record and answers, and the datasets whose budgets paid for a file.

A file's payers are those of the records that lie beside it. A copy, or a hard link, that lies elsewhere has no record
beside it and is not recognised: contents are compared with nothing, for a ledger keeps no trace of a table.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from dpqr.data.arrays import FloatArray
from dpqr.data.domain import Domain
from dpqr.errors import DataError, DocumentError, UsageFault
from dpqr.io.outputs.answer_tables.table_files import TableFormat
from dpqr.io.outputs.records.document_parts import domain_part, workload_part
from dpqr.io.outputs.records.plan_document import SEAL, sealed
from dpqr.io.outputs.records.prediction_document import MODEL_FORMAT, RELEASE_FORMAT
from dpqr.io.outputs.records.record import RECORD, RECORD_KIND, read_record
from dpqr.io.outputs.releases.prediction_files import record_path
from dpqr.io.outputs.releases.release_files import SYNTHETIC, file_hash
from dpqr.io.tables.file import STDIN
from dpqr.io.tables.source import TableSource
from dpqr.workload.workload import Workload

FORMS: tuple[TableFormat, ...] = ("csv", "parquet", "json")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFiles:
    """A release as it lies on disk. Everything in it is public.

    record: release.json; the parts that are looked at were found to have their form.
    """

    path: Path
    record: dict[str, Any]

    @property
    def dataset(self) -> str | None:
        """The dataset whose budget paid; None: no ledger was used."""
        ledger = self.record["ledger"]
        return ledger["dataset"] if isinstance(ledger, dict) else None

    def require_sealed(self) -> None:
        """DocumentError unless the record is as it was written."""
        if doubt := self._doubt_of_record():
            raise DocumentError(f"not verified: {doubt}")

    def require_unchanged(self, name: str) -> None:
        """DocumentError unless this file is the one that the record was written for. Records of dpqr 0.3 and older hold
        no hashes."""
        if doubt := self._doubt_of_file(name):
            raise DocumentError(f"not verified: {doubt}")

    @property
    def unverified(self) -> str:
        """Why record and files do not belong together, or nothing shows that they do; empty: their hashes fit."""
        hashes = self.record.get("hashes")
        if SEAL not in self.record or not isinstance(hashes, dict):
            return f"{self.path / RECORD}: states no hashes, so nothing shows what was changed"
        names = dict.fromkeys(map(str, (*self.record["files"], *hashes)))
        return self._doubt_of_record() or next(filter(None, map(self._doubt_of_file, names)), "")

    def _doubt_of_record(self) -> str:
        if SEAL in self.record and sealed(self.record) != self.record:
            return f"{self.path / RECORD}: was changed after it was written; restore it"
        return ""

    def _doubt_of_file(self, name: str) -> str:
        hashes = self.record.get("hashes")
        try:
            same = not isinstance(hashes, dict) or hashes.get(name) == file_hash(self.path / name)
        except (OSError, ValueError):
            return f"{self.path / name}: cannot be read; restore it, or release again"
        if same:
            return ""
        return (
            f"{self.path / name}: was changed since the release was made, for its hash is not the record's; "
            "restore it, or release again"
        )

    def require_same(self, workload: Workload, domain: Domain) -> None:
        """DocumentError unless these are the queries, and columns of the sizes, that the release has answered."""
        plan = self.record["plan"]
        if plan["domain"] != domain_part(domain):
            raise DocumentError(
                f"{self.path}: was released over another domain (columns, cells or rules differ); give the domain file "
                "of the release"
            )
        if plan["workload"] != workload_part(workload, domain):
            raise DocumentError(
                f"{self.path}: answers other queries (blocks differ in name, size, columns, weight or grid); give the "
                "queries file of the release"
            )

    def estimates(self, rows: int) -> FloatArray:
        """The estimates in workload order, shape (rows,), NaN where there is none. DocumentError for another number."""
        name = next((f"answers.{form}" for form in FORMS if f"answers.{form}" in self.record["files"]), None)
        if name is None:
            raise DocumentError(f"{self.path / RECORD}: lists no answers; give a directory that dpqr release has made")
        try:
            found = _estimates(self.path / name, rows)
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
            raise DocumentError(
                f"{self.path / name}: cannot be read as answers; release again, or restore it"
            ) from None
        if len(found) != rows:
            raise DocumentError(f"{self.path / name}: holds {len(found)} answers, and the queries ask {rows}")
        return found

    def synthetic(self, option: str = "--rows") -> tuple[Path, bool, float]:
        """The synthetic rows, whether bins stand in them by title, and how many records a row stands for.

        UsageFault, in the name of the option, where the release has none.
        """
        made = self.record["synthetic"]
        if not isinstance(made, dict) or made.get("form") != "rows":
            raise UsageFault(
                f"{option}: {self.path} holds no synthetic rows; release with --synthetic rows, or give a table of rows"
            )
        return self.path / SYNTHETIC, made["bins"] == "title", float(made["records_a_row"])


def read_release(directory: str) -> ReleaseFiles:
    """Raises: UsageFault where there is no release; DocumentError where its record is damaged; DataError where
    something else than regular files lies there."""
    path = Path(directory)
    if not os.path.isdir(path):  # which is quiet about names that no file can have
        raise UsageFault(f"{directory}: is no release directory; give one that dpqr release has made")
    require_regular(path)
    try:
        record = read_record(path)
        whole = str(record["dpqr"]).startswith(RECORD_KIND) and {"ledger", "plan", "files", "synthetic"} <= set(record)
        whole = whole and {"domain", "workload"} <= set(record["plan"]) and isinstance(record["files"], list)
        whole = whole and (record["ledger"] == "none" or isinstance(record["ledger"]["dataset"], str))
    except OSError as error:
        raise UsageFault(f"{directory}: holds no {RECORD} that can be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise DocumentError(f"{path / RECORD}: is no record of a release; give a directory that dpqr release has made")
    return ReleaseFiles(path=path, record=record)


def require_regular(directory: Path) -> None:
    """DataError for a pipe, a socket, a device or a link that leads out of a release's directory; nothing is opened.

    A pipe would let a reader wait for ever, and a link would show a file of the reader's own as part of a release that
    somebody else has made. Directories are passed by: a reader opens none.
    """
    inside = os.path.realpath(directory)
    with os.scandir(directory) as listed:
        for entry in sorted(listed, key=lambda each: each.name):
            if entry.is_dir(follow_symlinks=False):
                continue
            own = os.path.commonpath((inside, os.path.realpath(entry.path))) == inside
            if not own or not os.path.isfile(entry.path):
                raise DataError(
                    f"{entry.path}: is a link that leads out of the directory, a pipe, a socket or a device; a release "
                    "holds regular files alone\nremove it, or copy the release anew"
                )


def file_text(path: Path) -> str:
    """All that a published file says, as text: of a Parquet file its schema and every cell."""
    if path.suffix != ".parquet":
        return path.read_text(encoding="utf-8")
    table = parquet.read_table(path)
    return f"{table.schema}\n{table.to_pydict()}"


def _estimates(path: Path, rows: int) -> FloatArray:
    """The column of estimates. A Parquet file that declares more than `rows` is not read."""
    if not path.is_file():  # a pipe would let the job wait for ever
        raise OSError
    if path.suffix == ".json":
        records = json.loads(path.read_bytes())
        return np.array([np.nan if one["estimate"] is None else one["estimate"] for one in records], dtype=np.float64)
    only = ["estimate"]
    with pa.OSFile(os.fsencode(path), "rb") as file:
        if path.suffix == ".parquet":
            if parquet.read_metadata(file).num_rows > rows:
                raise ValueError
            table = parquet.read_table(file, columns=only)
        else:
            table = csv.read_csv(file, convert_options=csv.ConvertOptions(include_columns=only))
    column = table["estimate"].cast(pa.float64())
    return np.asarray(column.to_numpy(), dtype=np.float64)


STANDARD_INPUT = "/dev/fd/0"
"""Where the system names a file that was redirected to standard input."""


def release_around(path: str) -> str | None:
    """The release directory that this is, or that holds this file, whatever links and `..` lead there.

    Raises: DocumentError for a record that cannot be read.
    """
    directories = (place if os.path.isdir(place) else os.path.dirname(place) for place in _places(path))
    return next((each for each in directories if _release_record(Path(each))), None)


def payers(source: TableSource) -> tuple[str, ...]:
    """The datasets whose budgets paid for files of a table: releases, predictions, models. No table is opened.

    Raises: DocumentError for a record that cannot be read, for then nobody knows who paid.
    """
    places = [place for path in _paths(source) for place in _places(path)]
    around = dict.fromkeys(place if os.path.isdir(place) else os.path.dirname(place) for place in places)
    records = [_release_record(Path(directory)) for directory in around]
    records += [_prediction_record(Path(record_path(place))) for place in places]
    return tuple(dict.fromkeys(dataset for record in records if record for dataset in _dataset(record)))


def _paths(source: TableSource) -> list[str]:
    """The files of a table, none of one in memory. Their faults are reported when the table is opened."""
    if source.frame is not None:
        return []
    if source.from_stdin:
        return [STANDARD_INPUT]
    try:
        return [*source.paths, *(file.path for file in source.files())]
    except DataError:
        return list(source.paths)


def _places(path: str) -> tuple[str, ...]:
    """The absolute path, before and after links are followed. None of a name that no file can have."""
    if path == STDIN:
        path = STANDARD_INPUT
    try:
        return tuple(dict.fromkeys((os.path.abspath(path), os.path.realpath(path))))
    except ValueError:
        return ()


def _dataset(record: dict[str, Any]) -> Iterator[str]:
    ledger = record.get("ledger")
    if isinstance(ledger, dict) and isinstance(ledger.get("dataset"), str):
        yield ledger["dataset"]


def _release_record(directory: Path) -> dict[str, Any] | None:
    """None where no record lies, or what lies there under its name is of another kind."""
    found = _record(directory, RECORD)
    return found if found and str(found.get("dpqr")).startswith(RECORD_KIND) else None


def prediction_record(place: str) -> dict[str, Any] | None:
    """The record beside a file of predictions, or the one that this file is, as a model is; None where there is none.

    Raises: DocumentError for one that cannot be read.
    """
    own = (place,) if place.endswith(".json") else ()
    found = (_prediction_record(Path(path)) for path in (record_path(place), *own))
    return next((record for record in found if record), None)


def _prediction_record(path: Path) -> dict[str, Any] | None:
    found = _record(path.parent, path.name)
    return found if found and found.get("dpqr") in (RELEASE_FORMAT, MODEL_FORMAT) else None


def unverified_predictions(place: str, record: dict[str, Any]) -> str:
    """Why a record of predictions and their file do not belong together; empty: their hashes fit. As `unverified`."""
    if SEAL in record and sealed(record) != record:
        return f"{place}: its record was changed after it was written; restore it"
    if SEAL not in record:
        return f"{place}: its record states no hashes, so nothing shows what was changed"
    hashes = record.get("hashes")
    if not isinstance(hashes, dict) or os.path.samefile(place, _own_record(place)):
        return ""
    if file_hash(Path(place)) not in hashes.values():
        return f"{place}: is not the file that its record was written for; restore it"
    return ""


def _own_record(place: str) -> str:
    """The record beside a file of predictions, or the file itself, where it is one."""
    beside = record_path(place)
    return beside if os.path.isfile(beside) else place


def _record(directory: Path, name: str) -> dict[str, Any] | None:
    if not os.path.lexists(directory / name):
        return None
    try:
        found = read_record(directory, name)
    except (OSError, ValueError):
        raise DocumentError(
            f"{directory / name}: cannot be read, so nobody knows whose budget paid; restore it, or move it away"
        ) from None
    return found if isinstance(found, dict) else None
