"""The syntax tree of a predicate. `start`, a part's position in the text, is for errors and not compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from dpqr.data.attribute import Fault

Operator = Literal["=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant as written. kind: text in quotes, a number, or the words true and false (`flag`)."""

    kind: Literal["text", "number", "flag"]
    text: str
    start: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """column operator constant; `!=`, `in` and `between` are built from these."""

    column: str
    operator: Operator
    constant: Constant
    start: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class IsFault:
    """Whether the record stands in the column's own cell for `fault`."""

    column: str
    fault: Fault
    start: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    """Negation; what is unknown stays unknown."""

    part: Node


@dataclass(frozen=True, slots=True)
class And:
    """True where all parts are."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True where some part is."""

    parts: tuple[Node, ...]


Node = Comparison | IsFault | Not | And | Or


def columns(node: Node) -> set[str]:
    """The columns that a predicate speaks of."""
    if isinstance(node, Comparison | IsFault):
        return {node.column}
    parts = (node.part,) if isinstance(node, Not) else node.parts
    return set().union(*(columns(part) for part in parts))


def comparisons(node: Node) -> Iterator[Comparison | IsFault]:
    """The predicate's leaves."""
    if isinstance(node, Comparison | IsFault):
        yield node
        return
    for part in (node.part,) if isinstance(node, Not) else node.parts:
        yield from comparisons(part)


def conjuncts(node: Node, *, negated: bool = False) -> list[Node]:
    """Predicates of which `node` (or its negation) is the conjunction, taken apart as far as De Morgan's laws go."""
    if isinstance(node, Not):
        return conjuncts(node.part, negated=not negated)
    if isinstance(node, Or if negated else And):
        return [piece for part in node.parts for piece in conjuncts(part, negated=negated)]
    return [Not(node) if negated else node]
