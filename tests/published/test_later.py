"""Later answers: their errors cover, and nothing is claimed of what was never measured together."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.cases import in_one_test
from support.staged_runs import run
from support.verified_release import ASKED, changed, make

from dpqr.kernel.errors import DocumentError, GoalMissed, InfeasiblePlan, UsageFault
from dpqr.published.later import AnswerRequest, answer, answer_from_model
from dpqr.releases.files.atomic import document_text
from dpqr.releases.files.read_release import block_records, read_answers, read_figures, read_release
from dpqr.releases.planning import plan_release
from dpqr.releases.record.plan_document import seal_document
from dpqr.releases.requests import PlanRequest
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.workload import Workload

SIZES = {"a": 3, "b": 4, "c": 2}
COUNTS = np.random.default_rng(23).integers(200, 900, tuple(SIZES.values()))


def ended(seed=1, **options):
    queries = {"domain": SIZES, "queries": [{"marginal": ["a", "b"]}, {"marginal": ["c"]}]}
    plan = plan_release(PlanRequest(queries=queries, epsilon="1", **options))
    return plan, run(plan, seed=seed, counts=COUNTS)


def identity(*axes):
    return tuple(Factor.identity(axis, tuple(SIZES.values())[axis]) for axis in axes)


def some(axis, *cells):
    row = np.isin(np.arange(tuple(SIZES.values())[axis]), cells).astype(np.int64)[None, :]
    return Factor(axes=(axis,), sizes=row.shape[1:], matrix=Dense(row))


MEASURED = {"schedule": "strategy", "update": "multiplicative-weights"}
INSIDE = QueryBlock(name="inside", factors=(some(0, 0, 2), some(1, 1)))
ACROSS = QueryBlock(name="across", factors=identity(0, 2))


@pytest.mark.slow
def test_sums_of_a_measured_table_have_errors_and_nothing_is_claimed_across_tables():
    plan, outcome = ended(**MEASURED)
    asked = Workload((INSIDE, QueryBlock(name="b", factors=identity(1)), ACROSS))
    found = answer_from_model(plan, outcome, asked, {})
    for one, true in zip(found.answers, (COUNTS[[0, 2], 1].sum(), COUNTS.sum(axis=(0, 2))), strict=False):
        assert not np.isnan(one.error).any()
        assert (np.abs(one.estimate - true) < 6 * one.error).all()
    assert list(found.unknown) == ["across"]
    assert "'a' and 'c' were never measured together" in found.unknown["across"]
    assert np.isnan(found.answers[2].error).all()
    (same,) = answer_from_model(plan, outcome, Workload((INSIDE,)), {"marginal(a,b)": 3.0}).answers
    assert same.error.tolist() == found.answers[0].error.tolist(), "it was measured, so the factor is not about it"


def test_single_tables_refuse_what_they_do_not_join():
    plan, outcome = ended(schedule="strategy", update="least-squares")
    with pytest.raises(InfeasiblePlan, match="'a' and 'c' were never measured together"):
        answer_from_model(plan, outcome, Workload((ACROSS,)), {})
    (found,) = answer_from_model(plan, outcome, Workload((INSIDE,)), {}).answers
    assert abs(found.estimate[0] - COUNTS[[0, 2], 1].sum()) < 6 * found.error[0]


def test_rules_that_cannot_be_refitted_say_so():
    plan, outcome = ended(schedule="rounds", update="multiplicative-weights", rounds=2, replay=False)
    found = answer_from_model(plan, outcome, Workload((QueryBlock(name="one", factors=identity(0)),)), {})
    assert all("errors are not estimated" in words or "not measured" in words for words in found.unknown.values())
    assert np.isnan(found.answers[0].error).all() == bool(found.unknown)


# New questions on a release: its own answers where it has them, and errors where its draws show them.


OLD = Path(__file__).parents[1] / "old_releases"
ONE_TABLE = {**ASKED, "queries": [{"marginal": ["sex", "age"]}, {"marginal": ["income"]}]}


@pytest.fixture(scope="module")
def place(free_release):
    return free_release.release


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A release that measures a pair and a third column, and nothing that joins them."""
    options = {"schedule": "strategy", "rounds": None, "update": "multiplicative-weights", "queries": ONE_TABLE}
    return make(tmp_path_factory.mktemp("measured"), paid=False, **options).release


def asked(place, *entries):
    return answer(AnswerRequest(release=place, queries={"queries": list(entries)}))


def figures(block):
    return [{**record, "query": ""} for record in block_records(block)]


def test_questions_that_were_in_the_release_have_its_own_answers_bit_for_bit(place):
    files = read_release(place)
    names = [block["name"] for block in files.record["plan"]["workload"]["blocks"]]
    found = asked(
        place,
        *({**entry, "name": f"again {n}"} for n, entry in enumerate(ASKED["queries"][1:])),
        {"marginal": ["age", "sex"]},
    )
    assert found.released == {"again 0", "marginal(age,sex)"}
    assert figures(found.blocks[0]) == figures(read_answers(files, names[-1]))
    theirs = read_answers(files, "marginal(sex,age)")
    turned = theirs.chosen(np.arange(10).reshape(2, 5).T.reshape(-1))
    assert figures(found.blocks[1]) == figures(turned)


def test_new_questions_are_answered_by_the_released_model(measured):
    found = asked(measured, {"marginal": ["sex"]}, {"where": "sex = 'F' and age < 25"}, {"marginal": []})
    (pair,) = asked(measured, {"marginal": ["sex", "age"]}).blocks
    assert found.released == set()
    assert found.blocks[0].estimate == pytest.approx(pair.estimate.reshape(2, 5).sum(axis=1))
    assert found.blocks[1].estimate == pytest.approx(pair.estimate[:1])
    assert all(
        (block.lower <= block.estimate).all() and (block.estimate <= block.upper).all() for block in found.blocks
    )
    assert found.notes == ()


def test_what_the_model_cannot_know_is_said(measured):
    found = asked(measured, {"marginal": ["sex", "income"], "name": "pay by sex"})
    (note,) = found.notes
    assert note.startswith("pay by sex: 'sex' and 'income' were never measured together, so the model assumes how they")
    assert np.isnan(found.blocks[0].error).all()
    assert np.isnan(found.blocks[0].lower).all()
    assert not np.isnan(found.blocks[0].estimate).any()


def test_the_same_questions_in_sql(measured):
    sql = "SELECT SEX, COUNT(*) AS n FROM data WHERE income < 200 GROUP BY sex"
    one = answer(AnswerRequest(release=measured, queries={"sql": sql}))
    other = asked(measured, {"where": "income < 200", "by": ["sex"], "name": "n"})
    assert one.document() == other.document()


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"where": "income < 150"}, "150 cuts through the bin"),
        ({"marginal": ["day"]}, "the domain has no column 'day'"),
        ({"marginal": ["sex", "sex"]}, "stands twice"),
    ],
)
def test_cells_stay_those_of_the_release(place, entry, words):
    with pytest.raises(DocumentError, match=words) as refusal:
        asked(place, entry)
    assert "the release holds the columns 'sex', 'age', 'income', in its own cells" in str(refusal.value)


def test_several_faults_are_listed_one_by_one(place):
    with pytest.raises(DocumentError) as refusal:
        asked(place, {"marginal": ["day"]}, {"average": "age"})
    assert len(refusal.value.faults) == 2


@in_one_test("version", ["0.1.0", "0.2.0", "0.3.0", None])
def test_older_releases_hold_no_model(version):
    said = "holds no model that can be asked: " if version else "is no release directory"
    with pytest.raises(UsageFault, match=said):
        asked(str(OLD / (version or "nowhere")), {"marginal": []})


def test_a_changed_release_answers_nothing(place):
    answers = Path(place) / "answers.csv"
    with changed(answers, answers.read_bytes().replace(b"1", b"2", 1)), pytest.raises(GoalMissed):
        asked(place, {"marginal": []})


def test_another_version_is_told_to_answer(place):
    record = Path(place) / "release.json"
    document = json.loads(record.read_text())
    document["version"] = "0.5.9"
    document["transcript"].pop()
    with changed(record, document_text(seal_document(document)).encode()), pytest.raises(UsageFault) as refusal:
        asked(place, {"marginal": ["income"], "name": "pay"}, {"where": "income < 100 or age < 50"})
    assert "dpqr 0.5.9 made it and can repeat its model" in str(refusal.value)


FIGURES = {
    **ASKED,
    "queries": [
        {"marginal": ["sex", "age"]},
        {"mean": "income", "by": ["sex"], "name": "pay"},
        {"median": "age", "name": "middle"},
        {"top": "age", "k": 2, "name": "often"},
        {"proportion": "sex = 'F'", "by": ["age"], "name": "women"},
    ],
}


@pytest.fixture(scope="module")
def with_figures(tmp_path_factory):
    options = {"schedule": "marginals", "rounds": None, "queries": FIGURES}
    return make(tmp_path_factory.mktemp("figures"), paid=False, **options).release


def test_figures_of_the_release_are_its_own(with_figures):
    found = asked(with_figures, *({**entry, "name": f"again {n}"} for n, entry in enumerate(FIGURES["queries"][1:])))
    assert found.released == {f"again {n}" for n in range(4)}
    theirs = read_figures(read_release(with_figures))
    assert [{**one, "figure": ""} for one in found.figures] == [{**one, "figure": ""} for one in theirs]


def test_new_figures_are_those_of_the_model(with_figures):
    found = asked(with_figures, {"median": "age", "by": ["sex"]}, {"quantiles": "age", "at": [0.5, 0.9], "name": "q"})
    own = [one for one in read_figures(read_release(with_figures)) if one["figure"] == "middle"]
    assert found.released == set()
    assert {one["figure"] for one in found.figures} == {"median(age) by sex", "q"}
    (half, _) = [one for one in found.figures if one["figure"] == "q"]
    assert half["estimate"] == pytest.approx(own[0]["estimate"], rel=0.2)
    assert all(one["lower"] <= one["estimate"] <= one["upper"] for one in found.figures)


def test_a_figure_across_tables_has_no_interval(with_figures):
    found = asked(with_figures, {"mean": "income", "by": ["age"], "name": "pay by age"})
    assert any("never measured together" in note or "not measured one by one" in note for note in found.notes)
    assert {(one["error"], one["lower"], one["upper"], one["basis"], one["flag"]) for one in found.figures} == {
        (None, None, None, None, None)
    }
