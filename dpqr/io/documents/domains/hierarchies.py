"""Hierarchies: the levels above a column's cells, climbed from the cells by the stated parents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dpqr.data.attribute import Attribute
from dpqr.data.hierarchy import Hierarchy, Level
from dpqr.io.documents.domains.parents import Links
from dpqr.io.documents.text.decoding import nearest, spoken
from dpqr.io.documents.text.faults import Faults

MOST_LEVELS = 32
SHOWN = 4
"""Names of a cycle that an error shows."""


def hierarchy(attribute: Attribute, stated: Links) -> Hierarchy:
    """The levels above the cells of a column. A fault cell is a node of its own on every level.

    Raises:
        DocumentError: a label without a parent, an unknown parent, a cycle, or one name on two levels.
    """
    cells = attribute.axis.titles()
    own = attribute.titles()[len(cells) :]
    levels: list[tuple[str, ...]] = []
    for above in _climbed(cells, stated):
        levels.append(above)
        if len(levels) > MOST_LEVELS:
            raise stated.location.fault(f"makes more than {MOST_LEVELS} levels; leave some out")
    names = _names(attribute.name, len(levels), stated)
    return Hierarchy(levels=tuple(_level(name, nodes, own, stated) for name, nodes in zip(names, levels, strict=True)))


def _climbed(cells: Sequence[str], stated: Links) -> Iterable[tuple[str, ...]]:
    """The node of every cell on one level after the other, until no node has a parent."""
    heights, nodes = dict.fromkeys(cells, 0), tuple(cells)
    height = 0
    while height == 0 or any(node in stated.parents for node in dict.fromkeys(nodes)):
        distinct = tuple(dict.fromkeys(nodes))
        _require_parents(distinct, height, stated)
        _require_new(distinct, heights, stated)
        nodes, height = tuple(stated.parents[node] for node in nodes), height + 1
        heights |= dict.fromkeys(nodes, height)
        yield nodes


def _require_parents(nodes: Sequence[str], height: int, stated: Links) -> None:
    """On a level all nodes have parents, or none has."""
    orphans = [node for node in nodes if node not in stated.parents]
    if not orphans:
        return
    faults, held = Faults(), set(nodes)
    others = [child for child in stated.parents if child in held or height == 0]
    children = {stated.parents[node]: node for node in stated.parents} if height else {}
    for orphan in orphans:
        hint = nearest(orphan, others)
        if height == 0:
            said = f"the label {spoken(orphan)} has no parent; add it ({hint})"
            faults.keep(stated.location.fault(said, place=stated.location.key(orphan).path))
        else:
            at, row = stated.at(children[orphan])
            said = f"{row}unknown parent {spoken(orphan)} of {spoken(children[orphan])}: it has no parent itself"
            place = stated.location.key(children[orphan]).path
            faults.keep(at.fault(f"{said}, as others of its level have; {hint}", place=place))
        if faults.full:
            break
    faults.pass_on()


def _require_new(nodes: Sequence[str], heights: dict[str, int], stated: Links) -> None:
    """No parent stands on a level below: a name on two levels, or a cycle."""
    faults = Faults()
    for node in nodes:
        parent = stated.parents[node]
        if parent in heights:
            chain = _chain(parent, node, stated)
            shown = min(chain, default=node)  # a cycle is named once
            (at, row), place = stated.at(shown), stated.location.key(shown).path
            faults.keep(at.fault(f"{row}{_twice(node, parent, heights[parent], chain)}", place=place))
        if faults.full:
            break
    faults.pass_on()


def _chain(node: str, last: str, stated: Links) -> tuple[str, ...]:
    """The parents from `node` up to `last`, both in it; empty if they do not lead there."""
    chain = [node]
    while chain[-1] != last and chain[-1] in stated.parents and len(chain) <= MOST_LEVELS:
        chain.append(stated.parents[chain[-1]])
    return tuple(chain) if chain[-1] == last else ()


def _twice(node: str, parent: str, height: int, chain: tuple[str, ...]) -> str:
    if node == parent:
        return f"{spoken(node)} is its own parent; at the top leave it out, else name the two levels differently"
    if chain:
        shown = [*chain[:SHOWN], *(["..."] if len(chain) > SHOWN else []), parent]
        return f"the parents form a cycle: {' -> '.join(shown)}; correct one of them"
    other = "a label of the column" if height == 0 else "on a lower level"
    return f"the parent {spoken(parent)} of {spoken(node)} is also {other}; give one of them another name"


def _names(column: str, count: int, stated: Links) -> tuple[str, ...]:
    if stated.levels is None:
        return tuple(f"level {place}" for place in range(1, count + 1))
    if len(stated.levels) != count:
        raise stated.location.fault(
            f"'levels' names {len(stated.levels)} levels above the column, and the parents make {count}"
        )
    if len({column, *stated.levels}) <= count:
        raise stated.location.fault("two levels have one name (the lowest has the column's); give each its own")
    return stated.levels


def _level(name: str, nodes: Sequence[str], own: Sequence[str], stated: Links) -> Level:
    distinct = tuple(dict.fromkeys(nodes))
    for node in own:
        if node in distinct:
            raise stated.location.fault(f"{spoken(node)} is the name of a fault cell; give the parent another name")
    numbers = {node: number for number, node in enumerate((*distinct, *own))}
    places = np.array([numbers[node] for node in (*nodes, *own)], dtype=np.int64)
    return Level(name=name, nodes=(*distinct, *own), places=places)
