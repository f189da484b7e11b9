"""Domain: the finite universe X of records, the product of its attributes' cells; and the faults of its columns."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from dpqr.data.arrays import Axes
from dpqr.data.attribute import FAULTS, Attribute, Axis, Fault, Labels, Rule
from dpqr.data.facts import PublicFacts
from dpqr.data.period import PeriodColumn
from dpqr.data.unit import StatedPersons
from dpqr.errors import DocumentError


@dataclass(frozen=True, slots=True)
class Domain:
    """Named finite axes. |X| = `size` may be 10^30: nothing may assume that it fits in memory.

    Invariant: declared by the curator, never inferred from the data; names are unique.
    facts: public facts about every table over it.
    malformed: rule for rows that cannot be read (`drop` or `fail`); None: not stated, they are dropped.
    unit: the persons that every run over it protects; None: the run says whom.
    period: the date column that says which period a row is in; None: the table has no periods.

    >>> from dpqr.data.attribute import Codes
    >>> domain = Domain((Attribute(name="age", axis=Codes(100)), Attribute(name="sex", axis=Codes(2))))
    >>> domain.shape, domain.size, domain.axes(["sex"])
    ((100, 2), 200, (1,))

    Raises:
        DocumentError: two attributes of one name.
    """

    attributes: tuple[Attribute, ...]
    facts: PublicFacts = field(default_factory=PublicFacts)
    malformed: Rule | None = None
    unit: StatedPersons | None = None
    period: PeriodColumn | None = None
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
        """Return the domain of the attributes at `axes`, in that order, with the facts about them."""
        kept = tuple(self.attributes[axis] for axis in axes)
        return Domain(kept, self.facts.within(axes), self.malformed, self.unit, self.period)


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
    be left out, the number of the others is private and must be measured (`may_leave_out`).
    """
    gaps = {a.name: tuple(f for f in possible_faults(a.axis) if f not in a.rules) for a in domain.attributes}
    return {name: faults for name, faults in gaps.items() if faults}


def may_leave_out(domain: Domain) -> bool:
    """Whether a rule may leave a row out: malformed rows are dropped, or some column drops a possible fault."""
    return domain.malformed is not Rule.FAIL or any(
        attribute.rule(fault) is Rule.DROP
        for attribute in domain.attributes
        for fault in possible_faults(attribute.axis)
    )


def failing_attributes(domain: Domain) -> dict[str, tuple[Fault, ...]]:
    """Return, per column, the faults whose rule is `fail`: the exit code then is one bit that no guarantee covers."""
    failing = {attribute.name: _failing(attribute) for attribute in domain.attributes}
    return {name: faults for name, faults in failing.items() if faults}


def _failing(attribute: Attribute) -> tuple[Fault, ...]:
    return tuple(fault for fault in FAULTS if attribute.rule(fault) is Rule.FAIL)


def as_written(domain: Domain, *, titled: bool) -> Domain:
    """The same cells, where a table holds their titles; or where it holds those of labels, and values in bins."""
    if titled:
        return Domain(tuple(Attribute(name=each.name, axis=Labels(each.titles())) for each in domain.attributes))
    return Domain(
        tuple(
            replace(each, axis=Labels(each.axis.values)) if isinstance(each.axis, Labels) else each
            for each in domain.attributes
        )
    )
