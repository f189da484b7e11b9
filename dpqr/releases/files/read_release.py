"""Published files, read back: a release's record and answers, and the datasets whose budgets paid for a file.

A file's payers are those of the records that lie beside it. A copy, or a hard link, that lies elsewhere has no record
beside it and is not recognised: contents are compared with nothing, for a ledger keeps no trace of a table.
"""

from __future__ import annotations

import csv as text_csv
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
from msgspec import Struct
from pyarrow import parquet

from dpqr.domain.domain import Domain
from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.budget import upward_text
from dpqr.kernel.errors import DataError, DocumentError, UsageFault
from dpqr.ledger.codec import JSON
from dpqr.releases.answers.answered import DETAIL, AnsweredBlock, CellColumn
from dpqr.releases.answers.errors import BASES, MEASURED, NO_BASIS
from dpqr.releases.error_bounds import NoisyError
from dpqr.releases.files.atomic import RECORD, RECORD_KIND, read_record
from dpqr.releases.files.formats import ENDINGS, FORMATS, files_of
from dpqr.releases.files.release_files import (
    ANSWER_COLUMNS,
    BASIS,
    ERROR,
    FIGURE_COLUMNS,
    NUMBERS,
    SYNTHETIC,
    file_hash,
)
from dpqr.releases.files.tidy import FIGURES, Row, free_column_name, undo_inert
from dpqr.releases.forecast.simulation import ErrorDistribution, reaches
from dpqr.releases.record.parts import (
    MODEL_FORMAT,
    PREDICTION_FORMAT,
    DomainPart,
    WorkloadPart,
    predictions_path,
    record_path,
    written,
)
from dpqr.releases.record.plan_document import SEAL, plan_document, seal_document
from dpqr.releases.record.release_document import parsed_record
from dpqr.strategies.plan import Plan
from dpqr.tables.files import STDIN
from dpqr.tables.source import TableSource
from dpqr.workload.workload import Workload


class ReleaseFiles(Struct, frozen=True, kw_only=True):
    """A release as it lies on disk. Everything in it is public.

    record: release.json, which has the form that `dpqr schema release` prints.
    """

    path: Path
    record: JSON

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
        if SEAL in self.record and seal_document(self.record) != self.record:
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
        if plan["domain"] != written(DomainPart.of(domain)):
            raise DocumentError(
                f"{self.path}: was released over another domain (columns, cells or rules differ); give the domain file "
                "of the release"
            )
        if plan["workload"] != written(WorkloadPart.of(workload, domain)):
            raise DocumentError(
                f"{self.path}: answers other queries (blocks differ in name, size, columns, weight or grid); give the "
                "queries file of the release"
            )

    def estimates(self, rows: int) -> FloatArray:
        """The estimates in workload order, shape (rows,), NaN where there is none. DocumentError for another number.
        Counts of persons, which follow them, are left out."""
        name = next((f"answers.{form}" for form in FORMATS if f"answers.{form}" in self.record["files"]), None)
        if name is None:
            raise DocumentError(f"{self.path / RECORD}: lists no answers; give a directory that dpqr release has made")
        try:
            # A Parquet file that declares more than `rows` is not read.
            path = self.path / name
            if not path.is_file():  # a pipe would let the job wait for ever
                raise OSError
            files = files_of(path)
            everything = rows + sum(int(table["queries"]) for table in _person_tables(self.record))
            if (files.declared_rows(path) or 0) > everything:
                raise ValueError("more answers than there may be")
            column = files.read(path, only=["estimate"])["estimate"].cast(pa.float64())
            found = np.asarray(column.to_numpy(), dtype=np.float64)
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
            raise DocumentError(
                f"{self.path / name}: cannot be read as answers; release again, or restore it"
            ) from None
        if len(found) != everything:
            raise DocumentError(f"{self.path / name}: holds {len(found)} answers, and the queries ask {everything}")
        return found[:rows]

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
        whole = str(record["dpqr"]).startswith(RECORD_KIND)
    except OSError as error:
        raise UsageFault(f"{directory}: holds no {RECORD} that can be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise DocumentError(f"{path / RECORD}: is no record of a release; give a directory that dpqr release has made")
    parsed_record(record, str(path / RECORD))
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
    ledgers = (record.get("ledger") for record in records if record)
    found = (ledger.get("dataset") for ledger in ledgers if isinstance(ledger, dict))
    return tuple(dict.fromkeys(dataset for dataset in found if isinstance(dataset, str)))


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


def _release_record(directory: Path) -> JSON | None:
    """None where no record lies, or what lies there under its name is of another kind."""
    found = _record(directory, RECORD)
    return found if found and str(found.get("dpqr")).startswith(RECORD_KIND) else None


def prediction_record(place: str) -> JSON | None:
    """The record beside a file of predictions, or the one that this file is, as a model is; None where there is none.

    Raises: DocumentError for one that cannot be read.
    """
    own = (place,) if place.endswith(".json") else ()
    found = (_prediction_record(Path(path)) for path in (record_path(place), *own))
    return next((record for record in found if record), None)


def _prediction_record(path: Path) -> JSON | None:
    found = _record(path.parent, path.name)
    return found if found and found.get("dpqr") in (PREDICTION_FORMAT, MODEL_FORMAT) else None


def unverified_predictions(place: str, record: JSON) -> str:
    """Why a record of predictions and their file do not belong together; empty: their hashes fit. As `unverified`."""
    if SEAL in record and seal_document(record) != record:
        return f"{place}: its record was changed after it was written; restore it"
    if SEAL not in record:
        return f"{place}: its record states no hashes, so nothing shows what was changed"
    place = predictions_path(place)
    hashes, beside = record.get("hashes"), record_path(place)
    # The record lies beside a file of predictions, or is the file itself.
    if not isinstance(hashes, dict) or os.path.samefile(place, beside if os.path.isfile(beside) else place):
        return ""
    if file_hash(Path(place)) not in hashes.values():
        return f"{place}: is not the file that its record was written for; restore it"
    return ""


def _record(directory: Path, name: str) -> JSON | None:
    if not os.path.lexists(directory / name):
        return None
    try:
        found = read_record(directory, name)
    except (OSError, ValueError):
        raise DocumentError(
            f"{directory / name}: cannot be read, so nobody knows whose budget paid; restore it, or move it away"
        ) from None
    return found if isinstance(found, dict) else None


# The answers of a release, read back from its directory block by block, and its figures.

NO_TABLE = (text_csv.Error, pa.ArrowException)
"""What reading a file that is no table ends with, beside ValueError and OSError."""
LARGEST = "top"
"""The kind of figures that name cells."""
NOT_CELLS = {*FIGURE_COLUMNS} - {DETAIL}
"""Columns of figures that do not tell them apart."""
_FIGURES = re.compile(rf"(rehearsal-)?figures\.({ENDINGS})")


class BlockEntry(Struct, frozen=True, kw_only=True):
    """A block of the workload, as the record lists it. start: the place of its first answer."""

    name: str
    start: int
    rows: int
    columns: tuple[str, ...]


def _person_tables(record: JSON) -> Sequence[JSON]:
    """The tables of persons that stand among the answers; none where a crash has lost their draw."""
    found: Sequence[JSON] = record["plan"]["person_tables"] if "person_tables" in record else ()
    return found


def block_entries(files: ReleaseFiles) -> tuple[BlockEntry, ...]:
    """The blocks of a release, in workload order, then its tables of persons. DocumentError where the record does not
    list them."""
    entries, start = [], 0
    try:
        for block in (*files.record["plan"]["workload"]["blocks"], *_person_tables(files.record)):
            name, rows, columns = str(block["name"]), int(block["queries"]), tuple(map(str, block["columns"]))
            entries.append(BlockEntry(name=name, start=start, rows=rows, columns=columns))
            start += rows
        return tuple(entries)
    except (KeyError, TypeError, ValueError):
        raise DocumentError(f"{files.path / RECORD}: lists no queries; restore it, or release again") from None


def read_answers(files: ReleaseFiles, query: str) -> AnsweredBlock:
    """The answers of the block called `query`.

    Raises: UsageFault where there is no such block, with the nearest names; DocumentError where the files are damaged.
    """
    return next(read_blocks(files, (block_entry(files, query),)))


def block_entry(files: ReleaseFiles, query: str) -> BlockEntry:
    """The block called `query`; a table of persons also by the name that the queries document gives it. Raises: as
    `read_answers`."""
    entries = block_entries(files)
    called = {each.name: each for each in entries}
    entry = called.get(query, called.get(f"{query} (persons)"))
    if entry is None:
        names = [each.name for each in entries]
        alike = [name for name in names if query.casefold() in name.casefold()]
        near = (get_close_matches(query, names, n=3, cutoff=0.5) or alike)[:3]
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "dpqr show lists them"
        raise UsageFault(f"{files.path}: has no query {query!r}; {hint}")
    return entry


def all_answers(files: ReleaseFiles) -> Iterator[AnsweredBlock]:
    """The answers of every block, in workload order; the file is read once. Raises: DocumentError."""
    return read_blocks(files, block_entries(files))


def read_blocks(
    files: ReleaseFiles,
    wanted: Sequence[BlockEntry],
    stem: str = "answers",
    own: Sequence[str] = ANSWER_COLUMNS,
    shown: Callable[[pa.Table], pa.Table] = lambda table: table,
) -> Iterator[AnsweredBlock]:
    """The answers of some blocks in the file `stem`, whose own columns are `own`; of a rehearsal, in its file. shown:
    the columns of answers there.

    Raises: DocumentError where there is no such file, or it is damaged.
    """
    named = [f"{start}{stem}.{form}" for start in ("", "rehearsal-") for form in FORMATS]
    name = next((each for each in named if each in files.record["files"]), None)
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


def read_figures(files: ReleaseFiles) -> list[Row]:
    """One plain dict for every value of every figure, named as in the file; none where the release has no figures.

    Raises: DocumentError where the file cannot be read.
    """
    name = next((str(each) for each in files.record["files"] if _FIGURES.fullmatch(str(each))), None)
    if name is None:
        return []
    path = files.path / name
    try:
        records: list[Row] = read_table(path).to_pylist()
        files.require_unchanged(name)
    except (OSError, ValueError, text_csv.Error, pa.ArrowException):
        raise DocumentError(f"{path}: cannot be read as figures; release again, or restore it") from None
    label = files_of(name).label
    return [{key: label(each) if isinstance(each, str) else each for key, each in one.items()} for one in records]


def figure_blocks(files: ReleaseFiles) -> dict[str, AnsweredBlock]:
    """The values of every figure by its name, in the form of answers; of the largest cells none, for these are answers
    already, and others in each release. Raises: as `read_figures`."""
    by_name: dict[str, list[Row]] = {}
    for row in read_figures(files):
        if row["kind"] != LARGEST:
            by_name.setdefault(row["figure"], []).append(row)
    return {name: _figure_block(name, rows, files) for name, rows in by_name.items()}


def _figure_block(name: str, rows: Sequence[Row], files: ReleaseFiles) -> AnsweredBlock:
    known = {free_column_name(FIGURE_COLUMNS, each["name"]): each for each in files.record["plan"]["domain"]["columns"]}
    cells = {key: pa.array([row[key] for row in rows], pa.string()) for key in rows[0] if key not in NOT_CELLS}
    columns = (_column(key, found, known.get(key)) for key, found in cells.items() if found.null_count < len(rows))
    numbers = {key: np.array([row[key] for row in rows], dtype=np.float64) for key in NUMBERS}
    return AnsweredBlock(
        name=name,
        columns=tuple(columns),
        **numbers,
        measured=np.full(len(rows), np.nan),
        deviation=np.full(len(rows), np.nan),
        basis=np.array([BASES.index(row[BASIS]) if row[BASIS] else NO_BASIS for row in rows], dtype=np.int8),
    )


def block_records(block: AnsweredBlock) -> list[Row]:
    """A plain dict for each answer, with all digits, named as in the files; None where there is nothing."""
    columns = [
        column.name if column.name == DETAIL else free_column_name(ANSWER_COLUMNS, column.name)
        for column in block.columns
    ]
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


def read_table(path: Path) -> pa.Table:
    """Figures as numbers, everything else as text."""
    if not path.is_file():  # a pipe would let the command wait for ever
        raise FileNotFoundError(path)
    return with_later_columns(files_of(path).read(path))


def with_later_columns(table: pa.Table) -> pa.Table:
    """A table of answers with the columns that came after dpqr 0.3: no `error`, and intervals that were `measured`.

    Before, an attribute could have one of these names. A table of anything else is left as it is.
    """
    names = table.column_names
    if "estimate" not in names or {ERROR, BASIS} <= set(names):
        return table
    renamed = [free_column_name(ANSWER_COLUMNS, name) if name in (ERROR, BASIS) else name for name in names]
    held, nothing = table.rename_columns(renamed), pa.nulls(len(table), pa.float64())
    columns = {name: held[name] for name in renamed if name not in FIGURES}
    columns |= {name: held[name].cast(pa.float64()) if name in renamed else nothing for name in FIGURES}
    words = [None if lower is None else BASES[MEASURED] for lower in columns["lower"].to_pylist()]
    return pa.table(columns | {BASIS: pa.array(words, pa.string())})


def _block(table: pa.Table, entry: BlockEntry, files: ReleaseFiles, own: Sequence[str]) -> AnsweredBlock:
    known = {free_column_name(own, each["name"]): each for each in files.record["plan"]["domain"]["columns"]}
    named = dict(zip(table.column_names, table.columns, strict=True))
    if set(_bare(named["query"].cast(pa.string()).unique())) != {entry.name}:
        raise ValueError("answers another query")
    names = [*(name for name in named if name not in ANSWER_COLUMNS), DETAIL]
    columns = (
        _column(name, named[name].cast(pa.string()).combine_chunks(), known.get(name))
        for name in names
        if named[name].null_count < len(table)
    )
    figures = (np.asarray(table[name].cast(pa.float64()).to_numpy(), dtype=np.float64) for name in FIGURES)
    estimate, error, measured, deviation, lower, upper = figures
    bases = [NO_BASIS if text is None else BASES.index(text) for text in table[BASIS].to_pylist()]
    return AnsweredBlock(
        name=entry.name,
        columns=tuple(columns),
        estimate=estimate,
        error=error,
        measured=measured,
        deviation=deviation,
        lower=lower,
        upper=upper,
        basis=np.array(bases, dtype=np.int8),
    )


def _column(name: str, cells: pa.StringArray, attribute: JSON | None) -> CellColumn:
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
    return list(map(undo_inert, texts.to_pylist()))


# Observed error: the mean error of a published release, from the noisy errors that it has bought.

SAME = ("unit", "budget", "workload", "schedule", "distinguisher", "check", "update")
"""Parts that two plans have to share, so that the error of one is to be expected of the other."""


def published_epsilon(record: JSON) -> str | None:
    """Of a release's record, as it can be typed; None where the record states none."""
    try:
        return upward_text(Fraction(record["plan"]["budget"]["epsilon"]["exact"]))
    except (KeyError, TypeError, ValueError, ArithmeticError):
        return None


def observed_error(record: JSON, plan: Plan, records: int) -> ErrorDistribution | None:
    """The mean over the blocks of the L1 errors over n in a published release; deviation: of the noise in it.

    A block whose error was bought has that; the others, which were measured, have what refits predict.

    Args:
        record: release.json.
        plan: by which the release would be made today.
        records: that the release estimates, n.

    Returns:
        None where no error was bought, or the release had another plan (`SAME`).
    """
    today, blocks = plan_document(plan), plan.problem.workload.blocks
    weights = 1 / reaches(plan) / len(blocks) / max(records, 1)
    weight = dict(zip((block.name for block in blocks), weights.tolist(), strict=True))
    try:
        if any(record["plan"][part] != today[part] for part in SAME):
            return None
        # The errors of each group of blocks that share one draw, by the block's name.
        part = record["errors"]
        by_name = {block.name: block for block in plan.problem.workload.blocks}
        (draw,) = (one for one in part["draws"] if one["of"] == "sum")
        deviation = float(draw["law"]["deviation"])
        groups = [
            {name: NoisyError.of(by_name[name], part["units"][name], value, deviation, len(names)) for name in names}
            for names, value in zip(draw["groups"], draw["values"], strict=True)
        ]
        errors = record["error_bars"]["predicted"] | {name: one.value for each in groups for name, one in each.items()}
        mean = float(sum(weight[block.name] * errors[block.name] for block in blocks))
        noise = (sum(weight[name] * one.deviation for name, one in each.items()) for each in groups)
        found = ErrorDistribution(mean=mean, deviation=math.hypot(*noise))
    except (KeyError, TypeError, ValueError, ArithmeticError):
        return None
    return found if math.isfinite(found.mean) and math.isfinite(found.deviation) else None
