"""The seal of plans and records; `test_release_document.py` looks at what stands in them."""

from __future__ import annotations

import json

import msgspec
import pytest
from support.handmade_release import make_plan

import dpqr
from dpqr.kernel.values import replace
from dpqr.releases.record.parts import Event, FigurePart
from dpqr.releases.record.plan_document import SEAL, PlanPart, plan_document, plan_hash, seal_document
from dpqr.strategies.problem import LockedPlan, PublicInputs

DOCUMENT = {"b": [1, 0.5, None], "a": {"x": "é"}}


def test_a_seal_covers_every_part_and_no_order():
    seal = seal_document(DOCUMENT)[SEAL]
    assert seal_document({"a": {"x": "é"}, "b": [1, 0.5, None]})[SEAL] == seal
    assert seal_document({**DOCUMENT, SEAL: "another"})[SEAL] == seal
    assert seal_document(json.loads(json.dumps(DOCUMENT, indent=4)))[SEAL] == seal


@pytest.mark.parametrize("other", [{"b": [1, 0.5]}, {"b": [1, 0.25, None]}, {"a": {"x": "e"}}, {"c": None}], ids=str)
def test_any_other_part_has_another_seal(other):
    assert seal_document({**DOCUMENT, **other})[SEAL] != seal_document(DOCUMENT)[SEAL]


def test_a_locked_plan_is_repeated():
    plan = make_plan()
    assert plan_document(plan) == seal_document(plan_document(plan))
    assert plan_hash(plan) == plan_document(plan)[SEAL]
    locked = seal_document({**plan_document(plan), "forecast of its own": 1})
    inputs = PublicInputs(request={}, locked=LockedPlan(name="plan.json", document=locked))
    assert plan_document(replace(plan, inputs=inputs)) == locked
    assert plan_document(replace(plan, inputs=PublicInputs(request={"x": 1})))["request"] == {"x": 1}


# The form of a plan's document.


ASKED = {"queries": {"queries": [{"marginal": ["a"]}]}, "domain": {"a": 2}}


def test_a_plan_of_today_fits():
    document = json.loads(json.dumps(dpqr.plan(**ASKED, eps="0.5").record))
    found = msgspec.convert(document, PlanPart)
    assert (found.budget.epsilon, found.workload.queries) == (FigurePart(exact="1/2", rounded=0.5), 2)


@pytest.mark.parametrize("document", [{"kind": "x", "scale": "0.5"}, {"kind": "x", "count": -1}, {"count": 1}])
def test_events_are_exact(document):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(document, Event)
