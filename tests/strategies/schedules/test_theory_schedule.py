"""Plans of the source's loop: its fixed point, its refusals, and its worst case."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test, slow_but, slowly, thinned
from support.plain_screen import printed
from support.schedule_states import next_step
from support.staged_runs import run

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.accountants.sums import Basic, ZeroConcentrated
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.events import DiscreteLaplaceEvent
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.releases.receipt import plan_facts
from dpqr.releases.result import assemble
from dpqr.report.html import facts
from dpqr.strategies.checks import Laplace
from dpqr.strategies.distinguishers import Exponential
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Level, Problem
from dpqr.strategies.schedules.theory import TOTAL, Theory
from dpqr.strategies.transcript import Round, Transcript
from dpqr.strategies.updates.median import Median
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.strategies.updates.perceptron import Perceptron
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.workload import Measurement, Workload

REPLACE = PrivacyUnit(neighbours=Neighbours.REPLACE)
EPSILON_ONE = PrivacyBudget(Fraction(1))


def problem(cells=64, queries=200, n=4 * 10**9, unit=REPLACE, alpha=None, rows=None):
    if rows is None:
        rows = np.random.default_rng(1).integers(0, 2, size=(queries, cells))
        rows[:, :2] = [0, 1]
    factor = Factor(axes=(0,), sizes=(cells,), matrix=Dense(np.asarray(rows, dtype=np.int64)))
    domain = Domain((Attribute(name="cell", axis=Codes(cells)),))
    workload = Workload((QueryBlock(name="predicates", factors=(factor,)),))
    return Problem(domain=domain, workload=workload, unit=unit, n=n, alpha=alpha)


def roles(update, accountant=None):
    return Roles(distinguisher=Exponential(), check=Laplace(), update=update, accountant=accountant or Basic())


def fixed_point(bound, share, queries=200, n=4 * 10**9, beta=0.05, eps=1.0):
    """The source's condition in real numbers, solved from above without the product's code."""
    alpha = 0.999
    for _ in range(10_000):
        rounds = math.floor(bound(alpha * share))
        needed = 16 * math.log(2 * rounds * queries / beta) / (n * eps / (2 * rounds))
        if needed > alpha:
            return alpha
        alpha *= 0.999
    raise AssertionError("no fixed point")


@pytest.mark.parametrize(
    ("update", "variant", "bound", "share", "printed"),
    slow_but(
        {0},
        [
            (MultiplicativeWeights(), "printed", lambda a: 4 * math.log(64) / a**2, Fraction(1, 2), 0.0223),
            (Perceptron(), "printed", lambda a: 64 / a**2, Fraction(1, 2), 0.0352),
            (MultiplicativeWeights(), "sharp", lambda a: math.log(64) / (2 * a**2), Fraction(5, 8), 0.0095),
            (Perceptron(), "sharp", lambda a: 63 / (4 * a**2), Fraction(5, 8), 0.0188),
        ],
    ),
)
def test_smallest_feasible_alpha_agrees_with_an_independent_solution(update, variant, bound, share, printed):
    plan = Theory(variant=variant).plan(problem(), EPSILON_ONE, roles(update))
    assert float(plan.problem.alpha) == pytest.approx(fixed_point(bound, share), rel=0.01)
    assert float(plan.problem.alpha) == pytest.approx(printed, rel=0.01)
    assert plan.problem.level == Level(value=plan.problem.alpha * share, variant=variant)


@in_one_test(("update", "rounds"), [(MultiplicativeWeights(), 26_616), (Perceptron(), 102_400)])
def test_rounds_at_alpha_a_twentieth(update, rounds):
    plan = Theory().plan(problem(alpha=Fraction(1, 20)), EPSILON_ONE, roles(update))
    assert plan.rounds == rounds
    assert plan.stop.threshold == Fraction(3, 80) * 4 * 10**9
    assert plan.price("selection").pure == plan.price("measurement").pure == Fraction(1, 2 * rounds)
    assert plan.epsilon == 1


def test_concentrated_prices_give_selection_and_check_the_same_epsilon():
    budget = PrivacyBudget(Fraction(1), Fraction(1, 10**9))
    plan = Theory().plan(
        problem(alpha=Fraction(1, 20)), budget, roles(MultiplicativeWeights(), accountant=ZeroConcentrated())
    )
    assert float(plan.price("selection").bounded_range) == pytest.approx(
        float(plan.price("measurement").pure), rel=1e-9
    )
    assert float(plan.price("measurement").pure) == pytest.approx(9.5e-4, rel=0.02)
    assert plan.epsilon <= 1


def test_median_rule_on_a_toy_universe():
    toy = problem(cells=8, queries=20, n=10**5, alpha=Fraction(1, 5))
    plan = Theory().plan(toy, EPSILON_ONE, roles(Median()))
    assert plan.rounds == math.floor(math.log2(math.comb(21 + 7, 7)))


@in_one_test("alpha", ["0.01", "1e-07"])
def test_a_smaller_declared_alpha_is_refused_with_the_smallest_that_fits(alpha):
    with pytest.raises(InfeasiblePlan, match=rf"--alpha {alpha}: .* alpha = 0\.02229"):
        Theory().plan(problem(alpha=Fraction(alpha)), EPSILON_ONE, roles(MultiplicativeWeights()))


def test_a_vacuous_bound_names_the_practical_schedule():
    with pytest.raises(InfeasiblePlan, match=r"vacuous.*use --schedule rounds"):
        Theory().plan(problem(n=1000), EPSILON_ONE, roles(MultiplicativeWeights()))


def test_n_must_be_declared():
    with pytest.raises(InfeasiblePlan, match="n is private here"):
        Theory().plan(problem(n=None, unit=PrivacyUnit()), EPSILON_ONE, roles(MultiplicativeWeights()))


def test_a_declared_n0_under_add_remove_says_what_the_promise_rests_on():
    plan = Theory().plan(problem(unit=PrivacyUnit()), EPSILON_ONE, roles(MultiplicativeWeights()))
    assert any("declared n0" in note for note in plan.notes)


@in_one_test("value", [2, -1])
def test_queries_outside_the_unit_interval_are_refused(value):
    rows = np.array([[0, 1], [value, 0]])
    with pytest.raises(InfeasiblePlan, match=r"outside \[0, 1\]"):
        Theory().plan(problem(cells=2, rows=rows), EPSILON_ONE, roles(MultiplicativeWeights()))


def test_planned_events_are_the_whole_schedule():
    plan = Theory().plan(problem(alpha=Fraction(1, 20)), EPSILON_ONE, roles(MultiplicativeWeights()))
    assert [count for _, count in plan.events] == [26_616, 26_616]
    assert Basic().epsilon(plan.events, Fraction(0)) == 1


def unlike(order, unit=REPLACE):
    """Rows of very different coefficients in one block, on the grid of millionths."""
    rows = np.array([[1, 0, 0, 0], [0, 10**6, 0, 10**6], [10, 10, 0, 0]])[list(order)]
    factor = Factor(axes=(0,), sizes=(4,), matrix=Dense(rows))
    block = QueryBlock(name="coefficients", factors=(factor,), scale=Fraction(1, 10**6))
    domain = Domain((Attribute(name="cell", axis=Codes(4)),))
    return Problem(domain=domain, workload=Workload((block,)), unit=unit, n=10**8)


@in_one_test("order", [(1, 0, 2), (2, 0, 1), (0, 2, 1)])
@pytest.mark.parametrize("unit", [REPLACE, PrivacyUnit()])
def test_the_order_of_a_block_s_rows_changes_no_plan(order, unit):
    """Before, all was planned from the first row, whose noise may be a millionth of another's."""
    made = roles(MultiplicativeWeights())
    first, other = (Theory().plan(unlike(one, unit), EPSILON_ONE, made) for one in ((0, 1, 2), order))
    assert (first.problem.alpha, first.rounds) == (other.problem.alpha, other.rounds)
    assert (first.events, first.forecast) == (other.events, other.forecast)
    event = first.events[-1][0]
    assert event.sensitivity == 10**6
    assert first.forecast[0].deviation == pytest.approx(math.sqrt(2) * float(event.scale) / 10**6, rel=0.01)


@in_one_test("order", [(0, 1), (1, 0)])
def test_the_dearest_measurement_of_any_block_is_planned_for(order):
    """What a round will measure is not known before: coefficients up to 7 have 7 times the noise of the other row."""
    factors = [Factor(axes=(0,), sizes=(2,), matrix=Dense(np.array([[1, largest]]))) for largest in (1, 7)]
    blocks = tuple(QueryBlock(name=str(each), factors=(factors[each],), scale=Fraction(1, 8)) for each in order)
    stated = replace(problem(cells=2, rows=[[0, 1]], n=10**8), workload=Workload(blocks))
    plan = Theory().plan(stated, EPSILON_ONE, roles(MultiplicativeWeights()))
    event, count = plan.events[-1]
    assert (event.sensitivity, count) == (7, plan.rounds)
    assert event.scale == 7 / plan.price("measurement").pure


HIDDEN = PrivacyUnit(neighbours=Neighbours.REPLACE, drops=True)
DECLARED = 2_000


def hidden(rows=None, alpha=None):
    """At most DECLARED records are kept; how many is private."""
    stated = problem(cells=8, n=None, unit=HIDDEN, rows=PREDICATES if rows is None else rows, alpha=alpha)
    return replace(stated, most=DECLARED)


PREDICATES = [[1, 0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 1, 1], [1, 1, 1, 1, 1, 1, 1, 1]]


@pytest.mark.parametrize("kept", [0, *slowly(1, 60), 1_000, *slowly(DECLARED)])
@pytest.mark.parametrize(
    "rule", thinned([MultiplicativeWeights(), Perceptron(), Median()], 3), ids=lambda rule: rule.name
)
@pytest.mark.parametrize("variant", ["printed", "sharp"])
def test_a_private_number_of_kept_records_is_measured_and_the_promise_kept(kept, rule, variant):
    """All cells of the kept records: most in the first one, where the uniform start is wrong."""
    plan = Theory(variant=variant).plan(hidden(), PrivacyBudget(Fraction(400)), roles(rule))
    assert plan.price("opening") == plan.price("measurement")
    assert plan.epsilon == plan.budget.epsilon
    assert sum(count for _, count in plan.events) == 2 * plan.rounds + 1
    cells = np.array([kept - kept // 4, 0, 0, kept // 4, 0, 0, 0, 0])
    made = assemble(plan, run(plan, seed=kept + 1, counts=cells), {}, private=False)
    limit = float(plan.problem.alpha) * DECLARED
    error = np.abs(made.answers[0].estimate - np.array(PREDICATES) @ cells).max()
    assert error <= limit
    assert abs(made.hypothesis.total - kept) <= limit / 8
    if made.certificate:
        assert error <= made.certificate.records
    assert len(made.transcript.rounds) <= plan.rounds + 1


def test_the_count_takes_its_part_of_beta_and_of_the_budget():
    public, private = (
        Theory().plan(one, PrivacyBudget(Fraction(400)), roles(MultiplicativeWeights()))
        for one in (replace(hidden(), unit=REPLACE, n=DECLARED, most=None), hidden())
    )
    assert private.problem.alpha >= public.problem.alpha
    assert private.events[0] == (
        DiscreteLaplaceEvent(sensitivity=1, scale=1 / private.price("measurement").pure, coordinates=1),
        1,
    )
    assert "is private: it is measured first" in private.notes[0]


def test_a_count_that_was_lost_ends_the_run():
    plan = Theory().plan(hidden(), PrivacyBudget(Fraction(400)), roles(MultiplicativeWeights()))
    transcript = Transcript()
    transcript.add(Round(choice=None, measurement=None, charges=()))
    assert next_step(plan, transcript) is None


def told(plan, *, rounds, counted=None):
    """A transcript of a count, where one is given, and so many rounds."""
    transcript = Transcript()
    row = plan.problem.workload.blocks[0].row(0)
    for place in range(rounds + (counted is not None)):
        block, value = (TOTAL, counted) if counted is not None and not place else (row, 5)
        law = plan.roles.check.law((block,), plan.problem.unit, plan.price("measurement"))
        measured = Measurement(blocks=(block,), values=(np.array([value]),), law=law)
        transcript.add(Round(choice=0, measurement=measured, charges=()))
    return transcript


@in_one_test("private", [False, True])
def test_as_many_rounds_as_are_planned_and_none_more(private):
    stated = hidden() if private else problem(n=10**9, alpha=Fraction(1, 2))
    plan = Theory().plan(stated, PrivacyBudget(Fraction(400)), roles(MultiplicativeWeights()))
    counted = 60 if private else None
    assert plan.rounds > 2
    for rounds in (0, 1, plan.rounds - 1):
        step = next_step(plan, told(plan, rounds=rounds, counted=counted))
        assert (step.select, step.measure, step.threshold) == (
            plan.price("selection"),
            plan.price("measurement"),
            plan.stop.threshold,
        )
        assert step.records == counted
        assert len(step.candidates) == plan.problem.workload.rows
    assert next_step(plan, told(plan, rounds=plan.rounds, counted=counted)) is None


@in_one_test(
    ("counted", "records"), [(-3, 1), (0, 1), (1, 1), (77, 77), (DECLARED, DECLARED), (DECLARED + 1, DECLARED)]
)
def test_a_bought_count_is_brought_between_one_and_the_declared_number(counted, records):
    """Towards the truth: no table keeps more, and a hypothesis needs one record to have a shape."""
    plan = Theory().plan(hidden(), PrivacyBudget(Fraction(400)), roles(MultiplicativeWeights()))
    assert next_step(plan, told(plan, rounds=0, counted=counted)).records == records


@in_one_test("accountant", [Basic(), ZeroConcentrated()])
def test_what_is_drawn_first_is_what_was_paid_for_it(accountant):
    budget = PrivacyBudget(Fraction(400), Fraction(0 if accountant.name == "basic" else "1/1000000"))
    plan = Theory().plan(hidden(alpha=Fraction(9, 10)), budget, roles(MultiplicativeWeights(), accountant))
    first = next_step(plan, Transcript())
    assert first.candidates == (TOTAL,)
    assert first.measure == plan.price("measurement")
    assert (plan.roles.check.event((TOTAL,), plan.problem.unit, first.measure), 1) == plan.events[0]
    rho = [price.rho for price in (plan.price("selection"), plan.price("measurement"))]
    if accountant.name == "zcdp":
        assert rho[1] == 4 * rho[0]
    assert plan.epsilon <= budget.epsilon


@in_one_test(
    ("variant", "unit", "level"),
    [
        ("printed", REPLACE, Fraction(1, 10)),
        ("sharp", REPLACE, Fraction(1, 8)),
        ("sharp", PrivacyUnit(), Fraction(1, 10)),
    ],
)
def test_the_stop_test_is_at_three_quarters_of_alpha_n_and_updates_at_the_gap_that_is_sure(variant, unit, level):
    """5 alpha / 8; alpha / 2 as printed, and where a declared n0 may be off by alpha / 8."""
    stated = problem(n=10**9, alpha=Fraction(1, 5), unit=unit)
    plan = Theory(variant=variant).plan(stated, EPSILON_ONE, roles(MultiplicativeWeights()))
    assert plan.stop.threshold == 150_000_000
    assert plan.problem.level == Level(value=level, variant=variant)


def test_only_proved_accuracies_are_searched():
    """8 cells: below some level the net has too many members to be listed, and a sample of it proves nothing."""
    stated = problem(cells=8, queries=20, n=10**6)
    plan = Theory().plan(stated, EPSILON_ONE, roles(Median()))
    found = plan.problem.alpha
    rule = plan.roles.update
    assert plan.stop.promise == "proved"
    assert rule.mistakes(stated, plan.problem.level) is not None
    assert rule.mistakes(stated, Level(value=(found - Fraction(1, 10**6)) / 2)) is None
    assert plan.notes == ()


def test_a_stated_accuracy_that_a_sample_serves_is_called_heuristic():
    plan = Theory().plan(problem(cells=8, queries=20, n=10**6, alpha=Fraction(1, 50)), EPSILON_ONE, roles(Median()))
    assert (plan.stop.promise, plan.problem.alpha) == ("heuristic", Fraction(1, 50))
    assert "heuristic" in plan.notes[0]
    shown = printed(facts(plan_facts(plan)))
    assert "probability" not in shown
    assert "a heuristic aim" in " ".join(shown.split())


def test_where_nothing_is_proved_the_way_out_is_named():
    with pytest.raises(InfeasiblePlan, match=r"proves no alpha here.*state --alpha"):
        Theory().plan(problem(cells=500), EPSILON_ONE, roles(Median()))
