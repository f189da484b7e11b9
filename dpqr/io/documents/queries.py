"""The queries file: decoded and compiled into the workload that a release must answer. Marginals are compiled here."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

from msgspec import UNSET

from dpqr.data.arrays import Axes
from dpqr.data.domain import Domain
from dpqr.errors import UsageFault
from dpqr.io.documents.coefficients import compile_coefficients
from dpqr.io.documents.conjunctions import compile_conjunctions
from dpqr.io.documents.decoding import Location, decode, nearest, number
from dpqr.io.documents.domain import decode_domain, read_domain
from dpqr.io.documents.entry import Compiled, Frame
from dpqr.io.documents.forms import (
    KINDS,
    MAX_BLOCKS,
    MAX_WORK,
    ConjunctionsEntry,
    Entry,
    MarginalEntry,
    MarginalsEntry,
    QueriesForm,
    Ways,
)
from dpqr.io.documents.json_text import read_json
from dpqr.io.documents.ordered_columns import compile_prefix, compile_ranges, compile_sum
from dpqr.io.documents.where import compile_where
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.workload import Workload


def compile_marginal(entry: MarginalEntry, frame: Frame) -> Compiled:
    """One marginal; of no columns: the number of records."""
    axes = frame.axes(entry.marginal, frame.location.key("marginal"))
    block = _block(frame, axes)
    return Compiled(blocks=(block,))


def compile_marginals(entry: MarginalsEntry, frame: Frame) -> Compiled:
    """Listed marginals, or every combination of `ways` columns; a given name is put before each block's own."""
    location = frame.location.key("marginals")
    if isinstance(entry.marginals, Ways):
        chosen = _combinations(entry.marginals, frame)
    else:
        chosen = [frame.axes(names, location.item(index)) for index, names in enumerate(entry.marginals)]
    prefix = "" if entry.name is UNSET else f"{entry.name} "
    return Compiled(blocks=tuple(_block(frame, axes, prefix) for axes in chosen))


def _combinations(wanted: Ways, frame: Frame) -> list[Axes]:
    location = frame.location.key("marginals")
    names = frame.domain.names if wanted.columns is UNSET else wanted.columns
    axes = frame.axes(names, location.key("columns"))
    if wanted.ways > len(axes):
        raise location.key("ways").fault(
            f"{wanted.ways} columns cannot be chosen from {len(axes)}; give at most {len(axes)}"
        )
    count = math.comb(len(axes), wanted.ways)
    if count > MAX_BLOCKS:
        raise location.key("ways").fault(f"makes {count} marginals, more than {MAX_BLOCKS}; list fewer columns")
    return list(combinations(axes, wanted.ways))


def _block(frame: Frame, axes: Axes, prefix: str = "") -> QueryBlock:
    names = ",".join(frame.domain.attributes[axis].name for axis in axes)
    return QueryBlock(name=f"{prefix}marginal({names})" if axes else f"{prefix}total", factors=frame.identities(axes))


MAX_WEIGHT = 10**9

_COMPILERS: dict[str, Callable[[Any, Frame], Compiled]] = {
    "marginal": compile_marginal,
    "marginals": compile_marginals,
    "where": compile_where,
    "prefix": compile_prefix,
    "ranges": compile_ranges,
    "conjunctions": compile_conjunctions,
    "sum": compile_sum,
    "coefficients": compile_coefficients,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueriesDocument:
    """What is asked, over what.

    domain: the columns that some query looks at, in the order of the whole domain. The choice is public, and rules of
    columns that nobody asks about drop no row.
    workload: blocks whose axes are positions in `domain`.
    notes: what a plan must say of it; binning_errors: per block of a sum, the largest error a record by its binning.
    """

    domain: Domain
    workload: Workload
    notes: tuple[str, ...] = ()
    binning_errors: tuple[tuple[str, Fraction], ...] = ()


def read_queries(path: str | os.PathLike[str] | dict[str, Any], domain: Domain | None = None) -> QueriesDocument:
    """The queries in a file, over `domain` or else over the domain that the file states or names.

    path: or an already parsed object; files that it names lie in the working directory.

    Raises:
        UsageFault: the file cannot be read.
        DocumentError: it asks for nothing that can be answered; the message names file and JSON path.
    """
    file = Path("queries" if isinstance(path, dict) else path)
    location = Location(file.name)
    form = decode(path if isinstance(path, dict) else read_json(file), QueriesForm, location)
    notes = (
        () if domain is None or form.domain is UNSET else (f"the domain in {file.name} is not used: another is given",)
    )
    whole = domain or _stated_domain(form, file.parent, location)
    compiled, blocks, work = [], 0, 0
    known: dict[Hashable, Factor] = {}
    for index, entry in enumerate(form.queries):
        at = location.key("queries").item(index)
        compiled.append(_compiled(entry, Frame(domain=whole, location=at, folder=file.parent, known=known)))
        blocks, work = blocks + len(compiled[-1].blocks), work + compiled[-1].work
        if blocks > MAX_BLOCKS:
            raise at.fault(f"with this entry there are more than {MAX_BLOCKS} blocks; ask for fewer")
        if work > MAX_WORK:
            raise at.fault(f"with this entry predicates look at more than {MAX_WORK} cells; ask for fewer")
    _distinct_names(compiled, location)
    return _projected(whole, compiled, notes)


def _stated_domain(form: QueriesForm, folder: Path, location: Location) -> Domain:
    at = location.key("domain")
    if form.domain is UNSET:
        raise location.fault(
            'there is no domain: give --domain FILE, or state "domain" here\n'
            "`dpqr domain TABLE` writes the skeleton of a domain file from the table's column types"
        )
    if isinstance(form.domain, dict):
        return decode_domain(form.domain, at)
    try:
        return read_domain(folder / form.domain)
    except UsageFault as error:
        raise at.fault(str(error)) from None


def _compiled(value: dict[str, Any], frame: Frame) -> Compiled:
    kinds = [key for key in KINDS if key in value]
    if len(kinds) > 1:
        raise frame.location.fault(f"{' and '.join(map(repr, kinds))} are two entries; split them")
    if not kinds:
        unknown = next((key for key in value if key not in ("name", "weight", "by")), "")
        raise frame.location.fault(f"asks nothing: one of {', '.join(KINDS)} is missing; {nearest(unknown, KINDS)}")
    entry = decode(value, KINDS[kinds[0]], frame.location)
    return _titled(_COMPILERS[kinds[0]](entry, frame), entry, frame.location)


def _titled(compiled: Compiled, entry: Entry, location: Location) -> Compiled:
    """With the entry's own name and weight; blocks of `marginals` and `conjunctions` have taken the name in already."""
    weight = Fraction(1) if entry.weight is UNSET else number(entry.weight, location.key("weight"))
    if not 0 < weight <= MAX_WEIGHT:
        raise location.key("weight").fault(f"must be above 0 and at most {MAX_WEIGHT}")
    named: dict[str, Any] = {"weight": weight}
    if entry.name is not UNSET and not isinstance(entry, MarginalsEntry | ConjunctionsEntry):
        named["name"] = entry.name
    return replace(compiled, blocks=tuple(replace(block, **named) for block in compiled.blocks))


def _distinct_names(compiled: list[Compiled], location: Location) -> None:
    first: dict[str, int] = {}
    for index, one in enumerate(compiled):
        for block in one.blocks:
            if block.name in first:
                at = location.key("queries").item(index)
                other = location.key("queries").item(first[block.name]).path
                raise at.fault(f"{block.name!r} is also the name of {other}; give one of them a name, or remove it")
            first[block.name] = index


def _silent(whole: Domain, axes: Axes) -> tuple[str, ...]:
    """Public facts that are left out, each once."""
    return tuple(dict.fromkeys(whole.facts.silent(axes)))


def _projected(whole: Domain, compiled: list[Compiled], notes: tuple[str, ...]) -> QueriesDocument:
    """Only the columns that are asked about: |X| is what memory and error bounds grow with."""
    axes = Workload(tuple(block for one in compiled for block in one.blocks)).axes
    if not axes:
        axes = (0,)
        notes = (*notes, f"only the total is asked for: the rules of column {whole.names[0]!r} say which rows count")
    notes = (*notes, *(f"not used: {fact!r} speaks of columns that no query looks at" for fact in _silent(whole, axes)))
    position = {axis: index for index, axis in enumerate(axes)}

    @cache
    def moved(factor: Factor) -> Factor:
        return replace(factor, axes=tuple(position[axis] for axis in factor.axes))

    def placed(block: QueryBlock) -> QueryBlock:
        return replace(block, factors=tuple(map(moved, block.factors)))

    return QueriesDocument(
        domain=whole.project(axes),
        workload=Workload(tuple(placed(block) for one in compiled for block in one.blocks)),
        notes=(*notes, *(f"{one.blocks[0].name}: {note}" for one in compiled for note in one.notes)),
        binning_errors=tuple(
            (one.blocks[0].name, one.binning_error) for one in compiled if one.binning_error is not None
        ),
    )
