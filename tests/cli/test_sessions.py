"""`dpqr interactive` as a user meets it."""

from __future__ import annotations

import json

import pytest
from support.command_desk import PRIVATE

# `dpqr interactive` as a user meets it.


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
    assert "Answers    of the rows used\n" in done.out
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


def test_a_question_that_cuts_a_bin_is_refused_and_free(counter):
    counter.run(*OPEN, "--eps", "40")
    done = counter.run("interactive", "ask", "desk", "--where", "age >= 55", *LEDGER)
    assert done.code == 3
    assert "cuts through the bin" in done.err
    assert json.loads(counter.run("interactive", "status", "desk", "--json", *LEDGER).out)["questions"] == 0


# `dpqr predict open`, `ask`, `status` and `close` as a user meets them.


LABELS = {"type": "string", "dpqr": {"otherwise": "drop"}}
SHOP = {
    "malformed": "drop",
    "fields": [
        {"name": "sex", "constraints": {"enum": ["F", "M"]}, **LABELS},
        {"name": "buys", "constraints": {"enum": ["no", "yes"]}, **LABELS},
    ],
}
TRAIN = "\n".join(["sex,buys,who", *(f"{'FM'[n % 2]},{('yes', 'no')[n % 2]},{n % 70}" for n in range(400))])
PREDICT = ("predict", "open", "desk", "t.csv", "--target", "buys", "--domain", "d.json")
LEARN = ("--n", "400", "--lambda", "0.01", "--eps", "50", "--predictions", "4")
PAID = ("--dataset", "survey", *LEDGER)


@pytest.fixture
def shop(desk):
    desk.write(t__csv=TRAIN + "\nPRIVATEVALUE,yes,987654321\n", d__json=SHOP, one__csv="sex\nF\n")
    assert desk.run("budget", "init", "survey", "--eps", "90", *LEDGER).code == 0
    return desk


@pytest.mark.slow
def test_from_open_to_close_of_predictions(shop):
    done = shop.run(*PREDICT, *LEARN, *PAID, "--purpose", "advice")
    assert done.code == 0, done.err
    assert "4 of the 4 that were paid for are left" in done.out
    asked = shop.run("predict", "ask", "desk", "--points", "one.csv", *LEDGER)
    assert (asked.code, asked.out) == (0, "yes\n"), asked.err
    found = shop.run("predict", "ask", "desk", "--points", "-", "--json", *LEDGER, stdin=b"sex\nM\nF\n").json
    assert [each["prediction"] for each in found] == ["no", "yes"]
    now = shop.run("predict", "status", "desk", "--json", *LEDGER).json
    assert (now["left"], now["points"], now["dataset"]) == (2, 4, "survey")
    closed = shop.run("predict", "close", "desk", "--out", "p.csv", *LEDGER)
    assert closed.code == 0, closed.err
    assert "2 of them, one after the other" in closed.out
    assert "Total       basic: eps 50 (reserved)" in closed.out
    assert "Charged     eps 25, for the draws that were made; the rest is back in the budget" in closed.out
    spent = shop.run("budget", "show", "survey", *LEDGER).out
    assert "Spent     epsilon 25 in 1 reservation" in spent
    rows = {" ".join(line.split()) for line in closed.out.splitlines()}
    said = [" ".join(line.split()) for line in done.out.splitlines() if line.startswith(("Target", "Learner", "Noise"))]
    assert len(said) == 3
    assert rows.issuperset(said)  # a session says of itself what its receipt says
    assert "written to p.csv" in closed.err
    assert (shop.path / "p.csv").read_text().splitlines()[0] == '"ask","sex","prediction","score"'
    assert json.loads((shop.path / "p.csv.record.json").read_text())["purpose"] == "advice"
    assert shop.run("predict", "status", "desk", *LEDGER).code == 2
    words = " ".join(each.out + each.err for each in (done, asked, closed))
    assert not any(value in words for value in PRIVATE)


def test_a_session_by_a_reviewed_plan(shop):
    assert shop.run("budget", "policy", "survey", "--require-approval", *LEDGER).code == 0
    paper = ("predict", "open", "desk", "--target", "buys", "--domain", "d.json", *LEARN, *PAID)
    written = shop.run(*paper, "--lock", "lock.json")
    assert written.code == 0, written.err
    assert "planned into lock.json, sha256 " in written.err
    follow = ("predict", "open", "desk", "t.csv", "--plan", "lock.json", *PAID, "--by", "R. Jones")
    assert shop.run(*follow).code == 4
    assert shop.run("budget", "approve", "survey", "lock.json", "--by", "M. Lee", *LEDGER).code == 0
    assert shop.run(*follow, "--predictions", "5").code == 3
    done = shop.run(*follow, "--approved-by", "M. Lee")
    assert done.code == 0, done.err
    assert "4 of the 4 that were paid for are left" in done.out
    for more, said in ((("--lock", "more.json"), "give one of them"), ((), "is of a session")):
        wrong = shop.run(*(follow if more else ("predict", "t.csv", "--points", "one.csv", *follow[4:])), *more)
        assert (wrong.code, said in wrong.err) == (2, True), wrong.err
    assert "DATA names the private table" in shop.run(*paper).err


def test_a_dry_run_states_price_and_number_and_opens_nothing(shop):
    (shop.path / "t.csv").unlink()
    before = shop.everything()
    done = shop.run(*PREDICT, "--eps", "2", "--learner", "aggregate", "--predictions", "40", *PAID, "--dry-run")
    assert done.code == 0, done.err
    assert "40 predictions by permute-and-flip noise, each eps 0.05" in " ".join(done.out.split())
    assert shop.everything() == before
    assert shop.run(*PREDICT, "--eps", "2", "--dry-run", "--json").json["form"]["draws"] == 100


def test_questions_without_points_or_session(shop):
    for more, said in (((), "--points FILE"), (("--points", "one.csv"), "there is none beside this ledger")):
        done = shop.run("predict", "ask", "desk", *more, *LEDGER)
        assert (done.code, said in done.err) == (2, True)
    shop.run(*PREDICT, *LEARN, *PAID)
    done = shop.run("interactive", "status", "desk", *LEDGER)
    assert (done.code, "no interactive session" in done.err) == (7, True)
    done = shop.run("predict", "close", "desk", *LEDGER)
    assert (done.code, "had predicted nothing" in done.err) == (0, True)


def test_settings_of_dpqr_toml_hold_for_sessions(shop):
    (shop.path / "dpqr.toml").write_text('domain = "d.json"\ndataset = "survey"\nledger = "desk.sqlite"\nn = 400\n')
    done = shop.run("predict", "open", "desk", "t.csv", "--target", "buys", "--eps", "50")
    assert done.code == 0, done.err
    assert shop.run("predict", "status", "desk").code == 0


def test_a_table_called_like_a_command_is_a_path_away(shop):
    (shop.path / "open").write_text(TRAIN)
    done = shop.run("predict", "./open", *PREDICT[4:], *LEARN[:-2], "--points", "one.csv")
    assert done.code == 0, done.err


def test_help_names_the_commands_of_sessions(shop):
    assert "predict open, ask, status, close" in " ".join(shop.run("predict", "--help").out.split())
    assert "Pay for the session" in shop.run("predict", "open", "--help").out
