"""The form of a plan's document."""

from __future__ import annotations

import json

import msgspec
import pytest

import dpqr
from dpqr.releases.record.parts import Event, FigurePart
from dpqr.releases.record.plan_document import PlanPart

ASKED = {"queries": {"queries": [{"marginal": ["a"]}]}, "domain": {"a": 2}}


def test_a_plan_of_today_fits():
    document = json.loads(json.dumps(dpqr.plan(**ASKED, eps="0.5").record))
    found = msgspec.convert(document, PlanPart)
    assert (found.budget.epsilon, found.workload.queries) == (FigurePart(exact="1/2", rounded=0.5), 2)


@pytest.mark.parametrize("document", [{"kind": "x", "scale": "0.5"}, {"kind": "x", "count": -1}, {"count": 1}])
def test_events_are_exact(document):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(document, Event)
