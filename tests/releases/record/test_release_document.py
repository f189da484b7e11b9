from __future__ import annotations

import json
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from support.cases import in_one_test
from support.handmade_release import make_plan, make_release
from support.plan_phases import changed, first, without

import dpqr
from dpqr import __version__
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import field_names, replace
from dpqr.releases.error_bounds import Certificate
from dpqr.releases.files.atomic import document_text
from dpqr.releases.fingerprints import plan_digest
from dpqr.releases.record.parts import Event, FigurePart, written
from dpqr.releases.record.plan_document import SEAL, PlanPart, plan_document, plan_hash, seal_document
from dpqr.releases.record.release_document import RoundPart, Synthetic, release_document
from dpqr.strategies.plan import Phase, Plan, StopTest
from dpqr.strategies.problem import Level, LockedPlan, Problem, PublicInputs
from dpqr.strategies.transcript import Round
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity
from dpqr.workload.partition import BucketMatrix

UNIT = "one row of the table added or removed (the number of rows is private)"
PLAN = {
    "dpqr": "plan/1",
    "version": __version__,
    "guarantee": f"Differentially private with epsilon = 1 (pure: delta = 0), for {UNIT}.",
    "unit": {"neighbours": "add-remove", "column": None, "max_rows": None, "counts": None, "words": UNIT},
    "n": None,
    "most": None,
    "persons": None,
    "budget": {"epsilon": {"exact": "1", "float": 1.0}, "delta": {"exact": "0", "float": 0.0}},
    "schedule": {"name": "rounds", "rounds": 2, "opening": True},
    "distinguisher": {"name": "permute-and-flip"},
    "check": {"name": "laplace"},
    "update": {"name": "multiplicative-weights"},
    "accountant": "basic",
    "asked": [],
    "domain": {
        "cells": 18,
        "columns": [
            {"name": "sex", "kind": "labels", "cells": 3, "own_cells": ["null"]},
            {"name": "age", "kind": "bins", "cells": 3, "own_cells": []},
            {"name": "region", "kind": "codes", "cells": 2, "own_cells": []},
        ],
        "facts": None,
    },
    "workload": {
        "queries": 19,
        "blocks": [
            {"name": "sex by age", "queries": 9, "columns": ["sex", "age"], "weight": "1", "grid": "1"},
            {"name": "cdf", "queries": 3, "columns": ["age"], "weight": "1", "grid": "1"},
            {"name": "young women", "queries": 1, "columns": ["sex", "age"], "weight": "1", "grid": "1"},
            {"name": "years", "queries": 3, "columns": ["sex", "age"], "weight": "1", "grid": "1/2"},
            {"name": "boxes", "queries": 2, "columns": ["age", "region"], "weight": "1", "grid": "1"},
            {"name": "all", "queries": 1, "columns": [], "weight": "1", "grid": "1"},
        ],
    },
    "opening": [["sex by age"]],
    "rounds": 2,
    "price": {
        "dropped": None,
        "opening": {"epsilon": {"exact": "1/5", "float": 0.2}},
        "selection": {"epsilon": {"exact": "2/25", "float": 0.08}},
        "measurement": {"epsilon": {"exact": "8/25", "float": 0.32}},
        "stages": [],
        "errors": None,
        "bounds": None,
    },
    "error_bars": True,
    "alpha": None,
    "promise": None,
    "beta": None,
    "level": None,
    "variant": None,
    "threshold": None,
    "events": [
        {"kind": "discrete-laplace", "sensitivity": 1, "scale": "5", "count": 1},
        {"kind": "permute-and-flip", "epsilon": "2/25", "count": 2},
        {"kind": "discrete-laplace", "sensitivity": 1, "scale": "25/8", "count": 2},
    ],
    "proved_epsilon": {"exact": "1", "float": 1.0},
    "forecast": [
        {"name": "sex by age", "queries": 9, "noise_deviation": 7.0, "error": None},
        {"name": "years", "queries": 3, "noise_deviation": 220.5, "error": None},
    ],
    "bytes": 2_500_000,
    "seed": 7,
    "notes": ["ages above 60 are clipped"],
}


def test_the_whole_plan(plan):
    document = plan_document(plan)
    assert {name: document.pop(name) for name in ("request", "draws")} == {"request": None, "draws": plan_digest(plan)}
    assert len(document.pop("sha256")) == 64
    assert document == PLAN


def test_every_field_of_a_plan_and_of_a_problem_has_its_place():
    """A new field must be written, or be left out on purpose, here. (expected, expected_at: for the choice among plans
    alone; counted: for plans that follow a count, which no record holds; part: for the schedule alone, whose note says
    it; start: the request names it by hash.)"""
    places = {
        Plan: "problem budget roles schedule phases stop epsilon forecast bytes notes named_roles error_bars inputs "
        "expected expected_at",
        Phase: "noun count price events blocks single part",
        StopTest: "threshold promise stages certain paper",
        Problem: "domain workload unit n most persons alpha beta level seed period turn start counted",
    }
    for kind, names in places.items():
        assert {*field_names(kind)} == {*names.split()}


def test_a_theory_plan_states_its_accuracy(plan):
    unit = PrivacyUnit(neighbours=Neighbours.REPLACE)
    level = Level(value=Fraction(1, 40), variant="sharp")
    problem = replace(plan.problem, unit=unit, n=4000, alpha=Fraction(1, 20), level=level)
    stop = StopTest(threshold=Fraction(150), promise="proved")
    document = plan_document(without(replace(plan, problem=problem, stop=stop), "opening"))
    figures = {"alpha": ("1/20", 0.05), "beta": ("1/20", 0.05), "level": ("1/40", 0.025), "threshold": ("150", 150.0)}
    for name, (exact, rounded) in figures.items():
        assert document[name] == {"exact": exact, "float": rounded}
    assert (document["n"], document["unit"]["neighbours"], document["variant"]) == (4000, "replace", "sharp")
    assert document["price"]["opening"] is None


def test_a_plan_in_stages_states_their_alphas_and_what_is_certain(plan):
    stages = (Fraction(1, 2), Fraction(2, 5))
    for certain, stated in ((None, None), (stages[0], {"exact": "1/2", "float": 0.5})):
        stop = StopTest(threshold=None, promise="proved", stages=stages, certain=certain, paper=stages[1])
        document = plan_document(replace(plan, stop=stop))
        assert [alpha["exact"] for alpha in document["stages"]] == ["1/2", "2/5"]
        assert (document["certain"], document["threshold"]) == (stated, None)
    assert not {"stages", "certain"} & set(plan_document(plan))


def test_prices_in_rho_and_approximate_budgets(plan):
    budget, bought = PrivacyBudget.parse("1", "1e-9"), Price(rho=Fraction(1, 3))
    priced = first(changed(plan, "selection", price=bought), Phase(noun="stage", count=1, price=bought))
    document = plan_document(without(replace(priced, budget=budget), "measurement"))
    assert document["price"]["stages"] == [document["price"]["selection"]]
    assert document["price"]["selection"]["rho"]["exact"] == "1/3"
    assert Fraction(document["price"]["selection"]["rho"]["float"]) >= Fraction(1, 3)
    assert document["price"]["measurement"] is None
    assert document["budget"]["delta"]["exact"] == "1/1000000000"
    assert "epsilon = 1 and delta = 1e-9" in document["guarantee"]


def test_merged_cells_are_told(release):
    factor = Factor(axes=(1,), sizes=(3,), matrix=BucketMatrix(Identity(2), np.array([0, 0, 1])))
    buckets = QueryBlock(name="buckets", factors=(factor,))
    first = release.transcript.rounds[0]
    told = replace(first.measurement, blocks=(buckets,), values=(np.array([5, 7]),))
    release.transcript.rounds[0] = replace(first, measurement=told)
    part = {"name": "buckets", "grid": "1", "values": [5, 7], "buckets": [[0, 2], [1, 1]]}
    assert release_document(release)["transcript"][0]["measured"] == [part]


def test_the_whole_release(release):
    synthetic = Synthetic(form="cells", bins="title")
    files = {"answers.csv": "a1" * 32, "synthetic.parquet": "b2" * 32}
    document = release_document(release, files=files, synthetic=synthetic)
    last = {
        "law": {
            "kind": "discrete-laplace",
            "scale": "25/8",
            "deviation": release.transcript.measurements[1].law.deviation,
        },
        "measured": [{"name": "years", "grid": "1/2", "values": [7, -2, 0]}],
    }
    first = {
        "law": {
            "kind": "discrete-laplace",
            "scale": "5",
            "deviation": release.transcript.measurements[0].law.deviation,
        },
        "measured": [{"name": "sex by age", "grid": "1", "values": [-4, -3, -2, -1, 0, 1, 2, 3, 4]}],
    }
    assert document == {
        "dpqr": "release/1",
        "version": __version__,
        "rehearsal": False,
        "versions": document["versions"],
        "date": None,
        "publisher": None,
        "private": True,
        "warning": None,
        "guarantee": PLAN["guarantee"],
        "unit": UNIT,
        "counts": None,
        "ledger": "none",
        "purpose": None,
        "by": None,
        "approved_by": None,
        "events": PLAN["events"],
        "spent": {
            "charged": "basic",
            "why": "the one theorem that holds without a delta",
            "delta": {"exact": "0", "float": 0.0},
            "epsilon": {
                "basic": {"exact": "1", "float": 1.0},
                "zcdp": None,
                "optimal": {"exact": "2/3", "float": 0.6666666666666667},
            },
            "phases": {
                "opening": {"basic": {"exact": "1/5", "float": 0.2}, "zcdp": None},
                "selection": {"basic": {"exact": "4/25", "float": 0.16}, "zcdp": None},
                "measurement": {"basic": {"exact": "16/25", "float": 0.64}, "zcdp": None},
            },
        },
        "certainty": document["certainty"],
        "receipt": [],
        "certificate": None,
        "intervals": document["intervals"],
        "error_bars": {
            "words": "Noise deviation and interval speak of the measured value beside them.",
            "refits": 0,
            "source": "refits alone",
            "factors": {},
            "predicted": {},
            "missing": None,
        },
        "dropped": None,
        "errors": None,
        "bounds": None,
        "trust": ["ages above 60 are clipped", "the fit is heuristic"],
        "hypothesis": {"kind": "tiny-hypothesis", "total": 26.5},
        "synthetic": {"form": "cells", "bins": "title"},
        "files": ["answers.csv", "synthetic.parquet"],
        "hashes": files,
        "sha256": document["sha256"],
        "plan": plan_document(release.plan),
        "transcript": [
            {"choice": None, "charges": [0], "stopped": False, **first},
            {"choice": 2, "charges": [1, 2], "stopped": False, **last},
            {"choice": 0, "charges": [3, 4], "stopped": False, **last},
        ],
    }
    assert document["certainty"].startswith("No certificate: this schedule has no stop test")


def test_what_is_promised_is_a_figure_and_a_sentence(release, plan):
    certificate = Certificate(records=12.03, fraction=0.0030075, confidence=0.95)
    document = release_document(replace(release, certificate=certificate, private=False))
    assert document["certificate"] == {"records": 12.03, "fraction": 0.0030075, "confidence": 0.95}
    assert document["certainty"].startswith("Certificate: with probability at least 0.95")
    assert (document["private"], document["guarantee"][:11]) == (False, "NOT PRIVATE")
    assert document["intervals"]["level"] == 0.95
    assert all(said in document["intervals"]["words"] for said in ("each single pair", "which no theorem covers"))
    for figure in document["spent"]["epsilon"].values():
        assert figure is None or Fraction(figure["float"]) >= Fraction(figure["exact"])
    stopped = Round(choice=0, measurement=None, charges=(0, 1), stopped=True)
    for bound in (None, 12.5):
        assert written(RoundPart.of(replace(stopped, bound=bound))).get("certified") == bound


def test_the_document_is_strict_json_and_always_the_same(release):
    text = document_text(release_document(release))
    assert json.loads(text) == release_document(release)
    assert text == document_text(release_document(make_release()))


def test_nothing_tells_time_or_place(release):
    def keys(value):
        if isinstance(value, dict):
            yield from value
        for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from keys(part)

    words = {f"{word}{end}" for word in ("second", "time", "elapsed", "host", "path") for end in ("", "s")}
    assert not words & {*keys(release_document(release))}


# The seal of plans and records.

DOCUMENT = {"b": [1, 0.5, None], "a": {"x": "é"}}


def test_a_seal_covers_every_part_and_no_order():
    seal = seal_document(DOCUMENT)[SEAL]
    assert seal_document({"a": {"x": "é"}, "b": [1, 0.5, None]})[SEAL] == seal
    assert seal_document({**DOCUMENT, SEAL: "another"})[SEAL] == seal
    assert seal_document(json.loads(json.dumps(DOCUMENT, indent=4)))[SEAL] == seal


@in_one_test("other", [{"b": [1, 0.5]}, {"b": [1, 0.25, None]}, {"a": {"x": "e"}}, {"c": None}])
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


@in_one_test("document", [{"kind": "x", "scale": "0.5"}, {"kind": "x", "count": -1}, {"count": 1}])
def test_events_are_exact(document):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(document, Event)
