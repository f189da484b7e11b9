"""Units in words, and the units that there are not."""

from itertools import permutations

import pytest
from support.cases import in_one_test

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.unit import Neighbours, PrivacyUnit, named_unit

HOW = {
    Neighbours.ADD_REMOVE: "added or removed (the number of {0} is private)",
    Neighbours.REPLACE: "replaced by another (the number of {0} is public)",
}


@in_one_test(("relation", "how"), HOW.items())
def test_a_unit_is_a_row_a_person_whatever_the_bound_or_a_record_of_a_histogram(relation, how) -> None:
    row, record = PrivacyUnit(neighbours=relation), PrivacyUnit(neighbours=relation, counted="n")
    words = f"one row of the table {how.format('rows')}"
    assert (row.rows, row.words, row.whom) == (1, words, words)
    assert record.whom == record.words
    assert record.words == f"one record counted in column 'n' {how.format('records')}; the table is a histogram"
    whom = f"one person (column 'pid') with all their rows {how.format('persons')}"
    for most, kept in ((1, "1 row of each is used"), (3, "3 rows of each are used")):
        person = PrivacyUnit(neighbours=relation, columns=("pid",), rows=most)
        assert (person.whom, person.words) == (whom, f"{whom}; at most {kept}")


def test_the_number_of_rows_is_public_only_where_rows_are_replaced() -> None:
    units = [PrivacyUnit(neighbours=each, **more) for more in ({}, {"columns": ("pid",), "rows": 2}) for each in HOW]
    assert [unit.rows_public for unit in units] == [False, True, False, False]


@in_one_test(
    ("given", "said"),
    [
        *(({**more, "rows": rows}, "--max-rows") for more, rows in (({}, 2), ({}, 0), ({"columns": ("pid",)}, 0))),
        ({"columns": ("pid",), "rows": 2, "counted": "n"}, "--unit cannot go with --counts"),
    ],
)
def test_a_bound_without_persons_or_below_one_row_and_a_count_of_persons_are_refused(given, said) -> None:
    with pytest.raises(UsageFault, match=said):
        PrivacyUnit(**given)


SEVERAL = {
    (("user", "day"), None): " at one value of column 'day',",
    (("user", "country", "day"), None): " at one value each of columns 'country' and 'day',",
    (("user", "item", "shop", "day"), None): " at one value each of columns 'item', 'shop' and 'day',",
    (("user", "day"), "month"): " in one month (by the date in column 'day'),",
    (
        ("user", "country", "day"),
        "week",
    ): " at one value of column 'country' in one week (by the date in column 'day'),",
}


@in_one_test("relation", Neighbours)
@pytest.mark.parametrize(("given", "there"), SEVERAL.items())
def test_a_unit_of_several_columns_is_a_part_of_a_person_and_says_so(given, there, relation) -> None:
    (columns, per), how = given, HOW[relation].format("such units")
    unit = PrivacyUnit(neighbours=relation, columns=columns, per=per, rows=3)
    assert unit.whom == f"one person (column 'user'){there} with all their rows there {how}"
    assert unit.words == (
        f"{unit.whom}; at most 3 rows of each are used; not protected as a whole: one person in several such units"
    )
    assert (
        "d times epsilon, with a delta by delta times 1 + e^epsilon + ... + e^((d - 1) epsilon)" in unit.group_privacy
    )
    assert (unit.noun, unit.rows_public, unit.apart, PrivacyUnit(columns=("user",)).group_privacy) == (
        "unit",
        False,
        False,
        "",
    )


NAMES = ("user", "a,b", 'owner\'s "id"', "x') at one value of column 'y", "\\", "\x1b")
UNITS = [((name,), None) for name in NAMES] + [
    ((*names[:size],), per) for names in permutations(NAMES, 4) for size in (2, 3, 4) for per in (None, "day", "year")
]


def test_words_are_read_back_and_no_two_units_have_the_same() -> None:
    """Among them names that look like words of a unit. Budgets are compared by these words."""
    words = {unit: PrivacyUnit(columns=unit[0], per=unit[1]).whom for unit in UNITS}
    assert len(set(words.values())) == len(words)
    assert all(named_unit(said) == unit for unit, said in words.items())
    rows = (PrivacyUnit(), PrivacyUnit(counted="one person (column 'x') with all their rows "))
    assert {named_unit(unit.words) for unit in rows} == {((), None)}


@in_one_test(
    "given", [{"columns": ("a", "a")}, {"columns": ("a", "")}, {"columns": ("a",), "per": "day"}, {"per": "day"}]
)
def test_columns_that_name_no_unit_are_refused(given) -> None:
    with pytest.raises(UsageFault, match="--unit"):
        PrivacyUnit(**given)


def test_a_column_name_cannot_write_to_the_terminal() -> None:
    assert PrivacyUnit(columns=("\x1b[2J\n",)).words.isprintable()
    assert PrivacyUnit(counted="\x1b[2J\n").words.isprintable()
