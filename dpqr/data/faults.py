"""Faults: which cells of a column can fail to fit it, and what the curator has left unsaid about them."""

from __future__ import annotations

from dpqr.data.attribute import FAULTS, Attribute, Axis, Fault, Labels, Rule
from dpqr.data.domain import Domain


def possible_faults(axis: Axis) -> tuple[Fault, ...]:
    """Faults that a cell of this kind of column can show.

    Labels are compared as text, so any other text is `outside`; dates know no NaN and no infinity. Numbers have all
    five, whole ones too: a table may hold them as floating-point numbers.
    """
    if isinstance(axis, Labels):
        return ("null", "outside")
    if getattr(axis, "kind", "number") != "number":
        return ("null", "unparsable", "outside")
    return FAULTS


def unstated_faults(domain: Domain) -> dict[str, tuple[Fault, ...]]:
    """Per column the possible faults without a stated rule; columns that state them all are left out.

    Under `add-remove` such rows are dropped. Under `replace` the run is refused until every rule is stated: rows that
    are left out make the number of the others private, and it is bought then (`may_leave_out`).
    """
    gaps = {a.name: tuple(f for f in possible_faults(a.axis) if f not in a.rules) for a in domain.attributes}
    return {name: faults for name, faults in gaps.items() if faults}


def may_leave_out(domain: Domain) -> bool:
    """Whether a rule may leave a row out: malformed rows are dropped, or some column drops a fault that it can show."""
    return domain.malformed is not Rule.FAIL or any(
        attribute.rule(fault) is Rule.DROP
        for attribute in domain.attributes
        for fault in possible_faults(attribute.axis)
    )


def failing_attributes(domain: Domain) -> dict[str, tuple[Fault, ...]]:
    """Per column the faults whose rule is `fail`: there the exit code tells one bit that no guarantee covers."""
    failing = {attribute.name: _failing(attribute) for attribute in domain.attributes}
    return {name: faults for name, faults in failing.items() if faults}


def _failing(attribute: Attribute) -> tuple[Fault, ...]:
    return tuple(fault for fault in FAULTS if attribute.rule(fault) is Rule.FAIL)
