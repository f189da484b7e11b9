import math
import re
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
from strategies.schedules.marginals.test_forecasts_after_one_way import RECORDS, asked, rounds, searching, shown
from support.cases import in_one_test
from support.handmade_release import make_plan, make_release, make_stopped_release

import dpqr
from dpqr.domain.attribute import Attribute, Bins, Rule
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.models.compound import ModelAverage
from dpqr.models.hypothesis import DenseDistribution
from dpqr.releases.draws import DroppedCount
from dpqr.releases.error_bounds import Certificate
from dpqr.releases.sentences import (
    _hardly_read,
    budget_words,
    certainty,
    guarantee,
    left_out_warning,
    odds_words,
    parallel_words,
    planner_note,
    reader_notes,
    release_guarantee,
)
from dpqr.strategies.schedules.marginals.decision import WORDS
from dpqr.strategies.schedules.marginals.schedule import COUNT, SINGLES, Marginals
from dpqr.strategies.schedules.split import DROPPED
from dpqr.strategies.transcript import Transcript
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.workload import Measurement


def test_the_guarantee_names_the_definition_its_figures_and_the_unit():
    """Figures as typed, and rounded up where they have no short decimal."""
    assert guarantee(make_plan()) == (
        "Differentially private with epsilon = 1 (pure: delta = 0), for one row of the table added or removed (the "
        "number of rows is private)."
    )
    words = budget_words(PrivacyBudget.parse("0.1234567", "1e-30"))
    assert words == "Differentially private with epsilon = 0.1234567 and delta = 1e-30"
    assert "epsilon = 0.333333333334 " in budget_words(PrivacyBudget(Fraction(1, 3)))


def test_only_private_noise_gives_a_guarantee():
    release = make_release()
    assert release_guarantee(release) == guarantee(release.plan)
    assert release_guarantee(replace(release, private=False)).startswith("NOT PRIVATE")


@in_one_test(
    ("records", "fraction", "words"),
    [
        (198.00400001, 0.0495000001, "off by more than 198.005 records (0.04951 of the declared n)."),
        (3.0, None, "off by more than 3 records."),
        (152_662_123.2, None, "more than 152,662,124 records."),
        (None, None, "without meeting its stop test"),
    ],
)
def test_a_bound_is_never_shown_too_small(records, fraction, words):
    certificate = records and Certificate(records=records, fraction=fraction, confidence=0.95)
    assert words in certainty(replace(make_stopped_release(), certificate=certificate))
    assert "has no stop test" in certainty(make_release())


@in_one_test(
    ("beta", "shown"),
    [("1/20", "0.95"), ("1/10", "0.9"), ("1e-5", "0.99999"), ("1/3", "0.666666666"), ("1e-12", "0.999999999")],
)
def test_a_probability_is_never_shown_too_large(beta, shown):
    """One in a hundred thousand that it does not hold is not never."""
    confidence = float(1 - Fraction(beta))
    certificate = Certificate(records=3.0, fraction=None, confidence=confidence)
    assert f"at least {shown}, over" in certainty(replace(make_stopped_release(), certificate=certificate))


@in_one_test("delta", ["1.7e-9", "1e-30", "0.000123456789"])
def test_a_delta_is_told_as_it_was_typed(delta):
    assert float(budget_words(PrivacyBudget.parse("1", delta)).rpartition(" ")[2]) == float(delta)
    assert "delta = 3.33333333334e-10" in budget_words(PrivacyBudget(Fraction(1), Fraction(1, 3 * 10**9)))


@in_one_test(
    ("unit", "free"),
    [
        (PrivacyUnit(), True),
        (PrivacyUnit(neighbours=Neighbours.REPLACE), False),
        (PrivacyUnit(columns=("person",)), False),
        (PrivacyUnit(columns=("person",), rows=3), False),
    ],
)
def test_a_count_is_called_free_where_a_unit_lies_in_one_part_alone(unit, free):
    assert ("free" in parallel_words(unit)) == free


def counted(found, scale):
    law = DiscreteLaplace(Fraction(scale))
    drawn = Measurement(blocks=(DROPPED,), values=(np.array([found]),), law=law)
    return replace(make_release(), dropped=DroppedCount(measurement=drawn, charge=0))


def test_a_warning_needs_more_than_a_twentieth_and_more_than_noise():
    """The hypothesis has 26.5 records; noise alone is beyond its 1% tail, on either side, once in a hundred runs."""
    assert left_out_warning(replace(make_release(), dropped=None)) is None
    assert left_out_warning(counted(1, "1/100")) is None
    assert "about 2 of 28 records" in left_out_warning(counted(2, "1/100"))
    tail = DiscreteLaplace(Fraction(10)).tail(0.01)
    assert tail > 30
    assert left_out_warning(counted(tail, 10)) is None
    assert left_out_warning(counted(tail + 1, 10)) is not None


# For readers: odds, notes, and a warning where hardly any rows were used.


@in_one_test(
    ("epsilon", "delta", "words"),
    [
        ("1", "0", "stands at most 2.719 to 99 afterwards, whatever else a reader knows or computes"),
        (
            "1",
            "1/1000000",
            "stands at most 7.39 to 99 afterwards, whatever else a reader knows or computes, except with a",
        ),
        ("14", "0", "stands a million or more to 99 afterwards"),
    ],
)
def test_the_odds_of_a_guess(epsilon, delta, words):
    assert words in odds_words(Fraction(epsilon), Fraction(delta))


def test_the_odds_under_delta_hold_for_the_worst_pair_of_laws():
    """Randomised response of an (eps, delta)-private mechanism: all four outcomes, and the mass beyond e^(2 eps)."""
    epsilon, delta = 0.3, 1e-3
    share = (1 - delta) / (1 + math.exp(epsilon))
    with_them = np.array([delta, (1 - delta) - share, share, 0.0])
    without = with_them[::-1]
    beyond = with_them[with_them > math.exp(2 * epsilon) * without].sum()
    assert beyond <= delta / -math.expm1(-epsilon)
    said = odds_words(Fraction("0.3"), Fraction("0.001")).rpartition(" ")[2]
    assert beyond <= float(said) < 4 * beyond


MAKERS = (
    "--schedule auto: marginals, for the workload asks for nothing else",
    "a noisy count of the records (2% of the budget) decides what is measured: one or the other; the answers' total is "
    "held to it",
    "one-way marginals come first; then choices look for blocks, and so on",
    "all blocks were measured once: at 49,825 records (the count less its deviation) that has the least forecast error "
    "(L1 over n), 0.027 (search 0.048)",
    "mean(pay): counts each record with its bin's midpoint: an error of at most 500 a record within the bounds",
    "warning: delta is large",
    "something else",
)


def test_notes_say_what_was_done_and_what_it_means():
    assert list(reader_notes(MAKERS, [False] * 11, 13, "marginals")) == [
        "The answers to 13 questions rest on 11 measurements, each made once. None was chosen by what another one "
        "showed, so the Iterative Construction ran no round: for about 49,825 records choosing was forecast to "
        "leave a larger error.",
        "A noisy count of the records took 2% of the budget; all answers agree with it.",
        "mean(pay): each value counts as the middle of its interval, at most 500 away; the figure may have as large "
        "an error in addition to the noise.",
        "something else",
    ]
    assert next(reader_notes((), [False, True, True], 4, "rounds")).startswith(
        "1 measurement came first. Then the Iterative Construction ran 2 rounds"
    )
    assert (
        "2 rounds: each chose what lay furthest from its model, up to noise, and measured it. 3 more measurements "
        in (next(reader_notes((), [False, True, True, False, False, False], 4, "marginals")))
    )
    assert list(reader_notes((), [], 4, "rounds")) == []
    assert "The answers to 4 questions about rows rest on" in next(reader_notes((), [False], 4, "rounds", persons=True))


def test_every_note_of_a_plan_of_marginals_is_in_the_catalogue():
    """By the schedule's own words: one that is worded otherwise would reach readers as it is."""
    stated = [words.note for words in WORDS.values()] + [SINGLES, COUNT.format(share=0.02, candidates="a or b")]
    released = [f"{words.done}: at 4,000 records (the count less its deviation) that" for words in WORDS.values()]
    # And what the bought errors decided, of a run that measured two of them.
    plan = replace(searching(), schedule=Marginals())
    transcript = Transcript()
    for one in rounds(plan):
        transcript.add(one)
    step = asked(plan)[0].step()
    for mean in (0.5 * RECORDS, 0.04 * RECORDS):
        transcript.add(shown(step, mean))
    bought = plan.schedule.reasons(plan, transcript)
    assert len(bought) == 2
    model = DenseDistribution.uniform((2,), 8.0)
    averaged = ModelAverage(tree=model, classes=(), shares=np.ones(1)).words
    passed = [
        note for note in (*stated, *released, *bought, averaged) if note in reader_notes([note], [], 0, "marginals")
    ]
    assert passed == []


def test_every_note_of_a_release_in_parts_is_in_the_catalogue_too():
    """By the schedule's own words, whether neighbouring cells were merged or not."""
    ages = [*range(10)] * 300
    frame = pd.DataFrame({"age": ages, "sex": ["f", "m"] * 1500, "job": ["a", "b", "c"] * 1000})
    labels = [
        {"name": name, "type": "string", "constraints": {"enum": list(enum)}, "dpqr": {"otherwise": "cell"}}
        for name, enum in (("sex", "fm"), ("job", "abc"))
    ]
    age = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 199}}
    queries = {"queries": [{"prefix": "age"}, {"marginal": ["sex", "job"]}]}
    said = []
    for eps in ("0.05", "1"):
        made = dpqr.release(frame, queries=queries, domain={"fields": [age, *labels]}, eps=eps, schedule="parts")
        raw = {note for note in made.record["trust"] if not note.startswith("warning: ")}
        notes = [text for name, text in made.record["receipt"] if name == "Note"]
        assert raw.isdisjoint(notes), raw & set(notes)
        said += notes
    assert any("which no question joins with others" in note for note in said)
    assert any("whether neighbouring cells are counted together" in note for note in said)


def test_a_plan_says_what_it_will_do_in_whole_sentences():
    count = COUNT.format(share=0.02, candidates="what a search finds or all blocks once")
    said = [planner_note(note) for note in (WORDS["search"].note, count, MAKERS[4], "something else")]
    assert said[0].startswith("A search measures each column first. Each round then chooses, up to noise, a block ")
    assert said[1:] == [
        "A noisy count of the records comes first, for 2% of the budget. It decides what is measured: what a search "
        "finds or all blocks once.",
        "mean(pay): each value counts as the middle of its interval, at most 500 away; the figure may have as large "
        "an error in addition to the noise.",
        "something else",
    ]


def warned(*fields, queries, **more):
    """The warning of a release of 3,000 rows, at an epsilon at which noise plays no part."""
    rows = {"day": ["01.02.2024"] * 3000, "paid": ["2,5", "3,5", ""] * 1000, "member": ["ja", "nein", "nein"] * 1000}
    domain = {"fields": [{**field, "dpqr": {**field.get("dpqr", {}), "otherwise": "cell"}} for field in fields]}
    return dpqr.release(pd.DataFrame(rows), queries={"queries": queries}, domain=domain, eps=20, **more).record[
        "warning"
    ]


DAY = {"name": "day", "type": "date", "constraints": {"minimum": "2024-01-01", "maximum": "2024-12-31"}}
DAY["dpqr"] = {"every": "month"}
PAID = {"name": "paid", "type": "number", "constraints": {"minimum": 0, "maximum": 9}, "dpqr": {"bins": 9}}
MEMBER = {"name": "member", "type": "boolean"}


def test_a_column_whose_values_all_fit_nowhere_is_a_warning_though_their_rows_are_kept():
    """By measured tables; missing values are none that fit nowhere."""
    both = [{"marginal": ["day", "member"]}]
    said = warned(DAY, MEMBER | {"trueValues": ["ja"], "falseValues": ["nein"]}, queries=both)
    assert said.startswith("hardly any value of column 'day' was read, or none: about ")
    assert said.endswith(" that fit nowhere; its dates are expected in the form of ISO 8601")
    said = warned(DAY | {"format": "%d.%m.%Y"}, MEMBER, queries=both)
    assert said.endswith("that fit nowhere; its labels are expected, such as 'false', 'true'")
    assert warned(DAY | {"format": "%d.%m.%Y"}, queries=[{"marginal": ["day"]}]) is None
    assert warned(DAY, queries=[{"marginal": ["day"]}], rehearse=True) is None
    assert warned(PAID | {"missingValues": ["2,5", "3,5", ""]}, queries=[{"marginal": ["paid"]}]) is None


def test_learned_labels_that_few_rows_have_are_a_warning():
    """Pages of 3,000 rows: one that a third of them have, and 2,000 that one row has each, too few to be found."""
    rows = pd.DataFrame({"page": ["home"] * 1000 + [f"page {number}" for number in range(2000)]})
    domain = {"fields": [{"name": "page", "type": "string", "dpqr": {"labels": "learn"}}]}
    wanted = {"queries": {"queries": [{"marginal": ["page"]}]}, "domain": domain, "eps": 20, "delta": 1e-9}
    said = dpqr.release(rows, **wanted).record["warning"]
    shape = r"about (1,9|2,0)\d\d of (2,9|3,0)\d\d rows have a value of column 'page' that was not learned "
    assert re.match(shape + r"\(\+-.*labels learned: 1\)", said), said
    assert dpqr.release(rows[:1400], **wanted).record["warning"] is None


def test_many_tables_of_noise_warn_no_more_often_than_one():
    """Each holds no row, and by chance a cell of misfits that one in two hundred single tables has."""
    law = DiscreteLaplace(Fraction(100))
    day = Attribute(name="day", axis=Bins((Fraction(0), Fraction(5), Fraction(9))), rules={"unparsable": Rule.CELL})
    block = QueryBlock(name="b", factors=(Factor.identity(0, day.size),))
    values = np.array([0] * (day.size - 1) + [law.tail(1 / 100) + 1])
    domain = SimpleNamespace(attributes=(day,), learned=None)
    for tables, said in ((1, True), (20, False)):
        measured = [SimpleNamespace(blocks=(block,), values=(values,), law=law)] * tables
        release = SimpleNamespace(
            plan=SimpleNamespace(problem=SimpleNamespace(domain=domain)),
            transcript=SimpleNamespace(measurements=measured),
        )
        assert (_hardly_read(release) is not None) == said


def few(estimate, *, drops=True, persons=None):
    release = make_release()
    first = release.transcript.measurements[0]
    measured = replace(first, values=(np.full(9, estimate // 9),))
    transcript = Transcript()
    transcript.add(replace(release.transcript.rounds[0], measurement=measured))
    problem = replace(release.plan.problem, unit=PrivacyUnit(drops=drops), persons=persons)
    return replace(release, plan=replace(release.plan, problem=problem), transcript=transcript)


def test_a_figure_that_says_nothing_in_any_group_is_a_warning():
    def mean(*small):
        return SimpleNamespace(figure=SimpleNamespace(name="pay"), small=np.array(small))

    said = left_out_warning(replace(few(9_000), figures=(mean(True, False), mean(True, True))))
    assert said.startswith("'pay' says nothing in any group: the records that it divides by are no more than noise")
    assert left_out_warning(replace(few(9_000), figures=(mean(True, False), mean()))) is None
    lost = left_out_warning(replace(few(0), figures=(mean(True),)))
    assert lost == left_out_warning(few(0)), "where all rows are lost the figure is not what is wrong"
    assert left_out_warning(replace(few(0, drops=False), figures=(mean(True),))) == said


def test_hardly_any_rows_used_is_a_warning_that_names_the_probable_column():
    """By the released total and public counts alone."""
    warning = left_out_warning(few(9))
    assert warning.startswith("hardly any records were used, or none: about 9 (+-")
    assert "the most probable cause is column 'age', whose numbers are expected" in warning
    assert left_out_warning(few(9_000)) is None
    assert left_out_warning(few(9, drops=False)) is None
    assert left_out_warning(few(9, persons=10)) is None
    assert "200,000 were declared, so the domain's rules left out most" in left_out_warning(few(9_000, persons=200_000))
