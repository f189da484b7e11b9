"""Checks of a release part by part: whatever a check reads must be able to fail it, each part by itself."""

import csv
import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.cases import in_one_test

import dpqr
from dpqr.kernel.accountants.known import PREDICTING, available
from dpqr.kernel.budget import upward
from dpqr.kernel.errors import GoalMissed
from dpqr.kernel.events import AboveThresholdEvent, ExponentialEvent
from dpqr.published import checks as checks_of_draws
from dpqr.published import checks as checks_of_ledger
from dpqr.published import prediction_checks as checks_of_predictions
from dpqr.published.checks import names_plan
from dpqr.published.evidence import NotRepeated, ReleaseEvidence, Sameness
from dpqr.published.repeat import _require_order
from dpqr.releases.files.release_files import CUMULATIVE, FIGURES_FILE, VIEWS_FILE
from dpqr.releases.record.parts import versions_part
from dpqr.releases.record.plan_document import SEAL, seal_document

ANSWERS = "answers.csv"
FILES = [f"{FIGURES_FILE}csv", f"{VIEWS_FILE}csv", f"{CUMULATIVE}.csv"]


@pytest.fixture
def twice(tmp_path):
    """Two directories of equal files, and the evidence that they are."""
    for directory in ("kept", "made"):
        (tmp_path / directory).mkdir()
        for name in (ANSWERS, *FILES):
            (tmp_path / directory / name).write_text("query,estimate\na,1.0\nb,2.0\n")
    return tmp_path


def evidence_of(twice, *, near=0, versions=None):
    return SimpleNamespace(
        path=twice / "kept",
        made=(twice / "made", None),
        record=SimpleNamespace(files=(ANSWERS, *FILES), version=dpqr.__version__),
        document={"versions": versions or versions_part()},
        answers=Sameness(compared=2, near=near),
    )


ELSEWHERE = {**versions_part(), "numpy": "0.1"}


def test_equal_files_of_every_kind_are_compared(twice):
    assert checks_of_draws.figures_and_views(evidence_of(twice)) == "6 rows equal bit for bit"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("versions", [None, ELSEWHERE], ids=["here", "elsewhere"])
def test_a_file_that_the_answers_do_not_give_is_found_whatever_versions_the_record_names(twice, name, versions):
    """Where the answers are equal bit for bit, so are figures, views and sums."""
    (twice / "kept" / name).write_text("query,estimate\na,1.0\nb,3.0\n")
    with pytest.raises(GoalMissed):
        checks_of_draws.figures_and_views(evidence_of(twice, versions=versions))
    (twice / "kept" / name).write_text("query,other\na,1.0\nb,2.0\n")
    with pytest.raises(GoalMissed, match="query, other"):
        checks_of_draws.figures_and_views(evidence_of(twice, versions=versions))


@pytest.mark.parametrize("name", FILES)
def test_where_the_answers_end_a_little_elsewhere_the_files_cannot_be_repeated(twice, name):
    """That is no success within the tolerance: rows that differ may differ by anything."""
    (twice / "kept" / name).write_text("query,estimate\na,1.0\nb,3.0\n")
    with pytest.raises(NotRepeated) as found:
        checks_of_draws.figures_and_views(evidence_of(twice, near=1, versions=ELSEWHERE))
    assert found.value.accepted == "not checked"


def session_table(path, predictions, scores=None):
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["prediction", *(["score"] if scores else [])])
        rows.writerows(zip(predictions, *([scores] if scores else []), strict=True))


def predicted(path, draws, *, target=None, learner="logistic", count=3):
    plan = {"learner": {"name": learner}, "target": {"positive": "yes"}}
    document = {"draws": draws, "plan": plan, "events": [{"count": count}]}
    return SimpleNamespace(document=document, path=path)


STEP = 0.25


@in_one_test("changed", [None, 0, 1, 2, "score"])
def test_every_label_and_score_follows_from_its_draw(tmp_path, changed):
    numbers, labels = [3, -1, 2], ["yes", "no", "yes"]
    scores = [number * STEP for number in numbers]
    if isinstance(changed, int):
        labels[changed] = {"yes": "no", "no": "yes"}[labels[changed]]
    elif changed:
        scores[1] *= 1 + 1e-9
    session_table(tmp_path / "p.csv", labels, scores)
    evidence = predicted(tmp_path / "p.csv", {"numbers": numbers, "step": STEP})
    if changed is None:
        assert checks_of_predictions.draws(evidence).startswith("3 predictions follow")
    else:
        with pytest.raises(GoalMissed, match="not those that the recorded draws give"):
            checks_of_predictions.draws(evidence)


@in_one_test("factor", [1, 1 + 1e-14, 1 + 1e-9, 0.95])
def test_every_number_follows_from_its_draw_to_the_last_digits(tmp_path, factor):
    """In the target's own unit, clipped to its bounds."""
    draws = {"numbers": [1, -2, 9], "step": STEP, "bounds": [10.0, 20.0]}
    values = [15 + 5 * max(-1.0, min(1.0, number * STEP)) for number in draws["numbers"]]
    session_table(tmp_path / "p.csv", [values[0], values[1] * factor, values[2]])
    evidence = predicted(tmp_path / "p.csv", draws, learner="least-squares")
    if abs(factor - 1) < 1e-12:
        checks_of_predictions.draws(evidence)
    else:
        with pytest.raises(GoalMissed, match="not those that the recorded draws give"):
            checks_of_predictions.draws(evidence)


@in_one_test(("shown", "count"), [(2, 3), (4, 3), (3, 2)])
def test_as_many_predictions_as_draws_that_were_charged(tmp_path, shown, count):
    session_table(tmp_path / "p.csv", (["yes"] * 4)[:shown], ([0.25] * 4)[:shown])
    evidence = predicted(tmp_path / "p.csv", {"numbers": [1, 1, 1], "step": STEP}, count=count)
    with pytest.raises(GoalMissed, match="more or fewer predictions than draws"):
        checks_of_predictions.draws(evidence)


EVENTS = ((ExponentialEvent(epsilon=Fraction(1, 4)), 4),)


def priced(**changed):
    budget = {"epsilon": {"exact": "1"}, "delta": {"exact": "0"}}
    prices = {name: one.epsilon(EVENTS, Fraction(0)) for name, one in available(PREDICTING).items()}
    spent = {
        name: None if cost is None else {"exact": str(cost), "float": upward(cost)} for name, cost in prices.items()
    }
    plan = {"budget": budget, "accountant": "basic"}
    document = {"spent": spent | changed, "plan": plan, "version": dpqr.__version__}
    return SimpleNamespace(document=document, planned=EVENTS)


@in_one_test("factor", ["1/2", "999/1000", "1", "1001/1000", "2"])
def test_predictions_state_the_price_of_their_events_and_no_higher_one(factor):
    evidence = priced(basic={"exact": factor, "float": 1.0})
    if factor == "1":
        assert "under basic" in checks_of_predictions.prices(evidence)
    else:
        with pytest.raises(GoalMissed, match="under basic the events cost epsilon 1: another is stated"):
            checks_of_predictions.prices(evidence)


def epochs(count):
    return (
        (
            AboveThresholdEvent(sensitivity=1, threshold_scale=Fraction(1), answer_scale=Fraction(1), directions=1),
            count,
        ),
    )


def test_every_process_starts_from_the_draws_that_were_made_before_it():
    """As many noisy answers as earlier asks had, no fewer surprises, and no more thresholds than were paid by then."""
    asks, surprises, paid = 3, ((0, 0, 0, 1), (1, 0, 0, -1)), 4
    for ask, measured, surprised, sides, opened in product(range(asks), range(4), range(4), range(3), range(6)):
        before = sum(each < ask for each, *_ in surprises)
        sound = SimpleNamespace(sides=(), epochs=0, measured=0, surprises=3)
        starts = [
            SimpleNamespace(**{**vars(sound), "measured": sum(each < place for each, *_ in surprises)})
            for place in range(asks)
        ]
        starts[ask] = SimpleNamespace(sides=(1, -1)[:sides], epochs=opened, measured=measured, surprises=surprised)
        stated = SimpleNamespace(asks=[SimpleNamespace(start=start) for start in starts], surprises=surprises)
        if measured == before and surprised >= before and sides <= opened <= paid:
            _require_order(stated, epochs(paid))
        else:
            with pytest.raises(GoalMissed, match=f"ask {ask}: starts from other draws"):
                _require_order(stated, epochs(paid))


def test_a_record_has_one_text(free_release, tmp_path):
    """A letter and its escape mean the same, and blanks between parts alone mean nothing."""
    sound = ReleaseEvidence(free_release, tmp_path).path / "release.json"
    text = sound.read_text()
    try:
        sound.write_text(text.replace('"dpqr', '"\\u0064pqr', 1))
        assert json.loads(sound.read_text()) == json.loads(text)
        with pytest.raises(GoalMissed, match="is not written as dpqr writes it"):
            _ = ReleaseEvidence(free_release, tmp_path).document
        sound.write_text(text.replace("\n", "\n   "))
        assert ReleaseEvidence(free_release, tmp_path).document == json.loads(text)
    finally:
        sound.write_text(text)


@pytest.mark.parametrize("part", ["budget", "events"])
def test_a_session_follows_a_locked_plan_of_its_own_budget_and_events(free_release, part):
    kept = json.loads(Path(free_release.plan).read_text())
    followed = {**kept, "workload": {"blocks": []}}
    evidence = SimpleNamespace(
        request=free_release, document={"plan": followed}, of_session=True, questions=SimpleNamespace(plan=kept[SEAL])
    )
    assert kept[SEAL] in checks_of_ledger.locked_plan(evidence)
    followed[part] = None
    with pytest.raises(GoalMissed, match="is another plan"):
        checks_of_ledger.locked_plan(evidence)
    followed[part] = kept[part]
    evidence.questions.plan = seal_document({**kept, "seed": 9})[SEAL]
    with pytest.raises(GoalMissed, match="is another plan"):
        checks_of_ledger.locked_plan(evidence)


def test_a_plan_is_named_by_all_of_its_hash():
    paid = SimpleNamespace(plan="a" * 64)
    assert names_plan(paid, "a" * 64, "0.11.0")
    for place in range(64):
        other = "a" * place + "b" + "a" * (63 - place)
        assert not names_plan(paid, other, "0.11.0")
    nothing = SimpleNamespace(plan="")
    assert [names_plan(nothing, "a" * 64, version) for version in ("0.9.0", "0.10.0")] == [True, False]
