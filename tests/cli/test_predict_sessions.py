"""`dpqr predict open`, `ask`, `status` and `close` as a user meets them."""

import json

import pytest
from support.command_desk import PRIVATE

LABELS = {"type": "string", "dpqr": {"otherwise": "drop"}}
DOMAIN = {
    "malformed": "drop",
    "fields": [
        {"name": "sex", "constraints": {"enum": ["F", "M"]}, **LABELS},
        {"name": "buys", "constraints": {"enum": ["no", "yes"]}, **LABELS},
    ],
}
TRAIN = "\n".join(["sex,buys,who", *(f"{'FM'[n % 2]},{('yes', 'no')[n % 2]},{n % 70}" for n in range(400))])
LEDGER = ("--ledger", "desk.sqlite")
OPEN = ("predict", "open", "desk", "t.csv", "--target", "buys", "--domain", "d.json")
LEARN = ("--n", "400", "--lambda", "0.01", "--eps", "50", "--predictions", "4")
PAID = ("--dataset", "survey", *LEDGER)


@pytest.fixture
def shop(desk):
    desk.write(t__csv=TRAIN + "\nPRIVATEVALUE,yes,987654321\n", d__json=DOMAIN, one__csv="sex\nF\n")
    assert desk.run("budget", "init", "survey", "--eps", "90", *LEDGER).code == 0
    return desk


def test_from_open_to_close(shop):
    done = shop.run(*OPEN, *LEARN, *PAID, "--purpose", "advice")
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
    done = shop.run(*OPEN, "--eps", "2", "--learner", "aggregate", "--predictions", "40", *PAID, "--dry-run")
    assert done.code == 0, done.err
    assert "40 predictions by permute-and-flip noise, each eps 0.05" in " ".join(done.out.split())
    assert shop.everything() == before
    assert shop.run(*OPEN, "--eps", "2", "--dry-run", "--json").json["form"]["draws"] == 100


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (("--eps", "100", *PAID), 4, "asked epsilon 100"),
        (("--eps", "1"), 2, "--dataset"),
        (PAID, 2, "--eps"),
        (("--eps", "1", "--delta", "1e-9", "--accountant", "pld", *PAID), 2, "basic, zcdp or gdp"),
        (("--eps", "1", "--learner", "online", "--releases", "2", *PAID), 2, "--releases"),
    ],
)
def test_wrong_openings_cost_nothing(shop, more, code, said):
    done = shop.run(*OPEN, *more)
    assert done.code == code
    assert said in done.err
    assert shop.run("budget", "show", "survey", *LEDGER, "--json").json[0]["reservations"] == 0


def test_questions_without_points_or_session(shop):
    for more, said in (((), "--points FILE"), (("--points", "one.csv"), "there is none beside this ledger")):
        done = shop.run("predict", "ask", "desk", *more, *LEDGER)
        assert (done.code, said in done.err) == (2, True)
    shop.run(*OPEN, *LEARN, *PAID)
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
    done = shop.run("predict", "./open", *OPEN[4:], *LEARN[:-2], "--points", "one.csv")
    assert done.code == 0, done.err


def test_help_names_the_commands_of_sessions(shop):
    assert "predict open, ask, status, close" in " ".join(shop.run("predict", "--help").out.split())
    assert "Pay for the session" in shop.run("predict", "open", "--help").out
