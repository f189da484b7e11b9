"""The unit of a run: from options, within what the domain file states."""

from __future__ import annotations

import pytest

from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.kernel.unit import DeclaredPersons, Neighbours, PrivacyUnit
from dpqr.releases.planning import unit_notes, unit_of

STATED = DeclaredPersons(column="who", rows=3)


def test_options_alone() -> None:
    assert unit_of("add-remove", None, None) == PrivacyUnit()
    assert unit_of("replace", "who", 2) == PrivacyUnit(neighbours=Neighbours.REPLACE, column="who", rows=2)
    for column, rows in (("who", None), (None, 2)):
        with pytest.raises(UsageFault, match="add --"):
            unit_of("add-remove", column, rows)


@pytest.mark.parametrize(
    ("column", "rows", "used"), [(None, None, 3), ("who", None, 3), (None, 2, 2), ("who", 3, 3), ("who", 1, 1)]
)
def test_within_the_domain_file(column, rows, used) -> None:
    assert unit_of("add-remove", column, rows, stated=STATED) == PrivacyUnit(column="who", rows=used)


@pytest.mark.parametrize(("column", "rows", "counts"), [("sex", 3, None), (None, 4, None), (None, None, "n")])
def test_nothing_looser_than_the_domain_file(column, rows, counts) -> None:
    with pytest.raises(DocumentError, match="the domain file states"):
        unit_of("add-remove", column, rows, counts, STATED)


def test_the_hint_is_for_runs_over_rows_alone() -> None:
    columns = ("age", "person_id")
    assert len(list(unit_notes(PrivacyUnit(), columns))) == 1
    assert len(list(unit_notes(None, columns))) == 1
    for unit in (PrivacyUnit(column="who"), PrivacyUnit(counted="n"), STATED):
        assert not list(unit_notes(unit, columns))
