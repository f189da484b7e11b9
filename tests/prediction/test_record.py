"""Records and plans that are read as they were written; and model files that nobody wrote: an error of the document
family, or a model, and nothing else."""

import copy
import json
from contextlib import suppress
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from support.cases import in_one_test
from support.prediction_tables import domain

from dpqr.domain.attribute import Attribute, Bins
from dpqr.domain.domain import Domain
from dpqr.kernel.accountants.known import PREDICTING
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import DocumentError
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.prediction.ensembles.bases import RidgeBase
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.learners.features import CellFeatures, Kernel
from dpqr.prediction.plan import LearnedFigures
from dpqr.prediction.planner import PlannerInput, least_spread
from dpqr.prediction.problem import PredictionProblem, Target
from dpqr.prediction.recipes import Stability, StableRecipe
from dpqr.prediction.record import (
    PredictionPlanPart,
    PredictionRecord,
    PredictionRelease,
    prediction_document,
    prediction_plan_document,
    read_model,
)
from dpqr.releases.record.parts import written

LABELS = domain(3, 2)
NUMBERS = Domain((LABELS.attributes[0], Attribute(name="y", axis=Bins(edges=(Fraction(0), Fraction(9))))))
FEATURES = CellFeatures(domain=domain(3))
PLANS = {
    "votes": ({"vote": "randomised"}, {"delta": "1/1000000"}),
    "averages": ({}, {"table": NUMBERS}),
    "count and lambda": ({"name": "logistic", "tuning": Fraction(1, 5)}, {"records": None}),
    "objective": ({"name": "svm"}, {"points": None, "delta": "1/1000000"}),
    "moments": ({"name": "least-squares", "method": "moments"}, {"table": NUMBERS, "points": None, "delta": "1/1000"}),
    "parts": ({"name": "quantile", "stability": Stability(parts=4, radius=Fraction(2))}, {"table": NUMBERS}),
    "decay": (
        {"name": "least-squares", "smoothness": Fraction(1, 2), "stability": Stability(decay=Fraction(2))},
        {"table": NUMBERS, "points": None},
    ),
    "online": ({"name": "online", "releases": 3, "kernel": Kernel(name="polynomial")}, {"table": NUMBERS}),
}


def planned(given, table=LABELS, points=7, delta="0", records=100):
    target = Target(attribute=table.attributes[1], axis=1, positive=1 if table is LABELS else None)
    unit = PrivacyUnit(neighbours=Neighbours.REPLACE) if given.get("name") == "online" else PrivacyUnit()
    recipe = (
        StableRecipe(features=FEATURES, **given)
        if "name" in given
        else Aggregate(features=FEATURES, base=RidgeBase(), **given)
    )
    problem = PredictionProblem(domain=table, target=target, unit=unit, records=records, points=points)
    budget = PrivacyBudget(epsilon=Fraction(2), delta=Fraction(delta))
    accountants = [PREDICTING[name] for name in (("basic",) if delta == "0" else ("zcdp", "analytic"))]
    return least_spread(PlannerInput(problem=problem, budget=budget, recipe=recipe, accountants=accountants))


@in_one_test("name", PLANS)
def test_a_plan_and_a_record_are_read_as_they_were_written_byte_for_byte(name):
    plan = planned(PLANS[name][0], **PLANS[name][1])
    drawn = PredictionRelease(
        plan=plan,
        numbers=np.array([3, -(2**60)]),
        figures=LearnedFigures(step=0.5, records=100, penalty=Fraction(1, 7), bound=Fraction(3, 8)),
        spent={"basic": plan.epsilon, "zcdp": None},
        private=True,
        counted=93,
    )
    session = PredictionRelease(
        plan=plan, numbers=np.array([1]), figures=LearnedFigures(step=0.5), spent={}, private=False, charged=plan.events
    )
    for document, part in (
        (prediction_plan_document(plan), PredictionPlanPart),
        (prediction_document(drawn, [("Guarantee", "x")]), PredictionRecord),
        (prediction_document(session, []), PredictionRecord),
        (prediction_document(drawn, [], "{}"), PredictionRecord),
    ):
        text = json.dumps(document)
        assert json.dumps(written(msgspec.convert(json.loads(text), part))) == text


DOMAIN = {
    "fields": [
        {"name": "place", "type": "string", "constraints": {"enum": ["a", "b"]}, "dpqr": {"otherwise": "drop"}},
        {"name": "buys", "type": "string", "constraints": {"enum": ["no", "yes"]}, "dpqr": {"otherwise": "drop"}},
        {"name": "age", "type": "integer", "dpqr": {"edges": [0, 9, 99], "otherwise": "drop", "outside": "clip"}},
    ]
}
KERNEL = {"name": "linear", "bandwidth": "1", "degree": 2, "features": None, "seed": 0}
MODEL = {
    "dpqr": "model/1",
    "domain_file": json.dumps(DOMAIN),
    "plan": {
        "target": {"name": "buys", "positive": "yes"},
        "learner": {"name": "logistic", "kernel": KERNEL},
    },
    "step": 0.5,
    "weights": [2, -2, 0, 1],
}
ODD = (None, [], {}, "", "x", -1, 0, 2.5, 1e999, 10**400, True, "1/0", "nan", ["a"], {"a": 1})


def read(tmp_path, document):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(document))
    return read_model(path)


def test_a_model_is_read_back(tmp_path):
    model = read(tmp_path, MODEL)
    assert model.weights.tolist() == [1, -1, 0, 0.5]
    assert model.columns.names == ("place", "age")


def places(document, path=()):
    for name, value in document.items():
        yield (*path, name)
        if isinstance(value, dict):
            yield from places(value, (*path, name))


@in_one_test("path", list(places(MODEL)))
def test_whatever_stands_in_a_field(tmp_path, path):
    for odd in ODD:
        changed = copy.deepcopy(MODEL)
        inner = changed
        for name in path[:-1]:
            inner = inner[name]
        inner[path[-1]] = odd
        with suppress(DocumentError):
            read(tmp_path, changed)


@in_one_test(
    "change",
    [
        {"plan": MODEL["plan"] | {"target": {"name": "age", "positive": None}}},
        {"plan": MODEL["plan"] | {"learner": {"name": "quantile", "kernel": KERNEL}}},
        {"weights": [2, -2, 0]},
        {"step": float("inf")},
    ],
)
def test_parts_that_do_not_go_together_are_refused(tmp_path, change):
    with pytest.raises(DocumentError, match="no model file"):
        read(tmp_path, MODEL | change)
