"""Answers as a pandas DataFrame, from a release or from its files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from dpqr.construction.answers.intervals import BASES
from dpqr.errors import DocumentError
from dpqr.io.outputs.answer_tables.figures_table import NUMBERS, OWN
from dpqr.io.outputs.answer_tables.table_files import as_written
from dpqr.io.outputs.answer_tables.tidy import Texts, Tidy
from dpqr.io.outputs.records.record import RECORD
from dpqr.io.outputs.releases.read_answers import completed, read_figures
from dpqr.io.outputs.releases.read_release import ReleaseFiles
from dpqr.io.outputs.releases.release_files import BASIS, FIGURES

if TYPE_CHECKING:
    import pandas as pd

DETAIL = "detail"
_ANSWERS = re.compile(r"(rehearsal-)?answers\.(csv|parquet|json)")
_CUMULATIVE = re.compile(r"(rehearsal-)?cumulative\.(csv|parquet|json)")
_SYNTHETIC = re.compile(r"(rehearsal-)?synthetic\.parquet")


def answers_frame(table: Tidy) -> pd.DataFrame:
    """The columns of `table` in their order: texts as categoricals, ordered as the domain and the workload order them,
    figures as floats. Details, which describe and do not count, are texts."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for name, column in table.columns.items():
        if not isinstance(column, Texts):
            columns[name] = column
        elif name == DETAIL:
            columns[name] = column.shown(str, None).rows()
        else:
            places = np.asarray(column.places)
            titles = list(column.titles)
            columns[name] = pd.Categorical.from_codes(places, categories=titles, ordered=name != BASIS)
    return pd.DataFrame(columns)


def read_answers_frame(files: ReleaseFiles) -> pd.DataFrame:
    """The same from the files of a release. A category stands where it first occurs, which is the domain's order: a
    block lists the cells of each of its columns in that order.

    Raises: DocumentError where the answers cannot be read.
    """
    return _read_frame(files, _listed(files, _ANSWERS, "answers"))


def read_cumulative_frame(files: ReleaseFiles) -> pd.DataFrame:
    """The cumulative answers of a counter, in the same way. Raises: DocumentError."""
    return _read_frame(files, _listed(files, _CUMULATIVE, "cumulative answers"))


def _read_frame(files: ReleaseFiles, path: Path) -> pd.DataFrame:
    """All columns behind `basis` are figures, too."""
    import pandas as pd

    try:
        table = completed(_table(os.fspath(path)))
        files.require_unchanged(path.name)
        names = table.column_names
        figures = {*FIGURES, *names[names.index(BASIS) + 1 :]}
        columns: dict[str, Any] = {
            name: table[name].cast(pa.float64()).to_numpy() if name in figures else _texts(name, table[name])
            for name in names
        }
        return pd.DataFrame(columns)
    except (OSError, ValueError, pa.ArrowException):
        raise DocumentError(f"{path}: cannot be read as answers; release again, or restore it") from None


def plain_frame(table: Tidy) -> pd.DataFrame:
    """Texts as they are, nothing as None; numbers as numbers."""
    import pandas as pd

    return pd.DataFrame(
        {
            name: pd.Series(column.shown(str, None).rows(), dtype=object) if isinstance(column, Texts) else column
            for name, column in table.columns.items()
        }
    )


def read_figures_frame(files: ReleaseFiles) -> pd.DataFrame:
    """The figures from the files of a release; empty where it has none. Raises: DocumentError."""
    import pandas as pd

    records = read_figures(files)
    kinds = {name: float if name in NUMBERS else object for name in (records[0] if records else OWN)}
    columns = {name: pd.Series([one[name] for one in records], dtype=kind) for name, kind in kinds.items()}
    return pd.DataFrame(columns)


def synthetic_frame(table: Any) -> pd.DataFrame:
    """Synthetic rows or cells: categoricals are ordered as the domain is."""
    frame: pd.DataFrame = table.to_pandas()
    for name in frame.columns[frame.dtypes == "category"]:
        frame[name] = frame[name].cat.as_ordered()
    return frame


def read_synthetic_frame(files: ReleaseFiles) -> pd.DataFrame:
    """The same from the files of a release. Raises: DocumentError."""
    path = _listed(files, _SYNTHETIC, "synthetic data")
    try:
        table = parquet.read_table(os.fspath(path))
        files.require_unchanged(path.name)
        return synthetic_frame(table)
    except (OSError, pa.ArrowException):
        raise DocumentError(f"{path}: cannot be read as synthetic data; release again, or restore it") from None


def _listed(files: ReleaseFiles, form: re.Pattern[str], what: str) -> Path:
    """The file of that form, of a release or of a rehearsal."""
    name = next((each for each in files.record["files"] if form.fullmatch(str(each))), None)
    if name is None:
        raise DocumentError(f"{files.path / RECORD}: lists no {what}; make the release with them")
    return files.path / str(name)


def _table(path: str) -> Any:
    if path.endswith(".parquet"):
        return parquet.read_table(path)
    if path.endswith(".json"):
        with open(path, encoding="utf-8") as file:
            return pa.Table.from_pylist(json.load(file))
    parsing = csv.ParseOptions(newlines_in_values=True)
    with csv.open_csv(path, parse_options=parsing) as header:
        names = header.schema.names
    kinds = {name: pa.float64() if name in FIGURES else pa.string() for name in names}
    options = csv.ConvertOptions(
        column_types=kinds, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    table = csv.read_csv(path, parse_options=parsing, convert_options=options)
    return pa.table({name: table[name] if name in FIGURES else _bare(table[name]) for name in names})


def _bare(column: Any) -> Any:
    """Texts of a CSV without the apostrophes that keep spreadsheets from computing."""
    texts = column.combine_chunks().dictionary_encode()
    shown = [None if text is None else as_written(text) for text in texts.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(texts.indices, pa.array(shown, pa.string()))


def _texts(name: str, column: Any) -> Any:
    import pandas as pd

    found = column.to_pylist()
    if name == BASIS:
        return pd.Categorical(found, categories=BASES)
    return found if name == DETAIL else pd.Categorical(found, categories=_in_order(found), ordered=True)


def _in_order(found: Iterable[str | None]) -> list[str]:
    return [text for text in dict.fromkeys(found) if text is not None]
