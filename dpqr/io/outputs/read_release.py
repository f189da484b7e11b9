"""read_release: a release directory, read back: its record and its answers."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from dpqr.data.arrays import FloatArray
from dpqr.data.domain import Domain
from dpqr.errors import DocumentError, UsageFault
from dpqr.io.outputs.directory import MARK
from dpqr.io.outputs.record import RECORD, read_record
from dpqr.io.outputs.release_directory import SYNTHETIC
from dpqr.io.outputs.size_parts import domain_part, workload_part
from dpqr.workload.workload import Workload

FORMS = ("csv", "parquet", "json")


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

    def synthetic(self) -> tuple[Path, bool, float]:
        """The synthetic rows, whether bins stand in them by title, and how many records a row stands for.

        UsageFault where the release has none.
        """
        made = self.record["synthetic"]
        if not isinstance(made, dict) or made.get("form") != "rows":
            raise UsageFault(
                f"--rows: {self.path} holds no synthetic rows; release with --synthetic rows, or give a table of rows"
            )
        return self.path / SYNTHETIC, made["bins"] == "title", float(made["records_a_row"])


def read_release(directory: str) -> ReleaseFiles:
    """Errors: UsageFault where there is no release; DocumentError where its record is damaged."""
    path = Path(directory)
    if not os.path.isdir(path):  # which is quiet about names that no file can have
        raise UsageFault(f"{directory}: is no release directory; give one, or a table of rows with --rows")
    try:
        record = read_record(path)
        whole = str(record["dpqr"]).startswith(MARK) and {"ledger", "plan", "files", "synthetic"} <= set(record)
        whole = whole and {"domain", "workload"} <= set(record["plan"]) and isinstance(record["files"], list)
        whole = whole and (record["ledger"] == "none" or isinstance(record["ledger"]["dataset"], str))
    except OSError as error:
        raise UsageFault(f"{directory}: holds no {RECORD} that can be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise DocumentError(f"{path / RECORD}: is no record of a release; give a directory that dpqr release has made")
    return ReleaseFiles(path=path, record=record)


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
