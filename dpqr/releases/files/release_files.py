"""What a release's files hold beside its record: the tables of answers and of figures, and synthetic data."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from dpqr.domain.attribute import Attribute, Bins
from dpqr.domain.domain import Domain
from dpqr.kernel.arrays import AnyArray, CodeArray, FloatArray, IntArray
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.public import public_generator
from dpqr.kernel.values import replace
from dpqr.models.factored import LARGEST_LISTING
from dpqr.models.hypothesis import Sampleable, prepare
from dpqr.models.rows import RowFit, fittable_records, reachable
from dpqr.releases.answers.answered import BlockAnswers
from dpqr.releases.answers.errors import BASES, NO_BASIS
from dpqr.releases.answers.figures import FigureAnswers
from dpqr.releases.files.tidy import FIGURES, NO_TEXT, Column, Row, Texts, Tidy, free_column_name
from dpqr.releases.record.release_document import Synthetic
from dpqr.releases.requests import BinForm, SyntheticForm
from dpqr.releases.result import FinishedRun
from dpqr.strategies.plan import Plan
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.figures import Largest, Quantiles
from dpqr.workload.workload import detailed_rows, named_axes, row_names

ERROR, BASIS = "error", "basis"
ANSWER_COLUMNS = ("query", "detail", *FIGURES, BASIS)
PIECE = 2**15
"""Answers that are written at a time: a row group of Parquet, whose every column has a fixed cost."""


def answers_table(release: FinishedRun) -> Tidy:
    """The answers of `release`, rows in workload order.

    query: the block's name. One column for every attribute that some block keeps apart, in domain order, with the
    titles of its cells; nothing where the query sums over it. detail: what else distinguishes the query
    ("<= 30"). estimate: the hypothesis' answer. error: its estimated root mean square error. measured,
    noise_deviation: the last unbiased noisy answer and its noise's standard deviation; nothing where the query was not
    measured. lower, upper: an interval for the true answer, query by query. basis: what it rests on, `measured`,
    `estimate` or `certified`. Figures are in records, or in the unit of a summed column. Names that clash with
    attributes: `free_column_name`.

    Privacy:
        Post-processing of a release.
    """
    return next(answer_tables(release, sum(answers.block.rows for answers in release.answers)))


def answer_tables(release: FinishedRun, rows: int = PIECE) -> Iterator[Tidy]:
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


def answer_records(release: FinishedRun) -> list[Row]:
    """The same rows as plain dicts, for JSON: strings, finite floats and None."""
    return answers_table(release).records()


class _Layout(Struct, frozen=True, kw_only=True):
    """The columns of all pieces. texts: how many texts each column of texts may hold, attributes by axis."""

    domain: Domain
    texts: dict[int | str, int]

    @classmethod
    def of(cls, release: FinishedRun) -> _Layout:
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
                yield free_column_name(ANSWER_COLUMNS, attribute.name), Texts(places, attribute.titles())
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
        self.places: dict[int | str, AnyArray] = {}
        for column, most in texts.items():
            narrow = next(kind for kind in (np.int8, np.int16, np.int32) if most < np.iinfo(kind).max)
            self.places[column] = np.full(rows, NO_TEXT, dtype=narrow)
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


# The table of figures: means, quantiles, ratios and the like, one row for each value of each group.

NUMBERS = ("estimate", "error", "lower", "upper")
FIGURE_COLUMNS = ("figure", "kind", "detail", *NUMBERS, "basis", "flag")
FLAGS = ("small denominator", "sure")
"""The interval is all that a table can give; the cell is among the k largest by its interval."""


def figures_table(release: FinishedRun) -> Tidy:
    """The figures of a release, in the order of the workload, as `table_of_figures`."""
    return table_of_figures(release.figures, release.plan.problem.domain)


def table_of_figures(held: Sequence[FigureAnswers], domain: Domain) -> Tidy:
    """Figures over a domain, in their order.

    figure: its name. kind: of the entry. One column for every attribute that groups some figure, in domain order.
    detail: the part of a quantile, or the cell of a largest count. estimate, error, lower, upper, basis: as of answers;
    nothing for an end that is unbounded.
    flag: one of FLAGS.

    Privacy:
        Post-processing of a release.
    """
    if not held:
        return Tidy(
            0,
            {
                name: np.zeros(0) if name in NUMBERS else Texts(np.zeros(0, dtype=np.int64), ())
                for name in FIGURE_COLUMNS
            },
        )
    axes = sorted({axis for one in held for axis in one.figure.by})
    sizes = [one.estimate.size for one in held]
    columns: dict[str, Column] = {
        "figure": Texts(np.repeat(np.arange(len(held)), sizes), [one.figure.name for one in held]),
        "kind": Texts(np.repeat(np.arange(len(held)), sizes), [one.figure.kind for one in held]),
    }
    for axis in axes:
        places = [_groups(one, axis, domain.shape) for one in held]
        columns[free_column_name(FIGURE_COLUMNS, domain.attributes[axis].name)] = Texts(
            _joined(places), domain.attributes[axis].titles()
        )
    titles: list[str] = []
    rows_of = []
    for one in held:
        match one.figure.formula:
            case Quantiles(at=at):
                own = [f"{float(part):g}" for part in at]
            case Largest(titles=listed):
                own = list(listed)
            case _:
                own = []
        cells = np.arange(one.estimate.shape[1]) if one.cells is None else one.cells
        rows = np.broadcast_to(cells, one.estimate.shape).reshape(-1)
        rows_of.append(rows + len(titles) if own else np.full(rows.shape, NO_TEXT))
        titles += own
    columns["detail"] = Texts(_joined(rows_of), titles)
    for name in NUMBERS:
        figures = np.concatenate([getattr(one, name).reshape(-1) for one in held]) + 0.0
        columns[name] = np.where(np.isinf(figures), np.nan, figures)
    columns["basis"] = Texts(_joined([one.basis.reshape(-1) for one in held]), BASES)
    flags = [np.where(one.small, 0, np.where(one.sure, 1, NO_TEXT)).reshape(-1) for one in held]
    columns["flag"] = Texts(_joined(flags), FLAGS)
    return Tidy(sum(sizes), columns)


def figure_records(release: FinishedRun) -> list[Row]:
    """The same rows as plain dicts, for JSON."""
    return figures_table(release).records()


def _joined(parts: list[Any]) -> IntArray:
    return np.concatenate(parts).astype(np.int64)


def _groups(one: FigureAnswers, axis: int, shape: tuple[int, ...]) -> IntArray:
    """The cell of an attribute for every value of a figure; NO_TEXT where it makes no groups of it."""
    by, values = one.figure.by, one.estimate.shape[1]
    if axis not in by:
        return np.full(one.estimate.size, NO_TEXT)
    codes = np.unravel_index(np.arange(one.figure.groups), [shape[each] for each in by])
    return np.repeat(codes[by.index(axis)], values)


SYNTHETIC, FIGURES_FILE, VIEWS_FILE = "synthetic.parquet", "figures.", "views."
CUMULATIVE = "cumulative"
"""How the names of the files beside the answers begin."""


def file_hash(path: Path) -> str:
    """SHA-256 of a regular file, as records state it. Raises: OSError, also where it is no such file, which is not
    waited for."""
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise FileNotFoundError(path)
        return hashlib.file_digest(opened, "sha256").hexdigest()


# Synthetic data: the hypothesis as records that look like the table, or as weighted cells.
#
# Privacy: post-processing of a release. Records, and values within bins, are drawn with public randomness from a seed
# that the record states.

LARGEST = 2**60
"""Whole values below it are kept as integers."""


def midpoints(axis: Bins, own_cells: int) -> Any:
    """One value a cell, null for the own cells; days and microseconds are rounded down. An Arrow array."""
    import pyarrow as pa

    middles = [axis.midpoint(index) for index in range(axis.size)]
    nothing = [None] * own_cells
    if axis.kind == "date":
        days = [date(1970, 1, 1) + timedelta(days=int(middle // 1)) for middle in middles]
        return pa.array([*days, *nothing], type=pa.date32())
    if axis.kind == "datetime":
        moments = [datetime(1970, 1, 1) + timedelta(microseconds=int(middle // 1)) for middle in middles]
        return pa.array([*moments, *nothing], type=pa.timestamp("us"))
    return pa.array([*map(float, middles), *nothing], type=pa.float64())


def sampled(axis: Bins, codes: IntArray, uniforms: FloatArray) -> Any:
    """A value for each code, evenly from what its bin holds, null for codes beyond the bins. An Arrow array.

    codes, uniforms: shape (rows,); uniforms in [0, 1). Whole numbers, days and microseconds are whole; other numbers
    lie within the edges, never on one, wherever a float lies between them.
    """
    import pyarrow as pa

    inside = np.minimum(codes, axis.size - 1)
    small = max(map(abs, (axis.edges[0], axis.edges[-1]))) < LARGEST
    whole = axis.kind != "number" or (axis.integral and small)
    values: AnyArray = (_whole if whole else _real)(axis, inside, uniforms)
    kinds = {"date": pa.date32(), "datetime": pa.timestamp("us")}
    if axis.kind == "date":
        values = values.astype(np.int32)
    return pa.array(values, mask=np.asarray(codes >= axis.size)).cast(
        kinds.get(axis.kind, pa.from_numpy_dtype(values.dtype))
    )


def _whole(axis: Bins, codes: IntArray, uniforms: FloatArray) -> IntArray:
    held = replace(axis, integral=True)
    bounds = [held.bounds(index) for index in range(axis.size)]
    low, high = (np.array([int(pair[end] // 1) for pair in bounds], dtype=np.int64)[codes] for end in (0, 1))
    steps = (uniforms * (high - low + 1)).astype(np.int64)
    return np.asarray(np.minimum(low + steps, high))


def _real(axis: Bins, codes: IntArray, uniforms: FloatArray) -> FloatArray:
    edges = np.array([float(edge) for edge in axis.edges])
    low, high = edges[codes], edges[codes + 1]
    within = np.clip(low + uniforms * (high - low), np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
    return np.asarray(np.where(np.nextafter(low, np.inf) < high, within, low))


Uniforms = Callable[[int], FloatArray]
WEIGHT = "weight"
ROW_LIMIT = 5_000_000
"""Records drawn at most; beyond it the record says how many records of the table each one stands for."""


class SyntheticTable(Struct, frozen=True, kw_only=True):
    """table: an Arrow table. record: how it was made, for release.json."""

    table: Any
    record: Synthetic


def require_sampleable(plan: Plan, form: SyntheticForm = "rows") -> None:
    """InfeasiblePlan, before anything is spent, if the plan's update rule works on no distribution to draw from.

    Asked of the hypothesis that the rule starts with, which public facts determine. Cells are for domains that can
    be listed.
    """
    cells = plan.problem.domain.size
    if form == "cells" and cells > LARGEST_LISTING:
        raise InfeasiblePlan(
            f"the domain has {cells} cells, and --synthetic cells lists at most {LARGEST_LISTING}; "
            "use --synthetic rows or leave columns out of the domain file"
        )
    update = plan.roles.update
    if not isinstance(update.start(plan.problem), Sampleable):
        raise InfeasiblePlan(
            f"--update {update.name} ends with a hypothesis that is no distribution over cells, so --synthetic has "
            "nothing to draw from; leave --synthetic out or use --update multiplicative-weights"
        )


def synthesise(release: FinishedRun, form: SyntheticForm, bins: BinForm = "title") -> SyntheticTable:
    """Synthetic data of a release whose plan passed `require_sampleable`.

    Args:
        release: a release over a distribution.
        form: "rows": as many records as the hypothesis holds, one column an attribute, under its own name, moved
            towards the answers to the workload's blocks.
            "cells": every cell of positive weight, with its `weight` in records.
        bins: what a bin carries. "title": its title; "midpoint": its public midpoint (a number, a date or a time);
            "sampled", for rows: a value drawn evenly from the bin by the public seed. With the last two the cells for
            null, unparsable and so on become null.

    Raises:
        InfeasiblePlan: the hypothesis is no distribution.

    Privacy:
        Post-processing of a release, with public randomness.
    """
    import pyarrow as pa

    hypothesis = release.hypothesis
    if not isinstance(hypothesis, Sampleable):
        raise InfeasiblePlan("the hypothesis of this release is no distribution; leave --synthetic out")
    if form == "cells":
        return _cells(release, hypothesis, bins)
    count = max(0, round(hypothesis.total))
    drawn = min(count, ROW_LIMIT)
    seed = release.plan.problem.seed
    codes = np.asfortranarray(hypothesis.rows(drawn, seed))
    moved = _fit(release, hypothesis, codes)
    uniforms = public_generator(seed).spawn(1)[0].random
    columns = {
        attribute.name: _column(attribute, codes[:, axis].astype(np.int64), bins, uniforms)
        for axis, attribute in enumerate(release.plan.problem.domain.attributes)
    }
    stands_for = count / drawn if drawn else 1.0
    record = Synthetic(form=form, bins=bins, seed=seed, rows=drawn, records_a_row=stands_for, moved=moved)
    return SyntheticTable(table=pa.table(columns), record=record)


def _fit(release: FinishedRun, hypothesis: Sampleable, codes: CodeArray) -> float:
    """Move rows, in place, towards the answers about the workload's groups of attributes; the part of the values that
    moved.

    Public facts stay as true as they were.
    """
    problem = release.plan.problem
    shape, facts = problem.domain.shape, problem.domain.facts
    groups = reachable(shape, [block.axes for block in problem.workload.blocks])
    if not fittable_records(shape, groups, len(codes)):
        return 0.0
    blocks = [
        QueryBlock(name="", factors=tuple(Factor.identity(axis, shape[axis]) for axis in axes)) for axes in groups
    ]
    prepare(hypothesis, blocks)
    share = len(codes) / hypothesis.total
    wanted = {
        axes: hypothesis.answer(block).reshape([shape[axis] for axis in axes]) * share
        for axes, block in zip(groups, blocks, strict=True)
    }
    fixed = (*facts.impossible, *(total.region for total in facts.totals))
    return RowFit(shape=shape, wanted=wanted, fixed=fixed).run(codes) / codes.size


def _cells(release: FinishedRun, hypothesis: Sampleable, bins: BinForm) -> SyntheticTable:
    import pyarrow as pa

    weights = hypothesis.weights()
    occupied = np.nonzero(weights > 0)
    columns = {
        free_column_name((WEIGHT,), attribute.name): _column(attribute, codes, bins)
        for attribute, codes in zip(release.plan.problem.domain.attributes, occupied, strict=True)
    }
    columns[WEIGHT] = pa.array(weights[occupied])
    return SyntheticTable(table=pa.table(columns), record=Synthetic(form="cells", bins=bins))


def _column(attribute: Attribute, codes: IntArray, bins: BinForm, uniforms: Uniforms | None = None) -> Any:
    import pyarrow as pa

    axis = attribute.axis
    if bins == "sampled" and isinstance(axis, Bins) and uniforms is not None:
        return sampled(axis, codes, uniforms(len(codes)))
    indices = pa.array(np.ascontiguousarray(codes, dtype=np.int32))
    if bins == "midpoint" and isinstance(axis, Bins):
        return midpoints(axis, len(attribute.own_cells)).take(indices)
    return pa.DictionaryArray.from_arrays(indices, pa.array(attribute.titles(), type=pa.string()))
