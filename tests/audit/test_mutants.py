"""Planted faults are found in few runs. `tests/audit/test_run.py` shows that sound cases pass."""

from fractions import Fraction

import numpy as np
import pytest
from audit.mutants import (
    BareBoxes,
    Billed,
    ExactCheck,
    Greedy,
    OneLess,
    PlannedOnData,
    Restarted,
    RoundsOfData,
    ScoreLeaks,
    StartsAtTotal,
    Stuck,
    Twice,
    with_mechanism,
    with_trial,
)
from support.cases import slow_but

from dpqr.audit.attack import attack
from dpqr.audit.case import Case, MechanismTrial
from dpqr.audit.run import ALARM, cases_by_name
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.noisy_answers import DroppedRecordsMechanism
from dpqr.mechanisms.selection import PermuteAndFlipChoice
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.workload.block import Factor, QueryBlock

KNOWN = cases_by_name()


def mechanism(name):
    return KNOWN[name].trial.mechanisms[0]


def share(case: Case, runs: int = 3_000) -> float:
    """The share of the claim that is proved lost, with the confidence that the whole command has."""
    noise = SeededNoise(20_250_101)
    one, two = case.outcomes(0, runs, noise), case.outcomes(1, runs, noise)
    return attack(one, two, case.trial.claim, float(ALARM) / len(KNOWN)).share


def refuted(case: Case, runs: int) -> bool:
    """Whether a breach is found, by the law of the draws as well, with the confidence that the whole command has."""
    noise = SeededNoise(20_250_101)
    one, two = case.outcomes(0, runs, noise), case.outcomes(1, runs, noise)
    return attack(one, two, case.trial.claim, float(ALARM) / len(KNOWN), case.laws).breach


@pytest.mark.parametrize(
    ("name", "field", "factor"),
    slow_but(
        {0},
        [
            ("laplace-marginal-add-remove", "scale", Fraction(1, 2)),
            ("laplace-predicate-replace", "scale", Fraction(1, 2)),
            ("gaussian-marginal-add-remove", "variance", Fraction(1, 4)),
            ("gaussian-interaction-add-remove", "variance", Fraction(1, 4)),
        ],
    ),
)
def test_half_the_noise(name, field, factor):
    right = mechanism(name)
    half = replace(right, **{field: getattr(right, field) * factor})
    assert refuted(with_mechanism(KNOWN[name], Billed(half, right)), 300)
    assert not refuted(KNOWN[name], 300)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "moves"),
    [("laplace-marginal-person", 3), ("laplace-marginal-replace", 2)],
)
def test_answers_with_a_sensitivity_smaller_by_one(name, moves):
    """Three rows of a person, counted as two; a replaced record, counted as one that only comes."""
    case, right = KNOWN[name], mechanism(name)
    assert right.event.sensitivity == moves
    less = replace(right, scale=right.scale * Fraction(moves - 1, moves))
    assert refuted(with_mechanism(case, Billed(less, right)), 600)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "field", "factor"),
    [
        ("errors-laplace-add-remove", "scale", Fraction(1, 3)),
        ("errors-gaussian-replace", "variance", Fraction(1, 3)),
        ("errors-gaussian-sums-person", "variance", Fraction(2, 5)),
        ("errors-laplace-sums-add-remove", "scale", Fraction(2, 3)),
    ],
)
def test_errors_of_several_blocks_with_the_sensitivity_of_one(name, field, factor):
    """One record moves all errors at once; sums of two blocks by two."""
    right = mechanism(name)
    less = replace(right, **{field: getattr(right, field) * factor})
    assert refuted(with_mechanism(KNOWN[name], Billed(less, right)), 600)
    assert not refuted(KNOWN[name], 600)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["exponential-blocks-replace", "permute-and-flip-blocks-replace"])
def test_a_selection_with_a_sensitivity_smaller_by_one(name):
    case, right = KNOWN[name], mechanism(name)
    faulty = replace(right, scores=OneLess(right.scores))
    assert faulty.rate == 2 * right.rate
    assert refuted(with_mechanism(case, faulty), 600)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["exponential-boxes-add-remove", "permute-and-flip-boxes-replace"])
def test_a_search_that_ends_in_the_best_box(name):
    case = KNOWN[name]
    assert refuted(with_mechanism(case, Greedy(mechanism(name))), 150)
    assert not refuted(case, 150)


@pytest.mark.slow
def test_permute_and_flip_priced_as_bounded_range():
    case = KNOWN["exponential-rho-add-remove"]
    right = mechanism("exponential-rho-add-remove")
    flips = PermuteAndFlipChoice(scores=right.scores, unit=right.unit, epsilon=right.epsilon)
    assert refuted(with_mechanism(case, Billed(flips, right)), 1_600)
    assert not refuted(case, 1_600)


@pytest.mark.slow
def test_a_selection_against_the_exact_total():
    """A start of n / 8 in each of eight cells moves with n, and the scores by more than they say."""
    blocks = tuple(QueryBlock(name=str(axis), factors=(Factor.identity(axis, 8),)) for axis in range(2))
    here = np.zeros((8, 8), dtype=np.int64)
    here[0, 1:] = [2, 2, 2, 2, 2, 1, 0]
    there = here.copy()
    there[0, 0] += 1
    exact = StartsAtTotal(blocks, PrivacyUnit(), Fraction(1, 4))
    pair = DenseHistogram(here), DenseHistogram(there)
    case = Case(name="start", what="", pair=pair, trial=MechanismTrial(mechanisms=(exact,)))
    assert share(case, 4_000) > 1
    declared = replace(exact, public=int(here.sum()))
    assert share(with_mechanism(case, declared), 4_000) < 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["left-out-replace", "left-out-person", "left-out-rho-replace"])
def test_left_out_records_that_are_free_where_a_unit_moves_both_parts(name):
    case = KNOWN[name]
    count, answer = case.trial.mechanisms
    free = replace(count, inner=DroppedRecordsMechanism(inner=count.inner))
    assert refuted(with_mechanism(case, free, answer), 100)
    assert not refuted(case, 100)


def first(fault):
    """The case with another mechanism in the place of its first."""
    return lambda case: with_mechanism(case, fault(case.trial.mechanisms[0]))


def around(fault):
    """The case with its trial in the hands of another."""
    return lambda case: with_trial(case, fault(case.trial))


def checked(check):
    """The case by a plan of another check."""

    def made(trial):
        return replace(trial, plan=replace(trial.plan, roles=replace(trial.plan.roles, check=check)))

    return around(made)


def halved(right):
    return Billed(replace(right, scale=right.scale / 2), right)


SHOWN = [
    ("half the noise, without any knowledge of the law", "laplace-marginal-add-remove", first(halved), 2_500),
    ("answers drawn twice for one charge", "laplace-marginal-add-remove", first(Twice), 2_500),
    ("a selection that tells the score", "exponential-queries-add-remove", first(ScoreLeaks), 1_000),
    ("noise that starts again at every draw", "laplace-two-draws-add-remove", around(Restarted), 1_000),
    ("noise that starts again at every run", "laplace-marginal-replace", around(Stuck), 500),
    ("and of choices", "exponential-queries-replace", around(Stuck), 500),
    ("planned on the exact total", "release-rounds-basic-add-remove", around(PlannedOnData), 500),
    ("a check that reuses the score", "release-rounds-basic-add-remove", checked(ExactCheck(Laplace())), 500),
    ("buckets by counts without noise", "release-partition-basic-add-remove", checked(BareBoxes(Laplace())), 250),
    ("a search that knows the number of records", "release-search-basic-add-remove", around(PlannedOnData), 150),
    ("a count without noise decides", "release-counted-basic-add-remove", checked(BareBoxes(Laplace())), 200),
    ("rounds that the records tell", "release-queries-basic-add-remove", around(RoundsOfData), 135),
    ("bare boxes under rho", "release-ordered-zcdp-add-remove", checked(BareBoxes(Gaussian(), field="variance")), 90),
]


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "name", "made", "runs"), SHOWN, ids=[fault for fault, *_ in SHOWN])
def test_what_is_wrong_shows_in_events(fault, name, made, runs):
    assert share(made(KNOWN[name]), runs) > 1
