"""Units of several columns on the command line, in the domain file and in Python: promised, paid, and read back."""

from __future__ import annotations

import pytest
from support.cases import slow_but
from support.command_desk import QUERIES, women_and_men
from support.refusal_form import assert_refusal

import dpqr

PEOPLE = """who,day,shop,sex,age,income
ann,2024-03-01,x,F,31,100.5
ann,2024-03-31,x,F,31,100.5
ann,2024-04-01,y,F,31,100.5
bob,2024-03-01,x,M,64,250
bob,2024-03-01,x,M,64,250
bob,,x,M,64,250
,2024-03-01,x,F,12,50
"""
CERTAIN = "1000"
DAY = ("--unit", "who,day", "--max-rows", "1")
MONTH = (*DAY, "--per", "month")
THERE = "with all their rows there added or removed (the number of such units is private)"
WORDS = f"one person (column 'who') in one month (by the date in column 'day'), {THERE}"


@pytest.fixture
def people(desk):
    desk.write(table__csv=PEOPLE)
    return desk


@pytest.mark.parametrize(
    ("unit", "kept"),
    slow_but(
        {0}, [(DAY, (3, 1)), (MONTH, (2, 1)), (("--unit", "who,shop,day", "--per", "year", "--max-rows", "1"), (2, 1))]
    ),
)
def test_each_unit_counts_up_to_the_bound(people, unit, kept) -> None:
    assert women_and_men(people.release("--json", *unit, eps=CERTAIN).json) == kept


def test_the_record_names_the_unit_and_what_it_does_not_protect(people) -> None:
    document = people.release("--json", *MONTH).json
    words = f"{WORDS}; at most 1 row of each is used; not protected as a whole: one person in several such units"
    assert document["unit"] == words
    assert f"for {words}." in document["guarantee"]
    part = {"neighbours": "add-remove", "columns": ["who", "day"], "per": "month", "max_rows": 1, "counts": None}
    assert document["plan"]["unit"] == {**part, "words": words}
    (whole,) = [note for note in document["plan"]["notes"] if "d times epsilon" in note]
    assert whole.startswith("a person (column 'who') with d such units")
    asked = document["plan"]["request"]["options"]
    assert (asked["unit"], asked["per"]) == (["who", "day"], "month")
    plain = people.release("--json", "--unit", "who", "--max-rows", "1").json["plan"]
    assert (plain["request"]["options"]["unit"], "per" in plain["request"]["options"]) == ("who", False)
    assert plain["unit"] | {"words": ""} == {
        "neighbours": "add-remove",
        "column": "who",
        "max_rows": 1,
        "counts": None,
        "words": "",
    }


def test_plans_of_different_units_have_different_draws(people) -> None:
    units = [
        DAY,
        MONTH,
        (*DAY, "--per", "year"),
        ("--unit", "who,shop", "--max-rows", "1"),
        ("--unit", "who", "--max-rows", "1"),
    ]
    draws = [people.release("--json", "--dry-run", *unit).json["draws"] for unit in units]
    assert len(set(draws)) == len(draws)


@pytest.mark.slow
def test_a_release_of_a_unit_is_shown_verified_and_labelled(people) -> None:
    assert people.release(*MONTH, "--out", "out").code == 0
    assert people.run("verify", "out").code == 0
    label = people.run("label", "out").out
    assert "Each combination of 'who' and month of 'day' with all their rows is protected" in " ".join(label.split())
    assert "d times epsilon" in " ".join(label.split())


def test_a_budget_pays_for_its_own_unit_alone(people) -> None:
    people.run("budget", "init", "shop", "--eps", "3", "--unit", "who,day", "--per", "month", "--ledger", "l.sqlite")
    paid = ("--dataset", "shop", "--ledger", "l.sqlite")
    assert people.release(*MONTH, *paid).code == 0
    for other in (
        DAY,
        (*DAY, "--per", "day"),
        ("--unit", "who", "--max-rows", "1"),
        ("--unit", "day,who", "--max-rows", "1"),
    ):
        assert_refusal(people.release(*other, *paid), 4, "its budget protects one person (column 'who') in one month")


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        (("--unit", "who", "--per", "month", "--max-rows", "1"), 2, "--unit PERSON,DATE"),
        (("--per", "month"), 2, "--unit PERSON,DATE"),
        (("--unit", "who,who", "--max-rows", "1"), 2, "different names"),
        (("--unit", "who,", "--max-rows", "1"), 2, "is empty"),
        (("--unit", "who,day"), 2, "add --max-rows K"),
        (("--unit", "who,dya", "--max-rows", "1"), 5, "has no column 'dya'"),
        (("--unit", "sex,day", "--max-rows", "1"), 2, "'sex' is a column of the domain too"),
    ],
)
def test_what_names_no_unit_is_refused_before_anything_is_paid(people, given, code, said) -> None:
    assert_refusal(people.release(*given), code, said)


def test_the_domain_file_states_the_unit_and_no_run_another_one(people) -> None:
    def write(unit):
        people.write(q__json={**QUERIES, "domain": {**QUERIES["domain"], "unit": unit}})

    stated = {"columns": ["who", "day"], "per": "month", "max_rows": 2}
    write(stated)
    assert people.release("--json").json["unit"].startswith(WORDS)
    assert people.release("--json", *MONTH).json["unit"].startswith(WORDS)
    for other in (DAY, ("--unit", "who", "--max-rows", "1")):
        assert_refusal(people.release(*other), 3, "the domain file states the unit 'who,day' per month")
    for wrong in (
        {"column": "who", "columns": ["who", "day"], "max_rows": 1},
        {"max_rows": 1},
        {"columns": ["who", "who"], "max_rows": 1},
        {"column": "who", "per": "day", "max_rows": 1},
    ):
        write(wrong)
        assert_refusal(people.release(), 3, "a unit has one 'column', or several different 'columns'")
    write({"columns": ["who"], "max_rows": 1})
    assert_refusal(people.release(), 3, 'write one as "column": "who"')


def test_a_column_with_a_comma_is_named_in_python(people) -> None:
    people.write(table__csv=PEOPLE.replace("who,day", '"who,else",day', 1))
    unit = {"unit": ("who,else", "day"), "per": "month", "max_rows": 1}
    found = dpqr.release(str(people.path / "table.csv"), queries=QUERIES, eps=1, **unit)
    assert "column 'who,else') in one month" in found.guarantee
