"""The queries file: decoded and compiled into the workload that a release must answer. Marginals are compiled here."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import cache
from itertools import chain, combinations, pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, Struct

from dpqr.domain.domain import Domain
from dpqr.domain.domain_file import UNREADABLE, DomainDraft, checked_domain, list_items, parse_draft
from dpqr.domain.open_columns import NO_QUERIED_COLUMNS, QueriedColumns, describe_added_cells, queried_columns
from dpqr.domain.text.decoding import Location, describe_value, fitting, fix_shape, nearest, number, obvious
from dpqr.domain.text.documents import DocumentSource, JsonObject, document_root, read_document
from dpqr.domain.text.faults import Faults
from dpqr.domain.text.sources import Sources
from dpqr.kernel.arrays import Axes
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.values import replace
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.coefficients import compile_coefficients
from dpqr.workload.conditions import compile_conjunctions, compile_where, condition, fulfilling, restrict_factors
from dpqr.workload.entry import (
    CompiledEntry,
    EntryContext,
    PersonsQuery,
    coarsest_grid,
    default_name,
    missing_kind_fault,
    selection_weight,
)
from dpqr.workload.figure_entries import FIGURE_COMPILERS, MOST_STEPS, read_parts, spread, weighing, with_survey_weight
from dpqr.workload.figures import Figure, Quantiles, QuotientFormula, comparisons, moments
from dpqr.workload.form import (
    KINDS,
    MAX_BLOCKS,
    MAX_WORK,
    RESTRICTED,
    ConjunctionsEntry,
    HierarchyEntry,
    MarginalEntry,
    MarginalsEntry,
    PersonsEntry,
    QueriesForm,
    QueryEntry,
    RatioEntry,
    Ways,
    WhereEntry,
)
from dpqr.workload.matrix import Dense, Identity
from dpqr.workload.ordered_columns import (
    binning_error,
    compile_prefix,
    compile_ranges,
    compile_sum,
    decimal_text,
    numbers,
)
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.workload import Workload

# Entries of marginals: one, listed ones, or all of some number of columns.


def compile_marginal(entry: MarginalEntry, frame: EntryContext) -> CompiledEntry:
    """One marginal; of no columns: the number of records. With a predicate it is a `where` by these columns."""
    if entry.where is not UNSET:
        return compile_where(WhereEntry(where=entry.where, by=entry.marginal), frame)
    axes = frame.axes(entry.marginal, frame.location.key("marginal"))
    block = _block(frame, axes)
    return CompiledEntry(blocks=(block,))


def compile_marginals(entry: MarginalsEntry, frame: EntryContext) -> CompiledEntry:
    """Listed marginals, or every combination of `ways` columns; a given name is put before each block's own."""
    location, wanted = frame.location.key("marginals"), entry.marginals
    if isinstance(wanted, Ways):
        names = frame.domain.names if wanted.columns is UNSET else wanted.columns
        axes, at = frame.axes(names, location.key("columns")), location.key("ways")
        if wanted.ways > len(axes):
            raise at.fault(f"{wanted.ways} columns cannot be chosen from {len(axes)}; give at most {len(axes)}")
        count = math.comb(len(axes), wanted.ways)
        if count > MAX_BLOCKS:
            raise at.fault(f"makes {count} marginals, more than {MAX_BLOCKS}; list fewer columns")
        chosen: list[Axes] = list(combinations(axes, wanted.ways))
    else:
        chosen = [frame.axes(names, location.item(index)) for index, names in enumerate(wanted)]
    prefix = "" if entry.name is UNSET else f"{entry.name} "
    return CompiledEntry(blocks=tuple(_block(frame, axes, prefix) for axes in chosen))


def _block(frame: EntryContext, axes: Axes, prefix: str = "") -> QueryBlock:
    names = ",".join(frame.domain.attributes[axis].name for axis in axes)
    return QueryBlock(name=f"{prefix}marginal({names})" if axes else f"{prefix}total", factors=frame.identities(axes))


# Entries of hierarchies: the counts of every node of a column's declared levels.


def compile_hierarchy(entry: HierarchyEntry, frame: EntryContext) -> CompiledEntry:
    """A block a level, the highest first and the cells themselves last; a given name is put before each level's own."""
    location = frame.location.key("hierarchy")
    axis = frame.axis(entry.hierarchy, location)
    attribute = frame.domain.attributes[axis]
    if attribute.hierarchy is None:
        raise location.fault(
            f"column {attribute.name!r} has no levels above its cells; state its 'parent' in the domain, or ask for a "
            "marginal"
        )
    others = frame.by(entry.by, (axis,))
    # The factor of every level by its name, the highest first.
    found: dict[str, Factor] = {}
    for above in attribute.hierarchy.levels[::-1]:
        matrix = BucketMatrix(Identity(len(above.nodes)), above.places)
        found[above.name] = Factor(axes=(axis,), sizes=(attribute.size,), matrix=matrix, labels=above.nodes)
    found[attribute.name] = Factor.identity(axis, attribute.size)
    # The levels that are asked for.
    chosen = tuple(found) if entry.levels is UNSET else entry.levels
    for place, level in enumerate(chosen):
        at = frame.location.key("levels").item(place)
        if level not in found:
            raise at.fault(f"{describe_value(level)} is no level of the column; {nearest(level, found)}")
        if level in chosen[:place]:
            raise at.fault(f"the level {describe_value(level)} stands twice; keep one of them")
    blocks, work = [], 0
    for level in (each for each in found if each in chosen):
        title = level if level == attribute.name else f"{attribute.name}: {level}"
        own = default_name(f"hierarchy({title}){condition(entry.where)}", entry.by)
        counted = restrict_factors((*others, found[level]), entry.where, frame)
        factors, work = counted.factors, work + counted.work
        blocks.append(QueryBlock(name=own if entry.name is UNSET else f"{entry.name} {level}", factors=factors))
    return CompiledEntry(blocks=tuple(blocks), work=work)


# Entries of tables of persons.


def compile_persons(entry: PersonsEntry, frame: EntryContext) -> CompiledEntry:
    """A table of persons, by columns, or their number; a given name says that it counts persons, too."""
    location, persons = frame.location.key("persons"), entry.persons
    if entry.weight is not UNSET:
        raise frame.location.key("weight").fault("each person counts once: a table of persons has no weight")
    factors = frame.identities(frame.axes(persons.by, location.key("by")))
    where, work = fulfilling(entry.where, frame)
    most_cells = None if persons.max_cells is UNSET else persons.max_cells
    column = None if persons.of is UNSET else persons.of
    if persons.mean is not UNSET and persons.quantiles is not UNSET:
        raise location.key("quantiles").fault("mean and quantiles are entries of their own; write two")
    block = QueryBlock(name="", factors=factors, where=where, most_cells=1)
    table = PersonsQuery(block=block, most_cells=most_cells, column=column)
    if persons.mean is not UNSET or persons.quantiles is not UNSET:
        return replace(_totals_of_persons(entry, table, frame), work=work)
    title = default_name(f"persons{condition(entry.where)}", persons.by)
    name = title if entry.name is UNSET else f"{entry.name} (persons)"
    return CompiledEntry(blocks=(), persons=(replace(table, block=replace(block, name=name)),), work=work)


def _totals_of_persons(entry: PersonsEntry, counted: PersonsQuery, frame: EntryContext) -> CompiledEntry:
    """Of persons' totals t their mean or quantiles: sums over persons of most - t and of t - least, t clipped to
    [least, most]; or how many have t in each of the bins. Cells of the column that hold no number add nothing."""
    persons, by = entry.persons, counted.block
    if persons.mean is not UNSET:
        kind, stated, key = "mean", persons.mean.within, "within"
        location, column = frame.location.key("persons").key("mean"), persons.mean.sum
        at: tuple[Fraction, ...] = ()
    else:
        assert persons.quantiles is not UNSET
        kind, stated, key = "quantiles", persons.quantiles.edges, "edges"
        location, column = frame.location.key("persons").key("quantiles"), persons.quantiles.sum
        if persons.quantiles.at is UNSET:
            kind, at = "median", (Fraction(1, 2),)
        else:
            at = read_parts(persons.quantiles.at, location.key("at"))
    axis = frame.axis(column, location.key("sum"))
    if axis in by.axes:
        raise location.key("sum").fault(f"the column {column!r} is in 'by', too; leave it out there")
    attribute, bins = numbers(axis, location.key("sum"), frame)
    bounds = [number(value, location.key(key).item(place)) for place, value in enumerate(stated)]
    if any(lower >= upper for lower, upper in pairwise(bounds)):
        order = "the first bound must lie below the second one" if kind == "mean" else "must rise from one to the next"
        raise location.key(key).fault(order)
    least, most = bounds[0], bounds[-1]
    # Steps of a grid on which bounds and values lie, so that sums are exact.
    values = [bins.midpoint(index) for index in range(bins.size)]
    grid = coarsest_grid([*bounds, *values])
    if max(most - least, *map(abs, [*bounds, *values])) / grid > MOST_STEPS:
        raise location.key(key).fault(
            f"bounds and values of column {column!r} share no grid of at most {MOST_STEPS:,} steps; give rounder "
            "bounds or bins"
        )
    own = np.zeros(attribute.size, dtype=np.int64)
    own[: bins.size] = [int(value / grid) for value in values]
    total = f"total {attribute.name}"
    kind_words = "quantiles of" if kind == "quantiles" else kind
    title = default_name(f"{kind_words} {total} per person{condition(entry.where)}", persons.by)
    name = title if entry.name is UNSET else f"{entry.name} (persons)"
    formula: QuotientFormula | Quantiles
    labels: tuple[str, ...]
    if kind == "mean":
        labels = (f"{decimal_text(most)} - {total}", f"{total} - {decimal_text(least)}")
        weights, scale, tests = np.array([-1, 1]), grid, moments(2)
        width = most - least
        formula = QuotientFormula(
            numerator=(least / width, most / width), denominator=(1 / width, 1 / width), floor=least, ceiling=most
        )
    else:
        labels = tuple(f"{total} {decimal_text(low)} to {decimal_text(high)}" for low, high in pairwise(bounds))
        weights, scale = np.ones(len(labels), dtype=np.int64), Fraction(1)
        # Comparisons of cumulative counts, as functions of the counts.
        tests = comparisons(at, len(labels)) @ np.tril(np.ones((len(labels),) * 2, dtype=np.int64))
        formula = Quantiles(at=at, bounds=tuple(pairwise(bounds)), counted=True)
    factor = Factor(axes=(axis,), sizes=(attribute.size,), matrix=Dense(np.outer(weights, own)), labels=labels)
    steps = tuple(int(bound / grid) for bound in bounds)
    block = replace(by, name=name, factors=(*by.factors, factor), scale=scale, within=steps)
    rows = np.arange(block.rows).reshape(-1, len(labels))
    figure = Figure(kind=kind, name=name, blocks=(name,), by=by.axes, rows=rows, formula=formula, tests=tests)
    error = decimal_text(binning_error(bins))
    words = f"counts each row with its bin's midpoint: an error of at most {error} for each row of a person's total"
    return CompiledEntry(
        blocks=(),
        persons=(replace(counted, block=block, figure=figure),),
        notes=(words,) if binning_error(bins) else (),
    )


_COMPILERS: dict[str, Callable[[Any, EntryContext], CompiledEntry]] = {
    "marginal": compile_marginal,
    "marginals": compile_marginals,
    "where": compile_where,
    "prefix": compile_prefix,
    "ranges": compile_ranges,
    "conjunctions": compile_conjunctions,
    "sum": compile_sum,
    "hierarchy": compile_hierarchy,
    "coefficients": compile_coefficients,
    "persons": compile_persons,
    **FIGURE_COMPILERS,
}


class QueriesDocument(Struct, frozen=True, kw_only=True):
    """What is asked, over what.

    domain: the columns that some query looks at, in the order of the whole domain. The choice is public, and rules of
    columns that nobody asks about drop no row.
    workload: blocks whose axes are positions in `domain`. persons: so are those of the tables of persons, which become
    part of the workload once it is known how many rows of a person are used. alone: whether nothing else is asked; the
    workload is then the number of rows.
    columns: names of all columns of the whole domain.
    sources: the documents as they were parsed.
    notes: what a plan must say of it. spoken: of these, what follows from how it was written and not from `sources`.
    """

    domain: Domain
    workload: Workload
    sources: Sources
    persons: tuple[PersonsQuery, ...] = ()
    alone: bool = False
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    spoken: tuple[str, ...] = ()


def read_queries(
    path: DocumentSource,
    domain: Domain | DocumentSource | None = None,
    *,
    strict: bool = False,
) -> QueriesDocument:
    """The queries in a file, over `domain` or else over the domain that the file states or names.

    Args:
        path: or an already parsed object; files that it names lie in the working directory.
        domain: its file, an already parsed object, or a domain that was decoded before and is taken as it is.
        strict: add nothing to the domain: no edges where queries name values, no labels.

    Raises:
        UsageFault: a file cannot be read.
        DocumentError: they ask for nothing that can be answered; file and JSON path of each fault are named.
    """
    file, faults = (None if isinstance(path, dict) else Path(path)), Faults()
    location, folder = document_root(file) if file else Location("queries"), file.parent if file else Path()
    # The document as far as it has a queries file's shape; without queries where it cannot be read.
    form: JsonObject = {"domain": None}
    with faults.kept():
        value = path if isinstance(path, dict) else read_document(Path(path))
        if isinstance(value, dict) and "fields" in value and "queries" not in value:
            raise location.fault("is a domain, and no queries file; give it as --domain FILE")
        value = fix_shape(value, QueriesForm, location, faults)
        form = value if isinstance(value, dict) else form
    named = NO_QUERIED_COLUMNS if strict else queried_columns(list_items(form, "queries"))
    stated = (form, folder, location, faults, named)
    whole, declared = _stated_domain(*stated) if domain is None else checked_domain(domain, faults, named)
    if "weight" in form:
        # The survey weight goes into each entry; one that has faults is left out, and they are kept once.
        weight, unweighted = form["weight"], {key: part for key, part in form.items() if key != "weight"}
        with faults.kept():
            frame = EntryContext(domain=whole, location=location, folder=folder)
            weighing(weight, frame, location.key("weight"))
            unweighted = spread(form)
        form = unweighted
    # The sound entries; the faults of the others are kept.
    entries = list_items(form, "queries")
    sound: list[tuple[int, CompiledEntry]] = []
    blocks, work = 0, 0
    known: dict[Hashable, Factor] = {}
    for index, entry in enumerate(entries):
        at = location.key("queries").item(index)
        with faults.kept():
            frame = EntryContext(domain=whole, location=at, folder=folder, known=known)
            kind, fixed = _kind(entry, at, faults) if isinstance(entry, dict) else ("", None)
            part = fitting(fix_shape(fixed, KINDS[kind], at, faults), KINDS[kind]) if kind else None
            if part is not None:
                one = _checked(kind, part, frame)
                sound.append((index, one))
                blocks, work = blocks + len(one.blocks), work + one.work
        if blocks > MAX_BLOCKS or work > MAX_WORK:
            most = f"{MAX_BLOCKS} blocks" if blocks > MAX_BLOCKS else f"{MAX_WORK} cells that predicates look at"
            faults.keep(at.fault(f"with this entry there are more than {most}; ask for fewer"))
        if faults.full or blocks > MAX_BLOCKS or work > MAX_WORK:
            break
    compiled, first = [one for _, one in sound], dict[str, int]()
    for index, one in sound:
        for name in (block.name for block in one.queried_blocks):
            if name in first:
                other = location.key("queries").item(first[name]).path
                text = f"{name!r} is also the name of {other}; give one of them a name, or remove it"
                faults.keep(location.key("queries").item(index).fault(text))
            first[name] = index
    faults.finish()
    # What was learned takes the place of a domain that left it open.
    unused = domain is not None and "domain" in form and whole.learned is None
    spoken = ("the domain in the queries document is not used: another is given",) if unused else ()
    read = _projected(whole, compiled, spoken, Sources(queries=form, domain=declared, folder=folder))
    return replace(read, spoken=spoken)


def _stated_domain(
    form: JsonObject, folder: Path, location: Location, faults: Faults, named: QueriedColumns
) -> tuple[Domain, Any]:
    """The domain that a queries file holds or names, and its document; a draft where that has a fault."""
    at, stated = location.key("domain"), form.get("domain")
    if isinstance(stated, dict):
        return parse_draft(stated, at, faults, named)
    with faults.kept():
        if isinstance(stated, str) and stated:
            try:
                return checked_domain((folder / stated), faults, named)
            except UsageFault as error:
                raise at.fault(str(error)) from None
        if "domain" not in form and list_items(form, "queries"):
            raise location.fault(
                'there is no domain: give --domain FILE, or state "domain" here\n'
                "`dpqr domain TABLE` writes the skeleton of a domain file from the table's column types"
            )
    return DomainDraft((), broken=(UNREADABLE,)), None


def _checked(kind: str, entry: QueryEntry, frame: EntryContext) -> CompiledEntry:
    """Compiled, its weight and its `by` checked apart from the rest. Raises: DocumentError of all their faults."""
    faults = Faults()
    by: Sequence[str] = getattr(entry, "by", ())
    part = msgspec.structs.replace(entry, by=()) if by else entry
    with faults.kept():
        weight = selection_weight(entry, frame.location)
    with faults.kept():
        frame.axes(by, frame.location.key("by"))
        part = entry
    with faults.kept():
        compiled = _COMPILERS[kind](part, frame)
        compiled = with_survey_weight(compiled, entry, frame)
    faults.pass_on()
    # With the entry's own name and weight; several blocks have taken the name in already.
    named: dict[str, Any] = {"weight": weight}
    if entry.name is not UNSET and not isinstance(
        entry, MarginalsEntry | ConjunctionsEntry | RatioEntry | HierarchyEntry
    ):
        named["name"] = entry.name
    return replace(compiled, blocks=tuple(replace(block, **named) for block in compiled.blocks))


def _kind(value: JsonObject, location: Location, faults: Faults) -> tuple[str, JsonObject]:
    """What an entry asks for, and the entry; a misspelt kind counts as the one that it can only mean."""
    kinds = [key for key in KINDS if key in value]
    if len(kinds) > 1 and "where" in kinds and RESTRICTED.issuperset(kind for kind in kinds if kind != "where"):
        kinds.remove("where")
    if len(kinds) > 1:
        raise location.fault(f"{' and '.join(map(repr, kinds))} are two entries; split them")
    if kinds:
        return kinds[0], value
    unknown = next((key for key in value if key not in ("name", "weight", "by", "where", "at", "k", "levels")), "")
    fault, meant = missing_kind_fault(unknown, location), obvious(unknown, KINDS)
    if meant is None:
        raise fault
    faults.keep(fault)
    return meant, {meant if key == unknown else key: part for key, part in value.items()}


def _projected(
    whole: Domain, compiled: list[CompiledEntry], notes: tuple[str, ...], sources: Sources
) -> QueriesDocument:
    """Only the columns that are asked about: |X| is what memory and error bounds grow with."""
    blocks = tuple(block for one in compiled for block in one.blocks)
    persons = tuple(table for one in compiled for table in one.persons)
    alone = bool(persons) and not blocks
    if alone:
        taken = {table.block.name for table in persons}
        blocks = (QueryBlock(name=next(name for name in ("total", "rows used") if name not in taken)),)
        notes = (
            *notes,
            f"only persons are asked for: the number of rows that are used is measured too, {blocks[0].name!r}",
        )
    column_sets = (axes for one in persons for axes in (one.block.axes, *(region.axes for region in one.block.where)))
    axes = tuple(sorted({*Workload(blocks).axes, *chain.from_iterable(column_sets)}))
    if not axes:
        axes = (0,)
        notes = (*notes, f"only the total is asked for: the rules of column {whole.names[0]!r} say which rows count")
    # Public facts that are left out, each once.
    notes = (
        *notes,
        *(
            f"not used: {fact!r} speaks of columns that no query looks at"
            for fact in tuple(dict.fromkeys(whole.facts.silent(axes)))
        ),
    )
    notes = (*notes, *filter(None, (describe_added_cells(whole.attributes[axis]) for axis in axes)))
    position = {axis: index for index, axis in enumerate(axes)}

    @cache
    def moved(factor: Factor) -> Factor:
        return replace(factor, axes=tuple(position[axis] for axis in factor.axes))

    def placed(block: QueryBlock) -> QueryBlock:
        where = tuple(replace(each, axes=tuple(position[axis] for axis in each.axes)) for each in block.where)
        return replace(block, factors=tuple(map(moved, block.factors)), where=where)

    def based(figure: Figure) -> Figure:
        tested = None if figure.tested is None else placed(figure.tested)
        return replace(figure, by=tuple(position[axis] for axis in figure.by), tested=tested)

    figures = tuple(based(figure) for one in compiled for figure in one.figures)
    return QueriesDocument(
        domain=whole.project(axes),
        columns=whole.names,
        sources=sources,
        workload=Workload(tuple(map(placed, blocks)), figures),
        persons=tuple(
            replace(table, block=placed(table.block), figure=None if table.figure is None else based(table.figure))
            for table in persons
        ),
        alone=alone,
        notes=(*notes, *(f"{one.name}: {note}" for one in compiled for note in one.notes)),
    )
