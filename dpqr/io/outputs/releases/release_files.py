"""The files of a release: the table of answers, release.json, and synthetic data on request."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpqr.construction.answers.block_answers import BlockAnswers
from dpqr.construction.answers.intervals import BASES, NO_BASIS
from dpqr.construction.release import Release
from dpqr.data.domain import Domain
from dpqr.io.outputs.answer_tables.figures_table import figures_table
from dpqr.io.outputs.answer_tables.table_files import TableFormat, write_table, write_tables
from dpqr.io.outputs.answer_tables.tidy import NOTHING, Column, Texts, Tidy, beside
from dpqr.io.outputs.answer_tables.views_table import release_views, views_table
from dpqr.io.outputs.atomic import ReleaseDirectory
from dpqr.io.outputs.records.record import RECORD, document_text
from dpqr.io.outputs.records.release_document import release_document
from dpqr.io.outputs.releases.synthetic import BinText, Form, synthesise
from dpqr.workload.naming import detailed_rows, named_axes, row_names

FIGURES = ("estimate", "error", "measured", "noise_deviation", "lower", "upper")
ERROR, BASIS = "error", "basis"
OWN_COLUMNS = ("query", "detail", *FIGURES, BASIS)
PIECE = 2**12
"""Answers that are written at a time."""


def answers_table(release: Release) -> Tidy:
    """The answers of `release`, rows in workload order.

    query: the block's name. One column for every attribute that some block keeps apart, in domain order, with the
    titles of its cells; nothing where the query sums over it. detail: what else distinguishes the query
    ("<= 30"). estimate: the hypothesis' answer. error: its estimated root mean square error. measured,
    noise_deviation: the last unbiased noisy answer and its noise's standard deviation; nothing where the query was not
    measured. lower, upper: an interval for the true answer, query by query. basis: what it rests on, `measured`,
    `estimate` or `certified`. Figures are in records, or in the unit of a summed column. Names that clash with
    attributes: `beside`.

    Privacy:
        Post-processing of a release.
    """
    return next(answer_tables(release, sum(answers.block.rows for answers in release.answers)))


def answer_tables(release: Release, rows: int = PIECE) -> Iterator[Tidy]:
    """The same table in pieces of the same columns, so that millions of answers can be written in the memory of a few.

    rows: the fewest of a piece, the last one excepted; blocks are not cut.
    """
    layout = _Layout.of(release)
    start = held = 0
    for stop, answers in enumerate(release.answers, 1):
        held += answers.block.rows
        if held >= rows or stop == len(release.answers):
            yield layout.table(release.answers[start:stop])
            start, held = stop, 0


def answer_records(release: Release) -> list[dict[str, Any]]:
    """The same rows as plain dicts, for JSON: strings, finite floats and None."""
    return answers_table(release).records()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """The columns of all pieces. texts: how many texts each column of texts may hold, attributes by axis."""

    domain: Domain
    texts: dict[int | str, int]

    @classmethod
    def of(cls, release: Release) -> _Layout:
        domain, blocks = release.plan.problem.domain, [answers.block for answers in release.answers]
        axes = sorted({axis for block in blocks for axis in named_axes(block)})
        sizes: dict[int | str, int] = {axis: domain.attributes[axis].size for axis in axes}
        return cls(domain=domain, texts={"query": len(blocks), **sizes, "detail": sum(map(detailed_rows, blocks))})

    def table(self, answers: Sequence[BlockAnswers]) -> Tidy:
        draft = _Draft(sum(one.block.rows for one in answers), self.texts)
        for one in answers:
            draft.add(one)
        return Tidy(draft.filled, dict(self._columns(draft)))

    def _columns(self, draft: _Draft) -> Iterator[tuple[str, Column]]:
        for column, places in draft.places.items():
            if isinstance(column, int):
                attribute = self.domain.attributes[column]
                yield beside(OWN_COLUMNS, attribute.name), Texts(places, attribute.titles())
            else:
                yield column, Texts(places, draft.names if column == "query" else draft.details)
        for name, values in draft.figures.items():
            values += 0.0  # no negative zeros
            yield name, values
        yield BASIS, Texts(draft.basis, BASES)


class _Draft:
    """The columns of one piece while they are filled, block after block: places of texts, and floats.

    Places are as narrow as they go: 14 million answers about 45 attributes would take 2.5 GB in words of four bytes.
    """

    def __init__(self, rows: int, texts: Mapping[int | str, int]) -> None:
        self.filled = 0
        self.names: list[str] = []
        self.details: list[str] = []
        self.places = {column: np.full(rows, NOTHING, dtype=_index_type(most)) for column, most in texts.items()}
        self.figures = {name: np.full(rows, np.nan) for name in FIGURES}
        self.basis = np.full(rows, NO_BASIS, dtype=np.int8)

    def add(self, answers: BlockAnswers) -> None:
        place = slice(self.filled, self.filled + answers.block.rows)
        self.places["query"][place] = len(self.names)
        self.names.append(answers.block.name)
        names = row_names(answers.block)
        for axis, codes in names.cells.items():
            self.places[axis][place] = codes
        if names.detail is not None:
            self.places["detail"][place] = names.detail + len(self.details)
            self.details.extend(names.details)
        noisy, intervals = answers.noisy, answers.intervals
        drawn = (noisy.values, noisy.deviation, intervals.lower, intervals.upper)
        for name, values in zip(FIGURES, (answers.estimate, answers.error, *drawn), strict=True):
            self.figures[name][place] = values
        self.basis[place] = intervals.basis
        self.filled = place.stop


def _index_type(texts: int) -> Any:
    return next(kind for kind in (np.int8, np.int16, np.int32) if texts < np.iinfo(kind).max)


SYNTHETIC, FIGURES_FILE, VIEWS_FILE = "synthetic.parquet", "figures.", "views."
CUMULATIVE = "cumulative"


def file_names(
    answers: TableFormat,
    synthetic: Form | None,
    *,
    rehearsal: bool,
    figures: bool = False,
    views: bool = False,
    cumulative: bool = False,
) -> list[str]:
    """The files beside the record: answers, synthetic data, figures, views, cumulative answers. A rehearsal's are no
    release's by their names."""
    named = [f"answers.{answers}", *([SYNTHETIC] if synthetic else [])]
    more = ((FIGURES_FILE, figures), (VIEWS_FILE, views), (f"{CUMULATIVE}.", cumulative))
    named += [f"{name}{answers}" for name, held in more if held]
    return [f"rehearsal-{name}" for name in named] if rehearsal else named


def write_release(
    release: Release,
    target: ReleaseDirectory,
    *,
    answers: TableFormat = "csv",
    synthetic: Form | None = None,
    bins: BinText = "title",
    base: int | None = None,
    cumulative: Tidy | None = None,
    receipt: Sequence[tuple[str, str]] = (),
) -> None:
    """Write every file of `release` into `target`; they appear together or not at all. Raises: UsageFault.

    base: of views; None: none are made. cumulative: the answers of a counter. receipt: in words, for the record.
    """
    drawn = synthesise(release, synthetic, bins) if synthetic else None
    views = release_views(release, base) if base else None
    tables = [figures_table(release)] if release.figures else []
    tables += [views_table(views)] if views else []
    tables += [cumulative] if cumulative else []
    files = file_names(
        answers,
        synthetic,
        rehearsal=release.rehearsal,
        figures=bool(release.figures),
        views=views is not None,
        cumulative=cumulative is not None,
    )
    synthesis = drawn.record if drawn else None
    inputs = release.plan.inputs.files if release.plan.inputs else {}
    with target.filled() as place:
        for name, content in inputs.items():
            (place / name).write_bytes(content)
        write_tables(answer_tables(release), place / files[0], answers)
        if drawn:
            from dpqr.io.outputs.answer_tables.parquet_file import write_parquet

            write_parquet(iter((drawn.table,)), place / files[1])
        for table, name in zip(tables, files[len(files) - len(tables) :], strict=True):
            write_table(table, place / name, answers)
        hashes = {name: file_hash(place / name) for name in (*files, *inputs)}
        moved = None if views is None else {"base": views.base, "bias": list(views.bias)}
        record = release_document(release, files=hashes, synthetic=synthesis, views=moved, receipt=receipt)
        (place / RECORD).write_text(document_text(record), encoding="utf-8", newline="\n")


def file_hash(path: Path) -> str:
    """SHA-256 of a regular file, as records state it. Raises: OSError, also where it is no such file, which is not
    waited for."""
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise FileNotFoundError(path)
        return hashlib.file_digest(opened, "sha256").hexdigest()
