"""The pairs are neighbours, and as far apart as the claimed sensitivity allows."""

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.audit.case import Case, worst_pair
from dpqr.audit.cases.noisy_answers import PERSON, UNITS, answer_cases, block, error_cases
from dpqr.audit.cases.selections import LEVEL, StatedAnswers, block_contest, choice_cases, query_contest
from dpqr.audit.cases.selections import PERSON as PERSONS
from dpqr.audit.run import cases_by_name
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.sums import total_rho
from dpqr.kernel.events import DiscreteGaussianEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.noisy_answers import GaussianAnswers
from dpqr.workload.sensitivity import Norm, sensitivity

CASES = [*answer_cases(), *choice_cases()]
ALL = [case for case in cases_by_name().values() if isinstance(case, Case)]
PLANNED = [case for case in ALL if hasattr(case.trial, "plan")]
SEVERAL = {"left-out-person": (6, 0), "periods-person": (2, 0)}
"""Rows of one person in both parts of a table, or in two periods, each of which bounds them."""


def by_name(cases):
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def unit_of(case):
    """Of its plan or its first mechanism; else by its name."""
    if hasattr(case.trial, "plan"):
        return case.trial.plan.problem.unit
    if hasattr(case.trial, "mechanisms") and hasattr(case.trial.mechanisms[0], "unit"):
        return case.trial.mechanisms[0].unit
    relation = Neighbours.REPLACE if "replace" in case.name else Neighbours.ADD_REMOVE
    rows = 2 if case.name.startswith("labels-2") else 3 if "person" in case.name else 1
    return PrivacyUnit(neighbours=relation, columns=("who",), rows=rows)


@by_name(ALL)
def test_the_pair_are_neighbours(case):
    """One unit comes, or takes the place of another; under replace one may also come from rows that a rule drops."""
    one, two = (database.marginal(tuple(range(len(database.shape)))) for database in case.pair)
    assert min(int(one.min()), int(two.min())) >= 0
    moved = two - one
    come, gone = int(moved[moved > 0].sum()), int(-moved[moved < 0].sum())
    unit = unit_of(case)
    allowed = {SEVERAL.get(case.name, (unit.rows, 0))}
    if unit.neighbours is Neighbours.REPLACE:
        allowed |= {(unit.rows, unit.rows), (0, unit.rows)}
    assert (come, gone) in allowed
    if hasattr(case.trial, "plan") and unit.neighbours is Neighbours.REPLACE:
        assert one.sum() == two.sum() == case.trial.plan.problem.n


@by_name(PLANNED)
def test_a_release_claims_its_plans_budget_or_in_rho_what_its_events_add_up_to(case):
    plan, claim = case.trial.plan, case.trial.claim
    assert plan.epsilon <= plan.budget.epsilon
    if plan.budget.pure:
        assert (claim.epsilon, claim.rho) == (plan.budget.epsilon, None)
    else:
        assert claim.rho == total_rho(plan.events) > 0
        assert claim.epsilon <= plan.budget.epsilon


@by_name([*error_cases()])
def test_errors_move_together_by_what_the_event_states(case):
    (mechanism,) = case.trial.mechanisms
    here, there = (mechanism.errors.evaluate(database) for database in case.pair)
    moved, event = np.abs(there - here), mechanism.event
    if isinstance(event, DiscreteGaussianEvent):
        assert int((moved**2).sum()) == event.squared_sensitivity
    else:
        assert int(moved.sum()) == event.sensitivity
    for errors, laws in zip((here, there), case.laws, strict=True):
        assert [law.answer for law in laws] == errors.tolist()


@by_name([*answer_cases()])
def test_answers_move_by_their_sensitivity(case):
    one, two = case.pair
    for mechanism in case.trial.mechanisms:
        norm = Norm.L2_SQUARED if isinstance(mechanism, GaussianAnswers) else Norm.L1
        moves = [np.abs(asked.answer(one) - asked.answer(two)) ** norm.value for asked in mechanism.blocks]
        assert sum(int(each.sum()) for each in moves) == sensitivity(mechanism.blocks, norm, mechanism.unit)


@in_one_test("unit", [*UNITS.values(), *PERSONS.values()])
@pytest.mark.parametrize("contest", [query_contest, block_contest])
def test_scores_are_alike_and_then_as_unlike_as_can_be(unit, contest):
    found = contest(unit)
    here, there = (found.scores.evaluate(database) for database in found.pair)
    step = found.scores.sensitivity(unit)
    assert len(set(here.tolist())) == 1
    assert here[0] >= LEVEL
    assert (there - here).tolist() == [-step, -step, -step, step]
    assert [move.tolist() for move in found.moves] == [[0] * 4, [-1, -1, -1, 1]]


def test_a_person_brings_all_rows_to_one_cell():
    one, two = worst_pair((block("prefix"),), (4,), PERSON, power=1)
    assert np.abs(two.counts - one.counts).tolist() == [PERSON.rows, 0, 0, 0]


def test_under_replace_a_row_may_come_from_nowhere():
    """A query of ones only sees a record where it replaces one that the domain drops."""
    total = block("prefix").row(3)
    unit = PrivacyUnit(neighbours=Neighbours.REPLACE)
    one, two = worst_pair((total,), (4,), unit, power=1)
    assert abs(int(total.answer(one)[0] - total.answer(two)[0])) == 1


def test_outcomes_are_fresh_runs_on_the_side_that_was_asked_for():
    case = next(case for case in CASES if case.name == "laplace-marginal-add-remove")
    far = Case(name="", what="", pair=(case.pair[0], DenseHistogram(np.full(4, 10**6))), trial=case.trial)
    noise = SeededNoise(1)
    assert far.outcomes(0, 5, noise).measured.max() < 1000
    high = far.outcomes(1, 5, noise).measured
    assert high.min() > 999_000
    assert len(np.unique(high, axis=0)) > 1


def test_a_told_hypothesis_answers_what_it_was_told():
    told = StatedAnswers(answers={"predicate": (3,)})
    assert told.answer(block("predicate")).tolist() == [3.0]
    assert told.total == 0.0
