"""The columns that a table is read for, and the types that each may have: a function of public documents."""

from __future__ import annotations

from typing import Any

from dpqr.domain.attribute import Bins
from dpqr.domain.domain import Domain
from dpqr.domain.periods import PeriodRows
from dpqr.kernel.errors import DocumentError, InfeasiblePlan, UsageFault
from dpqr.kernel.unit import PrivacyUnit
from dpqr.tables.encoders import count_refusal, encoder
from dpqr.tables.parquet import Accepts
from dpqr.tables.persons import date_refusal, person_refusal

_LARGEST_ATTRIBUTE = 2**32


def refuse_published_unit(domain: Domain, unit: PrivacyUnit) -> None:
    """UsageFault where the domain would count by the very column that says who a row belongs to, or how many records
    it stands for; or holds no dates in the column whose periods are a part of the unit, for then every row would be
    nobody's, and the budget spent on nothing."""
    _refuse_counted(domain, unit.counted)
    if unit.columns and unit.columns[0] in domain.names:
        raise UsageFault(
            f"--unit {unit.columns[0]!r} is a column of the domain too; answers cannot be given by person: leave it "
            "out of the domain file"
        )
    dated = next((each for each in domain.attributes if unit.per and each.name == unit.columns[-1]), None)
    if dated is not None and not (isinstance(dated.axis, Bins) and dated.axis.kind != "number"):
        raise UsageFault(
            f"--per {unit.per}: the domain file states column {dated.name!r} without dates, so no row would be in a "
            f"{unit.per}; name the column of dates last"
        )


def _refuse_counted(domain: Domain, column: str | None) -> None:
    if column in domain.names:
        raise UsageFault(f"the count column {column!r} is a column of the domain too; name another one")


def columns_to_read(
    domain: Domain, unit: PrivacyUnit, count_column: str | None, period: PeriodRows | None = None
) -> dict[str, Accepts]:
    """The columns that are read, in order: the domain's, then the count or the unit's columns, then the one that says
    which period a row is in, none of them twice; each with the types it may have."""
    if not domain.attributes:
        raise DocumentError("the domain has no columns; name at least one column of the table")
    for attribute in domain.attributes:
        if attribute.size > _LARGEST_ATTRIBUTE:
            raise InfeasiblePlan(f"column {attribute.name!r} has more than 2^32 cells; give it fewer bins or labels")
    wanted = {attribute.name: _accepts(encoder(attribute).refusal) for attribute in domain.attributes}
    _refuse_counted(domain, count_column)
    refuse_published_unit(domain, unit)
    if unit.columns:
        if count_column is not None:
            raise UsageFault("--unit cannot go with --counts: a row that stands for several records has no one person")
        for name in unit.columns:
            dated = unit.per is not None and name == unit.columns[-1]
            _add(wanted, name, _accepts(date_refusal if dated else person_refusal))
    if count_column is not None:
        wanted[count_column] = _accepts(count_refusal)
    if period is not None:
        if period.column in (*unit.columns[:1], count_column):
            raise UsageFault(
                f"the period's column {period.column!r} is the unit or count column too; name a column of dates"
            )
        _add(wanted, period.column, _accepts(date_refusal))
    return wanted


def _add(wanted: dict[str, Accepts], name: str, accepts: Accepts) -> None:
    """One more column; of one that is wanted already, what both let pass."""
    before = wanted.get(name, accepts)
    wanted[name] = lambda kind: before(kind) or accepts(kind)


def _accepts(refusal: Accepts) -> Accepts:
    """Also lets columns without any value pass, and dictionaries of what `refusal` lets pass."""

    def refused(kind: Any) -> str | None:
        from pyarrow import types

        if types.is_null(kind):
            return None
        return refusal(kind.value_type if types.is_dictionary(kind) else kind)

    return refused
