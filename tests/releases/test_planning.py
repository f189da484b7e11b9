"""From a request to a plan: what is asked, what it needs, what a reader is warned of.

Public facts of a domain file, from the document to the plan, the answers and the rows."""

from __future__ import annotations

import json
from fractions import Fraction

import pyarrow.parquet as pq
import pytest
from support.cases import in_one_test, slow_but
from support.command_desk import DOMAIN, QUERIES
from support.plain_screen import printed

from dpqr.kernel.budget import upward_text
from dpqr.kernel.errors import DocumentError, InfeasiblePlan, UsageFault
from dpqr.kernel.unit import DeclaredPersons, Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.releases.planning import RIVALS, plan_release, unit_notes, unit_of
from dpqr.releases.receipt import plan_facts
from dpqr.releases.requests import PlanRequest
from dpqr.releases.sentences import choice_words
from dpqr.report.html import facts
from dpqr.strategies.guard import make_filter
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.tables.limits import Limits


def plan(**wishes):
    return plan_release(PlanRequest(**{"queries": "q.json", "epsilon": "1", **wishes}))


def sizes(desk, queries, **domain):
    desk.write(q__json={"domain": domain, "queries": queries})


def test_the_request_becomes_the_problem(desk):
    made = plan(neighbours="replace", n=1_000_000_000, schedule="theory", alpha="0.3", beta="0.01", seed=9)
    problem = made.problem
    assert problem.unit.neighbours is Neighbours.REPLACE
    assert (problem.most, problem.alpha, problem.beta, problem.seed) == (10**9, Fraction(3, 10), Fraction(1, 100), 9)
    assert (made.budget.epsilon, made.budget.delta) == (1, 0)
    usual = plan()
    names = (usual.schedule.name, usual.roles.update.name, usual.roles.accountant.name)
    assert names == ("marginals", "multiplicative-weights", "basic")
    assert (usual.problem.n, usual.problem.alpha, usual.problem.beta) == (None, None, Fraction(1, 20))
    assert usual.notes[0] == RIVALS["marginals"]


def test_auto_takes_a_schedule_that_suits_the_workload_and_the_options(desk):
    def taken(**wishes):
        made = plan(**wishes)
        return made.schedule.name, made.roles.update.name

    sizes(desk, [{"prefix": "age"}], age=10)
    assert taken() == ("ordered", "bucket-least-squares")
    unfiltered = {"delta": "1e-9", "accountant": "advanced"}
    assert taken(**unfiltered) == taken(schedule="strategy") == ("strategy", "least-squares")
    assert "is no filter" in " ".join(plan(**unfiltered).notes)
    assert taken(update="multiplicative-weights")[0] == "rounds"
    assert taken(schedule="strategy", update="multiplicative-weights")[1] == "multiplicative-weights"
    sizes(desk, [{"marginals": [["age"]]}], age=10)
    assert taken()[0] == "marginals"
    assert taken(delta="1e-9", accountant="optimal")[0] == "rounds"
    assert plan(rounds=1).schedule == plan(schedule="rounds", rounds=1).schedule


@pytest.mark.parametrize("replay", [True, False])
def test_options_reach_the_strategies(desk, replay):
    made = plan(rounds=1, opening=False, replay=replay, cells=30)
    assert (made.schedule.rounds, made.schedule.opening) == (1, False)
    assert made.roles.update == MultiplicativeWeights(replay=replay, cells=30)
    assert plan(schedule="theory", n=10**9, variant="sharp").problem.level.variant == "sharp"


def test_named_roles_are_taken(desk):
    made = plan(delta="1e-9", accountant="zcdp", check="laplace", distinguisher="permute-and-flip", update="perceptron")
    names = [getattr(made.roles, role).name for role in ("accountant", "check", "distinguisher", "update")]
    assert names == ["zcdp", "laplace", "permute-and-flip", "perceptron"]


def test_the_domain_of_the_option_goes_before_that_of_the_queries(desk):
    desk.write(d__json={"fields": [{**field, "dpqr": {**field["dpqr"], "null": "cell"}} for field in DOMAIN["fields"]]})
    made = plan(domain="d.json")
    assert made.problem.domain.shape == (3, 5, 4)
    assert made.notes[-1] == "the domain in the queries document is not used: another is given"


def test_memory_counts_histogram_hypothesis_and_widest_marginal(desk, monkeypatch):
    """Not the histogram of occupied cells, whose size is private."""
    sizes(desk, [{"marginal": ["a"]}, {"marginal": ["b", "c"]}], a=10, b=20, c=30)
    made = plan()
    update = MultiplicativeWeights().footprint(made.problem).bytes
    assert made.bytes == update + 8 * (6000 + 600)
    assert update >= 8 * 8 * 6000
    sizes(desk, [{"marginal": ["a"]}], a=100)
    assert plan(update="perceptron").bytes == 8 * (3 * 100 + 100 + 100)
    monkeypatch.setattr("dpqr.releases.planning.Limits", lambda: Limits(cells=99))
    assert plan(update="perceptron").bytes == 8 * (3 * 100 + 100)


def test_too_many_cells_say_which_columns_make_them(desk):
    sizes(desk, [{"marginals": {"ways": 1}}], **{f"c{index}": index + 2 for index in range(9)})
    with pytest.raises(InfeasiblePlan) as caught:
        plan(cells=1000, update="perceptron")
    assert str(caught.value).splitlines()[1] == "cells: c8 10 x c7 9 x c6 8 x c5 7 x c4 6 x c3 5 x others 24"
    sizes(desk, [{"marginal": ["a"]}], a=100)
    with pytest.raises(InfeasiblePlan) as caught:
        plan(cells=10)
    assert "\n" not in str(caught.value), "one column needs no list of sizes"
    sizes(desk, [{"marginals": {"ways": 2}}], **{f"c{index}": 1000 for index in range(10)})
    with pytest.raises(InfeasiblePlan, match="1000000000000000000000000000000 cells"):
        plan(update="perceptron")
    assert plan().problem.domain.size == 10**30, "multiplicative weights need no array of all cells"


def with_rules(desk, field, **rules):
    fields = [dict(each) for each in DOMAIN["fields"]]
    fields[field]["dpqr"] = rules
    desk.write(q__json={**QUERIES, "domain": {"fields": fields}})


def test_a_rule_fail_and_the_error_that_bins_add_to_a_sum_are_noted(desk):
    with_rules(desk, 0, null="fail", otherwise="drop")
    assert plan().notes[-1].startswith("warning: column 'sex' has a rule `fail`: the exit code tells one bit")
    desk.write(q__json={**QUERIES, "queries": [{"sum": "income", "by": ["sex"]}]})
    note = plan().notes[-1]
    assert note.startswith("sum(income) by sex: counts each record with its bin's midpoint: an error of at most 100 ")


REFUSED_OPTIONS = [
    *(
        ({option: value}, f"--{option} goes with --schedule theory.*, not with auto")
        for option, value in (("alpha", "0.1"), ("beta", "0.1"), ("variant", "printed"))
    ),
    *(
        (
            {"schedule": "theory", "n": 10**9, option: value},
            f"--{option} goes with --schedule rounds( or queries)?, not",
        )
        for option, value in (("rounds", 3), ("opening", True), ("opening", False))
    ),
    ({"schedule": "strategy", "n": 100}, "--schedule strategy does not need it"),
    ({"schedule": "strategy", "replay": True}, "not with least-squares"),
    ({"schedule": "theory", "n": 10**9, "beta": "1e-400"}, "at least 1e-12 and below 1"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED_OPTIONS)
def test_options_that_do_not_go_together_are_refused(desk, options, words):
    sizes(desk, [{"prefix": "a"}], a=10)
    with pytest.raises(UsageFault, match=words):
        plan(**options)


def test_replace_needs_every_rule(desk):
    with_rules(desk, 1, width=25, null="cell", nan="drop", infinite="drop")
    said = "column 'age': --neighbours replace needs a stated rule for unparsable, outs"
    with pytest.raises(DocumentError, match=said):
        plan(neighbours="replace", n=5)


def test_options_are_refused_before_any_document_is_read():
    with pytest.raises(UsageFault, match="no such check"):
        plan(queries="nowhere.json", check="x")
    with pytest.raises(UsageFault, match="add --n N"):
        plan(queries="nowhere.json", neighbours="replace")


YOUNG, HIGH = "[0, 25)", "[200, 400]"
FACTS = {
    "impossible": [{"where": "age < 25 and income >= 200"}],
    "totals": [{"where": "sex = 'F'", "count": 40}, {"where": "sex = 'M'", "count": 60}],
}


def asked(desk, entries=None, **facts):
    entries = entries or [{"marginal": ["sex", "age"]}, {"marginal": ["age", "income"]}]
    desk.put("q.json", {"domain": {**DOMAIN, **facts}, "queries": entries})


def test_answers_and_rows_obey(desk):
    asked(desk, **FACTS)
    ended = desk.release("--out", "out", "--synthetic", "rows", "--json", eps="0.1")
    assert ended.code == 0, ended.err
    answers = [row for row in ended.json["answers"] if row["query"] == "marginal(age,income)"]
    barred = [row["estimate"] for row in answers if row["age"] == YOUNG and row["income"] == HIGH]
    assert barred == [0.0]
    assert sum(row["estimate"] for row in answers) == pytest.approx(100)
    rows = pq.read_table(desk.path / "out/synthetic.parquet").to_pylist()
    assert len(rows) == 100
    women = [
        row["estimate"] for row in ended.json["answers"] if row["query"] == "marginal(sex,age)" and row["sex"] == "F"
    ]
    assert sum(women) == pytest.approx(40, abs=1.0)  # "within about one record", as the guide says
    assert abs(sum(row["sex"] == "F" for row in rows) - 40) < 14  # each of women's 14 cells is rounded down or up
    assert not any(row["age"] == YOUNG and row["income"] == HIGH for row in rows)


def test_the_plan_and_the_record_say_so(desk):
    asked(desk, **FACTS)
    shown = desk.release("--dry-run", "--json")
    assert shown.json["domain"]["facts"] == {
        "impossible": ["age < 25 and income >= 200"],
        "totals": [{"where": "sex = 'F'", "count": 40}, {"where": "sex = 'M'", "count": 60}],
        "records": [100, 100],
    }
    (note,) = (note for note in shown.json["notes"] if "public facts" in note)
    assert note == (
        "public facts of the domain file bind the fit (1 impossible combination, 2 known totals, 100 records in all); "
        "they are constants of the run, and the guarantee does not cover what they tell"
    )
    asked(desk)
    assert json.loads(desk.release("--dry-run", "--json").out)["domain"]["facts"] is None


@pytest.mark.parametrize("more", [("--update", "least-squares"), ("--no-replay",)])
def test_rules_that_cannot_obey_are_named(desk, more):
    asked(desk, **FACTS)
    notes = desk.release("--dry-run", "--json", *more).json["notes"]
    assert any("are not used: the fit of multiplicative-weights alone obeys them" in note for note in notes)


REFUSED = [
    ((), {"totals": [{"where": "sex = 'X'", "count": 4}]}, "q.json: $.domain.totals[0].where: "),
    ((), {"totals": [{"count": 4}, {"where": "sex = 'F'", "count": 5}]}, "$.domain.totals[1]: no table can have"),
    (("--neighbours", "replace", "--n", "3"), {"totals": [{"count": 4}]}, "--n 3: the domain's known totals need"),
    (("--unit", "who", "--max-rows", "2"), {"totals": [{"count": 4}]}, "known totals count all rows, and --unit"),
]


@pytest.mark.parametrize(("options", "facts", "said"), REFUSED)
def test_facts_that_cannot_be_true_are_refused(desk, options, facts, said):
    stated = {
        **DOMAIN,
        "fields": [{**each, "dpqr": {**each["dpqr"], "otherwise": "drop"}} for each in DOMAIN["fields"]],
    }
    desk.put("q.json", {"domain": {**stated, **facts}, "queries": [{"marginal": ["sex"]}]})
    ended = desk.release("--dry-run", *options)
    assert ended.code == 3
    assert said in ended.err
    assert len(ended.err.splitlines()) <= 2


@pytest.mark.parametrize(
    ("queries", "own", "expected"),
    slow_but(
        {0},
        [
            (
                [{"where": "age >= 50"}, {"marginals": [["sex", "age"], ["income", "age"]]}],
                "rounds",
                "marginals",
            ),
            ([{"prefix": "age"}], "ordered", "strategy"),
            ([{"prefix": "age", "by": [other]} for other in ("sex", "income")], "ordered", "marginals"),
        ],
    ),
)
def test_marginals_rival_what_would_measure_single_queries_with_much_of_their_noise(desk, queries, own, expected):
    desk.write(q__json={**QUERIES, "queries": queries})
    taken, named, marginals = (plan(schedule=name) for name in ("auto", own, "marginals"))
    assert taken.schedule.name == expected
    assert (RIVALS["marginals"] in taken.notes) == (expected == "marginals")
    assert expected != "marginals" or named.noise > 0.55 * marginals.noise


@pytest.mark.slow
def test_pld_pays_for_fixed_rounds_of_gaussian_noise(desk):
    """Choices of a fifth of the budget cost less by the law of their losses than in mu^2."""
    pytest.importorskip("dp_accounting", reason="dp-accounting is not installed; it comes with dpqr[pld]")
    wishes = {"delta": "1e-9", "schedule": "rounds", "rounds": 1, "check": "gaussian"}
    gdp, pld = (plan(**wishes, accountant=name) for name in ("gdp", "pld"))
    assert 0.95 * gdp.noise < pld.noise < 0.99 * gdp.noise
    assert Fraction(999, 1000) < pld.epsilon <= 1
    assert pld.roles.distinguisher.name == "exponential"
    assert choice_words(pld) == "asked for by --accountant"
    assert make_filter(pld).charge(pld.events[0][0]) == 0
    beside = pld.roles.accountant.epsilon(gdp.events, gdp.budget.delta)
    assert f"by zcdp, eps {upward_text(beside, 4)} by pld" in printed(facts(plan_facts(gdp)))
    alone = plan(delta="1e-9", schedule="rounds", rounds=1, accountant="pld")
    assert (alone.roles.check.name, alone.price("measurement").currency) == ("laplace", "epsilon")


# The unit of a run: from options, within what the domain file states.


STATED = DeclaredPersons(columns=("who",), rows=3)


@in_one_test(
    ("column", "rows", "used"), [(None, None, 3), ("who", None, 3), (None, 2, 2), ("who", 3, 3), ("who", 1, 1)]
)
def test_a_unit_is_within_the_domain_file(column, rows, used) -> None:
    assert unit_of("add-remove", column, rows, stated=STATED) == PrivacyUnit(columns=("who",), rows=used)


def test_options_alone() -> None:
    assert unit_of("add-remove", None, None) == PrivacyUnit()
    assert unit_of("replace", "who", 2) == PrivacyUnit(neighbours=Neighbours.REPLACE, columns=("who",), rows=2)
    for column, rows in (("who", None), (None, 2)):
        with pytest.raises(UsageFault, match="add --"):
            unit_of("add-remove", column, rows)


@in_one_test(("column", "rows", "counts"), [("sex", 3, None), (None, 4, None), (None, None, "n")])
def test_nothing_looser_than_the_domain_file(column, rows, counts) -> None:
    with pytest.raises(DocumentError, match="the domain file states"):
        unit_of("add-remove", column, rows, counts, STATED)


def test_the_hint_is_for_runs_over_rows_alone() -> None:
    columns = ("age", "person_id")
    assert len(list(unit_notes(PrivacyUnit(), columns))) == 1
    assert len(list(unit_notes(None, columns))) == 1
    for unit in (PrivacyUnit(columns=("who",)), PrivacyUnit(counted="n"), STATED):
        assert not list(unit_notes(unit, columns))


def of_cells(rows, most, **more):
    """A plan of one table of 100 cells for persons."""
    fields = [{"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}]
    asked = {"domain": {"fields": fields}, "queries": [{"marginal": ["x"]}]}
    request = PlanRequest(queries=asked, epsilon="0.226", unit="who", max_rows=rows, max_rows_per_cell=most, **more)
    return plan_release(request)


@in_one_test(("rows", "most", "noise"), [(1, 1, 22.9), (4, None, 91.6), (4, 1, 45.8), (4, 2, 64.8), (4, 4, 91.6)])
def test_the_noise_of_a_table_follows_what_a_person_may_bring_to_its_cells(rows, most, noise) -> None:
    """K = 4: twice the noise of one row where four times stood; with m = 2 sqrt(8) times."""
    plan = of_cells(rows, most, delta="1e-9", accountant="gdp")
    assert plan.forecast[0].deviation == pytest.approx(noise, abs=0.06)


def test_notes_say_what_a_bounded_table_counts_and_where_nothing_is_won() -> None:
    pure, gaussian, unbounded = (
        " ".join(of_cells(4, most, **more).notes)
        for most, more in ((1, {}), (1, {"delta": "1e-9", "accountant": "gdp"}), (4, {}))
    )
    assert "wins nothing under Laplace noise" in pure
    assert "wins nothing" not in gaussian
    assert "is of the rows that its own table counts" in gaussian
    assert "own table" not in unbounded
    assert "fitted together" not in gaussian


@in_one_test(
    ("rows", "most", "stated", "used"),
    [(None, None, 2, 2), (None, 1, 2, 1), (1, None, 2, 1), (3, 3, None, 3), (2, 2, None, 2)],
)
def test_a_bound_on_a_cell_is_within_the_domain_file(rows, most, stated, used) -> None:
    declared = replace(STATED, cell_rows=stated)
    found = unit_of("add-remove", None, rows, stated=declared, cell_rows=most)
    assert found == PrivacyUnit(columns=("who",), rows=rows or 3, cell_rows=used)


# What a plan warns of: a large epsilon or delta, noise above all records.

FIELDS = [{"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}, "dpqr": {"null": "cell"}}]


@pytest.mark.parametrize(("delta", "warned"), slow_but({0}, [("1e-9", False), ("1e-5", False), ("0.000011", True)]))
def test_a_large_delta_is_warned_of_whatever_the_number_of_records(desk, delta, warned):
    assert any("may fail altogether" in note for note in plan(delta=delta).notes) is warned


@pytest.mark.parametrize(("epsilon", "warned"), [("0.1", False), ("20", False), ("20.1", True), ("1000", True)])
def test_a_large_epsilon_is_warned_of(desk, epsilon, warned):
    assert any("promises next to nothing" in note for note in plan(epsilon=epsilon).notes) is warned


@pytest.mark.parametrize(("count", "warned"), [(20, True), (10**6, False)])
def test_noise_above_the_known_number_of_records_is_warned_of(desk, count, warned):
    domain = {"fields": FIELDS, "totals": [{"count": count}]}
    desk.write(q__json={"domain": domain, "queries": [{"marginal": ["sex"]}]})
    assert any("so they say next to nothing" in note for note in plan(epsilon="0.01").notes) is warned
    assert not any("so they say next to nothing" in note for note in plan(epsilon="10").notes)


@pytest.mark.parametrize(("n", "warned"), [(20, True), (10**6, False)])
def test_noise_above_the_declared_number_of_records_is_warned_of(desk, n, warned):
    notes = plan(epsilon="0.01", neighbours="replace", n=n).notes
    assert any("so they say next to nothing" in note for note in notes) is warned


@pytest.mark.parametrize(("delta", "warned"), [("1e-9", False), ("0.0001", False), ("0.00011", True), ("0.5", True)])
def test_a_delta_not_far_below_one_record_is_warned_of(desk, delta, warned):
    notes = plan(delta=delta, neighbours="replace", n=1000, accountant="zcdp").notes
    assert any("is not far below 1/n" in note for note in notes) is warned
