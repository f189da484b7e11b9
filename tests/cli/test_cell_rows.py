"""At most m rows of a person in one cell of a table, on the command line: noise, tables, records, and who refuses."""

import json

import pytest
from support.cases import thinned
from support.command_desk import QUERIES
from support.refusal_form import assert_refusal

PEOPLE = "who,sex,age,income\n" + "ann,F,31,100.5\n" * 4 + "bob,M,64,250\nbob,M,64,250\nbob,F,64,250\ncyd,F,12,50\n"
UNIT = ("--unit", "who", "--max-rows", "3")
APART = (*UNIT, "--max-rows-per-cell", "1")
SURE = ("--delta", "1e-9", "--accountant", "gdp")


@pytest.fixture
def people(desk):
    desk.write(table__csv=PEOPLE, one__json={**QUERIES, "queries": [{"marginal": ["sex"]}]})
    return desk


def test_a_table_counts_each_person_up_to_the_bound_and_the_record_says_so(people) -> None:
    found = people.release("--json", *APART, *SURE, queries="one.json", eps="1000").json
    assert [answer["measured"] for answer in found["answers"]] == [3, 1]
    whole = people.release("--json", *UNIT, *SURE, queries="one.json", eps="1000").json
    assert [answer["measured"] for answer in whole["answers"]] == [5, 2]
    unit = found["plan"]["unit"]
    assert (unit["max_rows"], unit["max_rows_per_cell"]) == (3, 1)
    assert unit["words"].endswith("at most 3 rows of each are used, at most 1 in one cell of a table")
    assert "max_rows_per_cell" not in json.dumps(whole["plan"])
    assert found["plan"]["sha256"] != whole["plan"]["sha256"]


@pytest.mark.slow
def test_a_release_is_repeated_and_answered_from_and_a_plan_of_it_is_followed(people) -> None:
    options = (*APART, *SURE, "--n", 10, "--runs", 1, "--out", "p.json")
    assert people.run("plan", "--queries", "q.json", "--eps", "1", *options).code == 0
    assert people.run("release", "table.csv", "--plan", "p.json", "--out", "out").code == 0
    assert people.run("verify", "out").code == 0
    assert people.run("answer", "out", "--where", "age >= 50", "--json").code == 0
    other = people.release("--plan", "p.json", *UNIT, "--max-rows-per-cell", "2", *SURE)
    assert other.code != 0


@pytest.mark.parametrize("schedule", thinned(["rounds", "strategy", "marginals"], 3))
def test_every_schedule_ends(people, schedule) -> None:
    ended = people.release(*APART, "--delta", "1e-9", "--schedule", schedule)
    assert ended.code == 0, ended.err


@pytest.mark.slow
def test_the_domain_file_may_state_the_bound_and_options_only_a_lower_one(people) -> None:
    def stated(**unit):
        people.write(q__json={**QUERIES, "domain": {**QUERIES["domain"], "unit": {"column": "who", **unit}}})

    def planned(*more):
        unit = people.release("--json", "--delta", "1e-9", "--dry-run", *more).json["unit"]
        return unit["max_rows"], unit.get("max_rows_per_cell")

    stated(max_rows=3, max_rows_per_cell=2)
    assert planned() == (3, 2)
    assert planned("--max-rows-per-cell", "1") == (3, 1)
    assert planned("--max-rows", "1") == (1, 1)
    assert_refusal(people.release("--max-rows-per-cell", "3", "--dry-run"), 3, "the domain file states at most 2")
    asked = ("--target", "sex", "--domain", "d.json", "--eps", "1", "--n", "700", "--predictions", "3", "--dry-run")
    people.write(d__json=json.loads((people.path / "q.json").read_text())["domain"])
    assert_refusal(people.run("predict", *asked), 3, "a learner reads no tables")
    opened = ("interactive", "open", "s", "--domain", "d.json", "--eps", "1", "--dry-run")
    assert_refusal(people.run(*opened), 3, "--max-rows-per-cell counts each table")
    stated(max_rows=2, max_rows_per_cell=3)
    assert_refusal(people.release("--dry-run"), 3, "'max_rows_per_cell' must be at most 'max_rows', 2")


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--max-rows-per-cell", "1"), 2, "goes with --unit COLUMN"),
        ((*UNIT, "--max-rows-per-cell", "4"), 2, "between 1 and --max-rows"),
        ((*APART, "--schedule", "theory", "--n", "1000"), 3, "must know all of them before it begins"),
    ],
)
def test_what_cannot_keep_the_bound_refuses_before_anything_is_paid(people, options, code, words) -> None:
    assert_refusal(people.release(*options), code, words)
