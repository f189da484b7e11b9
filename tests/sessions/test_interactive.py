"""Sessions of questions over several processes: what is kept, what a crash costs, and what the ledger says."""

import csv
import json
import random
from itertools import count
from pathlib import Path
from unittest.mock import patch

import pytest
from support.cases import in_one_test, thinned
from support.ledger_jobs import ledger_in, terms
from support.paid_releases import payer
from support.process_races import kill_after

from dpqr.kernel.errors import (
    AlreadyThere,
    BudgetRefused,
    DataError,
    DocumentError,
    InfeasiblePlan,
    LedgerError,
    UsageFault,
)
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.ledger.chained_ledger import ChainedLedger
from dpqr.published.evidence import VerifyRequest
from dpqr.published.verify import verify
from dpqr.releases.answers.errors import BASES
from dpqr.releases.files.atomic import document_text
from dpqr.releases.loop import SILENT
from dpqr.releases.questions import Answer, SessionTerms
from dpqr.releases.receipt import receipt
from dpqr.releases.record.plan_document import seal_document
from dpqr.releases.requests import OutputRequest, PlanRequest, ReleaseRequest
from dpqr.sessions.folder import SessionFolder
from dpqr.sessions.interactive import AskRequest, ask, close, open_session, status
from dpqr.sessions.planning import OpenRequest, plan_session
from dpqr.sessions.session import PARTS, UNSEALED, QuestionSessionDocument
from dpqr.tables.engines.known import source_at
from dpqr.tables.policy import PolicyChange
from dpqr.tables.source import TableSource
from dpqr.workload.figure_entries import FIGURE_COMPILERS

DOMAIN = {"sex": 2, "age": 16, "job": 10, "town": 12}
ROWS = [f"{n % 2},{n % 4},{(n * n) % 3},{n % 5}" for n in range(600)]
TABLE = "\n".join(["sex,age,job,town", *ROWS]) + "\n"
WHERE = {"queries": [{"where": "age = 3 and job = 1"}, {"ranges": "job", "between": [[0, 0], [1, 1], [0, 9]]}]}
SURPRISE = {"queries": [{"where": "sex = 1 and age = 3"}]}
"""150 records, where the product of the columns says 75."""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Noise is repeatable: what these tests say of answers holds for these draws."""
    monkeypatch.setattr("dpqr.sessions.interactive.SystemNoise", lambda: SeededNoise(next(seeds)))
    seeds = count(1)
    (tmp_path / "table.csv").write_text(TABLE)
    ledger_in(tmp_path).open(terms(epsilon="100"))
    return tmp_path


def opened(place, name="desk", **more):
    return open_session(request(place, name, **more), SILENT)


def request(place, name="desk", *, plan=None, source=None, **more):
    asked = PlanRequest(**{"epsilon": "40", "domain": DOMAIN, "surprises": 6, **(plan or {}), **more})
    run = ReleaseRequest(
        source=source or TableSource(paths=(str(place / "table.csv"),)), plan=asked, payer=payer(place)
    )
    return OpenRequest(name=name, run=run)


def asked(place, queries, name="desk"):
    return ask(AskRequest(name=name, payer=payer(place), queries=queries), SILENT)


def folder(place, name="desk"):
    return SessionFolder(ledger=place / "ledger.sqlite", name=name)


def spent(place):
    return ledger_in(place).account("survey").spent.amount


def drawn(place):
    """Draws that the ledger knows of."""
    return sum(entry.kind == "draw" for entry in ledger_in(place).entries())


def test_a_session_from_its_opening_to_its_release(place):
    found = opened(place)
    assert (found.questions, found.surprises, found.paid_surprises, found.checked) == (0, 0, 6, True)
    assert spent(place) == pytest.approx(40, rel=1e-4)
    answers = asked(place, WHERE)
    assert len(answers) == 4
    assert len({each.detail for each in answers[1:]}) == 3
    assert all(each.answer.low <= each.answer.estimate <= each.answer.high for each in answers)
    (surprise,) = asked(place, SURPRISE)
    assert not surprise.answer.free
    assert surprise.answer.estimate == pytest.approx(150, abs=20)
    (again,) = asked(place, SURPRISE)
    assert again.answer.free
    assert again.answer.estimate == pytest.approx(150, abs=20)
    now = status("desk", payer(place))
    assert (now.questions, now.surprises) == (6, sum(not each.answer.free for each in (*answers, surprise, again)))
    finished = close("desk", payer(place), OutputRequest(directory=str(place / "out")))
    assert len(finished.answers) == 6
    record = json.loads((place / "out" / "release.json").read_text())
    assert record["plan"]["schedule"]["name"] == "interactive"
    names = [each.block.name for each in finished.answers]
    assert names[0] == "where(age = 3 and job = 1)"
    assert all(each.detail in name for each, name in zip(answers[1:], names[1:], strict=False))
    assert "threshold" not in json.dumps(record["transcript"])
    assert not folder(place).path.exists()
    assert 0 < spent(place) < 40
    ledger_in(place).verify()
    found = checked(place)
    assert {name for name, state in found.items() if state != "ok"} == {
        "locked plan",
        "ledger",
        "settlement",
        "synthetic rows",
        "figures",
    }


def checked(place):
    """What `verify` finds of the release, by check."""
    return {check.name: check.state for check in verify(VerifyRequest(release=str(place / "out"))).checks}


def test_the_basis_of_an_answer_says_whether_it_was_compared_or_measured(place):
    opened(place)
    asked(place, {"queries": [*WHERE["queries"], *SURPRISE["queries"]]})
    finished = close("desk", payer(place), OutputRequest())
    bases = {BASES[each.intervals.basis[0]] for each in finished.answers}
    assert bases == {"compared", "measured"}
    receipt_text = " ".join(f"{name} {text}" for name, text in receipt(finished))
    assert "asked for by --accountant" not in receipt_text
    assert "stop test" not in receipt_text


def test_what_a_session_says_of_a_count_and_what_its_release_says_begin_at_0_alike(place, monkeypatch):
    """Of a free answer, and of a noisy one that noise has taken far below 0."""
    low = Answer(estimate=-30.0, low=0.0, high=-26.0, free=False)
    monkeypatch.setattr(SessionTerms, "paid", lambda *_: low)
    opened(place)
    answers = asked(place, {"queries": [{"where": "age = 3 and town = 9"}, *SURPRISE["queries"], {"sum": "town"}]})
    assert [(each.answer.free, each.answer.low) for each in answers[:2]] == [(True, 0.0), (False, 0.0)]
    finished = close("desk", payer(place), OutputRequest())
    intervals = [each.intervals for each in finished.answers]
    found = [(each.lower[0], each.upper[0]) for each in intervals]
    assert found == [(each.answer.low, each.answer.high) for each in answers]
    assert found[1] == (0.0, 0.0)


def test_a_place_that_is_taken_is_said_without_an_option_that_close_lacks(place):
    opened(place)
    asked(place, WHERE)
    (place / "out").mkdir()
    with pytest.raises(AlreadyThere) as refused:
        close("desk", payer(place), OutputRequest(directory=str(place / "out")))
    assert "--if-exists" not in str(refused.value)
    assert status("desk", payer(place)).questions == 4


def test_the_ledger_pays_before_the_table_is_opened(place):
    with pytest.raises(BudgetRefused):
        opened(place, plan={"epsilon": "500"})
    assert not folder(place).path.exists()
    (place / "table.csv").write_text("sex,age\n0,1\n")
    with pytest.raises(DataError):
        opened(place)
    assert spent(place) == 0
    assert not folder(place).path.exists()


def test_a_wrong_question_costs_nothing(place):
    opened(place)
    before = len(ledger_in(place).entries())
    (place / "table.csv").unlink()
    for queries in ([{"where": "colour = 1"}], [{"where": "age = 3"}, {"nothing": 1}]):
        with pytest.raises(DocumentError):
            asked(place, {"queries": queries})
    assert len(ledger_in(place).entries()) == before
    assert status("desk", payer(place)).questions == 0


@in_one_test("kind", FIGURE_COMPILERS)
def test_of_a_figure_its_parts_are_asked(kind):
    assert PARTS[kind]


def test_a_figure_is_refused_with_what_to_ask_for_it(place):
    opened(place)
    with pytest.raises(UsageFault, match=r"'mean\(age\)': a session answers counts and sums; ask its \"sum\" and"):
        asked(place, {"queries": [{"mean": "age"}]})


def test_a_wide_question_is_refused(place):
    wide = dict.fromkeys("abcde", 40)
    (place / "table.csv").write_text("a,b,c,d,e\n1,2,3,4,5\n")
    opened(place, plan={"domain": wide})
    with pytest.raises(InfeasiblePlan, match="fewer columns"):
        asked(place, {"queries": [{"where": "a = 1 and b = 1 and c = 1 and d = 1 and e = 1"}]})


def test_names_and_accountants_that_are_refused(place):
    opened(place)
    with pytest.raises(AlreadyThere):
        opened(place)
    with pytest.raises(UsageFault, match="there is none"):
        asked(place, WHERE, name="other")
    with pytest.raises(UsageFault, match="basic, zcdp or gdp"):
        opened(place, name="b", plan={"delta": "1e-6", "accountant": "pld"})
    with pytest.raises(UsageFault, match="at least 1"):
        opened(place, name="b", surprises=0)
    for idle in ("count_dropped", "error_bars", "certify"):
        with pytest.raises(UsageFault, match="a session of questions has none"):
            opened(place, name="b", plan={idle: "0.1"})


def test_a_lost_secret_ends_its_epochs_which_stay_paid(place):
    opened(place)
    before = ledger_in(place).entries()
    (folder(place).path / "secret").unlink()
    assert status("desk", payer(place)).checked
    asked(place, WHERE)
    drawn = [entry for entry in ledger_in(place).entries()[len(before) :] if entry.kind == "draw"]
    assert len(drawn) >= 2
    asked(place, SURPRISE)
    finished = close("desk", payer(place), OutputRequest(directory=str(place / "out")))
    assert checked(place)["answers"] == "ok"
    assert sum(count for event, count in finished.events if "Threshold" in type(event).__name__) >= 4


def test_a_damaged_secret_is_a_lost_one(place):
    """Whatever the damage: `test_restored.py`."""
    opened(place)
    (folder(place).path / "secret").write_text('[{"side": [1], "draw": {}, "threshold": "3"}]')
    epochs = sum(entry.kind == "draw" for entry in ledger_in(place).entries())
    assert status("desk", payer(place)).checked
    asked(place, {"queries": [{"marginal": []}]})
    assert sum(entry.kind == "draw" for entry in ledger_in(place).entries()) >= epochs + 2


def test_a_secret_of_an_earlier_ask_admits_nothing_even_where_all_draws_fit(place):
    """As after a kill between a pass and its answer, by somebody who puts the secret back: the log has one ask more."""
    opened(place)
    secret = folder(place).path / "secret"
    old, draws = secret.read_bytes(), drawn(place)
    with (
        patch("dpqr.sessions.folder.QuestionWriter.begin_draws", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        asked(place, SURPRISE)
    assert drawn(place) == draws, "the ledger knows nothing of it"
    assert folder(place).secret() is None
    secret.write_bytes(old)
    asked(place, {"queries": [{"marginal": []}]})
    assert drawn(place) == draws + 2


def test_a_forged_secret_admits_nothing_that_the_transcript_has_ended(place):
    """It states the newest ask, and a threshold that was passed: a noisy answer of its side follows there."""
    opened(place)
    old = folder(place).secret()
    asked(place, SURPRISE)
    now = folder(place).secret()
    (above,) = ({each["side"] for each in old["thresholds"]} - {each["side"] for each in now["thresholds"]},)
    assert len(above) == 1
    folder(place).keep({**old, "asks": now["asks"]})
    used = []

    def passes(data, watch, question, noise):
        used.append(watch.charge_number)
        return False

    with patch("dpqr.releases.questions.is_above_threshold", passes):
        asked(place, {"queries": [{"marginal": []}]})
    ended = {each["draw"] for each in old["thresholds"] if each["side"] in above}
    assert len(used) == 2
    assert ended.isdisjoint(used)


def test_while_answers_are_compared_the_disk_holds_no_threshold(place):
    """And its log says so first, synced, before the secret is touched."""
    opened(place)
    seen = []

    def passes(data, watch, question, noise):
        found = folder(place)
        seen.append((found.secret(), sum("queries" in line for line in found.log())))
        return False

    with patch("dpqr.releases.questions.is_above_threshold", passes):
        asked(place, WHERE)
    assert len(seen) == 8
    assert set(seen) == {(None, 1)}
    kept = folder(place).secret()
    assert (kept["asks"], len(kept["thresholds"])) == (1, 2)
    with patch.object(SessionFolder, "blank", side_effect=OSError(28, "x")) as blank, pytest.raises(UsageFault):
        asked(place, WHERE)
    assert blank.called
    assert sum("queries" in line for line in folder(place).log()) == 2


@pytest.mark.slow
def test_a_session_of_version_0_10_goes_on_with_new_thresholds(place):
    """Its secret may have outlived its end on a full disk, and its log has no marks of questions."""
    opened(place)
    asked(place, {"queries": [{"marginal": []}]})
    desk = folder(place)
    lines = [line for line in desk.log() if "begun" not in line and "ended" not in line]
    desk.replace("log", "".join(f"{json.dumps(line)}\n" for line in lines).encode())
    desk.replace("secret", json.dumps(desk.secret()["thresholds"]).encode().ljust(1024))
    draws = drawn(place)
    now = status("desk", payer(place))
    assert (now.questions, now.checked) == (1, True)
    asked(place, SURPRISE)
    assert drawn(place) == draws + 3, "two thresholds and an answer"
    finished = close("desk", payer(place), OutputRequest(directory=str(place / "out")))
    assert len(finished.answers) == 2
    assert checked(place)["answers"] == "ok"
    assert spent(place) < 40


def test_an_error_in_a_session_of_version_0_10_leaves_all_paid(place):
    opened(place)
    folder(place).replace("log", b'{"spoilt": true}\n')
    close("desk", payer(place), OutputRequest())
    assert spent(place) == pytest.approx(40, rel=1e-4)


def test_a_question_that_was_killed_leaves_all_paid(place):
    opened(place)
    with folder(place).opened_log(0) as log:
        log.say({"begun": 0}, {"ended": 0}, {"begun": 0})
    for name in (".ledger.sqlite.desk.room", ".outside.anchor.desk.room"):
        (place / name).write_text("what was set aside")
    close("desk", payer(place), OutputRequest())
    assert spent(place) == pytest.approx(40, rel=1e-4)
    assert not [path for path in place.iterdir() if path.name.endswith(".room")]


def test_systems_without_file_locks_have_no_sessions(place, monkeypatch):
    opened(place)
    before = len(ledger_in(place).entries())
    monkeypatch.setattr("dpqr.sessions.folder.fcntl", None)
    for refused in (
        lambda: opened(place, name="other"),
        lambda: asked(place, WHERE),
        lambda: status("desk", payer(place)),
        lambda: close("desk", payer(place), OutputRequest()),
    ):
        with pytest.raises(UsageFault, match="a session needs file locks, and this system has none"):
            refused()
    assert len(ledger_in(place).entries()) == before
    assert not folder(place, "other").path.exists()
    assert plan_session(request(place, "other")).terms.surprises == 6


@pytest.mark.parametrize("address", ["-", "duckdb:t.duckdb?table=people"])
def test_a_table_that_cannot_be_read_again_is_refused_before_it_is_paid(place, address):
    pytest.importorskip("duckdb")
    if address != "-":
        ledger_in(place).restrict("survey", PolicyChange(source=source_at(address)))
    with pytest.raises(UsageFault, match="reads the table again"):
        opened(place, source=TableSource(paths=(address,)))
    assert spent(place) == 0


@pytest.mark.parametrize("address", ["-", "duckdb:t.duckdb?table=people"])
def test_a_question_takes_no_table_that_cannot_be_read_again(place, address):
    pytest.importorskip("duckdb")
    opened(place)
    request = AskRequest(
        name="desk",
        payer=payer(place),
        queries={"queries": [{"marginal": []}]},
        source=TableSource(paths=(address,)),
    )
    with pytest.raises(UsageFault, match="reads the table again"):
        ask(request, SILENT)


def test_an_edited_transcript_is_refused(place):
    opened(place)
    path = folder(place).transcript
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1]) + "\n")
    with pytest.raises(LedgerError, match="shortened, edited or copied"):
        asked(place, WHERE)


def test_a_session_whose_file_states_other_neighbours_is_refused(place):
    """Other neighbours than were paid for: noise for other changes of the table, at the same price."""
    opened(place)
    file = folder(place).path / "session"
    document = json.loads(file.read_text())
    document["plan"]["neighbours"], document["plan"]["n"] = "replace", 600
    file.write_text(json.dumps(document))
    draws = drawn(place)
    with pytest.raises(LedgerError, match="'session' is damaged or was edited"):
        asked(place, SURPRISE)
    assert drawn(place) == draws


def test_another_table_closes_the_session_paid_in_full(place):
    opened(place)
    (place / "table.csv").write_text(TABLE + "1,1,1,1\n")
    with pytest.raises(DataError, match="not the one"):
        asked(place, WHERE)
    assert spent(place) == pytest.approx(40, rel=1e-4)
    with pytest.raises(UsageFault, match="settled"):
        asked(place, WHERE)


def test_an_error_after_rows_were_looked_at_leaves_all_paid(place):
    opened(place)
    with patch("dpqr.sessions.turn.load_table", side_effect=DataError("x")), pytest.raises(DataError):
        asked(place, WHERE)
    asked(place, WHERE)
    close("desk", payer(place), OutputRequest())
    assert spent(place) == pytest.approx(40, rel=1e-4)


def test_an_opening_that_did_not_end_is_given_up(place):
    with patch("dpqr.sessions.turn.write_rows", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        opened(place)
    with pytest.raises(UsageFault, match="did not end"):
        status("desk", payer(place))
    assert close("desk", payer(place), OutputRequest()) is None
    assert spent(place) == pytest.approx(40, rel=1e-4)


def test_an_opening_that_was_killed_as_soon_as_it_was_paid_is_known_by_its_name(place):
    reserve = ChainedLedger.reserve

    def killed(*given, **more):
        reserve(*given, **more)
        raise KeyboardInterrupt

    with patch.object(ChainedLedger, "reserve", killed), pytest.raises(KeyboardInterrupt):
        opened(place)
    with pytest.raises(UsageFault, match="did not end"):
        status("desk", payer(place))
    assert close("desk", payer(place), OutputRequest()) is None
    assert (ledger_in(place).account("survey").unsettled, folder(place).path.exists()) == (0, False)


def test_a_session_that_was_asked_nothing_gives_the_rest_back(place):
    opened(place)
    assert close("desk", payer(place), OutputRequest()) is None
    assert 0 < spent(place) < 40


@pytest.mark.slow
def test_expected_queries_come_first_and_all_columns_stay(place):
    expected = {"queries": [{"marginal": ["sex", "age"]}]}
    made = opened(place, plan={"queries": expected})
    assert made.checked
    first, other = asked(place, {"queries": [{"where": "sex = 1 and age = 3"}, {"where": "job = 2"}]})
    assert first.answer.free
    assert first.answer.estimate == pytest.approx(150, abs=20)
    assert other.answer.estimate == pytest.approx(0, abs=20)


def test_where_only_the_total_is_expected_all_columns_are_measured_too(place):
    """A domain has one column at least; that one was lost, and no question about it could be answered."""
    problem = plan_session(request(place, plan={"queries": {"queries": [{"marginal": []}]}})).plan.problem
    assert problem.domain.names == ("sex", "age", "job", "town")
    assert [block.axes for block in problem.workload.blocks] == [(), (0,), (1,), (2,), (3,)]


def test_shares_and_defaults_of_the_plan(place):
    def planned(**more):
        asked = request(place, plan={"epsilon": "1", "surprises": None}, **more)
        return plan_session(asked).terms.surprises

    assert [planned(questions=n) for n in (20, 1_000, 10**6)] == [10, 50, 200]
    assert planned(surprises=3) == 3


@pytest.mark.slow
def test_kills_at_200_moments_lose_and_double_spend_nothing(place):
    """After each kill the ledger is sound, what was answered before is still there, and no more was drawn than paid."""
    opened(place, surprises=150)
    moments, answered = random.Random(1), 0
    for _ in range(200):
        kill_after(moments.uniform(0.0, 0.25), lambda: asked(place, {"queries": [{"marginal": ["sex", "age"]}]}))
        now = status("desk", payer(place))
        assert now.questions >= answered
        assert now.surprises <= 150
        answered = now.questions
        assert spent(place) == pytest.approx(40, rel=1e-4)
    ledger_in(place).verify()
    assert asked(place, WHERE)
    finished = close("desk", payer(place), OutputRequest(directory=str(place / "out")))
    assert len(finished.answers) >= answered
    assert checked(place)["answers"] == "ok"
    assert spent(place) <= 40
    ledger_in(place).verify()


REPLACED = {
    "malformed": "drop",
    "fields": [
        {
            "name": name,
            "type": "integer",
            "constraints": {"minimum": 0, "maximum": size - 1},
            "dpqr": {"otherwise": "drop"},
        }
        for name, size in DOMAIN.items()
    ],
}
GUARANTEES = {"basic": {"epsilon": "40"}, "zcdp": {"epsilon": "40", "delta": "1e-6", "accountant": "zcdp"}}


def replacing(place, accountant):
    """A session of a budget where one row is replaced by another."""
    delta, unit = GUARANTEES[accountant].get("delta", "0"), PrivacyUnit(neighbours=Neighbours.REPLACE)
    ledger_in(place).open(terms(dataset="replaced", epsilon="100", delta=delta, accountant=accountant, unit=unit))
    asked = {"domain": REPLACED, "neighbours": "replace", "n": 600, "surprises": 6, "questions": 100}
    run = ReleaseRequest(
        source=TableSource(paths=(str(place / "table.csv"),)),
        plan=PlanRequest(**asked, **GUARANTEES[accountant]),
        payer=replace(payer(place), dataset="replaced"),
    )
    open_session(OpenRequest(name="desk", run=run), SILENT)


def stated_and_drawn(directory):
    """Deviations of the measured answers: what a closed session's release states, and what was drawn."""
    record = json.loads((directory / "release.json").read_text())
    with (directory / "answers.csv").open() as file:
        stated = {float(row["noise_deviation"]) for row in csv.DictReader(file) if row["basis"] == "measured"}
    return stated, {drawn["law"]["deviation"] for drawn in record["transcript"]}, record


def measured_values(record):
    return {len(drawn["measured"][0]["values"]) for drawn in record["transcript"]}


def closed(place):
    close("desk", payer(place), OutputRequest(directory=str(place / "out")))
    return stated_and_drawn(place / "out")


@pytest.mark.parametrize("accountant", thinned(GUARANTEES, 2))
def test_where_records_are_replaced_the_release_states_the_noise_that_wconsistent_with_draws(place, accountant):
    """It is that of the query alone, which the price of one surprise buys."""
    replacing(place, accountant)
    (surprise,) = asked(place, SURPRISE)
    assert not surprise.answer.free
    stated, drawn, record = closed(place)
    assert stated == drawn
    assert measured_values(record) == {1}
    assert record["questions"]["rule"] == "no dearer"
    assert "FAILED" not in checked(place).values()


@pytest.mark.parametrize("accountant", thinned(GUARANTEES, 2))
def test_a_session_that_an_earlier_version_opened_keeps_its_rule_and_states_what_it_drew(place, accountant):
    """Its folder states no rule: every surprise measures the table of its parts, with the noise of that."""
    with patch.object(QuestionSessionDocument, "note", UNSEALED[0]):
        replacing(place, accountant)
    file = folder(place).path / "session"
    kept = json.loads(file.read_text())
    assert kept.pop("rule") == "no dearer"
    file.write_text(json.dumps(kept))
    (surprise,) = asked(place, SURPRISE)
    assert not surprise.answer.free
    stated, drawn, record = closed(place)
    assert stated == drawn
    assert measured_values(record) == {4}
    assert record["questions"]["rule"] == "table"
    found = {check.name: check for check in verify(VerifyRequest(release=str(place / "out"))).checks}
    assert "FAILED" not in {check.state for check in found.values()}
    assert "noise_deviation" not in found["answers"].text


OLD_SESSION = Path(__file__).parents[1] / "old_sessions" / "0.10.0-replace"


def test_a_closed_session_of_0_10_0_is_repeated_by_its_rule_and_verify_says_that_it_states_too_little_noise():
    """It was drawn with a deviation of 1.84 and states 0.86. Its intervals are right."""
    stated, drawn, _ = stated_and_drawn(OLD_SESSION)
    assert (max(stated), min(drawn)) == (pytest.approx(0.86, abs=0.01), pytest.approx(1.84, abs=0.01))
    found = {check.name: check for check in verify(VerifyRequest(release=str(OLD_SESSION))).checks}
    assert [found[name].state for name in ("record", "events", "plan", "draws", "answers", "statements")] == ["ok"] * 6
    assert "noise_deviation of measured answers is too small" in found["answers"].text


@in_one_test(("rule", "check"), [("no dearer", "draws"), ("table", "answers")])
def test_a_record_of_0_10_0_is_not_repeated_by_another_rule(tmp_path, rule, check):
    (tmp_path / "answers.csv").write_bytes((OLD_SESSION / "answers.csv").read_bytes())
    record = json.loads((OLD_SESSION / "release.json").read_text())
    record["questions"]["rule"] = rule
    (tmp_path / "release.json").write_text(document_text(seal_document(record)))
    with patch("dpqr.published.checks.__version__", record["version"]):  # a later one says less
        checks = verify(VerifyRequest(release=str(tmp_path))).checks
    assert [each.name for each in checks if each.state == "FAILED"] == [check]
