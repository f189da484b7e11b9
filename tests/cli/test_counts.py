"""`--counts`: guarantee, receipt, plan and records say whose privacy it is; a budget of rows does not pay for it."""

import json

import pytest

WORDS = "one record counted in column 'n' added or removed (the number of records is private); the table is a histogram"
CERTAIN = "1000"
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


def test_so_does_the_plan(counted) -> None:
    assert WORDS in " ".join(counted.release("--counts", "n", "--dry-run", data="t.csv").out.split())
    plan = counted.release("--counts", "n", "--dry-run", "--json", data="t.csv").json
    assert (plan["unit"]["counts"], plan["unit"]["words"]) == ("n", WORDS)
    assert WORDS in plan["guarantee"]


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


def test_a_budget_of_rows_does_not_pay_for_records(counted) -> None:
    assert counted.run("budget", "init", "survey", "--eps", "5", "--ledger", "l.sqlite").code == 0
    paid = ("--dataset", "survey", "--ledger", "l.sqlite")
    ended = counted.release("--counts", "n", *paid, data="missing.csv")
    assert (ended.code, ended.out) == (4, "")
    assert counted.release(*paid, "--out", "rows").code == 0
