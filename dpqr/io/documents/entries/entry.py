"""What compiling one entry of a queries file may look at, what it makes, and integer matrices from their entries."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
from msgspec import UNSET

from dpqr.data.arrays import Axes, IntArray
from dpqr.data.attribute import Attribute, Bins, Codes, Labels
from dpqr.data.domain import Domain
from dpqr.errors import DocumentError
from dpqr.io.documents.domains.bins import code_bins
from dpqr.io.documents.entries.forms import Entry
from dpqr.io.documents.text.decoding import Location, number
from dpqr.io.documents.text.faults import FollowUp, all_of
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.figures import Figure
from dpqr.workload.matrix import Dense, IntMatrix, Sparse


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """Blocks over the whole domain's axes, in the entry's order; notes: what the plan must say of them.

    binning_error: largest error a record that replacing values by midpoints adds; None where no values are.
    work: cells that its predicate looks at, once a comparison. figures: what is computed from its answers.
    """

    blocks: tuple[QueryBlock, ...]
    notes: tuple[str, ...] = ()
    binning_error: Fraction | None = None
    work: int = 0
    figures: tuple[Figure, ...] = ()

    @property
    def name(self) -> str:
        """Of the figure, else of the first block."""
        return self.figures[0].name if self.figures else self.blocks[0].name


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The domain, the entry's location in the document, and the folder that file names are relative to.

    known: factors that entries of the same document have made before, by what they say: a hundred thousand predicates
    say few things of their columns.
    """

    domain: Domain
    location: Location
    folder: Path
    known: dict[Hashable, Factor] = field(default_factory=dict, repr=False, compare=False)

    def axis(self, name: str, location: Location) -> int:
        with location.blamed():
            return self.domain.axis(name)

    def axes(self, names: Sequence[str], location: Location) -> Axes:
        """Positions of distinct columns."""
        found = tuple(all_of(partial(self._listed_axis, name, location.item(at)) for at, name in enumerate(names)))
        for index, axis in enumerate(found):
            if axis in found[:index]:
                raise location.item(index).fault(f"the column {names[index]!r} stands twice; keep one of them")
        return found

    def _listed_axis(self, name: str, location: Location) -> int:
        """The same of a name that stands in a list; other capitals are an obvious fix."""
        try:
            return self.axis(name, location)
        except DocumentError as error:
            meant = [known for known in self.domain.names if known.lower() == name.lower()]
            if isinstance(error, FollowUp) or len(meant) != 1:
                raise
            raise location.fault(error.faults[0].message, fix=location.replaced(json.dumps(meant[0]))) from None

    def by(self, names: Sequence[str], taken: Iterable[int] = ()) -> tuple[Factor, ...]:
        """Identity factors of the `by` columns, none of which may be in `taken`."""
        location = self.location.key("by")
        axes = self.axes(names, location)
        for index, axis in enumerate(axes):
            if axis in taken:
                raise location.item(index).fault(
                    f"the column {names[index]!r} is what this entry asks about; leave it out"
                )
        return self.identities(axes)

    def identities(self, axes: Axes) -> tuple[Factor, ...]:
        return tuple(Factor.identity(axis, self.domain.attributes[axis].size) for axis in axes)

    def ordered(self, axis: int, location: Location) -> tuple[Attribute, Bins | Labels]:
        """The column at `axis` and its scale; labels without an order are refused."""
        attribute = self.domain.attributes[axis]
        if not attribute.ordered:
            raise location.fault(
                f"column {attribute.name!r} holds labels, which have no order; list them as categories in their order "
                "and state categoriesOrdered, or ask for a marginal"
            )
        return attribute, code_bins(attribute.axis.size) if isinstance(attribute.axis, Codes) else attribute.axis


MAX_WEIGHT = 10**9


def selection_weight(entry: Entry, location: Location) -> Fraction:
    """How much selection cares for the entry; 1 where it states no weight."""
    at, stated = location.key("weight"), entry.weight
    if isinstance(stated, dict):  # a survey weight, which may state this one, too
        at, stated = at.key("selection"), stated.get("selection", UNSET)
    elif isinstance(stated, str) and stated.isidentifier():
        raise at.fault(f'expected a number, or a survey weight such as {{"column": "{stated}", "maximum": 40}}')
    weight = Fraction(1) if stated is UNSET else number(stated, at)
    if not 0 < weight <= MAX_WEIGHT:
        raise at.fault(f"must be above 0 and at most {MAX_WEIGHT}")
    return weight


def called(kind: str, by: Sequence[str]) -> str:
    """An entry's name where it is given none."""
    return f"{kind} by {','.join(by)}" if by else kind


DENSE_ENTRIES = 2**22
"""Entries up to which a matrix is kept dense (32 MB)."""
MAX_ENTRIES = 2**25
"""Non-zero entries of one matrix."""


def integer_matrix(rows: IntArray, cells: IntArray, values: IntArray, shape: tuple[int, int]) -> IntMatrix:
    """The matrix with `values` at (rows, cells), each place given once, zero elsewhere."""
    if math.prod(shape) <= DENSE_ENTRIES:
        dense = np.zeros(shape, dtype=np.int64)
        dense[rows, cells] = values
        return Dense(dense)
    from scipy.sparse import csr_array

    return Sparse(csr_array((values, (rows, cells)), shape=shape, dtype=np.int64))


def coarsest_grid(values: Iterable[Fraction]) -> Fraction:
    """The largest g of which all values are whole multiples; 0 where all are 0."""
    distinct = set(values)
    denominator = math.lcm(*(value.denominator for value in distinct))
    return Fraction(math.gcd(*(int(value * denominator) for value in distinct)), denominator)
