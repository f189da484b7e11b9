"""Units in words, and the units that there are not."""

import pytest

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.unit import Neighbours, PrivacyUnit

HOW = {
    Neighbours.ADD_REMOVE: "added or removed (the number of {0} is private)",
    Neighbours.REPLACE: "replaced by another (the number of {0} is public)",
}


@pytest.mark.parametrize(("relation", "how"), HOW.items())
def test_a_unit_is_a_row_a_person_whatever_the_bound_or_a_record_of_a_histogram(relation, how) -> None:
    row, record = PrivacyUnit(neighbours=relation), PrivacyUnit(neighbours=relation, counted="n")
    words = f"one row of the table {how.format('rows')}"
    assert (row.rows, row.words, row.whom) == (1, words, words)
    assert record.whom == record.words
    assert record.words == f"one record counted in column 'n' {how.format('records')}; the table is a histogram"
    whom = f"one person (column 'pid') with all their rows {how.format('persons')}"
    for most, kept in ((1, "1 row of each is used"), (3, "3 rows of each are used")):
        person = PrivacyUnit(neighbours=relation, column="pid", rows=most)
        assert (person.whom, person.words) == (whom, f"{whom}; at most {kept}")


def test_the_number_of_rows_is_public_only_where_rows_are_replaced() -> None:
    units = [PrivacyUnit(neighbours=each, **more) for more in ({}, {"column": "pid", "rows": 2}) for each in HOW]
    assert [unit.rows_public for unit in units] == [False, True, False, False]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        *(({**more, "rows": rows}, "--max-rows") for more, rows in (({}, 2), ({}, 0), ({"column": "pid"}, 0))),
        ({"column": "pid", "rows": 2, "counted": "n"}, "--unit cannot go with --counts"),
    ],
)
def test_a_bound_without_persons_or_below_one_row_and_a_count_of_persons_are_refused(given, said) -> None:
    with pytest.raises(UsageFault, match=said):
        PrivacyUnit(**given)


def test_a_column_name_cannot_write_to_the_terminal() -> None:
    assert PrivacyUnit(column="\x1b[2J\n").words.isprintable()
    assert PrivacyUnit(counted="\x1b[2J\n").words.isprintable()
