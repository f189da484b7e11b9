"""Sessions of predictions over several processes: what is kept, what a crash costs, and what the ledger says."""

import csv
import io
import json
import random
from fractions import Fraction
from functools import partial
from itertools import count
from types import SimpleNamespace
from unittest.mock import patch

import msgspec
import pytest
from support.cases import in_one_test, slow_but, thinned
from support.ledger_jobs import draws, ledger_in, terms
from support.paid_releases import payer
from support.process_races import kill_after

from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.budget import Cost, PrivacyBudget
from dpqr.kernel.currency import currency
from dpqr.kernel.errors import BudgetRefused, DataError, DocumentError, InfeasiblePlan, LedgerError, UsageFault
from dpqr.kernel.events import ExponentialEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.values import replace
from dpqr.ledger.ledger import Reason, Reservation
from dpqr.prediction.planner import following_prediction
from dpqr.prediction.predict import planned_prediction, predict
from dpqr.prediction.record import save_prediction_plan
from dpqr.published.evidence import VerifyRequest
from dpqr.published.verify import require_verified, verify
from dpqr.python.approval import approve
from dpqr.releases.locked_plan import plan_file
from dpqr.releases.loop import SILENT
from dpqr.releases.reading import TableReading
from dpqr.releases.requests import PredictionPlanRequest, PredictionRequest
from dpqr.sessions.folder import SessionFolder
from dpqr.sessions.predictions import (
    AskPredictions,
    OpenPredictions,
    PredictionSessionDocument,
    ask_predictions,
    close_predictions,
    open_predictions,
    plan_predictions,
    prediction_status,
)
from dpqr.sessions.session import (
    UNSEALED,
    SessionDocument,
    StatedBudget,
    StatedSession,
    _session_filters,
    filter_of,
    lock_session,
)
from dpqr.tables.limits import Limits
from dpqr.tables.policy import PolicyChange
from dpqr.tables.source import TableSource

LABELS = {"type": "string", "dpqr": {"otherwise": "drop"}}
DOMAIN = {
    "malformed": "drop",
    "fields": [
        {"name": "sex", "constraints": {"enum": ["F", "M"]}, **LABELS},
        {"name": "town", "constraints": {"enum": ["a", "b", "c"]}, **LABELS},
        {"name": "buys", "constraints": {"enum": ["no", "yes"]}, **LABELS},
    ],
}
TABLE = "\n".join(["sex,town,buys", *(f"{'FM'[n % 2]},{'abc'[n % 3]},{('yes', 'no')[n % 2]}" for n in range(400))])
WOMAN, MAN = "sex,town\nF,a\n", "sex,town\nM,b\n"
VOTES = {"learner": "aggregate", "parts": 5}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Noise is repeatable: what these tests say of predictions holds for these draws."""
    seeds = count(1)
    monkeypatch.setattr("dpqr.sessions.predictions.SystemNoise", lambda: SeededNoise(next(seeds)))
    (tmp_path / "table.csv").write_text(TABLE)
    ledger_in(tmp_path).open(terms(epsilon="100"))
    return tmp_path


def request(place, name="desk", source=None, **plan):
    asked = {"epsilon": "60", "n": 400, "penalty": "0.01", "predictions": 6, **plan}
    asked = {key: value for key, value in asked.items() if value is not None}
    return OpenPredictions(
        name=name,
        run=PredictionRequest(
            table=source or TableSource(paths=(str(place / "table.csv"),)),
            plan=PredictionPlanRequest(target="buys", domain=DOMAIN, **asked),
            payer=payer(place),
        ),
    )


def opened(place, **plan):
    return open_predictions(request(place, **plan), SILENT)


def asked(place, text, name="desk"):
    points = place / "points.csv"
    points.write_text(text)
    source = TableSource(paths=(str(points),))
    return ask_predictions(AskPredictions(name=name, payer=payer(place), points=source), SILENT)


def folder(place, name="desk"):
    return SessionFolder(ledger=place / "ledger.sqlite", name=name)


def spent(place):
    return ledger_in(place).account("survey").spent.amount


def drawn(place):
    return sum(entry.kind == "draw" for entry in ledger_in(place).entries())


def test_a_session_from_its_opening_to_its_record(place):
    found = opened(place)
    assert (found.points, found.left, found.target, found.learner) == (6, 6, "buys", "logistic")
    assert spent(place) == 60
    assert asked(place, WOMAN + "M,b\n").predictions.tolist() == ["yes", "no"]
    assert asked(place, MAN + "M,c\n,a\n").predictions.tolist()[:2] == ["no", "no"]
    assert prediction_status("desk", payer(place)).left == 2
    finished = close_predictions("desk", payer(place), str(place / "p.csv"))
    rows = list(csv.DictReader(io.StringIO((place / "p.csv").read_text())))
    assert [(row["ask"], row["sex"], row["town"]) for row in rows] == [
        ("1", "F", "a"),
        ("1", "M", "b"),
        ("2", "M", "c"),
        ("2", "", "a"),
    ]
    assert [row["prediction"] for row in rows] == finished.predictions.tolist()
    record = json.loads((place / "p.csv.record.json").read_text())
    assert sum(event["count"] for event in record["events"]) == 4
    assert sum(event["count"] for event in record["plan"]["events"]) == 6
    assert not folder(place).path.exists()
    assert spent(place) == 40
    ledger_in(place).verify()


def test_a_point_that_was_asked_about_before_is_free_and_equal(place):
    opened(place, predictions=2)
    first = asked(place, WOMAN + "F,a\nF,a\n")
    assert len(set(first.numbers.tolist())) == 1
    (place / "table.csv").unlink()
    assert asked(place, WOMAN).numbers.tolist() == first.numbers.tolist()[:1]
    assert prediction_status("desk", payer(place)).left == 1
    assert drawn(place) == 1


def test_more_points_than_were_paid_for_are_refused_before_the_table_is_opened(place):
    opened(place, predictions=2)
    (place / "table.csv").unlink()
    with pytest.raises(BudgetRefused, match="3 new points, and 2 of the 2"):
        asked(place, WOMAN + "M,b\nM,c\n")
    assert drawn(place) == 0
    (place / "table.csv").write_text(TABLE)
    asked(place, WOMAN + "M,b\n")
    with pytest.raises(BudgetRefused, match="1 new point, and 0 of the 2"):
        asked(place, "sex,town\nF,c\n")


@pytest.mark.parametrize(
    ("plan", "numbers"),
    slow_but(
        {0},
        [
            (VOTES, 0),
            ({**VOTES, "vote": "randomised"}, 0),
            ({"penalty": None, "tune": "0.2", "n": None}, 2),
            ({"learner": "svm", "delta": "1e-6"}, 0),
            ({"kernel": "polynomial"}, 0),
        ],
    ),
)
def test_every_way_to_predict_serves_a_session(place, plan, numbers):
    """numbers: draws of the opening."""
    penalty = {} if plan.get("learner") != "aggregate" else {"penalty": None, "n": None}
    opened(place, **{**penalty, **plan})
    assert drawn(place) == numbers
    found = [asked(place, text).predictions.tolist() for text in (WOMAN, MAN)]
    assert found == [["yes"], ["no"]]
    assert drawn(place) == numbers + 2
    assert len(close_predictions("desk", payer(place), None).numbers) == 2
    ledger_in(place).verify()


def test_a_plan_says_price_and_number_before_anything_is_paid(place):
    (place / "table.csv").unlink()
    made = plan_predictions(request(place, **{**VOTES, "penalty": None, "n": None, "delta": "1e-6"}))
    ((event, number),) = made.plan.events
    assert (type(event), number, made.plan.parts) == (ExponentialEvent, 6, 5)
    assert made.plan.accountant.name in ("basic", "zcdp", "gdp")
    assert spent(place) == 0


@pytest.mark.parametrize(
    ("plan", "error", "said"),
    [
        ({"epsilon": "500"}, BudgetRefused, "asked epsilon 500"),
        ({"delta": "1e-6", "accountant": "analytic"}, UsageFault, "basic, zcdp or gdp"),
        ({"form": "function"}, UsageFault, "--release function"),
        ({"target_error": "0.1"}, UsageFault, "--target-error goes with"),
        ({"learner": "least-squares"}, InfeasiblePlan, "has labels"),
    ],
)
def test_wrong_openings_cost_nothing(place, plan, error, said):
    with pytest.raises(error, match=said):
        opened(place, **plan)
    assert spent(place) == 0
    assert not folder(place).path.exists()


def test_a_table_that_cannot_be_read_again_and_points_of_the_table_are_refused(place):
    with pytest.raises(UsageFault, match="reads the table again"):
        opened(place, source=TableSource(paths=("-",)))
    opened(place)
    private = TableSource(paths=(str(place / "table.csv"),))
    with pytest.raises(UsageFault, match="a file of the private table"):
        ask_predictions(AskPredictions(name="desk", payer=payer(place), points=private), SILENT)
    with pytest.raises(UsageFault, match="holds no rows"):
        asked(place, "sex,town\n")
    assert drawn(place) == 0


def test_no_secret_is_kept_between_questions(place):
    opened(place, **VOTES, penalty=None, n=None)
    asked(place, WOMAN)
    assert {path.name for path in folder(place).path.iterdir()} == {"session", "transcript", "log", "lock"}


def test_another_table_closes_the_session_paid_in_full(place):
    opened(place)
    (place / "table.csv").write_text(TABLE + "\nF,a,no\n")
    with pytest.raises(DataError, match="not the one"):
        asked(place, WOMAN)
    assert spent(place) == 60
    with pytest.raises(UsageFault, match="settled"):
        asked(place, WOMAN)


def more_records(document):
    """The same event would be paid for a hundredth of the noise."""
    document["plan"]["n"] = 40000


def fewer_rows_allowed(document):
    """A refusal would tell that there are more, for nothing, and as often as one likes."""
    document["limits"]["records"] = 399


def without_its_seal(document):
    del document["seal"]


def no_number(document):
    document["limits"]["records"] = float("nan")


@in_one_test("forge", [more_records, fewer_rows_allowed, without_its_seal, no_number])
def test_what_a_session_is_cannot_be_edited(forge, place):
    name = forge.__name__
    open_predictions(request(place, name, epsilon="20"), SILENT)
    file, draws = folder(place, name).path / "session", drawn(place)
    kept = file.read_text()
    document = json.loads(kept)
    forge(document)
    file.write_text(json.dumps(document))
    with pytest.raises(LedgerError, match="'session' is damaged or was edited"):
        asked(place, WOMAN, name)
    assert drawn(place) == draws
    file.write_text(kept)
    assert len(asked(place, WOMAN, name).numbers) == 1


def test_the_file_of_another_session_is_refused(place):
    for name, n in (("desk", 400), ("other", 40000)):
        open_predictions(request(place, name, epsilon="20", n=n), SILENT)
    (folder(place).path / "session").write_text((folder(place, "other").path / "session").read_text())
    with pytest.raises(LedgerError, match="'session' is damaged or was edited"):
        asked(place, WOMAN)


def test_a_session_that_0_15_has_opened_needs_no_seal(place):
    with patch.object(PredictionSessionDocument, "note", UNSEALED[1]):
        opened(place)
    file = folder(place).path / "session"
    document = json.loads(file.read_text())
    without_its_seal(document)
    file.write_text(json.dumps(document))
    assert len(asked(place, WOMAN).numbers) == 1


def test_an_edited_transcript_and_another_kind_of_session_are_refused(place):
    opened(place)
    asked(place, WOMAN)
    path = folder(place).transcript
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:-1], lines[-1].replace('"value":', '"value":1')]) + "\n")
    with pytest.raises(LedgerError, match="shortened, edited or copied"):
        asked(place, MAN)
    path.write_text("\n".join(lines) + "\n")
    with lock_session("desk", payer(place)) as held:
        held.write({**held.document(), "kind": "interactive"})
    with pytest.raises(LedgerError, match="no prediction session"):
        asked(place, MAN)


def test_an_error_after_rows_were_looked_at_leaves_all_paid(place):
    opened(place)
    with patch("dpqr.prediction.predict.load_table", side_effect=DataError("x")), pytest.raises(DataError):
        asked(place, WOMAN)
    asked(place, WOMAN)
    close_predictions("desk", payer(place), None)
    assert spent(place) == 60


@pytest.mark.slow
def test_a_lost_draw_is_paid_and_its_point_is_asked_about_again(place):
    """The process ends between the draw and its line."""
    opened(place)
    asked(place, WOMAN)
    broken = patch("dpqr.releases.journal.LedgerJournal.record", side_effect=KeyboardInterrupt)
    with broken, pytest.raises(KeyboardInterrupt):
        asked(place, MAN + "M,c\n")
    assert prediction_status("desk", payer(place)).left == 4
    assert asked(place, "sex,town\nM,c\nM,b\n").predictions.tolist() == ["no", "no"]
    assert prediction_status("desk", payer(place)).left == 2
    finished = close_predictions("desk", payer(place), str(place / "p.csv"))
    rows = list(csv.DictReader(io.StringIO((place / "p.csv").read_text())))
    assert [(row["ask"], row["sex"], row["town"]) for row in rows] == [
        ("1", "F", "a"),
        ("3", "M", "c"),
        ("3", "M", "b"),
    ]
    assert finished.predictions.tolist() == ["yes", "no", "no"]
    assert spent(place) == 60


def killed_while(place, target):
    """The process is killed there: nothing says so but what lay on the disk before."""
    with patch(target, side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        asked(place, MAN)
    log = folder(place).path / "log"
    marks = ("spoilt", "begun", "ended")
    kept = [line for line in log.read_bytes().splitlines(keepends=True) if line.startswith(b"{")]
    log.write_bytes(b"".join(line for line in kept if not any(mark in json.loads(line) for mark in marks)))


def test_a_draw_that_a_kill_has_lost_leaves_all_paid_by_the_transcript_alone(place):
    """Also where later processes go on, each of which finds it in the transcript."""
    opened(place)
    asked(place, WOMAN)
    killed_while(place, "dpqr.releases.journal.LedgerJournal.record")
    for text in (WOMAN, MAN):
        asked(place, text)
    close_predictions("desk", payer(place), None)
    assert spent(place) == 60


def test_a_later_process_knows_that_rows_were_looked_at(place):
    """So a table that cannot be read again is refused, and the session stays as it is."""
    opened(place)
    with lock_session("desk", payer(place)) as held:
        assert held.run.looked
        with pytest.raises(UsageFault, match="the run stays as it is, and paid"):
            held.run.look(TableSource(paths=("-",)))
    assert asked(place, WOMAN).predictions.tolist() == ["yes"]


def test_an_opening_that_did_not_end_is_given_up(place):
    with (
        patch("dpqr.sessions.predictions.StatedPredictions.of", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        opened(place)
    with pytest.raises(UsageFault, match="did not end"):
        prediction_status("desk", payer(place))
    assert close_predictions("desk", payer(place), None) is None
    assert spent(place) == 60


def test_a_session_that_was_asked_nothing_gives_all_but_its_count_back(place):
    opened(place, n=None)
    assert close_predictions("desk", payer(place), str(place / "p.csv")) is None
    assert spent(place) == 3
    assert not (place / "p.csv").exists()


def test_a_place_that_is_taken_leaves_the_session_open(place):
    opened(place)
    asked(place, WOMAN)
    (place / "p.csv").write_text("")
    with pytest.raises(UsageFault, match="exists"):
        close_predictions("desk", payer(place), str(place / "p.csv"))
    with pytest.raises(UsageFault, match=r"end the name so"):
        close_predictions("desk", payer(place), str(place / "p.txt"))
    assert prediction_status("desk", payer(place)).left == 5


@pytest.mark.slow
def test_kills_at_100_moments_lose_and_double_spend_nothing(place):
    """After each kill the ledger is sound, no point has two draws that are known, and no more was drawn than paid."""
    domain = json.loads(json.dumps(DOMAIN))
    towns = [f"t{number}" for number in range(100)]
    domain["fields"][1]["constraints"]["enum"] = ["a", "b", "c", *towns]
    with patch.dict(globals(), {"DOMAIN": domain}):
        opened(place, predictions=400)
    moments, left = random.Random(1), 400
    for town in towns:
        kill_after(moments.uniform(0.0, 0.2), partial(asked, place, f"sex,town\nF,{town}\nM,{town}\n"))
        now = prediction_status("desk", payer(place)).left
        assert left - 2 <= now <= left
        left = now
        assert spent(place) == 60
    ledger_in(place).verify()
    known = asked(place, "sex,town\n" + "".join(f"F,{town}\nM,{town}\n" for town in towns))
    assert len(known.numbers) == 200
    assert prediction_status("desk", payer(place)).left >= 100  # a kill loses one draw at most
    finished = close_predictions("desk", payer(place), None)
    assert len(finished.numbers) == 200
    ledger_in(place).verify()


def locked(place, plan):
    """The plan of a session, written to be reviewed."""
    path = str(place / "lock.json")
    save_prediction_plan(plan_predictions(request(place, **plan)).plan, plan_file(path))
    return path


def followed(place, path, **stated):
    """A session that states nothing but a table and its plan."""
    empty = PredictionPlanRequest(target="", epsilon="", domain=None, **stated)
    table = TableSource(paths=(str(place / "table.csv"),))
    asked = PredictionRequest(table=table, plan=empty, payer=payer(place), reason=Reason(by="R. Jones"))
    return OpenPredictions(name="desk", run=following_prediction(asked, path))


@pytest.mark.parametrize("plan", thinned([{}, {**VOTES, "penalty": None}], 2), ids=["stable", "votes"])
def test_a_session_by_a_plan_that_somebody_approved(place, plan):
    path = locked(place, plan)
    ledger_in(place).restrict("survey", PolicyChange(approval=True))
    with pytest.raises(BudgetRefused, match="approve"):
        open_predictions(followed(place, path), SILENT)
    with pytest.raises(BudgetRefused, match="approve"):
        opened(place, **plan)
    approved = approve(payer(place), path, Reason(by="M. Lee"))
    assert open_predictions(followed(place, path), SILENT).points == 6
    asked(place, WOMAN)
    finished = close_predictions("desk", payer(place), str(place / "p.csv"))
    record = json.loads((place / "p.csv.record.json").read_text())
    assert record["plan"]["sha256"] == approved.sha256
    assert finished.paid.reason.approved_by == "M. Lee"
    found = verify(VerifyRequest(release=str(place / "p.csv"), plan=path, ledger=str(place / "ledger.sqlite")))
    require_verified(found)


def test_what_differs_from_a_sessions_plan_is_refused(place):
    path = locked(place, {})
    with pytest.raises(DocumentError, match=r"predictions is 6 in the plan, and would be 7 now"):
        open_predictions(followed(place, path, predictions=7), SILENT)
    assert spent(place) == 0


def test_a_plan_of_a_batch_is_none_of_a_session_and_the_other_way_round(place):
    batch = str(place / "batch.json")
    run = request(place, accountant="basic").run
    save_prediction_plan(planned_prediction(run)[0], plan_file(batch))
    with pytest.raises(DocumentError, match=r"session is nothing in the plan, and would be true now"):
        open_predictions(followed(place, batch), SILENT)
    points = TableSource(paths=(str(place / "table.csv"),))
    wrong = replace(followed(place, locked(place, {})).run, points=points)
    with pytest.raises(UsageFault, match="is of a session"):
        predict(wrong, SILENT)
    assert spent(place) == 0


# What a later process reads of a session's folder: how the table is read, and which filters its draws must pass.

BUDGET = {"epsilon": "1", "delta": "0", "accountant": "basic"}
SOURCE = TableSource(paths=("/data/t.csv",), delimiter=";", encoding="latin-1", count_column="n")


def held(document):
    folder = SimpleNamespace(document=lambda: document, name="desk")
    return SimpleNamespace(folder=folder)


@in_one_test("name", Limits.__struct_fields__)
def test_later_processes_read_the_table_as_the_first_one_did(name):
    limits = Limits(**{name: getattr(Limits(), name) // 2})
    stated = StatedSession.of("interactive", StatedBudget(**BUDGET), TableReading(source=SOURCE, limits=limits))
    document = msgspec.to_builtins(stated)
    assert document["limits"] == msgspec.structs.asdict(limits)
    session = SessionDocument(held=held(document), document=msgspec.convert(document, StatedSession))
    assert session.limits == limits != Limits()
    read = session.reading(None)
    assert (read.limits, read.source) == (limits, SOURCE)
    other = TableSource(paths=("elsewhere",))
    assert session.reading(other).limits == limits
    assert session.budget == PrivacyBudget(Fraction(1))


@in_one_test("paid", ["1/2", "1", "5"])
@pytest.mark.parametrize("stating", ["1/2", "1", "5"])
def test_draws_pass_the_filter_of_what_was_paid_and_that_of_the_guarantee(paid, stating):
    reservation = Reservation(
        dataset="survey",
        number=2,
        receipt="",
        currency=currency("basic"),
        cost=Cost(Fraction(paid)),
        events=draws(paid),
    )
    document = {"budget": {**BUDGET, "epsilon": str(float(Fraction(stating)))}}
    guard, spent = _session_filters(held(document).folder, reservation), Fraction(0)
    ((part, _),) = draws("1/4")
    least = min(Fraction(paid), Fraction(stating))
    while spent < least:
        guard.charge(part)
        spent += Fraction(1, 4)
    with pytest.raises(BudgetRefused):
        guard.charge(part)


@in_one_test("name", sorted(ACCOUNTANTS))
def test_only_accountants_that_are_filters_prove_a_session(name):
    budget = PrivacyBudget(Fraction(1)) if name == "basic" else PrivacyBudget(Fraction(1), Fraction(1, 10**9))
    if name in ("basic", "zcdp", "gdp"):
        assert filter_of(name, budget).name == name
    else:
        with pytest.raises(UsageFault, match="choose basic, zcdp or gdp"):
            filter_of(name, budget)
