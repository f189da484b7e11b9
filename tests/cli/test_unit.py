"""Whole persons on the command line: what is promised, used, counted and refused."""

import json

import pytest
from desk import QUERIES
from refusals import assert_refusal

PEOPLE = """who,sex,age,income
ann,F,31,100.5
ann,F,31,100.5
ann,F,31,100.5
bob,M,64,250
bob,M,64,250
,F,12,50
cyd,X,45,31
cyd,X,46,31
cyd,F,47,31
"""
UNIT = ("--unit", "who", "--max-rows", "2")
CERTAIN = "1000"


@pytest.fixture
def people(desk):
    desk.write(table__csv=PEOPLE)
    return desk


def women_and_men(document):
    """The sums over the marginal's cells, which come first: five of each sex."""
    cells = [answer["measured"] for answer in document["answers"]]
    return sum(cells[:5]), sum(cells[5:10])


def test_each_person_counts_up_to_the_bound_and_nobodys_rows_do_not(people) -> None:
    document = people.release("--json", *UNIT, eps=CERTAIN).json
    assert women_and_men(document) == (3, 2)
    assert women_and_men(people.release("--json", "--unit", "who", "--max-rows", "1", eps=CERTAIN).json) == (2, 1)
    assert women_and_men(people.release("--json", eps=CERTAIN).json) == (5, 2)


def test_the_record_states_the_unit_and_pays_for_it(people) -> None:
    document = people.release("--json", *UNIT).json
    words = (
        "one person (column 'who') with all their rows added or removed (the number of persons is private); "
        "at most 2 rows of each are used"
    )
    assert document["unit"] == words
    assert words in document["guarantee"]
    unit = {"neighbours": "add-remove", "column": "who", "max_rows": 2, "counts": None, "words": words}
    assert document["plan"]["unit"] == unit
    rows = people.release("--json").json
    doubled = [2 * event["sensitivity"] for event in rows["events"]]
    assert [event["sensitivity"] for event in document["events"]] == doubled


def test_a_public_number_is_of_persons(people) -> None:
    replaced = (*UNIT, "--neighbours", "replace", "--n")
    document = people.release("--json", *replaced, "3", eps=CERTAIN).json
    assert (document["plan"]["n"], document["plan"]["persons"]) == (None, 3)
    assert women_and_men(document) == (3, 2)
    assert_refusal(people.release(*replaced, "9"), 5, "the declared number of persons in column 'who', 9;")


@pytest.mark.parametrize(("unit", "lost"), [(UNIT, 1 + 0 + 2), ((), 2)])
def test_the_count_of_what_was_left_out(people, unit, lost) -> None:
    """ann has one row too many, cyd two of an unknown sex; without a unit these two only."""
    ended = people.release("--json", *unit, "--count-dropped", "0.5", eps=CERTAIN)
    document = ended.json
    assert document["dropped"]["estimate"] == lost
    assert document["dropped"]["charge"] == 0
    assert document["plan"]["price"]["dropped"]["epsilon"]["exact"] == "500"
    assert sum(event["count"] for event in document["events"]) == 3
    assert document["transcript"][0]["charges"] == [1]
    assert f"Left out   {lost} +-" in ended.err
    assert people.release("--json").json["dropped"] is None


def test_the_plan_says_it_before(people) -> None:
    shown = people.release(*UNIT, "--count-dropped", "0.1", "--dry-run").out
    assert "at most 2 rows of each person counted, eps 0.1" in " ".join(shown.split())
    assert "at most 2 rows of each are used." in " ".join(shown.split())


def test_a_table_on_standard_input(people) -> None:
    document = people.release("--json", *UNIT, data="-", eps=CERTAIN, stdin=PEOPLE).json
    assert women_and_men(document) == (3, 2)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--unit", "who"), 2, "add --max-rows K"),
        (("--max-rows", "2"), 2, "add --unit COLUMN"),
        (("--counts", "age"), 2, "the count column 'age' is a column of the domain"),
        (("--counts", "age", "--dry-run"), 2, "the count column 'age' is a column of the domain"),
        ((*UNIT, "--counts", "n"), 2, "--unit cannot go with --counts"),
        (("--unit", "sex", "--max-rows", "2"), 2, "--unit 'sex' is a column of the domain"),
        (("--unit", "whom", "--max-rows", "2"), 5, "no column 'whom'"),
        ((*UNIT, "--schedule", "theory", "--neighbours", "replace", "--n", "3"), 2, "--schedule theory needs"),
        ((*UNIT, "--max-memory", "1000"), 2, "the limit on memory must be at least 2^28"),
        (("--count-dropped", "1"), 2, "must lie between 1e-12 and 1"),
        (("--count-dropped", "0.1", "--accountant", "optimal", "--delta", "1e-9"), 3, "covers equal draws only"),
    ],
)
def test_what_is_refused(people, arguments, code, words) -> None:
    assert_refusal(people.release(*arguments), code, words)


def test_rules_must_be_stated_for_persons_who_are_replaced_too(people) -> None:
    queries = json.loads(json.dumps(QUERIES))
    del queries["domain"]["fields"][0]["dpqr"]
    people.write(q__json=queries)
    assert_refusal(people.release(*UNIT, "--neighbours", "replace", "--n", "3"), 3, "stated rule")
