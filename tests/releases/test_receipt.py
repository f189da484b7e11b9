import json
import os
from fractions import Fraction

import pytest
from support.cases import in_one_test
from support.handmade_release import make_plan, make_stopped_release, make_theory_plan
from support.plain_screen import printed
from support.plan_phases import changed, first, without

from dpqr.kernel.accountants.fixed_schedules import Advanced
from dpqr.kernel.accountants.sums import Basic, ZeroConcentrated
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.events import DiscreteLaplaceEvent, ExponentialEvent, PermuteAndFlipEvent, PureSumEvent
from dpqr.kernel.values import replace
from dpqr.releases.draws import phases, priced_phases
from dpqr.releases.files import atomic as record
from dpqr.releases.files.atomic import RECORD, document_text, read_record
from dpqr.releases.receipt import receipt
from dpqr.releases.sentences import choice_words
from dpqr.report.html import facts
from dpqr.strategies.plan import Phase
from dpqr.strategies.schedules.drafts import search_phases

ROUNDS = """\
Guarantee    Differentially private with epsilon = 1 (pure: delta = 0), for one row of the table
             added or removed (the number of rows is private).
             It covers this run alone: no ledger was used, and the costs of several releases of one
             table add up.
Opening      1 measurement, eps 0.2
Selection    2 draws, each eps 0.08, together eps 0.16
Measurement  2 draws, each eps 0.32, together eps 0.64
Total        basic: eps 1 (charged) [opening 0.2, selection 0.16, measurement 0.64]
             zcdp: does not cover this run
             optimal: eps 0.6667
             figures in brackets: each phase by itself; only those of basic add up to the total
Charged      by basic: the one theorem that holds without a delta; the others are shown for
             comparison
Accuracy     No certificate: this schedule has no stop test, so no bound on the error of all answers
             was bought. Noise deviation and interval speak of the measured value beside them.
Note         1 measurement came first. Then the Iterative Construction ran 2 rounds: each chose what
             lay furthest from its model, up to noise, and measured it. The answers to 6 questions
             follow from the model.
Note         ages above 60 are clipped
Note         the fit is heuristic
"""
STOPPED = """\
Guarantee    Differentially private with epsilon = 0.5 and delta = 1e-9, for one row of the table
             replaced by another (the number of rows is public).
             It covers this run alone: no ledger was used, and the costs of several releases of one
             table add up.
Selection    26,616 draws, each rho 1e-7, together rho 0.002662
Measurement  26,616 draws, each rho 4e-7, together rho 0.01065
Stop test    costs nothing of its own: it compares what the measurements released
             the loop ended by its stop test after 3 rounds; the guarantee is that of the whole
             schedule; a ledger gives back at most what was not drawn
Total        basic: does not cover this run
             zcdp: eps 0.3334 (charged) [selection 0.1, measurement 0.3]
             figures in brackets: each phase by itself; only those of basic add up to the total
Charged      by zcdp: of those that go with --check, the one whose plan is expected to err least;
             the others are shown for comparison
Accuracy     Certificate: with probability at least 0.95, over the noise of this run, none of the 19
             estimates is off by more than 198.005 records (0.04951 of the declared n).
Note         1 measurement came first. Then the Iterative Construction ran 2 rounds: each chose what
             lay furthest from its model, up to noise, and measured it. The answers to 6 questions
             follow from the model.
"""


def receipt_view(release):
    return facts(receipt(release))


def test_the_whole_receipt_which_every_terminal_can_show(release):
    for made, text in ((release, ROUNDS), (make_stopped_release(), STOPPED)):
        assert printed(receipt_view(made)) == text
        assert text.isascii()


def replanned(release, **changed):
    return replace(release, plan=replace(release.plan, **changed))


def of_prices(release):
    """As a workload of twelve one-way marginals has them."""
    shares = (Fraction(1, 20), Fraction(1, 8), Fraction(1, 10))
    phases = (replace(release.plan.phases[0], price=Price(epsilon=share)) for share in shares)
    return replanned(release, phases=tuple(phases))


def of_advanced(release):
    made = of_prices(release)
    return replanned(made, roles=replace(made.plan.roles, accountant=Advanced()))


def staged(release):
    prices = (Price(epsilon=Fraction(1, 5)), Price(epsilon=Fraction(3, 5)))
    stages = (Phase(noun="stage", count=1, price=price) for price in prices)
    return replanned(release, phases=search_phases((*release.plan.named("opening"), *stages), prices[0]))


def sought(release):
    return replanned(release, phases=search_phases(release.plan.phases, Price(epsilon=Fraction(1))))


def ended_early(_):
    made = make_stopped_release()
    made.transcript.rounds[-1] = replace(made.transcript.rounds[-1], stopped=False)
    return replace(made, certificate=None)


CHARGED = (
    "Charged epsilon 0.4975, for the draws that were made; the rest is back in the budget, and the guarantee stays "
    "that of the whole plan by basic: the one theorem that holds without a delta; the others are shown for comparison"
)
LINES = [
    (of_prices, "Opening 3 measurements, each eps 0.05 to 0.125, together eps 0.275 ", "Selection"),
    (of_advanced, "Opening 3 measurements, each eps 0.05 to 0.125 ", "together"),
    (staged, "Later 2 measurements, together eps 0.8", "Selection"),
    (sought, "at prices that followed what was released, together at most eps 0.8", "Selection"),
    (lambda release: replace(release, charged="epsilon 0.4975"), "Total basic: eps 1 (reserved) [", "(charged)"),
    (lambda release: replace(release, charged="epsilon 0.4975"), CHARGED, "(charged)"),
    (lambda release: replace(release, private=False), "Guarantee NOT PRIVATE", "epsilon"),
    (ended_early, "the loop ended early after 3 rounds; the guarantee is that of the whole schedule; a ledger", "0.95"),
    (ended_early, "No certificate: the loop ended without meeting its stop test", "Certificate: with"),
]


@pytest.mark.parametrize(("change", "said", "unsaid"), LINES)
def test_a_line_of_a_receipt(release, change, said, unsaid):
    words = " ".join(printed(receipt_view(change(release))).split())
    assert said in words
    assert unsaid not in words
    assert words.count("Opening") <= 1


# Phases: every planned event belongs to one, and each is priced by itself.

COUNT = (DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(50), coordinates=1), 1)
COUNTED = Phase(noun="left out", count=1, price=Price(epsilon=Fraction(1, 50)), events=(COUNT,))


def test_phases_are_told_apart_and_those_of_one_noun_priced_together():
    """A count of what was left out comes first; a search is one phase."""
    plan = make_plan()
    opening, chosen, measured = plan.events
    alone = {"opening": (opening,), "selection": (chosen,), "measurement": (measured,)}
    assert phases(plan) == alone
    assert phases(without(plan, "selection", "measurement")) == {"opening": (opening,)}
    assert phases(first(plan, COUNTED)) == {"left out": (COUNT,), **alone}
    assert phases(first(first(plan, COUNTED), COUNTED))["left out"] == (COUNT, COUNT)
    searching = replace(plan, phases=search_phases(plan.phases, Price(epsilon=Fraction(1))))
    sought = ((PureSumEvent(epsilon=Fraction(1)), 1),)
    assert phases(first(searching, COUNTED)) == {"left out": (COUNT,), "search": sought}


@in_one_test("plan", [make_plan(), make_theory_plan()])
def test_no_event_is_lost_or_counted_twice(plan):
    assert sorted(event for part in phases(plan).values() for event in map(str, part)) == sorted(map(str, plan.events))


def test_the_phases_of_basic_composition_add_up_to_the_total():
    plan = replace(make_plan(), budget=PrivacyBudget.parse("1", "1e-6"))
    costs = priced_phases(plan, {"basic": Basic(), "zcdp": ZeroConcentrated()})
    assert sum(phase["basic"] for phase in costs.values()) == Basic().epsilon(plan.events, plan.budget.delta) == 1
    total = ZeroConcentrated().epsilon(plan.events, plan.budget.delta)
    assert max(phase["zcdp"] for phase in costs.values()) < total < sum(phase["zcdp"] for phase in costs.values())


def test_a_selection_is_one_whichever_distinguisher_draws_it():
    plan = make_plan()
    for event in (ExponentialEvent(epsilon=Fraction(1, 9)), PermuteAndFlipEvent(epsilon=Fraction(1, 9))):
        made = changed(plan, "selection", count=4, events=((event, 4),))
        assert phases(made)["selection"] == ((event, 4),)


def test_every_phase_is_priced_at_the_plans_own_delta():
    plan = replace(make_plan(), budget=PrivacyBudget.parse("1", "1e-6"))
    zcdp = ZeroConcentrated()
    costs = priced_phases(plan, {"zcdp": zcdp})
    for phase, events in phases(plan).items():
        assert costs[phase]["zcdp"] == zcdp.epsilon(events, Fraction(1, 10**6))


@in_one_test(
    ("asked", "delta", "words"),
    [
        ({"accountant", "check"}, "1e-9", "asked for by --accountant or by the budget"),
        ({"accountant"}, None, "asked for by --accountant"),
        (set(), None, "the one theorem that holds without a delta"),
        ({"check"}, None, "the one theorem that holds without a delta"),
        (set(), "1e-9", "of those allowed, the one whose plan is expected to err least"),
        (
            {"distinguisher", "check"},
            "1e-9",
            "of those that go with --check and --distinguisher, the one whose plan is expected to err least",
        ),
    ],
)
def test_the_reason_for_an_accountant_names_who_chose_it(asked, delta, words):
    assert (
        choice_words(replace(make_plan(), named_roles=frozenset(asked), budget=PrivacyBudget.parse("1", delta)))
        == words
    )


def test_a_record_is_read_as_it_was_written_and_what_is_no_json_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_record(tmp_path)
    (tmp_path / RECORD).write_text('{"dpqr": "release/1", "files": ["a: {b} [c]"]}')
    assert read_record(tmp_path) == {"dpqr": "release/1", "files": ["a: {b} [c]"]}
    for text in ("", "{", "[" * 10**5, "nothing"):
        (tmp_path / RECORD).write_text(text)
        with pytest.raises(ValueError, match=r"Expecting|deeper"):
            read_record(tmp_path)


@in_one_test("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_what_is_no_file_is_not_opened(tmp_path, make):
    make(tmp_path / RECORD)
    with pytest.raises(ValueError, match="no regular file"):
        read_record(tmp_path)


@in_one_test(("limit", "most"), [("LONGEST", 40), ("MOST_PARTS", 7)])
def test_the_limits(tmp_path, monkeypatch, limit, most):
    """40 signs; of lists, objects and members 7."""
    (tmp_path / RECORD).write_text('{"a":[1,[2]],"b":{},"c":"' + "d" * 13 + '"}')
    monkeypatch.setattr(record, limit, most)
    assert read_record(tmp_path)["c"] == "d" * 13
    monkeypatch.setattr(record, limit, most - 1)
    with pytest.raises(ValueError, match="record"):
        read_record(tmp_path)


DOCUMENT = {"a": 1, "list": [1, 2, 3], "none": None, "deep": {"rows": [{"x": []}, {"é": {}}], "pair": [[1, 2], [3]]}}


def test_lists_of_plain_values_keep_to_one_line_and_no_nan_is_written():
    assert document_text({"v": [1, None, "x"], "w": [{"y": 2}]}) == (
        '{\n  "v": [1, null, "x"],\n  "w": [\n    {\n      "y": 2\n    }\n  ]\n}\n'
    )
    with pytest.raises(ValueError, match="not JSON compliant"):
        document_text({"x": [float("nan")]})


@in_one_test("document", [DOCUMENT, {}, [], [[], {}], "text", 10**30])
def test_the_text_is_the_document(document):
    assert json.loads(document_text(document)) == document
