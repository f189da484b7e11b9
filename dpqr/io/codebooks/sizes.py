"""Sizes of columns whose values are the codes 0, 1, ...: the domain file of mbi (private-pgm)."""

from __future__ import annotations

from typing import Any

from dpqr.io.codebooks.column import Codebook, Column, Outline, document
from dpqr.io.codebooks.written import Written
from dpqr.io.documents.domains.domain import decode_domain
from dpqr.io.documents.domains.forms import Constraints, Sizes, Treatment
from dpqr.io.documents.text.decoding import Location, decode


def is_sizes(tree: Any) -> bool:
    """Whether all members are whole numbers."""
    return isinstance(tree, dict) and bool(tree) and all(type(size) is int for size in tree.values())


def read_sizes(tree: Any, location: Location) -> tuple[Codebook, ...]:
    """Integer columns from 0 to size - 1. Every value has a code, so none is null."""
    if not is_sizes(tree):
        raise location.fault("sizes are an object of whole numbers, such as {'age': 85}")
    sizes = decode(tree, Sizes, location)
    each = Treatment(width=1)
    fields = tuple(
        Column(
            name=name, type="integer", constraints=Constraints(minimum=0, maximum=size - 1, required=True), dpqr=each
        )
        for name, size in sizes.items()
    )
    return (Codebook(outline=Outline(fields=fields)),)


def write_sizes(outline: Outline, name: str) -> Written:
    """How many cells each column has; cells are coded in the order in which the domain file lists them.

    Raises:
        DocumentError: the domain file is not complete.
    """
    attributes = decode_domain(document(outline), Location(name or "domain")).attributes
    cells = ", ".join(attribute.name for attribute in attributes)
    return Written(
        content={attribute.name: attribute.size for attribute in attributes},
        remarks=(f"what each cell is: code the table's values as 0, 1, ... in the domain file's order ({cells})",),
    )
