"""A table as people write it: dates, money, spellings, gaps, and an encoding that is not UTF-8."""

from __future__ import annotations

import pytest

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
