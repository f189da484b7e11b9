"""The answers of a release, read back from its directory block by block, and its figures."""

from __future__ import annotations

import csv as text_csv
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from dpqr.construction.answers.answered import DETAIL, AnsweredBlock, CellColumn
from dpqr.construction.answers.intervals import BASES, MEASURED, NO_BASIS, BasisArray
from dpqr.errors import DocumentError, UsageFault
from dpqr.io.outputs.answer_tables.table_files import as_written, inert
from dpqr.io.outputs.answer_tables.tidy import beside
from dpqr.io.outputs.records.record import RECORD
from dpqr.io.outputs.releases.read_release import FORMS, ReleaseFiles
from dpqr.io.outputs.releases.release_files import BASIS, ERROR, FIGURES, OWN_COLUMNS

NO_TABLE = (text_csv.Error, pa.ArrowException)
"""What reading a file that is no table ends with, beside ValueError and OSError."""
_FIGURES = re.compile(r"(rehearsal-)?figures\.(csv|parquet|json)")


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockEntry:
    """A block of the workload, as the record lists it. start: the place of its first answer."""

    name: str
    start: int
    rows: int
    columns: tuple[str, ...]


def block_entries(files: ReleaseFiles) -> tuple[BlockEntry, ...]:
    """The blocks of a release, in workload order. DocumentError where the record does not list them."""
    try:
        return tuple(_entries(files))
    except (KeyError, TypeError, ValueError):
        raise DocumentError(f"{files.path / RECORD}: lists no queries; restore it, or release again") from None


def _entries(files: ReleaseFiles) -> Iterator[BlockEntry]:
    start = 0
    for block in files.record["plan"]["workload"]["blocks"]:
        name, rows, columns = str(block["name"]), int(block["queries"]), tuple(map(str, block["columns"]))
        yield BlockEntry(name=name, start=start, rows=rows, columns=columns)
        start += rows


def read_answers(files: ReleaseFiles, query: str) -> AnsweredBlock:
    """The answers of the block called `query`.

    Raises: UsageFault where there is no such block, with the nearest names; DocumentError where the files are damaged.
    """
    return next(read_blocks(files, (block_entry(files, query),)))


def block_entry(files: ReleaseFiles, query: str) -> BlockEntry:
    """The block called `query`. Raises: as `read_answers`."""
    entries = block_entries(files)
    entry = next((each for each in entries if each.name == query), None)
    if entry is None:
        raise UsageFault(f"{files.path}: has no query {query!r}; {_nearest(query, [each.name for each in entries])}")
    return entry


def all_answers(files: ReleaseFiles) -> Iterator[AnsweredBlock]:
    """The answers of every block, in workload order; the file is read once. Raises: DocumentError."""
    return read_blocks(files, block_entries(files))


def read_blocks(
    files: ReleaseFiles,
    wanted: Sequence[BlockEntry],
    stem: str = "answers",
    own: Sequence[str] = OWN_COLUMNS,
    shown: Callable[[pa.Table], pa.Table] = lambda table: table,
) -> Iterator[AnsweredBlock]:
    """The answers of some blocks in the file `stem`, whose own columns are `own`. shown: the columns of answers there.

    Raises: DocumentError where there is no such file, or it is damaged.
    """
    name = next((f"{stem}.{form}" for form in FORMS if f"{stem}.{form}" in files.record["files"]), None)
    if name is None:
        raise DocumentError(f"{files.path / RECORD}: lists no {stem}; give a directory that dpqr release has made")
    path = files.path / name
    try:
        table = shown(read_table(path))
        if table.num_rows != sum(each.rows for each in block_entries(files)):
            raise ValueError("another number of answers than the record states")
        files.require_unchanged(name)
        for entry in wanted:
            yield _block(table.slice(entry.start, entry.rows), entry, files, own)
    except (OSError, ValueError, KeyError, TypeError, text_csv.Error, pa.ArrowException):
        raise DocumentError(f"{path}: cannot be read as answers; release again, or restore it") from None


def read_figures(files: ReleaseFiles) -> list[dict[str, Any]]:
    """One plain dict for every value of every figure, named as in the file; none where the release has no figures.

    Raises: DocumentError where the file cannot be read.
    """
    name = next((str(each) for each in files.record["files"] if _FIGURES.fullmatch(str(each))), None)
    if name is None:
        return []
    path = files.path / name
    try:
        records: list[dict[str, Any]] = read_table(path).to_pylist()
        files.require_unchanged(name)
    except (OSError, ValueError, text_csv.Error, pa.ArrowException):
        raise DocumentError(f"{path}: cannot be read as figures; release again, or restore it") from None
    if not name.endswith(".csv"):
        return records
    return [{key: as_written(each) if isinstance(each, str) else each for key, each in one.items()} for one in records]


def block_records(block: AnsweredBlock) -> list[dict[str, Any]]:
    """A plain dict for each answer, with all digits, named as in the files; None where there is nothing."""
    columns = [column.name if column.name == DETAIL else beside(OWN_COLUMNS, column.name) for column in block.columns]
    figures = (block.estimate, block.error, block.measured, block.deviation, block.lower, block.upper)
    values = ([None if value != value else value for value in each.tolist()] for each in figures)
    bases = (None if place == NO_BASIS else BASES[place] for place in block.basis.tolist())
    return [
        {
            "query": block.name,
            **dict(zip(columns, block.cells(row), strict=True)),
            **dict(zip((*FIGURES, BASIS), each, strict=True)),
        }
        for row, each in enumerate(zip(*values, bases, strict=True))
    ]


def _nearest(query: str, names: list[str]) -> str:
    held = [name for name in names if query.casefold() in name.casefold()]
    near = (get_close_matches(query, names, n=3, cutoff=0.5) or held)[:3]
    return f"did you mean {' or '.join(map(repr, near))}?" if near else "dpqr show lists them"


def read_table(path: Path) -> pa.Table:
    """Figures as numbers, everything else as text."""
    if not path.is_file():  # a pipe would let the command wait for ever
        raise FileNotFoundError(path)
    if path.suffix == ".json":
        return completed(pa.Table.from_pylist(json.loads(path.read_bytes())))
    if path.suffix == ".parquet":
        return completed(parquet.read_table(path))
    with path.open(encoding="utf-8", newline="") as file:
        names = next(text_csv.reader(file), [])
    kinds = {name: pa.float64() if name in FIGURES else pa.string() for name in names}
    empty = csv.ConvertOptions(column_types=kinds, strings_can_be_null=True, quoted_strings_can_be_null=False)
    return completed(csv.read_csv(path, convert_options=empty))


def completed(table: pa.Table) -> pa.Table:
    """A table of answers with the columns that came after dpqr 0.3: no `error`, and intervals that were `measured`.

    Before, an attribute could have one of these names. A table of anything else is left as it is.
    """
    names = table.column_names
    if "estimate" not in names or {ERROR, BASIS} <= set(names):
        return table
    renamed = [beside(OWN_COLUMNS, name) if name in (ERROR, BASIS) else name for name in names]
    held, nothing = table.rename_columns(renamed), pa.nulls(len(table), pa.float64())
    columns = {name: held[name] for name in renamed if name not in FIGURES}
    columns |= {name: held[name].cast(pa.float64()) if name in renamed else nothing for name in FIGURES}
    words = [None if lower is None else BASES[MEASURED] for lower in columns["lower"].to_pylist()]
    return pa.table(columns | {BASIS: pa.array(words, pa.string())})


def _block(table: pa.Table, entry: BlockEntry, files: ReleaseFiles, own: Sequence[str]) -> AnsweredBlock:
    known = {beside(own, each["name"]): each for each in files.record["plan"]["domain"]["columns"]}
    names = [*(name for name in table.column_names if name not in OWN_COLUMNS), DETAIL]
    texts = {name: table[name].cast(pa.string()).combine_chunks() for name in ("query", *names)}
    if set(_bare(texts.pop("query").unique())) != {entry.name}:
        raise ValueError("answers another query")
    columns = (_column(name, cells, known.get(name)) for name, cells in texts.items() if cells.null_count < len(cells))
    figures = (np.asarray(table[name].cast(pa.float64()).to_numpy(), dtype=np.float64) for name in FIGURES)
    estimate, error, measured, deviation, lower, upper = figures
    return AnsweredBlock(
        name=entry.name,
        columns=tuple(columns),
        estimate=estimate,
        error=error,
        measured=measured,
        deviation=deviation,
        lower=lower,
        upper=upper,
        basis=_basis(table[BASIS]),
    )


def _basis(column: pa.ChunkedArray) -> BasisArray:
    """ValueError for a word that names none."""
    return np.array([NO_BASIS if text is None else BASES.index(text) for text in column.to_pylist()], dtype=np.int8)


def _column(name: str, cells: pa.StringArray, attribute: dict[str, Any] | None) -> CellColumn:
    """Texts in the order in which they appear, which is that of the cells."""
    encoded = cells.dictionary_encode()
    return CellColumn(
        name=attribute["name"] if attribute else name,
        texts=tuple(_bare(encoded.dictionary)),
        places=np.asarray(encoded.indices.to_numpy(), dtype=np.int64),
        ordered=attribute is not None and attribute.get("ordered", attribute["kind"] != "labels"),
        own=len(attribute["own_cells"]) if attribute else 0,
    )


def _bare(texts: pa.StringArray) -> list[str]:
    """Without the apostrophe that keeps a CSV cell from being run by a spreadsheet."""
    return [text[1:] if text.startswith("'") and inert(text[1:]) == text else text for text in texts.to_pylist()]
