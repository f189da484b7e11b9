"""The unit of privacy of a run: from options, within what the domain file states; and the hint where rows are meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dpqr.data.unit import Neighbours, PrivacyUnit, StatedPersons
from dpqr.errors import DocumentError, UsageFault
from dpqr.io.documents.domains.identifiers import identifier_hint


def unit_notes(unit: PrivacyUnit | StatedPersons | None, columns: Iterable[str]) -> Iterator[str]:
    """A hint where rows are protected and a column is named like an identifier of persons."""
    hint = identifier_hint(columns) if unit is None or (unit.column is None and unit.counted is None) else None
    if hint:
        yield hint


def unit_of(
    neighbours: str,
    column: str | None,
    rows: int | None,
    counts: str | None = None,
    stated: StatedPersons | None = None,
) -> PrivacyUnit:
    """The privacy unit from options of the same names, within what the domain file states.

    Raises:
        UsageFault: the options do not go together.
        DocumentError: the domain file states another unit, or fewer rows of each person.
    """
    if stated is not None:
        _require_stated(stated, column, rows, counts)
        column, rows = stated.column, rows or stated.rows
    if column is not None and rows is None:
        raise UsageFault("--unit needs a bound on the rows of each person that are used: add --max-rows K")
    if column is None and rows is not None:
        raise UsageFault("--max-rows bounds the rows of each person: add --unit COLUMN, or leave it out")
    return PrivacyUnit(neighbours=Neighbours(neighbours), column=column, rows=rows or 1, counted=counts)


def _require_stated(stated: StatedPersons, column: str | None, rows: int | None, counts: str | None) -> None:
    """Fewer rows of each person than the domain file states are a tighter bound; anything else is refused."""
    if column not in (None, stated.column):
        raise DocumentError(
            f"--unit {column!r}: the domain file states the unit {stated.column!r}; leave --unit out, "
            "or correct the file"
        )
    if rows is not None and rows > stated.rows:
        raise DocumentError(
            f"--max-rows {rows}: the domain file states at most {stated.rows} of each person; state no more, or leave "
            "--max-rows out"
        )
    if counts is not None:
        raise DocumentError(
            f"--counts {counts!r}: the domain file states the unit {stated.column!r}, and a row that stands for "
            "several records has no one person; leave one of them out"
        )
