"""Units in words, and the units that there are not."""

import pytest

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.unit import Neighbours, PrivacyUnit


@pytest.mark.parametrize(
    ("relation", "words"),
    [
        (Neighbours.ADD_REMOVE, "one row of the table added or removed (the number of rows is private)"),
        (Neighbours.REPLACE, "one row of the table replaced by another (the number of rows is public)"),
    ],
)
def test_without_a_column_a_unit_is_one_row(relation, words) -> None:
    unit = PrivacyUnit(neighbours=relation)
    assert (unit.rows, unit.words, unit.whom) == (1, words, words)


@pytest.mark.parametrize(
    ("relation", "whom"),
    [
        (
            Neighbours.ADD_REMOVE,
            "one person (column 'pid') with all their rows added or removed (the number of persons is private)",
        ),
        (
            Neighbours.REPLACE,
            "one person (column 'pid') with all their rows replaced by another (the number of persons is public)",
        ),
    ],
)
@pytest.mark.parametrize(("most", "kept"), [(1, "1 row of each is used"), (3, "3 rows of each are used")])
def test_with_a_column_it_is_a_person_whatever_the_bound(relation, whom, most, kept) -> None:
    unit = PrivacyUnit(neighbours=relation, column="pid", rows=most)
    assert unit.whom == whom
    assert unit.words == f"{whom}; at most {kept}"


@pytest.mark.parametrize(
    ("relation", "words"),
    [
        (Neighbours.ADD_REMOVE, "added or removed (the number of records is private)"),
        (Neighbours.REPLACE, "replaced by another (the number of records is public)"),
    ],
)
def test_a_histogram_protects_one_record_and_no_row(relation, words) -> None:
    unit = PrivacyUnit(neighbours=relation, counted="n")
    assert unit.whom == unit.words == f"one record counted in column 'n' {words}; the table is a histogram"


def test_a_count_has_no_person() -> None:
    with pytest.raises(UsageFault, match="--unit cannot go with --counts"):
        PrivacyUnit(column="pid", rows=2, counted="n")


def test_the_number_of_rows_is_public_only_where_rows_are_replaced() -> None:
    public = [
        unit.rows_public
        for unit in (
            PrivacyUnit(),
            PrivacyUnit(neighbours=Neighbours.REPLACE),
            PrivacyUnit(column="pid", rows=2),
            PrivacyUnit(neighbours=Neighbours.REPLACE, column="pid", rows=2),
        )
    ]
    assert public == [False, True, False, False]


@pytest.mark.parametrize("given", [{"rows": 2}, {"rows": 0}, {"column": "pid", "rows": 0}])
def test_a_bound_without_persons_or_below_one_row_is_refused(given) -> None:
    with pytest.raises(UsageFault, match="--max-rows"):
        PrivacyUnit(**given)


def test_a_column_name_cannot_write_to_the_terminal() -> None:
    assert PrivacyUnit(column="\x1b[2J\n").words.isprintable()
    assert PrivacyUnit(counted="\x1b[2J\n").words.isprintable()
