"""Tables that are unreadable or break their declared contract: exit 5 and constant words, nothing of the cells."""

from __future__ import annotations

import os

import pytest
from support.command_desk import DOMAIN, PRIVATE

# A table as people write it: dates, money, spellings, gaps, and an encoding that is not UTF-8.


LEDGER = ("--ledger", "ledger.sqlite")
MESSY = """region;paid;visited;again
North;1.234,50 EUR;03/11/2024;yes
 NORTH ;EUR 950;3/1/2024;n
N;-;31/12/2024;YES
south;12.5 EUR;03/11/2024;yes
;0,5 EUR;11/23/2024;no
Süd;4.999,99 €;01/07/2024;no
"""
FIELDS = """
missingValues: ["", "-"]
fields:
- name: region
  type: string
  constraints: {enum: [north, south]}
  dpqr: {trim: true, caseSensitive: false, aliases: {north: [n], south: [süd]}, "null": cell}
- name: paid
  type: number
  decimalChar: ","
  groupChar: "."
  bareNumber: false
  dpqr: {edges: [0, 1000, 5000], "null": cell, unparsable: cell}
- name: visited
  type: date
  format: "%d/%m/%Y"
  constraints: {minimum: 2024-01-01, maximum: 2024-12-31}
  dpqr: {every: quarter, unparsable: cell}
- name: again
  type: boolean
  trueValues: [yes]
  falseValues: [no, n]
  dpqr: {outside: cell}
"""
CODED = """
fields:
- {name: fruit, type: integer, categories: [{value: 0, label: apple}, {value: 1, label: pear}]}
- {name: again, type: boolean, trueValues: [yes], falseValues: [no]}
"""
COUNTED = {
    "region": {"north": 3, "south": 2, "(null)": 1},
    "paid": {"[0, 1000)": 2, "[1000, 5000]": 2, "(null)": 1, "(unparsable)": 1},
    "visited": {"Q1": 1, "Q2": 0, "Q3": 1, "Q4": 3, "(unparsable)": 1},
    "again": {"false": 3, "true": 2, "(outside)": 1},
}


def test_a_table_as_people_write_it(desk):
    """No cleaning: each text counts where the domain file says. At this epsilon noise has a chance below 1e-36."""
    desk.put("t.csv", MESSY.encode("cp1252"))
    desk.put("d.yaml", FIELDS)
    desk.put("q.toml", "".join(f'[[queries]]\nmarginal = ["{name}"]\n' for name in COUNTED))
    stated = ("--delimiter", ";", "--encoding", "windows-1252", "--domain", "d.yaml")
    done = desk.release("--json", *stated, data="t.csv", queries="q.toml", eps="1000")
    assert done.code == 0, done.err
    assert [round(answer["estimate"]) for answer in done.json["answers"]] == [
        count for counts in COUNTED.values() for count in counts.values()
    ]


def test_the_encoding_belongs_to_the_budgets_owner(desk):
    desk.put("t.csv", MESSY.encode("cp1252"))
    desk.put("d.yaml", FIELDS)
    desk.put("q.toml", '[[queries]]\nmarginal = ["region"]\n')
    stated = ("--delimiter", ";", "--encoding", "cp1252")
    desk.run("budget", "init", "survey", "--eps", "9", *stated, *LEDGER)
    done = desk.release("--domain", "d.yaml", "--dataset", "survey", *LEDGER, data="t.csv", queries="q.toml")
    assert (done.code, "region" in done.out) == (0, True), done.err
    other = ("--domain", "d.yaml", "--encoding", "ascii", "--dataset", "survey", *LEDGER)
    done = desk.release(*other, data="t.csv", queries="q.toml")
    assert done.code == 4
    assert "--encoding 'ascii': the owner of the budget fixed 'cp1252'" in done.err


@pytest.mark.parametrize("bins", ["midpoint", "title"])
def test_synthetic_rows_hold_the_labels_and_are_compared_by_them(desk, bins):
    desk.put("t.csv", "fruit;again\n" + "0;yes\n" * 30 + "1;no\n" * 20)
    desk.put("d.yaml", CODED)
    desk.put("q.yaml", "queries: [{marginal: [fruit, again]}]")
    stated = ("--delimiter", ";", "--domain", "d.yaml")
    made = ("--out", "out", "--synthetic", "rows", "--bins", bins)
    assert desk.release(*stated, *made, data="t.csv", queries="q.yaml", eps="1000").code == 0
    found = desk.run(
        "evaluate", "t.csv", "out", "--rows", "--queries", "q.yaml", *stated, "--json", "--max-error", "0.001"
    )
    assert found.code == 0, found.err


# A file of the private table is no document: messages quote documents, and no budget pays for that.


"""A domain whose hierarchy is the private table: a label that stands twice would be quoted with both its parents."""


def refused_document(done, code=2):
    said = done.out + done.err
    assert done.code == code, said
    assert "is a file of the private table, and messages quote documents" in said
    assert not [cell for cell in PRIVATE if cell in said]


@pytest.fixture
def places(desk):
    """Other names of the table: a link and a hard link, with endings that are read as documents."""
    (desk.path / "linked.yaml").symlink_to(desk.path / "table.csv")
    for ending in ("json", "yaml", "toml", "sql", "npy"):
        os.link(desk.path / "table.csv", desk.path / f"same.{ending}")
    return desk


@pytest.mark.parametrize("name", ["table.csv", "linked.yaml", "same.json", "same.yaml", "same.toml", "same.sql"])
@pytest.mark.parametrize("more", [(), ("--dry-run",), ("--if-exists", "skip", "--out", "out")], ids=" ".join)
def test_queries_and_domain_of_a_release(places, name, more):
    if "skip" in more:
        assert places.release("--out", "out").code == 0
    refused_document(places.run("release", "table.csv", "--queries", name, "--eps", "1", *more))
    refused_document(places.run("release", "table.csv", "--queries", "q.json", "--domain", name, "--eps", "1", *more))


def test_a_directory_of_tables(desk):
    (desk.path / "tables").mkdir()
    (desk.path / "table.csv").rename(desk.path / "tables" / "table.csv")
    refused_document(desk.run("release", "tables", "--queries", "tables/table.csv", "--eps", "1"))
    refused_document(desk.run("release", "tables/*.csv", "--queries", "tables/table.csv", "--eps", "1"))


def test_predictions_and_domain_files(places):
    places.write(domain__json=DOMAIN)
    predict = ("predict", "table.csv", "--target", "sex", "--learner", "aggregate", "--eps", "1")
    refused_document(places.run(*predict, "--domain", "same.yaml", "--points", "domain.json"))
    refused_document(places.run("domain", "table.csv", "--from", "same.yaml"))
    refused_document(places.run("domain", "table.csv", "--queries", "same.json"))


def test_questions_of_a_session(places):
    places.run("budget", "init", "survey", "--eps", "5", "--ledger", "l.sqlite", "--allow-fail")
    refused_document(
        places.run(
            *("interactive", "open", "talk", "table.csv", "--dataset", "survey", "--ledger", "l.sqlite"),
            *("--domain", "same.json", "--eps", "1"),
        )
    )


@pytest.mark.parametrize("name", ["alone.json", "alone.yaml", "alone.toml", "alone.sql"])
@pytest.mark.parametrize("text", ["987654321", '"PRIVATEVALUE\\n987654321"', "PRIVATEVALUE", "- PRIVATEVALUE"])
def test_a_whole_document_is_never_quoted(desk, name, text):
    """Without a table to compare with, the wrong file may still be anybody's."""
    (desk.path / name).write_text(text)
    for options in (("check", "--queries", name), ("check", "--queries", "q.json", "--domain", name)):
        done = desk.run(*options)
        assert done.code == 3, done.out + done.err
        assert not [cell for cell in PRIVATE if cell in done.out + done.err]
