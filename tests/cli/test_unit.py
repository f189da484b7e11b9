"""Whole persons on the command line: what is promised, used, counted and refused."""

from __future__ import annotations

import json

import pytest
from support.cases import slow_but, thinned
from support.command_desk import QUERIES, women_and_men
from support.refusal_form import assert_refusal

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


def test_each_person_counts_up_to_the_bound_and_nobodys_rows_do_not(people) -> None:
    document = people.release("--json", *UNIT, eps=CERTAIN).json
    assert women_and_men(document) == (3, 2)
    assert women_and_men(people.release("--json", "--unit", "who", "--max-rows", "1", eps=CERTAIN).json) == (2, 1)
    assert women_and_men(people.release("--json", eps=CERTAIN).json) == (5, 2)


def test_the_record_states_the_unit_and_pays_for_it(people) -> None:
    document = people.release("--json", "--schedule", "rounds", *UNIT).json
    words = (
        "one person (column 'who') with all their rows added or removed (the number of persons is private); "
        "at most 2 rows of each are used"
    )
    assert document["unit"] == words
    assert words in document["guarantee"]
    unit = {"neighbours": "add-remove", "column": "who", "max_rows": 2, "counts": None, "words": words}
    assert document["plan"]["unit"] == unit
    rows = people.release("--json", "--schedule", "rounds", "--no-count-dropped").json
    doubled = [2 * event["sensitivity"] for event in rows["events"]]
    assert [event["sensitivity"] for event in document["events"]] == doubled


def test_a_public_number_is_of_persons(people) -> None:
    replaced = (*UNIT, "--neighbours", "replace", "--n")
    document = people.release("--json", *replaced, "3", eps=CERTAIN).json
    assert (document["plan"]["n"], document["plan"]["persons"]) == (None, 3)
    assert women_and_men(document) == (3, 2)
    assert_refusal(people.release(*replaced, "9"), 5, "the declared number of persons in column 'who', 9;")


@pytest.mark.parametrize(("unit", "lost"), slow_but({0}, [(UNIT, 1 + 0 + 2), ((), 2)]))
def test_the_count_of_what_was_left_out(people, unit, lost) -> None:
    """ann has one row too many, cyd two of an unknown sex; without a unit these two only."""
    ended = people.release("--json", *unit, "--count-dropped", "0.5", eps=CERTAIN)
    document = ended.json
    assert document["dropped"]["estimate"] == lost
    assert document["dropped"]["charge"] == 0
    assert document["plan"]["price"]["dropped"]["epsilon"]["exact"] == "500"
    assert sum(event["count"] for event in document["events"]) == 2
    assert document["transcript"][0]["charges"] == [1]
    assert f"Left out   {lost} +-" in ended.err
    assert document["dropped"]["parallel"] == (not unit)
    assert document["warning"].startswith(f"about {lost} of ")
    assert ended.err.startswith(f"Warning    about {lost} of ")
    assert people.release("--json", *unit, "--no-count-dropped").json["dropped"] is None


def test_rows_that_come_or_go_are_counted_for_nothing(people) -> None:
    """The same draws of the others at the same prices; the count at a tenth, in parallel."""
    free, none = people.release("--json").json, people.release("--json", "--no-count-dropped").json
    assert free["plan"]["price"] == {**none["plan"]["price"], "dropped": {"epsilon": {"exact": "1/10", "float": 0.1}}}
    assert free["spent"]["epsilon"] == none["spent"]["epsilon"]
    assert free["spent"]["phases"]["left out"]["basic"]["exact"] == "1/10"
    assert free["plan"]["proved_epsilon"] == none["plan"]["proved_epsilon"]
    left_out = {"kind": "discrete-laplace", "sensitivity": 1, "scale": "10", "coordinates": 1}
    assert free["events"] == [{"kind": "left-out", "event": left_out, "count": 1}, *none["events"]]


@pytest.mark.parametrize("more", thinned([UNIT, ("--neighbours", "replace", "--n", "9")], 2))
def test_elsewhere_a_count_is_asked_for(people, more) -> None:
    assert people.release("--json", *more).json["dropped"] is None


def test_a_clean_table_raises_no_alarm(people) -> None:
    people.write(table__csv="who,sex,age,income\n" + "ann,F,31,100\n" * 400)
    ended = people.release("--json", eps="100")
    assert ended.json["warning"] is None
    assert "were left out by" not in ended.err


def test_a_table_on_standard_input(people) -> None:
    document = people.release("--json", *UNIT, data="-", eps=CERTAIN, stdin=PEOPLE).json
    assert women_and_men(document) == (3, 2)


@pytest.fixture
def contract(people):
    """The same documents, and a unit in the domain file."""
    domain = {**QUERIES["domain"], "unit": {"column": "who", "max_rows": 2}}
    people.write(q__json={**QUERIES, "domain": domain})
    return people


def test_a_unit_in_the_domain_file_holds_for_every_run(contract) -> None:
    document = contract.release("--json", eps=CERTAIN).json
    assert women_and_men(document) == (3, 2)
    assert document["plan"]["unit"]["column"] == "who"
    assert document["plan"]["unit"]["max_rows"] == 2
    assert contract.release("--json", *UNIT, "--dry-run").json["unit"] == document["plan"]["unit"]
    assert "at most 2 rows of each are used" in " ".join(contract.release("--dry-run").out.split())


def test_explained_strategies_follow_the_domain_file_s_unit(contract, people) -> None:
    def noise() -> float:
        shown = people.run("strategies", "--explain", "--queries", "q.json", "--eps", "1", "--n", "100", "--json").json
        return min(one["noise"] for one in shown["schedules"] if one["noise"] is not None)

    persons = noise()
    people.write(q__json=QUERIES)
    assert persons > noise()


# `--counts`: guarantee, receipt, plan and records say whose privacy it is; a budget of rows does not pay for it.


WORDS = "one record counted in column 'n' added or removed (the number of records is private); the table is a histogram"
HISTOGRAM = "sex,age,income,n\nF,31,100.5,700\nM,64,250,30\n"


@pytest.fixture
def counted(desk):
    desk.write(t__csv=HISTOGRAM)
    return desk


def test_the_release_says_that_a_record_is_protected(counted) -> None:
    ended = counted.release("--counts", "n", "--out", "out", data="t.csv")
    assert ended.code == 0
    assert WORDS in " ".join(ended.err.split())
    assert "one row of the table" not in ended.err
    record = json.loads((counted.path / "out" / "release.json").read_text())
    assert (record["counts"], record["unit"], record["plan"]["unit"]["counts"]) == ("n", WORDS, "n")
    assert WORDS in record["guarantee"]
    assert WORDS in record["plan"]["guarantee"]


def test_a_table_of_rows_has_no_count_column(desk) -> None:
    record = desk.release("--json").json
    assert (record["counts"], record["plan"]["unit"]["counts"]) == (None, None)


def test_so_does_a_prediction(counted) -> None:
    counted.write(
        domain__json=json.loads((counted.path / "q.json").read_text())["domain"], p__csv="age,income\n30,100\n"
    )
    asked = ("--target", "sex", "--domain", "domain.json", "--eps", "1", "--n", "700", "--counts", "n")
    plan = counted.run("predict", "--dry-run", "--json", *asked).json
    assert (plan["counts"], plan["unit"]) == ("n", WORDS)
    ended = counted.run("predict", "t.csv", "--points", "p.csv", "--json", *asked)
    assert ended.code == 0, ended.err
    assert WORDS in ended.json["guarantee"]
    assert WORDS in " ".join(ended.err.split())


def test_a_table_of_persons_is_shown_by_the_name_that_it_was_asked_by(people) -> None:
    people.write(q__json={**QUERIES, "queries": [{"persons": {"by": ["sex"]}, "name": "patients"}]})
    assert people.release("--out", "out", *UNIT).code == 0
    assert people.run("show", "out", "--query", "patients").out.startswith("patients (persons): ")
