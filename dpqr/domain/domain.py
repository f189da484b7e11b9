"""Domain: the finite universe X of records, the product of its attributes' cells; and the faults of its columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr

from dpqr.domain.attribute import FAULTS, Attribute, Axis, Fault, Labels, Rule
from dpqr.domain.periods import PeriodColumn
from dpqr.kernel.arrays import AnyArray, Axes, IntArray, freeze
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import DocumentError
from dpqr.kernel.unit import DeclaredPersons
from dpqr.kernel.values import replace

# Public facts about every table over a domain, and the bounds that they imply for the number of records.


class Region(Struct, frozen=True, kw_only=True, eq=False):
    """A set of cells, defined by some attributes alone.

    text: as the curator wrote it. axes: ascending positions in the domain. cells: true inside, shape = their sizes,
    read-only.

    >>> region = Region(text="male and under 18", axes=(0, 1), cells=np.array([[True, False], [False, False]]))
    >>> region.within((0,)) is None
    True
    """

    text: str
    axes: Axes
    cells: AnyArray

    def __post_init__(self) -> None:
        force_setattr(self, "cells", freeze(self.cells.view()))

    def within(self, axes: Axes) -> Region | None:
        """Project to `axes`, which become positions 0, 1, ...: the cells that lie in the region for all values of the
        other attributes. None if there is no such cell."""
        kept = tuple(axis for axis in self.axes if axis in axes)
        gone = tuple(place for place, axis in enumerate(self.axes) if axis not in kept)
        cells = np.asarray(self.cells.all(axis=gone))
        order = sorted(range(len(kept)), key=lambda place: axes.index(kept[place]))
        moved = Region(
            text=self.text,
            axes=tuple(axes.index(kept[place]) for place in order),
            cells=cells.transpose(order),
        )
        return moved if cells.any() else None


class KnownTotal(Struct, frozen=True, kw_only=True, eq=False):
    """The number of records in a region.

    >>> region = Region(text="male", axes=(0,), cells=np.array([True, False]))
    >>> KnownTotal(region=region, count=400).within((1, 0)).region.axes
    (1,)
    """

    region: Region
    count: int

    def within(self, axes: Axes) -> KnownTotal | None:
        """Return the same over `axes`; None if the region depends on other attributes too."""
        region = self.region.within(axes) if set(self.region.axes) <= set(axes) else None
        return None if region is None else KnownTotal(region=region, count=self.count)


class PublicFacts(Struct, frozen=True, kw_only=True):
    """Facts declared by the curator, never inferred from the data; the guarantee does not cover them.

    impossible: regions without a record (structural zeros). totals: regions whose number of records is known. least,
    most: bounds on the number of all records that follow from the totals; most is None if nothing bounds it.

    >>> PublicFacts(least=100, most=100).records
    100
    """

    impossible: tuple[Region, ...] = ()
    totals: tuple[KnownTotal, ...] = ()
    least: int = 0
    most: int | None = None

    def __bool__(self) -> bool:
        return bool(self.impossible or self.totals or self.least or self.most is not None)

    @property
    def records(self) -> int | None:
        """The number of records, if it is known."""
        return self.least if self.least == self.most else None

    @property
    def axes(self) -> frozenset[Axes]:
        """The groups of attributes that facts refer to together."""
        regions = (*self.impossible, *(total.region for total in self.totals))
        return frozenset(region.axes for region in regions if region.axes)

    def within(self, axes: Axes) -> PublicFacts:
        """Return the facts about the attributes at `axes`, which become positions 0, 1, ..."""
        impossible = (region.within(axes) for region in self.impossible)
        totals = (total.within(axes) for total in self.totals)
        return PublicFacts(
            impossible=tuple(region for region in impossible if region),
            totals=tuple(total for total in totals if total),
            least=self.least,
            most=self.most,
        )

    def silent(self, axes: Axes) -> tuple[str, ...]:
        """Return the texts of facts that say nothing about these attributes alone."""
        regions = [region.text for region in self.impossible if not region.within(axes)]
        return (*regions, *(total.region.text for total in self.totals if not total.within(axes)))


Bounds = tuple[int, int | None]
"""Least and most records; None: unbounded."""


def record_bounds(impossible: Sequence[Region], totals: Sequence[KnownTotal], shape: tuple[int, ...]) -> Bounds | None:
    """Bound the number of records by the known totals.

    Totals that share attributes are solved together: cells that the same totals count are one unknown, and the least
    and the largest sum are two linear programs. Each part without shared attributes bounds the number of records.

    Returns:
        None if the totals contradict each other or the impossible regions.
    """
    least, most = 0.0, math.inf
    for axes, members in connected_totals(totals).items():
        found = _part(axes, members, impossible, shape)
        if found is None:
            return None
        least, most = max(least, found[0]), min(most, found[1])
    slack = 1e-6 * max(least, 1.0)
    if least > most + slack:
        return None
    return round(least), None if most == math.inf else round(max(most, least))


def connected_totals(totals: Sequence[KnownTotal]) -> dict[Axes, list[KnownTotal]]:
    """Group totals that are connected through shared attributes, by all attributes of a group, ascending."""
    parts: list[tuple[set[int], list[KnownTotal]]] = []
    for total in totals:
        axes, members = set(total.region.axes), [total]
        for part in [part for part in parts if part[0] & axes]:
            parts.remove(part)
            axes, members = axes | part[0], part[1] + members
        parts.append((axes, members))
    together: dict[Axes, list[KnownTotal]] = {}
    for axes, members in parts:
        together.setdefault(tuple(sorted(axes)), []).extend(members)
    return together


def _part(
    axes: Axes, totals: Sequence[KnownTotal], impossible: Sequence[Region], shape: tuple[int, ...]
) -> tuple[float, float] | None:
    from scipy.optimize import linprog

    sizes = [shape[axis] for axis in axes]
    kinds = np.zeros(math.prod(sizes), dtype=np.int64)
    for total in totals:
        _, kinds = np.unique(2 * kinds + _spread(total.region, axes, sizes), return_inverse=True)
    zeros = np.zeros(kinds.size, dtype=bool)
    for region in (known for known in (region.within(axes) for region in impossible) if known):
        zeros |= _spread(region, tuple(range(len(axes))), sizes)
    _, examples = np.unique(kinds[~zeros], return_index=True)
    if not examples.size:
        return None
    cells: IntArray = np.flatnonzero(~zeros)[examples]
    counted = np.array([_spread(total.region, axes, sizes)[cells] for total in totals], dtype=np.float64)
    counts = np.array([total.count for total in totals], dtype=np.float64)
    ends = [linprog(sign * np.ones(len(cells)), A_eq=counted, b_eq=counts, method="highs") for sign in (1, -1)]
    if ends[0].status != 0:
        return None
    return float(ends[0].fun), -float(ends[1].fun) if ends[1].status == 0 else math.inf


def _spread(region: Region, axes: Axes, sizes: Sequence[int]) -> AnyArray:
    """Return flags of the region over the cells of `axes` (ascending, its own among them), flat."""
    place = {axis: index for index, axis in enumerate(axes)}
    shape = [1] * len(axes)
    for axis, size in zip(region.axes, region.cells.shape, strict=True):
        shape[place[axis]] = size
    return np.broadcast_to(region.cells.reshape(shape), sizes).reshape(-1)


class LearnedRows(Struct, frozen=True, kw_only=True):
    """Released counts of persons, by which the bound on a person's rows was chosen.

    numbers: of rows, rising: those among which it was chosen. persons: noisy counts of persons from each number to
    below the next, and from the last one on. scale: of their Laplace noise.

    >>> LearnedRows(numbers=(1, 2, 3), persons=(502, 31, -2), scale=Fraction(20)).numbers[-1]
    3
    """

    numbers: tuple[int, ...]
    persons: tuple[int, ...]
    scale: Fraction


class LearnedEntry(Struct, frozen=True, kw_only=True):
    """The entry of a ledger that paid for what one run has learned. seal: of the ledger's chain up to it. budget: what
    it paid.

    >>> from fractions import Fraction
    >>> LearnedEntry(dataset="visits", number=3, seal="9f0c", budget=PrivacyBudget(Fraction(1, 5))).words
    "entry 3 of dataset 'visits'"
    """

    dataset: str
    number: int
    seal: str
    budget: PrivacyBudget

    @property
    def words(self) -> str:
        return f"entry {self.number} of dataset {self.dataset!r}"


class LearnedPart(Struct, frozen=True, kw_only=True):
    """What was learned from a table, under differential privacy: labels or bounds of columns, the rows of each person.

    budget: what that has cost. unit: for whom, in words; costs add up over runs with the same words. rows: None: the
    bound on a person's rows was stated. entries: of the runs that a ledger paid for.

    >>> from fractions import Fraction
    >>> LearnedPart(columns=("icd",), budget=PrivacyBudget(Fraction(1, 5)), unit="one row").budget.pure
    True
    """

    columns: tuple[str, ...]
    budget: PrivacyBudget
    unit: str
    rows: LearnedRows | None = None
    entries: tuple[LearnedEntry, ...] = ()

    @property
    def paid_words(self) -> str:
        """Which entries paid; empty where none did. Runs without a ledger have paid the rest."""
        paid = sum((one.budget.epsilon for one in self.entries), Fraction(0))
        part = "" if paid >= self.budget.epsilon else "in part "
        return f"{part}by {' and '.join(one.words for one in self.entries)}" if self.entries else ""

    @property
    def words(self) -> str:
        """All that was learned."""
        domain = [f"the domain ({', '.join(self.columns)})"] if self.columns else []
        return " and ".join([*domain, *([ROWS_OF_EACH] if self.rows else [])])


ROWS_OF_EACH = "how many rows of each person are used"


@dataclass(frozen=True, slots=True)
class Domain:
    """Named finite axes. |X| = `size` may be 10^30: nothing may assume that it fits in memory.

    Invariant: declared by the curator, never inferred from the data; names are unique.
    facts: public facts about every table over it.
    malformed: rule for rows that cannot be read (`drop` or `fail`); None: not stated, they are dropped.
    unit: the persons that every run over it protects; None: the run says whom.
    period: the date column that says which period a row is in; None: the table has no periods.
    learned: released values among its labels and bounds, and their price; None: all of it is public knowledge.

    >>> from dpqr.domain.attribute import Codes
    >>> domain = Domain((Attribute(name="age", axis=Codes(100)), Attribute(name="sex", axis=Codes(2))))
    >>> domain.shape, domain.size, domain.axes(["sex"])
    ((100, 2), 200, (1,))

    Raises:
        DocumentError: two attributes of one name.
    """

    attributes: tuple[Attribute, ...]
    facts: PublicFacts = field(default_factory=PublicFacts)
    malformed: Rule | None = None
    unit: DeclaredPersons | None = None
    period: PeriodColumn | None = None
    learned: LearnedPart | None = None
    _shape: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_shape", tuple(attribute.size for attribute in self.attributes))
        names = [attribute.name for attribute in self.attributes]
        for name in names:
            if names.count(name) > 1:
                raise DocumentError(f"the domain names the column {name!r} twice; keep one of them")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The attributes' sizes."""
        return self._shape

    @property
    def size(self) -> int:
        """|X|, an exact Python integer."""
        return math.prod(self.shape)

    def axis(self, name: str) -> int:
        """Return the position of the column `name`; DocumentError with the nearest name if there is none."""
        for position, attribute in enumerate(self.attributes):
            if attribute.name == name:
                return position
        near = get_close_matches(name, self.names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"its columns are {', '.join(map(repr, self.names))}"
        raise DocumentError(f"the domain has no column {name!r}; {hint}")

    def axes(self, names: Iterable[str]) -> Axes:
        return tuple(self.axis(name) for name in names)

    def project(self, axes: Axes) -> Domain:
        """Return the domain of the attributes at `axes`, in that order, with its facts and its whole price."""
        kept = tuple(self.attributes[axis] for axis in axes)
        return Domain(kept, self.facts.within(axes), self.malformed, self.unit, self.period, self.learned)


def possible_faults(axis: Axis) -> tuple[Fault, ...]:
    """Return the faults that a cell of this kind of column can have.

    Labels are compared as text, so any other text is `outside`; dates have no NaN and no infinity. Numbers have all
    five, whole ones too: a table may hold them as floating-point numbers.
    """
    if isinstance(axis, Labels):
        return ("null", "outside")
    if getattr(axis, "kind", "number") != "number":
        return ("null", "unparsable", "outside")
    return FAULTS


def unstated_faults(domain: Domain) -> dict[str, tuple[Fault, ...]]:
    """Return, per column, the possible faults without a stated rule; columns that state them all are omitted.

    Under `add-remove` such rows are dropped. Under `replace` the run is refused until every rule is stated: if rows may
    be left out, the number of the others is private and must be measured (`may_drop_rows`).
    """
    gaps = {a.name: tuple(f for f in possible_faults(a.axis) if f not in a.rules) for a in domain.attributes}
    return {name: faults for name, faults in gaps.items() if faults}


def may_drop_rows(domain: Domain) -> bool:
    """Whether a rule may leave a row out: malformed rows are dropped, or some column drops a possible fault."""
    return domain.malformed is not Rule.FAIL or any(
        attribute.rule(fault) is Rule.DROP
        for attribute in domain.attributes
        for fault in possible_faults(attribute.axis)
    )


def failing_attributes(domain: Domain) -> dict[str, tuple[Fault, ...]]:
    """Return, per column, the faults whose rule is `fail`: the exit code then is one bit that no guarantee covers."""
    failing = {
        attribute.name: tuple(fault for fault in FAULTS if attribute.rule(fault) is Rule.FAIL)
        for attribute in domain.attributes
    }
    return {name: faults for name, faults in failing.items() if faults}


def with_titles(domain: Domain, *, titled: bool) -> Domain:
    """The same cells, where a table holds their titles; or where it holds those of labels, and values in bins."""
    if titled:
        return Domain(tuple(Attribute(name=each.name, axis=Labels(each.titles())) for each in domain.attributes))
    return Domain(
        tuple(
            replace(each, axis=Labels(each.axis.values)) if isinstance(each.axis, Labels) else each
            for each in domain.attributes
        )
    )
