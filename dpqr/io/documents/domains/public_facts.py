"""Public facts of a domain file: impossible combinations and known totals, read and checked against each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from msgspec import UNSET

from dpqr.data.arrays import AnyArray, Axes
from dpqr.data.domain import Domain
from dpqr.data.facts import Bounds, KnownTotal, PublicFacts, Region, record_bounds, tied
from dpqr.fitting.constraints import possible
from dpqr.io.documents.domains.draft import DomainDraft
from dpqr.io.documents.domains.forms import ImpossibleForm, TotalForm
from dpqr.io.documents.predicates.cells import evaluate
from dpqr.io.documents.predicates.names import parse_over
from dpqr.io.documents.predicates.tree import Node, Not, columns, comparisons, conjuncts
from dpqr.io.documents.text.decoding import Location
from dpqr.io.documents.text.faults import Faults

MAX_CELLS = 2**20
"""Cells of the columns that one fact ties together, or totals that share columns."""
MAX_WORK = 2**27
"""Cells that all facts look at, each total anew."""
MAX_MODEL = 2**22
"""Cells of the junction tree that holds all impossible combinations."""


def with_facts(
    domain: Domain,
    impossible: Sequence[ImpossibleForm | None],
    totals: Sequence[TotalForm | None],
    location: Location,
    faults: Faults,
) -> Domain:
    """`domain` with its public facts, where each can be read and all can be true; None is left out.

    Each fault is kept. Of a draft every fact is checked on its own.
    """
    if domain.unit is not None and totals:
        text = "totals count all rows, and a unit leaves rows of persons out; leave one of them out"
        faults.keep(location.key("unit").fault(text))
    before = len(faults.found)
    regions = _impossible(domain, impossible, location.key("impossible"), faults)
    known = _totals(domain, totals, location.key("totals"), faults)
    if isinstance(domain, DomainDraft) or len(faults.found) > before:
        return domain
    with faults.kept():
        return _agreeing(domain, regions, known, location)
    return domain


def _agreeing(domain: Domain, regions: Sequence[Region], known: Sequence[KnownTotal], location: Location) -> Domain:
    _refuse_wide_model(domain, regions, location.key("impossible"))
    _refuse_wide_totals(domain, known, location.key("totals"))
    nobody = [total.region for total in known if not total.count]
    counted = [total for total in known if total.region.axes]
    facts = PublicFacts(impossible=(*regions, *nobody), totals=tuple(total for total in counted if total.count))
    if not possible(domain.shape, facts, MAX_MODEL):
        at = location.key("impossible" if regions else "totals")
        raise at.fault("together they leave no cell of the domain that could hold a record; correct one of them")
    least, most = _bounds(domain, regions, known, location.key("totals"))
    return replace(domain, facts=replace(facts, least=least, most=most))


def _impossible(
    domain: Domain, stated: Sequence[ImpossibleForm | None], location: Location, faults: Faults
) -> list[Region]:
    found: list[Region] = []
    for index, one in enumerate(stated):
        if one is None:
            continue
        at = location.item(index).key("where")
        with faults.kept():
            predicate = parse_over(domain, one.where, at)
            # Both of "a or b" are impossible: two facts, each of fewer columns.
            for part in conjuncts(predicate, negated=True):
                found.append(_region(domain, one.where, Not(part), at))
    return found


def _totals(domain: Domain, stated: Sequence[TotalForm | None], location: Location, faults: Faults) -> list[KnownTotal]:
    found = []
    everybody = Region(text="all records", axes=(), cells=np.ones((), dtype=np.bool_))
    for index, one in enumerate(stated):
        if one is None:
            continue
        at = location.item(index).key("where")
        with faults.kept():
            region = (
                everybody if one.where is UNSET else _region(domain, one.where, parse_over(domain, one.where, at), at)
            )
            found.append(KnownTotal(region=region, count=one.count))
    return found


def _refuse_wide_totals(domain: Domain, known: Sequence[KnownTotal], location: Location) -> None:
    for axes, members in tied(known).items():
        _require_room(domain, axes, location, "totals that share columns tie")
        if math.prod(domain.shape[axis] for axis in axes) * len(members) > MAX_WORK:
            raise location.fault(f"{len(members)} of them share columns, too many to check; state fewer")


def _region(domain: Domain, text: str, predicate: Node, location: Location) -> Region:
    with location.blamed():
        axes = tuple(sorted(domain.axis(name) for name in columns(predicate)))
    _require_room(domain, axes, location, "it ties")
    if sum(1 for _ in comparisons(predicate)) * math.prod(domain.shape[axis] for axis in axes) > MAX_WORK:
        raise location.fault("its comparisons look at too many cells; shorten it, or split it")
    cells: AnyArray = np.broadcast_to(evaluate(predicate, domain, axes, location).true, [domain.shape[a] for a in axes])
    if not cells.any():
        raise location.fault("is true for no cell of the domain; correct it or leave it out")
    return Region(text=" ".join(text.split()), axes=axes, cells=np.ascontiguousarray(cells))


def _require_room(domain: Domain, axes: Axes, location: Location, what: str) -> None:
    cells = math.prod(domain.shape[axis] for axis in axes)
    if cells > MAX_CELLS:
        names = ", ".join(repr(domain.names[axis]) for axis in axes)
        raise location.fault(f"{what} {names} together: {cells} cells, more than {MAX_CELLS}; speak of fewer columns")


def _refuse_wide_model(domain: Domain, regions: Sequence[Region], location: Location) -> None:
    if possible(domain.shape, PublicFacts(impossible=tuple(regions)), MAX_MODEL) is None:
        raise location.fault(f"together they need a model of more than {MAX_MODEL} cells; state fewer, or merge cells")


def _bounds(domain: Domain, regions: Sequence[Region], totals: Sequence[KnownTotal], location: Location) -> Bounds:
    """Bounds on the number of records; the first total that contradicts those before it is blamed."""
    found = record_bounds(regions, totals, domain.shape)
    if found is not None:
        return found
    first = next(_contradicting(domain, regions, totals))
    raise location.item(first).fault(
        "no table can have this many records there, given the totals before it and what is impossible; correct one"
    )


def _contradicting(domain: Domain, regions: Sequence[Region], totals: Sequence[KnownTotal]) -> Iterator[int]:
    low, high = 0, len(totals)
    while low < high:
        middle = (low + high) // 2
        if record_bounds(regions, totals[: middle + 1], domain.shape) is None:
            high = middle
        else:
            low = middle + 1
    yield low
