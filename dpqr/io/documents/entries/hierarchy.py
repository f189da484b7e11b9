"""Entries of hierarchies: the counts of every node of a column's declared levels."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET

from dpqr.data.attribute import Attribute
from dpqr.data.hierarchy import Level
from dpqr.io.documents.entries.entry import Compiled, Frame, called
from dpqr.io.documents.entries.forms import HierarchyEntry
from dpqr.io.documents.entries.restricted import condition, restricted
from dpqr.io.documents.text.decoding import Location, nearest, spoken
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity
from dpqr.workload.partition import Merged


def compile_hierarchy(entry: HierarchyEntry, frame: Frame) -> Compiled:
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
    found = dict(_factors(attribute, axis))
    blocks, work = [], 0
    for level in _chosen(entry, tuple(found), frame.location.key("levels")):
        title = level if level == attribute.name else f"{attribute.name}: {level}"
        own = called(f"hierarchy({title}){condition(entry.where)}", entry.by)
        counted = restricted((*others, found[level]), entry.where, frame)
        factors, work = counted.factors, work + counted.work
        blocks.append(QueryBlock(name=own if entry.name is UNSET else f"{entry.name} {level}", factors=factors))
    return Compiled(blocks=tuple(blocks), work=work)


def _factors(attribute: Attribute, axis: int) -> Iterator[tuple[str, Factor]]:
    """The factor of every level by its name, the highest first."""
    assert attribute.hierarchy is not None
    for level in attribute.hierarchy.levels[::-1]:
        yield level.name, _summed(level, attribute, axis)
    yield attribute.name, Factor.identity(axis, attribute.size)


def _summed(level: Level, attribute: Attribute, axis: int) -> Factor:
    matrix = Merged(Identity(len(level.nodes)), level.places)
    return Factor(axes=(axis,), sizes=(attribute.size,), matrix=matrix, labels=level.nodes)


def _chosen(entry: HierarchyEntry, known: tuple[str, ...], location: Location) -> tuple[str, ...]:
    if entry.levels is UNSET:
        return known
    for place, level in enumerate(entry.levels):
        if level not in known:
            raise location.item(place).fault(f"{spoken(level)} is no level of the column; {nearest(level, known)}")
        if level in entry.levels[:place]:
            raise location.item(place).fault(f"the level {spoken(level)} stands twice; keep one of them")
    return tuple(level for level in known if level in entry.levels)
