"""Verify of predictions: a sound file passes every check, and whatever was changed is named."""

import json
import shutil

import pandas as pd
import pytest
from support.cases import thinned

import dpqr
from dpqr.published.verify import PREDICTIONS
from dpqr.releases.files.atomic import document_text
from dpqr.releases.record.parts import record_path
from dpqr.releases.record.plan_document import seal_document

ROWS = pd.DataFrame({"day": ["Mon", "Sun"] * 200, "open": ["yes", "no"] * 200, "price": [3.0, 9.0] * 200})
POINTS = pd.DataFrame({"day": ["Sun", "Mon"], "price": [1.0, 9.0]})
DAYS = pd.DataFrame({"day": ["Sun", "Mon"], "open": ["no", "yes"]})
PRICE = {"type": "number", "dpqr": {"edges": [0, 5, 10], "otherwise": "drop"}}
KINDS = ("session", "numbers", "labels", "run", "model")


def made_predictions(place):
    """A session of each kind of prediction, a run and a model, all of one budget, in a directory."""
    ledger = dpqr.Ledger(place / "l.sqlite")
    ledger.init("shops", eps=300)
    domain = dpqr.domain_from({"day": ["Mon", "Sun"], "open": ["no", "yes"], "price": PRICE})
    paid = {"domain": domain, "dataset": "shops", "ledger": ledger, "eps": 50, "purpose": "advice"}
    sessions = {
        "session": ({"target": "open", "n": 400}, POINTS),
        "numbers": ({"target": "price", "learner": "least-squares", "n": 400}, DAYS),
        "labels": ({"target": "open", "learner": "aggregate", "parts": 3}, POINTS),
    }
    for name, (learning, points) in sessions.items():
        session = dpqr.open_predictions(ROWS, name=name, predictions=3, **paid, **learning)
        session.ask(points)
        session.close(place / f"{name}.csv")
    dpqr.predict(ROWS, target="open", points=POINTS, n=400, out=place / "run.csv", **paid)
    dpqr.predict(ROWS, target="open", form="function", n=400, out=place / "model.json", **paid)
    return place


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return made_predictions(tmp_path_factory.mktemp("made"))


@pytest.fixture
def place(made, tmp_path):
    shutil.copytree(made, tmp_path / "made")
    return tmp_path / "made"


def file_of(place, kind):
    return place / ("model.json" if kind == "model" else f"{kind}.csv")


def states(place, kind, **given):
    found = dpqr.verify(file_of(place, kind), **given).document()
    return {check["check"]: check["state"] for check in found["checks"]}


@pytest.mark.parametrize("kind", thinned(KINDS, 3))
def test_a_sound_file_passes(place, kind):
    found = states(place, kind, ledger=place / "l.sqlite")
    drawn = "ok" if kind not in ("run", "model") else "not checked"
    assert found == dict.fromkeys(PREDICTIONS, "ok") | {"draws": drawn, "locked plan": "not checked"}
    beside = record_path(str(file_of(place, kind)))
    assert kind == "model" or dpqr.verify(beside).passed, "the record names them as well as the file does"
    without = states(place, kind)
    assert without["ledger"] == without["settlement"] == "not checked"


def forged(place, kind, change):
    """A record that somebody forged with care: its seal is made anew."""
    record = place / ("model.json" if kind == "model" else f"{kind}.csv.record.json")
    document = json.loads(record.read_text())
    change(document)
    record.write_text(document_text(seal_document(document)))


def other_number(document):
    document["draws"]["numbers"][0] += 2**21


def other_label(document):
    document["draws"]["numbers"][0] ^= 1


def more(document):
    document["events"][0]["count"] += 5


def cheaper(document):
    document["spent"]["basic"] = {"exact": "1", "float": 1.0}


def other_purpose(document):
    document["purpose"] = "sport"


def finer(document):
    """Half the step, and twice every number: the predictions follow from it as well."""
    document["draws"]["step"] /= 2
    document["draws"]["numbers"] = [2 * number for number in document["draws"]["numbers"]]


def less_noise(document):
    document["noise_deviation"] /= 2


def other_learner(document):
    document["plan"]["learner"]["name"] = "svm"
    document["plan"] = seal_document(document["plan"])


def no_form(document):
    document["draws"] = {"numbers": "many"}


@pytest.mark.parametrize(
    ("kind", "change", "failed"),
    [
        ("session", other_number, "draws"),
        ("numbers", other_number, "draws"),
        ("labels", other_label, "draws"),
        ("session", no_form, "draws"),
        ("session", finer, "statements"),
        ("numbers", less_noise, "statements"),
        ("run", other_learner, "ledger"),
        ("model", less_noise, "statements"),
        ("session", more, "ledger"),
        ("run", more, "ledger"),
        ("session", cheaper, "prices"),
        ("model", other_purpose, "ledger"),
    ],
)
def test_what_was_forged_is_named(place, kind, change, failed):
    forged(place, kind, change)
    assert list(states(place, kind, ledger=place / "l.sqlite").items())[-1] == (failed, "FAILED")
    if change is other_learner:
        assert list(states(place, kind).items())[-1] == ("plan", "FAILED")
