"""The source's loop on paper: its fixed point, its refusals, and its worst case."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpqr.data.attribute import Attribute, Codes
from dpqr.data.domain import Domain
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.errors import InfeasiblePlan
from dpqr.privacy.accountants.basic import Basic
from dpqr.privacy.accountants.zcdp import ZeroConcentrated
from dpqr.privacy.budget import PrivacyBudget
from dpqr.strategies.checks.laplace import Laplace
from dpqr.strategies.distinguishers.exponential import Exponential
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Level, Problem
from dpqr.strategies.schedules.theory import Theory
from dpqr.strategies.updates.median import Median
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.strategies.updates.perceptron import Perceptron
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.workload import Workload

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


def fixed_point(bound, queries=200, n=4 * 10**9, beta=0.05, eps=1.0):
    """The source's condition in real numbers, solved from above without the product's code."""
    alpha = 0.999
    for _ in range(10_000):
        rounds = math.floor(bound(alpha / 2))
        needed = 16 * math.log(2 * rounds * queries / beta) / (n * eps / (2 * rounds))
        if needed > alpha:
            return alpha
        alpha *= 0.999
    raise AssertionError("no fixed point")


@pytest.mark.parametrize(
    ("update", "variant", "bound", "printed"),
    [
        (MultiplicativeWeights(), "printed", lambda a: 4 * math.log(64) / a**2, 0.0223),
        (Perceptron(), "printed", lambda a: 64 / a**2, 0.0352),
        (MultiplicativeWeights(), "sharp", lambda a: math.log(64) / (2 * a**2), 0.0110),
        (Perceptron(), "sharp", lambda a: 63 / (4 * a**2), 0.0219),
    ],
)
def test_smallest_feasible_alpha_agrees_with_an_independent_solution(update, variant, bound, printed):
    plan = Theory(variant=variant).plan(problem(), EPSILON_ONE, roles(update))
    assert float(plan.problem.alpha) == pytest.approx(fixed_point(bound), rel=0.01)
    assert float(plan.problem.alpha) == pytest.approx(printed, rel=0.01)
    assert plan.problem.level == Level(value=plan.problem.alpha / 2, variant=variant)


@pytest.mark.parametrize(("update", "rounds"), [(MultiplicativeWeights(), 26_616), (Perceptron(), 102_400)])
def test_rounds_at_alpha_a_twentieth(update, rounds):
    plan = Theory().plan(problem(alpha=Fraction(1, 20)), EPSILON_ONE, roles(update))
    assert plan.rounds == rounds
    assert plan.threshold == Fraction(3, 80) * 4 * 10**9
    assert plan.select.pure == plan.measure.pure == Fraction(1, 2 * rounds)
    assert plan.epsilon == 1


def test_concentrated_prices_give_selection_and_check_the_same_epsilon():
    budget = PrivacyBudget(Fraction(1), Fraction(1, 10**9))
    plan = Theory().plan(
        problem(alpha=Fraction(1, 20)), budget, roles(MultiplicativeWeights(), accountant=ZeroConcentrated())
    )
    assert float(plan.select.bounded_range) == pytest.approx(float(plan.measure.pure), rel=1e-9)
    assert float(plan.measure.pure) == pytest.approx(9.5e-4, rel=0.02)
    assert plan.epsilon <= 1


def test_median_rule_on_a_toy_universe():
    toy = problem(cells=8, queries=20, n=10**5, alpha=Fraction(1, 5))
    plan = Theory().plan(toy, EPSILON_ONE, roles(Median()))
    assert plan.rounds == math.floor(math.log2(math.comb(21 + 7, 7)))


@pytest.mark.parametrize("alpha", ["0.01", "1e-07"])
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


@pytest.mark.parametrize("value", [2, -1])
def test_queries_outside_the_unit_interval_are_refused(value):
    rows = np.array([[0, 1], [value, 0]])
    with pytest.raises(InfeasiblePlan, match=r"outside \[0, 1\]"):
        Theory().plan(problem(cells=2, rows=rows), EPSILON_ONE, roles(MultiplicativeWeights()))


def test_planned_events_are_the_whole_schedule():
    plan = Theory().plan(problem(alpha=Fraction(1, 20)), EPSILON_ONE, roles(MultiplicativeWeights()))
    assert [count for _, count in plan.events] == [26_616, 26_616]
    assert Basic().epsilon(plan.events, Fraction(0)) == 1
