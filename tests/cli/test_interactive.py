"""`dpqr interactive` as a user meets it."""

import json

import pytest
from support.command_desk import PRIVATE

DOMAIN = {
    "malformed": "drop",
    "fields": [
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}, "dpqr": {"otherwise": "drop"}},
        {
            "name": "age",
            "type": "integer",
            "constraints": {"minimum": 0, "maximum": 99},
            "dpqr": {"width": 10, "null": "cell", "outside": "clip", "otherwise": "drop"},
        },
    ],
}
ROWS = ["sex,age,who"] + [f"{'FM'[n % 2]},{n % 100},{n % 70}" for n in range(400)]
TABLE = "\n".join([*ROWS, "PRIVATEVALUE,987654321,1"]) + "\n"
LEDGER = ("--ledger", "desk.sqlite")
OPEN = ("interactive", "open", "desk", "t.csv", "--domain", "d.json", "--dataset", "survey", *LEDGER)


@pytest.fixture
def counter(desk):
    desk.write(t__csv=TABLE, d__json=DOMAIN)
    assert desk.run("budget", "init", "survey", "--eps", "90", *LEDGER).code == 0
    return desk


def test_from_open_to_close(counter):
    done = counter.run(*OPEN, "--eps", "40", "--surprises", "3", "--purpose", "questions at the desk")
    assert done.code == 0, done.err
    assert "0 of 3 are spent" in done.out
    assert counter.run("budget", "show", "survey", *LEDGER, "--json").code == 0
    asked = counter.run("interactive", "ask", "desk", "--where", "age >= 50 and sex = 'F'", *LEDGER)
    assert asked.code == 0, asked.err
    assert asked.out.startswith("where(age >= 50 and sex = 'F'): ")
    counter.write(more__json={"queries": [{"marginal": ["sex"]}]})
    found = counter.run("interactive", "ask", "desk", "--queries", "more.json", "--json", *LEDGER).json
    assert [each["detail"] for each in found] == ["F", "M"]
    assert set(found[0]) == {"query", "detail", "estimate", "low", "high", "free"}
    in_sql = ("--sql", "SELECT COUNT(*) FROM data WHERE age >= 50 AND sex = 'F'")
    assert counter.run("interactive", "ask", "desk", *in_sql, *LEDGER).out.startswith("where(age >= 50 and sex = 'F')")
    now = counter.run("interactive", "status", "desk", "--json", *LEDGER).json
    assert (now["questions"], now["dataset"], now["paid_surprises"]) == (4, "survey", 3)
    closed = counter.run("interactive", "close", "desk", "--out", "out", *LEDGER)
    assert closed.code == 0, closed.err
    assert "4 questions" in closed.out
    assert "released to out" in closed.err
    assert counter.run("verify", "out", *LEDGER).code == 0
    assert counter.run("interactive", "status", "desk", *LEDGER).code == 2
    words = (
        " ".join(each.out + each.err for each in (done, asked, closed))
        + (counter.path / "out/release.json").read_text()
    )
    assert not any(value in words for value in PRIVATE)


def test_surprises_that_are_spent_are_said(counter):
    counter.run(*OPEN, "--eps", "40", "--surprises", "1", "--questions", "1")
    everything = [{"where": f"age >= {low} and sex = 'F'"} for low in range(10, 100, 10)]
    counter.write(many__json={"queries": everything})
    done = counter.run("interactive", "ask", "desk", "--queries", "many.json", *LEDGER)
    spent = counter.run("interactive", "status", "desk", "--json", *LEDGER).json
    assert ("were not compared with the table" in done.err) == (not spent["checked"])


def test_lost_thresholds_are_said_and_leave_no_surprise(counter):
    """Two thresholds are paid for on opening, and --surprises 1 pays for no more."""
    counter.run(*OPEN, "--eps", "40", "--surprises", "1")
    (counter.path / "desk.sqlite.sessions/desk/secret").unlink()
    found = counter.run("interactive", "status", "desk", *LEDGER).out
    assert "0 of 1 are spent, 0 left" in found
    assert "all thresholds are spent or lost" in found


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        ((), 2, "--eps"),
        (("--eps", "100"), 4, "asked epsilon 100"),
        (("--eps", "1", "--delta", "1e-9", "--accountant", "pld"), 2, "basic, zcdp or gdp"),
        (("--eps", "1", "--surprises", "0"), 2, "surprises"),
        (("--eps", "1", "--expect", "none.json"), 2, "none.json"),
    ],
)
def test_wrong_openings_cost_nothing(counter, more, code, said):
    done = counter.run(*OPEN, *more)
    assert done.code == code
    assert said in done.err
    assert counter.run("budget", "show", "survey", *LEDGER, "--json").json[0]["reservations"] == 0


def test_an_opening_without_a_ledger_and_questions_without_a_session(counter):
    done = counter.run("interactive", "open", "desk", "t.csv", "--domain", "d.json", "--eps", "1")
    assert (done.code, "--dataset" in done.err) == (2, True)
    assert counter.run("interactive", "ask", "desk", *LEDGER).code == 2
    done = counter.run("interactive", "ask", "desk", "--where", "age >= 50", *LEDGER)
    assert (done.code, "there is none" in done.err) == (2, True)


def test_a_question_that_cuts_a_bin_is_refused_and_free(counter):
    counter.run(*OPEN, "--eps", "40")
    done = counter.run("interactive", "ask", "desk", "--where", "age >= 55", *LEDGER)
    assert done.code == 3
    assert "cuts through the bin" in done.err
    assert json.loads(counter.run("interactive", "status", "desk", "--json", *LEDGER).out)["questions"] == 0
