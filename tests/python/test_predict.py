"""`dpqr.predict` is the command's other door: the same predictions, records, models and refusals on the same noise."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from support.cases import in_one_test
from support.door_checks import without

import dpqr
from dpqr.kernel.noise.source import SeededNoise
from dpqr.prediction import predict as app_predict
from dpqr.python.predict import prediction_request
from dpqr.releases.reading import TABLE_FROM_MEMORY

DOMAIN = {
    "fields": [
        {"name": "day", "type": "string", "constraints": {"enum": ["Mon", "Tue", "Sun"]}},
        {"name": "hour", "type": "integer", "constraints": {"minimum": 0, "maximum": 23}},
        {"name": "open", "type": "string", "constraints": {"enum": ["no", "yes"]}},
    ]
}
RUN = {"target": "open", "domain": "d.json", "eps": 1, "n": 40, "penalty": "0.5"}
OPTIONS = ("--target", "open", "--domain", "d.json", "--eps", "1", "--n", "40", "--lambda", "0.5")


@pytest.fixture
def shop(desk, monkeypatch):
    rows = [f"{'Sun' if place % 3 else 'Mon'},{place % 24},{'no' if place % 3 else 'yes'}" for place in range(40)]
    train = "\n".join(["day,hour,open", *rows, ""])
    desk.write(d__json=DOMAIN, train__csv=train, new__csv="day,hour\nMon,9\nSun,22\nTue,12\n")
    monkeypatch.setattr(app_predict, "SystemNoise", lambda: SeededNoise(7))
    return desk


@pytest.fixture
def tables(shop):
    """The table to learn from, and the points, in memory."""
    return tuple(pd.read_csv(shop.path / name, dtype={"hour": "Int64"}) for name in ("train.csv", "new.csv"))


def test_both_doors_predict_the_same_and_leave_the_same_entries(shop, tables):
    """From files, from memory, and paid by a ledger."""
    for name in ("shell", "python"):
        dpqr.Ledger(f"{name}.sqlite").init("shop", eps=5)
    paid = ("--dataset", "shop", "--ledger", "shell.sqlite", "--purpose", "a test")
    ended = shop.run("predict", "train.csv", *OPTIONS, "--points", "new.csv", *paid, "--json")
    assert ended.code == 0, ended.err
    domain = json.loads((shop.path / "d.json").read_text())
    made = dpqr.predict(
        tables[0],
        points=tables[1],
        **RUN | {"domain": domain},
        dataset="shop",
        ledger="python.sqlite",
        purpose="a test",
        out="p.csv",
    )
    document = ended.json
    assert made.table["prediction"].tolist() == document.pop("predictions")
    assert TABLE_FROM_MEMORY in made.record["plan"]["notes"]
    assert made.record["events"] == document["events"]
    again = dpqr.Ledger("again.sqlite")
    again.init("shop", eps=5)
    paid = {"dataset": "shop", "ledger": again, "purpose": "a test"}
    same = dpqr.predict("train.csv", points="new.csv", **RUN | {"domain": domain}, **paid)
    assert without(json.loads(json.dumps(same.record))) == without(document)
    assert pd.read_csv("p.csv")["prediction"].tolist() == made.table["prediction"].tolist()
    assert "Guarantee" in made.receipt
    assert "<table" in made._repr_html_()
    costs = [dpqr.Ledger(f"{name}.sqlite").history("shop")[["cost", "purpose"]] for name in ("shell", "python")]
    pd.testing.assert_frame_equal(*costs)


def test_a_function_is_released_by_one_door_and_applied_by_both(shop, tables):
    """Its receipt comes along; applying it is free."""
    released = dpqr.predict(tables[0], **RUN, form="function", out="model.json")
    assert repr(released).startswith("Predictions(a function, ")
    assert released.table.empty
    applied = dpqr.predict(model="model.json", points=tables[1])
    ended = shop.run("predict", "--model", "model.json", "--points", "new.csv")
    assert applied.table["prediction"].tolist() == ended.out.split()
    assert applied.receipt == released.receipt
    assert applied.table.columns.tolist() == ["prediction", "score"]


def test_a_plan_opens_no_table(shop):
    ended = shop.run("predict", "--dry-run", *OPTIONS, "--json")
    planned = dpqr.predict(dry_run=True, **RUN)
    assert json.loads(json.dumps(planned.record)) == ended.json
    assert "Guarantee" in repr(planned)
    assert "Guarantee" in planned._repr_html_()


REFUSALS = [
    ("train.csv", {"target": None}, ()),
    ("train.csv", {"eps": None}, ()),
    ("train.csv", {"points": None}, ()),
    (None, {}, ()),
    ("train.csv", {"learner": "oracle"}, ("--learner", "oracle")),
    ("train.csv", {"points": "train.csv"}, ()),
    ("train.csv", {"predictions": 5}, ("--predictions", "5")),
    ("train.csv", {"model": "model.json"}, ("--model", "model.json")),
    ("train.csv", {"target": "opened"}, ()),
    ("train.csv", {"form": "function", "points": None}, ("--release", "function")),
    ("train.csv", {"dataset": "shop", "ledger": "new.csv"}, ("--dataset", "shop", "--ledger", "new.csv")),
]


@pytest.mark.parametrize(("table", "more", "extra"), REFUSALS, ids=range(len(REFUSALS)))
def test_both_doors_refuse_alike(shop, table, more, extra):
    given = {**RUN, "points": "new.csv", **more}
    named = {
        "target": "--target",
        "domain": "--domain",
        "eps": "--eps",
        "n": "--n",
        "points": "--points",
        "penalty": "--lambda",
    }
    stated = (f"{option}={given[name]}" for name, option in named.items() if given[name] is not None)
    ended = shop.run("predict", *([table] if table else []), *stated, *extra)
    with pytest.raises(dpqr.DpqrError) as raised:
        dpqr.predict(table, **given)
    assert raised.value.exit_code == ended.code
    assert " ".join(str(raised.value).split()) in " ".join(ended.err.split())


def test_the_table_itself_is_no_public_point(tables):
    with pytest.raises(dpqr.UsageFault, match="are the private table"):
        dpqr.predict(tables[0], points=tables[0], **RUN)


def test_names_that_are_no_option(tables):
    with pytest.raises(TypeError, match="did you mean 'learner'"):
        dpqr.predict(tables[0], points=tables[1], **RUN, lerner="svm")


# The request of a prediction run, from options by name: those of the command, and no others.


ASKED = {"target": "open", "eps": 0.1, "domain": {"fields": []}}


def test_a_plan_is_made_for_a_usual_number_of_predictions():
    made = prediction_request(None, ASKED, dry_run=True)
    assert (made.plan.predictions, made.plan.epsilon, made.payer) == (100, "0.1", None)
    assert prediction_request((), ASKED | {"form": "function"}, dry_run=True).plan.predictions is None
    assert prediction_request("a.csv", ASKED | {"points": "b.csv", "delimiter": ";"}).points.delimiter == ";"


@in_one_test("given", [{"n": 0}, {"penalty": []}, {"form": "votes"}, {"trust": 7}, {"degree": True}])
def test_values_of_another_kind_are_refused(given):
    with pytest.raises(dpqr.UsageFault):
        prediction_request("a.csv", ASKED | {"points": "b.csv"} | given)
