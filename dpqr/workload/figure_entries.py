"""Entries of figures: the linear queries that a figure rests on, as blocks, and how it is computed from their answers.

The split of the budget between numerator and denominator is made by the choice of rows, inside one block:

| figure     | rows of a group, for a column x between its least and largest midpoint, t = (x - low) / (high - low) |
|------------|--------------------------------------------------------------------------------------------------|
| proportion | records that fulfil the predicate; the others                                                    |
| mean       | sum of 1 - t; sum of t                                                                           |
| variance   | sums of (1 - t)^2, 2 t (1 - t), t^2                                                              |
| quantiles  | cumulative counts                                                                                |
| ratio      | sum of one column; sum of the other (two blocks)                                                 |
| top        | counts                                                                                           |

Rows of the first three are at least 0 and add up to 1 in every cell. So one record moves them by 1 together in L1, and
by at most 1 in L2, wherever it lies: numerator and denominator both are measured with the noise of one count. A mean
then has variance proportional to t^2 + (1 - t)^2 at t the true mean. Sum and count measured apart, with the best split
of epsilon between them for that t, have (1 + t^(2/3))^3, and (1 + t)^2 in rho.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec import UNSET, Struct

from dpqr.domain.predicate_cells import Mask
from dpqr.domain.predicates import ColumnComparison, parse_over
from dpqr.domain.predicates import comparisons as comparisons_of
from dpqr.domain.text.decoding import Location, decode, number
from dpqr.domain.text.documents import JsonObject
from dpqr.kernel.arrays import Axes, IntArray
from dpqr.kernel.values import replace
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.conditions import compile_predicate, condition, fulfilling, predicate_mask, restrict_factors
from dpqr.workload.entry import DENSE_ENTRIES, MAX_WEIGHT, CompiledEntry, EntryContext, coarsest_grid, default_name
from dpqr.workload.figures import (
    UNFULFILLED,
    Figure,
    Formula,
    Largest,
    Quantiles,
    QuotientFormula,
    VarianceFormula,
    comparisons,
    moments,
)
from dpqr.workload.form import (
    GroupedEntry,
    MeanEntry,
    MedianEntry,
    ProportionEntry,
    QuantilesEntry,
    QueryEntry,
    RatioEntry,
    SurveyWeight,
    TopEntry,
    VarianceEntry,
)
from dpqr.workload.matrix import Dense
from dpqr.workload.ordered_columns import (
    WITHIN,
    binning_error,
    decimal_text,
    midpoint_notes,
    numbers,
    prefix_factor,
    sum_factor,
)

MOST_STEPS = 2**20
"""Between the least and the largest midpoint, to the power of the largest moment: true answers stay below 2^62."""
NONE, HALF, ONE = Fraction(0), Fraction(1, 2), Fraction(1)


def compile_mean(entry: MeanEntry, frame: EntryContext) -> CompiledEntry:
    """Sums of high - x and of x - low, in one block."""
    axis, line = _line(entry.mean, frame.location.key("mean"), frame, power=1)
    rows = np.stack([line.steps - line.places, line.places])
    labels = (f"{decimal_text(line.high)} - {line.name}", f"{line.name} - {decimal_text(line.low)}")
    width = line.high - line.low
    formula = QuotientFormula(
        numerator=(line.low / width, line.high / width),
        denominator=(1 / width, 1 / width),
        floor=line.low,
        ceiling=line.high,
    )
    made = _FigureEntry.of("mean", line.name, entry, frame).with_block(
        line.factor(axis, rows, labels), line.grid, (axis,)
    )
    return made.compiled(formula, moments(2), midpoint_notes(line.error))


def compile_variance(entry: VarianceEntry, frame: EntryContext) -> CompiledEntry:
    """Sums of (high - x)^2, of 2 (x - low) (high - x) and of (x - low)^2, in one block."""
    axis, line = _line(entry.variance, frame.location.key("variance"), frame, power=2)
    above = line.steps - line.places
    rows = np.stack([above**2, 2 * line.places * above, line.places**2])
    low, high = f"({line.name} - {decimal_text(line.low)})", f"({decimal_text(line.high)} - {line.name})"
    width = line.high - line.low
    formula = VarianceFormula(
        count=(1 / width**2,) * 3,
        sum=(NONE, HALF / width, 1 / width),
        square=(NONE, NONE, ONE),
        ceiling=width**2 / 4,
    )
    factor = line.factor(axis, rows, (f"{high}^2", f"2 {low} {high}", f"{low}^2"))
    made = _FigureEntry.of("variance", line.name, entry, frame).with_block(factor, line.grid**2, (axis,))
    return made.compiled(formula, moments(3), midpoint_notes(line.error))


def compile_ratio(entry: RatioEntry, frame: EntryContext) -> CompiledEntry:
    """Two sums, each a block of its own. Raises: DocumentError for one column twice, or negative values."""
    location = frame.location.key("ratio")
    names = entry.ratio.of, entry.ratio.to
    if names[0] == names[1]:
        raise location.key("to").fault("a column over itself is 1; name another column")
    made = _FigureEntry.of("ratio", " / ".join(names), entry, frame)
    notes: list[str] = []
    for key, name in zip(("of", "to"), names, strict=True):
        axis = frame.axis(name, location.key(key))
        factor, grid, error = sum_factor(axis, location.key(key), frame)
        if factor.matrix.smallest < 0:
            raise location.key(key).fault("has bins below 0, and a ratio needs sums that cannot be negative")
        made = made.with_block(factor, grid, (axis,), called=f": {name}")
        notes += midpoint_notes(error)
    formula = QuotientFormula(numerator=(ONE, NONE), denominator=(NONE, ONE), floor=NONE)
    return made.compiled(formula, moments(2), tuple(dict.fromkeys(notes)))


def compile_proportion(entry: ProportionEntry, frame: EntryContext) -> CompiledEntry:
    """The records that fulfil the predicate, and the others, in one block. In fault cells it is not fulfilled."""
    location = frame.location.key("proportion")
    compiled = compile_predicate(entry.proportion, frame, "proportion")
    axes = tuple(sorted({axis for group in compiled.groups for axis in group}))
    mask = predicate_mask(axes, [node for group in compiled.groups.values() for node in group], frame, location)
    if mask.all():
        raise location.fault("is true for every cell of the domain, so it is always 1; correct it or leave it out")
    table = np.stack([mask.reshape(-1), ~mask.reshape(-1)]).astype(np.int64)
    factor = Factor(axes=axes, sizes=mask.shape, matrix=Dense(table), labels=("fulfilled", "not fulfilled"))
    formula = QuotientFormula(numerator=(ONE, NONE), denominator=(ONE, ONE), floor=NONE, ceiling=ONE)
    made = _FigureEntry.of("proportion", " ".join(entry.proportion.split()), entry, frame).with_block(factor, ONE)
    return made.compiled(formula, moments(2), tuple(_unfulfilled_notes(mask, axes, entry, frame)), compiled.work)


def _unfulfilled_notes(mask: Mask, axes: Axes, entry: ProportionEntry, frame: EntryContext) -> Iterator[str]:
    """Which fault cells count among a proportion's records, though its predicate is not fulfilled there."""
    asked, _ = fulfilling(entry.where, frame)
    leaves = comparisons_of(parse_over(frame.domain, entry.proportion, frame.location.key("proportion")))
    compared = {leaf.column for leaf in leaves if isinstance(leaf, ColumnComparison)}
    for place, axis in enumerate(axes):
        attribute = frame.domain.attributes[axis]
        if attribute.name not in compared:
            continue
        kept = [np.moveaxis(region.cells, region.axes.index(axis), 0) for region in asked if axis in region.axes]
        cells = {fault: attribute.own_cell(fault) for fault in attribute.own_cells}
        found = [
            f"({fault})"
            for fault, cell in cells.items()
            if not mask.take(cell, place).all() and all(each[cell].any() for each in kept)
        ]
        if found:
            yield f"records whose {attribute.name} is {' or '.join(found)} {UNFULFILLED}"


def compile_median(entry: MedianEntry, frame: EntryContext) -> CompiledEntry:
    """Cumulative counts."""
    return _quantiles("median", entry.median, entry, (HALF,), frame)


def compile_quantiles(entry: QuantilesEntry, frame: EntryContext) -> CompiledEntry:
    """Cumulative counts. Raises: DocumentError where a part does not lie between 0 and 1, or stands twice."""
    return _quantiles("quantiles", entry.quantiles, entry, read_parts(entry.at, frame.location.key("at")), frame)


def read_parts(stated: Sequence[Any], location: Location) -> tuple[Fraction, ...]:
    """Of which a quantile is asked, each between 0 and 1, once. Raises: DocumentError."""
    at = tuple(number(value, location.item(index)) for index, value in enumerate(stated))
    for index, part in enumerate(at):
        if not 0 < part < 1:
            raise location.item(index).fault("must lie above 0 and below 1, for example 0.9")
        if part in at[:index]:
            raise location.item(index).fault("stands twice; keep one of them")
    return at


def _quantiles(
    kind: str, name: str, entry: GroupedEntry, at: tuple[Fraction, ...], frame: EntryContext
) -> CompiledEntry:
    location = frame.location.key(kind)
    axis = frame.axis(name, location)
    attribute, bins = numbers(axis, location, frame)
    formula = Quantiles(at=at, bounds=tuple(map(bins.bounds, range(bins.size))))
    factor = prefix_factor(axis, attribute, bins)
    made = _FigureEntry.of(kind, attribute.name, entry, frame).with_block(factor, ONE, (axis,))
    return made.compiled(formula, comparisons(at, bins.size))


def compile_top(entry: TopEntry, frame: EntryContext) -> CompiledEntry:
    """Counts of all cells of the column. Of a learned one nobody knew how many: fewer are ranked, if need be."""
    axis = frame.axis(entry.top, frame.location.key("top"))
    attribute, learned = frame.domain.attributes[axis], frame.domain.learned
    open_before = learned is not None and attribute.name in learned.columns
    count = min(entry.k, attribute.size - 1) if open_before else entry.k
    if not 0 < count < attribute.size:
        cells = f"{attribute.size} cells" if attribute.size > 1 else "one cell"
        raise frame.location.key("k").fault(f"the column has {cells}, and k is {entry.k}; ask its marginal")
    made = _FigureEntry.of("top", attribute.name, entry, frame).with_block(frame.identities((axis,))[0], ONE, (axis,))
    return made.compiled(Largest(count=count, titles=attribute.titles()), np.zeros((0, 0), dtype=np.int64))


FIGURE_COMPILERS: dict[str, Callable[[Any, EntryContext], CompiledEntry]] = {
    "mean": compile_mean,
    "median": compile_median,
    "quantiles": compile_quantiles,
    "variance": compile_variance,
    "ratio": compile_ratio,
    "proportion": compile_proportion,
    "top": compile_top,
}


class _FigureEntry(Struct, frozen=True, kw_only=True, eq=False):
    """An entry of a figure while its blocks are made. rows: of the blocks, one after the other; (groups, of each)."""

    kind: str
    name: str
    entry: GroupedEntry
    frame: EntryContext
    blocks: tuple[QueryBlock, ...] = ()
    rows: tuple[IntArray, ...] = ()
    factor: Factor | None = None
    taken: Sequence[int] = ()
    work: int = 0

    @classmethod
    def of(cls, kind: str, title: str, entry: GroupedEntry, frame: EntryContext) -> _FigureEntry:
        own = default_name(f"{kind}({title}){condition(entry.where)}", entry.by)
        return cls(kind=kind, name=own if entry.name is UNSET else entry.name, entry=entry, frame=frame)

    def with_block(self, factor: Factor, scale: Fraction, taken: Sequence[int] = (), called: str = "") -> _FigureEntry:
        """With the rows of one more factor for every group. taken: columns that no group may be made of. called: what
        the block's name has beside the figure's."""
        block, rows, work = self._block(f"{self.name}{called}", factor, scale, taken)
        before = sum(each.rows for each in self.blocks)
        return replace(
            self,
            blocks=(*self.blocks, block),
            rows=(*self.rows, before + rows),
            factor=factor,
            taken=taken,
            work=self.work + work,
        )

    def _block(
        self, name: str, factor: Factor, scale: Fraction, taken: Sequence[int]
    ) -> tuple[QueryBlock, IntArray, int]:
        """A block of a factor's rows for every group; these rows, shape (groups, rows); the predicate's work."""
        by = self.frame.by(self.entry.by, taken)
        found = restrict_factors((*by, factor), self.entry.where, self.frame)
        rows = found.order.reshape(-1, factor.matrix.rows)
        return QueryBlock(name=name, factors=found.factors, scale=scale), rows, found.work

    def compiled(self, formula: Formula, tests: IntArray, notes: tuple[str, ...] = (), work: int = 0) -> CompiledEntry:
        """tests: of the figure. work: beside that of `where`."""
        by = self.frame.axes(self.entry.by, self.frame.location.key("by"))
        figure = Figure(
            kind=self.kind,
            name=self.name,
            blocks=tuple(block.name for block in self.blocks),
            by=by,
            rows=np.concatenate(self.rows, axis=1),
            formula=formula,
            tests=tests,
        )
        # Its tests as a block, where all of them are of one block, and few enough.
        factor = self.factor
        if factor is not None and len(self.blocks) == 1 and 0 < len(tests) * factor.matrix.cells <= DENSE_ENTRIES:
            table = Dense(tests @ factor.matrix.table(0, factor.matrix.rows))
            tested = replace(factor, matrix=table, labels=())
            block, rows, _ = self._block(f"tests of {self.name}", tested, self.blocks[0].scale, self.taken)
            figure = replace(figure, tested=block, test_rows=rows)
        return CompiledEntry(blocks=self.blocks, figures=(figure,), notes=notes, work=self.work + work)


class _Line(Struct, frozen=True, kw_only=True, eq=False):
    """A column of numbers by its midpoints, in steps of `grid` from the least to the largest.

    places: step of every bin, shape (bins,). cells: of the column, own cells included. error: largest one a record, by
    binning and by the grid.
    """

    name: str
    low: Fraction
    high: Fraction
    grid: Fraction
    steps: int
    places: IntArray
    cells: int
    error: Fraction

    def factor(self, axis: int, rows: IntArray, labels: tuple[str, ...]) -> Factor:
        """Rows over the bins; own cells count 0."""
        table = np.zeros((len(rows), self.cells), dtype=np.int64)
        table[:, : rows.shape[1]] = rows
        return Factor(axes=(axis,), sizes=(self.cells,), matrix=Dense(table), labels=labels)


def _line(name: str, location: Location, frame: EntryContext, *, power: int) -> tuple[int, _Line]:
    """The column. Steps that are too many are replaced by the most that fit.

    Raises:
        DocumentError: it has no numbers, or one bin alone.
    """
    axis = frame.axis(name, location)
    attribute, bins = numbers(axis, location, frame)
    values = [bins.midpoint(index) for index in range(bins.size)]
    low, high = min(values), max(values)
    if low == high:
        raise location.fault(f"column {name!r} has one bin, so all records count alike; use more bins")
    grid = coarsest_grid(value - low for value in values)
    if (high - low) / grid > MOST_STEPS ** (1 / power):
        grid = (high - low) / int(MOST_STEPS ** (1 / power))
    places = [round((value - low) / grid) for value in values]
    moved = max(abs(low + place * grid - value) for place, value in zip(places, values, strict=True))
    return axis, _Line(
        name=attribute.name,
        low=low,
        high=high,
        grid=grid,
        steps=max(places),
        places=np.array(places, dtype=np.int64),
        cells=attribute.size,
        error=binning_error(bins) + moved,
    )


# Survey weights: queries in which each record counts with its value in one column, cut to public bounds.
#
# A weighted query is the product of the query and one row over the cells of the weight's column, which holds each
# cell's weight. So it is a linear query like any other, with integer coefficients on a grid: one record moves a
# weighted count by at most the largest weight, and the noise follows from that.


class Weighing(Struct, frozen=True, kw_only=True, eq=False):
    """factor: one row, the weight of every cell in steps of `grid`. largest: weight of a record. error: largest one a
    weight, by its bin's midpoint."""

    column: str
    factor: Factor
    grid: Fraction
    largest: Fraction
    error: Fraction

    def of(self, block: QueryBlock, ending: str) -> QueryBlock:
        """The same queries, each record counting with its weight. ending: of the name."""
        factors, scale = (*block.factors, self.factor), block.scale * self.grid
        return replace(block, name=f"{block.name}{ending}", factors=factors, scale=scale)


def spread(form: JsonObject) -> JsonObject:
    """A queries document whose survey weight stands in its entries, beside what selection cares for them."""
    common = form["weight"]
    entries = [
        entry
        if isinstance(weight := entry.get("weight", UNSET), Mapping)
        else {**entry, "weight": common if weight is UNSET else {**common, "selection": weight}}
        for entry in form["queries"]
    ]
    return {key: value for key, value in form.items() if key != "weight"} | {"queries": entries}


def weighing(stated: Any, frame: EntryContext, location: Location) -> Weighing:
    """What a survey weight says of a domain's column.

    Raises:
        DocumentError: no such column, or not one of numbers; a maximum that is none.
    """
    form = decode(stated, SurveyWeight, location)
    axis = frame.axis(form.column, location.key("column"))
    most = number(form.maximum, location.key("maximum"))
    if not 0 < most <= MAX_WEIGHT:
        raise location.key("maximum").fault(f"must be above 0 and at most {MAX_WEIGHT}")
    attribute, bins = numbers(axis, location.key("column"), frame)
    values = [min(max(bins.midpoint(index), Fraction(0)), most) for index in range(bins.size)]
    grid = coarsest_grid(values)
    if not grid:
        raise location.key("column").fault("every cell of this column has the weight 0; use more bins")
    row = np.zeros((1, attribute.size), dtype=np.int64)  # own cells weigh nothing
    row[0, : bins.size] = [int(value / grid) for value in values]
    factor = Factor(axes=(axis,), sizes=(attribute.size,), matrix=Dense(row))
    return Weighing(column=attribute.name, factor=factor, grid=grid, largest=max(values), error=binning_error(bins))


def with_survey_weight(compiled: CompiledEntry, entry: QueryEntry, frame: EntryContext) -> CompiledEntry:
    """An entry whose records count with their weights, where it states one: blocks, figures, and what a plan says."""
    if not isinstance(entry.weight, dict):
        return compiled
    location = frame.location.key("weight")
    found = weighing(entry.weight, frame, location)
    for block in compiled.blocks:
        if set(found.factor.axes) & set(block.axes):
            raise location.key("column").fault(
                f"{found.column!r} weighs the records, and the entry asks about it; ask about other columns, or leave "
                "the weight out"
            )
        if block.rowwise:
            raise location.fault("random conjunctions and rectangles cannot be weighted; use where")
    most = decimal_text(number(entry.weight["maximum"], location))
    ending = "" if entry.name is not UNSET else f" weighted by {found.column} up to {most}"
    error = compiled.binning_error
    # What midpoints do to weights.
    words = f"weights of {found.column!r} are midpoints of its bins, off by at most"
    return replace(
        compiled,
        blocks=tuple(found.of(block, ending) for block in compiled.blocks),
        figures=tuple(
            replace(
                figure,
                name=f"{figure.name}{ending}",
                blocks=tuple(f"{name}{ending}" for name in figure.blocks),
                tested=None if figure.tested is None else found.of(figure.tested, ending),
            )
            for figure in compiled.figures
        ),
        binning_error=None if error is None else error * found.largest,
        notes=(
            *(note.replace(WITHIN, f"{WITHIN}, times its weight") for note in compiled.notes),
            *((f"{words} {decimal_text(found.error)}",) if found.error else ()),
        ),
    )
