"""The queries file: decoded and compiled into the workload that a release must answer. Marginals are compiled here."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from dpqr.data.arrays import Axes
from dpqr.data.domain import Domain
from dpqr.errors import UsageFault
from dpqr.io.documents.domains.cuts import added
from dpqr.io.documents.domains.domain import checked_domain, drafted, listed
from dpqr.io.documents.domains.draft import UNREADABLE, DomainDraft
from dpqr.io.documents.entries.asked import NOTHING, Asked, asked
from dpqr.io.documents.entries.coefficients import compile_coefficients
from dpqr.io.documents.entries.conjunctions import compile_conjunctions
from dpqr.io.documents.entries.entry import Compiled, Frame, selection_weight
from dpqr.io.documents.entries.figures import FIGURE_COMPILERS
from dpqr.io.documents.entries.forms import (
    KINDS,
    MAX_BLOCKS,
    MAX_WORK,
    RESTRICTED,
    ConjunctionsEntry,
    Entry,
    HierarchyEntry,
    MarginalsEntry,
    QueriesForm,
    RatioEntry,
)
from dpqr.io.documents.entries.hierarchy import compile_hierarchy
from dpqr.io.documents.entries.kinds import asks_nothing
from dpqr.io.documents.entries.marginals import compile_marginal, compile_marginals
from dpqr.io.documents.entries.ordered_columns import compile_prefix, compile_ranges, compile_sum
from dpqr.io.documents.entries.survey_weights import spread, weighed, weighing
from dpqr.io.documents.entries.where import compile_where
from dpqr.io.documents.sources import Sources
from dpqr.io.documents.text.decoding import Location, fitting, obvious, shaped
from dpqr.io.documents.text.document_text import read_document, written_in
from dpqr.io.documents.text.faults import Faults
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.figures import Figure
from dpqr.workload.workload import Workload

_COMPILERS: dict[str, Callable[[Any, Frame], Compiled]] = {
    "marginal": compile_marginal,
    "marginals": compile_marginals,
    "where": compile_where,
    "prefix": compile_prefix,
    "ranges": compile_ranges,
    "conjunctions": compile_conjunctions,
    "sum": compile_sum,
    "hierarchy": compile_hierarchy,
    "coefficients": compile_coefficients,
    **FIGURE_COMPILERS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueriesDocument:
    """What is asked, over what.

    domain: the columns that some query looks at, in the order of the whole domain. The choice is public, and rules of
    columns that nobody asks about drop no row.
    workload: blocks whose axes are positions in `domain`.
    columns: names of all columns of the whole domain.
    sources: the documents as they were parsed.
    notes: what a plan must say of it. spoken: of these, what follows from how it was written and not from `sources`.
    """

    domain: Domain
    workload: Workload
    sources: Sources
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    spoken: tuple[str, ...] = ()


def read_queries(
    path: str | os.PathLike[str] | dict[str, Any],
    domain: Domain | str | os.PathLike[str] | dict[str, Any] | None = None,
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
    location, folder = written_in(file) if file else Location("queries"), file.parent if file else Path()
    form = _form(path, location, faults)
    named = NOTHING if strict else asked(listed(form, "queries"))
    stated = (form, folder, location, faults, named)
    whole, declared = _stated_domain(*stated) if domain is None else checked_domain(domain, faults, named)
    form = _weighted(form, Frame(domain=whole, location=location, folder=folder), faults)
    compiled = _compiled_all(listed(form, "queries"), whole, folder, location, faults)
    faults.finish()
    unused = domain is not None and "domain" in form
    spoken = ("the domain in the queries document is not used: another is given",) if unused else ()
    read = _projected(whole, compiled, spoken, Sources(queries=form, domain=declared, folder=folder))
    return replace(read, spoken=spoken)


def _form(source: str | os.PathLike[str] | dict[str, Any], location: Location, faults: Faults) -> dict[str, Any]:
    """The document as far as it has a queries file's shape; without queries where it cannot be read."""
    with faults.kept():
        value = source if isinstance(source, dict) else read_document(Path(source))
        if isinstance(value, dict) and "fields" in value and "queries" not in value:
            raise location.fault("is a domain, and no queries file; give it as --domain FILE")
        value = shaped(value, QueriesForm, location, faults)
        if isinstance(value, dict):
            return value
    return {"domain": None}


def _weighted(form: dict[str, Any], frame: Frame, faults: Faults) -> dict[str, Any]:
    """The document with its survey weight in each entry; without it where it has faults, which are kept once."""
    if "weight" not in form:
        return form
    with faults.kept():
        weighing(form["weight"], frame, frame.location.key("weight"))
        return spread(form)
    return {key: value for key, value in form.items() if key != "weight"}


def _stated_domain(
    form: dict[str, Any], folder: Path, location: Location, faults: Faults, named: Asked
) -> tuple[Domain, Any]:
    """The domain that a queries file holds or names, and its document; a draft where that has a fault."""
    at, stated = location.key("domain"), form.get("domain")
    if isinstance(stated, dict):
        return drafted(stated, at, faults, named)
    with faults.kept():
        if isinstance(stated, str) and stated:
            return _named_domain(folder / stated, at, faults, named)
        if "domain" not in form and listed(form, "queries"):
            raise location.fault(
                'there is no domain: give --domain FILE, or state "domain" here\n'
                "`dpqr domain TABLE` writes the skeleton of a domain file from the table's column types"
            )
    return DomainDraft((), broken=(UNREADABLE,)), None


def _named_domain(path: Path, location: Location, faults: Faults, named: Asked) -> tuple[Domain, Any]:
    try:
        return checked_domain(path, faults, named)
    except UsageFault as error:
        raise location.fault(str(error)) from None


def _compiled_all(
    asked: Sequence[Any], domain: Domain, folder: Path, location: Location, faults: Faults
) -> list[Compiled]:
    """The sound entries; the faults of the others are kept."""
    compiled: list[tuple[int, Compiled]] = []
    blocks, work = 0, 0
    known: dict[Hashable, Factor] = {}
    for index, entry in enumerate(asked):
        at = location.key("queries").item(index)
        with faults.kept():
            one = _compiled(entry, Frame(domain=domain, location=at, folder=folder, known=known), faults)
            if one:
                compiled.append((index, one))
                blocks, work = blocks + len(one.blocks), work + one.work
        if blocks > MAX_BLOCKS or work > MAX_WORK:
            most = f"{MAX_BLOCKS} blocks" if blocks > MAX_BLOCKS else f"{MAX_WORK} cells that predicates look at"
            faults.keep(at.fault(f"with this entry there are more than {most}; ask for fewer"))
        if faults.full or blocks > MAX_BLOCKS or work > MAX_WORK:
            break
    _keep_same_names(compiled, location, faults)
    return [one for _, one in compiled]


def _compiled(value: Any, frame: Frame, faults: Faults) -> Compiled | None:
    """An entry; None where its shape has faults that are kept."""
    if not isinstance(value, dict):
        return None
    kind, value = _kind(value, frame.location, faults)
    entry = fitting(shaped(value, KINDS[kind], frame.location, faults), KINDS[kind])
    return None if entry is None else _checked(kind, entry, frame)


def _checked(kind: str, entry: Entry, frame: Frame) -> Compiled:
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
        compiled = weighed(compiled, entry, frame)
    faults.pass_on()
    return _titled(compiled, entry, weight)


def _kind(value: dict[str, Any], location: Location, faults: Faults) -> tuple[str, dict[str, Any]]:
    """What an entry asks for, and the entry; a misspelt kind counts as the one that it can only mean."""
    kinds = [key for key in KINDS if key in value]
    if len(kinds) > 1 and "where" in kinds and RESTRICTED.issuperset(kind for kind in kinds if kind != "where"):
        kinds.remove("where")
    if len(kinds) > 1:
        raise location.fault(f"{' and '.join(map(repr, kinds))} are two entries; split them")
    if kinds:
        return kinds[0], value
    unknown = next((key for key in value if key not in ("name", "weight", "by", "where", "at", "k", "levels")), "")
    fault, meant = asks_nothing(unknown, location), obvious(unknown, KINDS)
    if meant is None:
        raise fault
    faults.keep(fault)
    return meant, {meant if key == unknown else key: part for key, part in value.items()}


def _titled(compiled: Compiled, entry: Entry, weight: Fraction) -> Compiled:
    """With the entry's own name and weight; several blocks have taken the name in already."""
    named: dict[str, Any] = {"weight": weight}
    if entry.name is not UNSET and not isinstance(
        entry, MarginalsEntry | ConjunctionsEntry | RatioEntry | HierarchyEntry
    ):
        named["name"] = entry.name
    return replace(compiled, blocks=tuple(replace(block, **named) for block in compiled.blocks))


def _keep_same_names(compiled: Sequence[tuple[int, Compiled]], location: Location, faults: Faults) -> None:
    first: dict[str, int] = {}
    for index, one in compiled:
        for block in one.blocks:
            if block.name in first:
                at = location.key("queries").item(index)
                other = location.key("queries").item(first[block.name]).path
                text = f"{block.name!r} is also the name of {other}; give one of them a name, or remove it"
                faults.keep(at.fault(text))
            first[block.name] = index


def _silent(whole: Domain, axes: Axes) -> tuple[str, ...]:
    """Public facts that are left out, each once."""
    return tuple(dict.fromkeys(whole.facts.silent(axes)))


def _projected(whole: Domain, compiled: list[Compiled], notes: tuple[str, ...], sources: Sources) -> QueriesDocument:
    """Only the columns that are asked about: |X| is what memory and error bounds grow with."""
    axes = Workload(tuple(block for one in compiled for block in one.blocks)).axes
    if not axes:
        axes = (0,)
        notes = (*notes, f"only the total is asked for: the rules of column {whole.names[0]!r} say which rows count")
    notes = (*notes, *(f"not used: {fact!r} speaks of columns that no query looks at" for fact in _silent(whole, axes)))
    notes = (*notes, *filter(None, (added(whole.attributes[axis]) for axis in axes)))
    position = {axis: index for index, axis in enumerate(axes)}

    @cache
    def moved(factor: Factor) -> Factor:
        return replace(factor, axes=tuple(position[axis] for axis in factor.axes))

    def placed(block: QueryBlock) -> QueryBlock:
        return replace(block, factors=tuple(map(moved, block.factors)))

    def based(figure: Figure) -> Figure:
        tested = None if figure.tested is None else placed(figure.tested)
        return replace(figure, by=tuple(position[axis] for axis in figure.by), tested=tested)

    figures = tuple(based(figure) for one in compiled for figure in one.figures)
    return QueriesDocument(
        domain=whole.project(axes),
        columns=whole.names,
        sources=sources,
        workload=Workload(tuple(placed(block) for one in compiled for block in one.blocks), figures),
        notes=(*notes, *(f"{one.name}: {note}" for one in compiled for note in one.notes)),
    )
