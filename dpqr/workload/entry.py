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
from msgspec import UNSET, Struct

from dpqr.domain.attribute import Attribute, Bins, Labels
from dpqr.domain.columns import scale_of
from dpqr.domain.domain import Domain
from dpqr.domain.text.decoding import Location, nearest, number, obvious
from dpqr.domain.text.faults import FollowUp, all_of, member
from dpqr.kernel.arrays import Axes, IntArray
from dpqr.kernel.errors import DocumentError, Fix
from dpqr.kernel.values import replace
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.figures import Figure
from dpqr.workload.form import KINDS, QueryEntry
from dpqr.workload.matrix import Dense, IntMatrix, Sparse


class PersonsQuery(Struct, frozen=True, kw_only=True):
    """A table of persons, before the run's unit is known. block: the marginal whose cells they count in. most_cells: C;
    None: as many as rows of a person are used. column: that says whose row it is, where the entry names it. figure: the
    mean or the quantiles that its totals give; None: persons are counted."""

    block: QueryBlock
    most_cells: int | None = None
    column: str | None = None
    figure: Figure | None = None

    def table(self, rows: int, steps: int) -> QueryBlock:
        """What is measured. rows: K, of each person. Nobody has more cells than there are. steps: the most that a
        person adds to an answer of any table of the run. Every answer is multiplied until a person adds about as much
        to it, for one draw gives all of them the same noise."""
        times = max(1, round(Fraction(steps, self.block.person_step)))
        most_cells = min(self.most_cells or rows, self.block.person_cells)
        return replace(self.block, most_cells=most_cells, times=times, scale=self.block.scale / times)


class CompiledEntry(Struct, frozen=True, kw_only=True):
    """Blocks over the whole domain's axes, in the entry's order; notes: what the plan must say of them.

    binning_error: largest error a record that replacing values by midpoints adds; None where no values are.
    work: cells that its predicate looks at, once a comparison. figures: what is computed from its answers.
    persons: tables of persons.
    """

    blocks: tuple[QueryBlock, ...]
    notes: tuple[str, ...] = ()
    binning_error: Fraction | None = None
    work: int = 0
    figures: tuple[Figure, ...] = ()
    persons: tuple[PersonsQuery, ...] = ()

    @property
    def name(self) -> str:
        """Of the figure, else of the first block."""
        return self.figures[0].name if self.figures else self.queried_blocks[0].name

    @property
    def queried_blocks(self) -> tuple[QueryBlock, ...]:
        """Everything that has a name of its own."""
        return (*self.blocks, *(one.block for one in self.persons))


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryContext:
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

        def listed(name: str, at: Location) -> int:
            """Other capitals are an obvious fix."""
            try:
                return self.axis(name, at)
            except DocumentError as error:
                meant = [known for known in self.domain.names if known.lower() == name.lower()]
                if isinstance(error, FollowUp) or len(meant) != 1:
                    raise
                raise at.fault(error.faults[0].message, fix=at.replaced(json.dumps(meant[0]))) from None

        found = tuple(all_of(partial(listed, name, location.item(place)) for place, name in enumerate(names)))
        for index, axis in enumerate(found):
            if axis in found[:index]:
                raise location.item(index).fault(f"the column {names[index]!r} stands twice; keep one of them")
        return found

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
        return attribute, scale_of(attribute.axis)


MAX_WEIGHT = 10**9


def selection_weight(entry: QueryEntry, location: Location) -> Fraction:
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


def default_name(kind: str, by: Sequence[str]) -> str:
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


# Kinds of queries by the names that other programs give them, and how to ask for them here.

_MEAN = 'ask {"mean": COLUMN}'
_QUANTILE = 'ask {"quantiles": COLUMN, "at": [0.25, 0.5, 0.75]}'
_CURVE = 'it is read from cumulative counts: ask {"prefix": COLUMN}'
_VARIANCE = 'it is the root of {"variance": COLUMN}'
_MODE = 'ask {"top": COLUMN, "k": 1}'
_SHARE = """the part of the records that fulfil a condition is {"proportion": "age >= 65"}"""
_PAIR = 'it is computed from the counts of all pairs of cells: ask {"marginal": [COLUMN, COLUMN]}'
_COUNT = 'counts by cell are {"marginal": [COLUMN, ...]}, and {"marginal": []} is the number of records'
_FILTER = """records that fulfil a condition are counted by {"where": "age >= 65 and sex = 'female'"}"""
_WAYS = 'the counts of every pair of columns are {"marginals": {"ways": 2}}'
_PERSONS = 'each person counts once a cell in {"persons": {"by": [COLUMN]}}, with --unit COLUMN'
_NONE = 'no sum over the records gives it; ask for the counts by cell, {"marginal": [COLUMN]}'

OTHER_NAMES: dict[str, str] = {
    **dict.fromkeys(("average", "avg"), _MEAN),
    **dict.fromkeys(("quantile", "percentile", "percentiles", "quartiles", "deciles"), _QUANTILE),
    **dict.fromkeys(("cdf", "cumulative", "min", "max", "minimum", "maximum"), _CURVE),
    **dict.fromkeys(("std", "stddev", "deviation"), _VARIANCE),
    **dict.fromkeys(("mode", "topk"), _MODE),
    **dict.fromkeys(("share", "fraction", "percentage"), _SHARE),
    **dict.fromkeys(("covariance", "correlation"), _PAIR),
    **dict.fromkeys(("count", "counts", "histogram", "groupby", "table", "crosstab", "total"), _COUNT),
    **dict.fromkeys(("filter", "predicate", "condition", "query", "sql"), _FILTER),
    **dict.fromkeys(("pairs", "combinations"), _WAYS),
    **dict.fromkeys(("person", "people", "patients", "users", "individuals", "households"), _PERSONS),
    **dict.fromkeys(("distinct", "unique", "nunique"), f"{_NONE}; {_PERSONS}"),
}
"""How to get what queries of these names ask for; names without hyphens, blanks and underscores."""

_IGNORED = str.maketrans("", "", "-_ ")


def missing_kind_fault(unknown: str, location: Location) -> DocumentError:
    """The fault of an entry without a kind. unknown: the first key that could have been meant for one, or nothing."""
    place, meant = member(location.path, unknown) if unknown else "", obvious(unknown, KINDS)
    if meant:
        fix = Fix(path=place, text=json.dumps(meant), key=True)
        return location.fault(f"unknown kind {unknown!r}; did you mean {meant!r}?", place=place, fix=fix)
    way = OTHER_NAMES.get(unknown.lower().translate(_IGNORED))
    if way:
        return location.fault(f"unknown kind {unknown!r}: {way}", place=place)
    near = nearest(unknown, KINDS) if unknown else ""
    hint = near if near.startswith("did you mean") else "`dpqr guide queries` explains them"
    return location.fault(f"asks nothing: one of {', '.join(KINDS)} is missing; {hint}", place=place)
