"""What the audit attacks of perturbed objectives and noisy moments; and that narrower noise is refuted."""

from dataclasses import replace

import pytest
from support.breaches import RUNS, breach

from dpqr.audit.case import exact_share
from dpqr.audit.cases.predictions import UNITS, function_cases, gaussian_objective_case, moments_case
from dpqr.kernel.unit import Neighbours

RELATION = Neighbours.ADD_REMOVE.value


@pytest.mark.parametrize("case", list(function_cases()), ids=lambda case: case.name)
def test_one_record_comes_or_takes_the_place_of_another(case):
    one, two = (database.counts for database in case.pair)
    moved = (two - one)[two != one].tolist()
    assert sorted(moved) == ([-1, 1] if case.name.endswith("replace") else [1])


@pytest.mark.parametrize(
    ("relation", "reached"), [pytest.param("add-remove", 0.85, marks=pytest.mark.slow), ("replace", 0.45)]
)
def test_the_noisy_moments_come_near_their_claim_by_their_exact_law(relation, reached):
    """Two thirds of the stated variance would be a breach where a record comes; so would a half be where one is
    replaced by one of the other class."""
    case = moments_case(relation, UNITS[relation])
    for sums, law in zip(case.pair, case.laws, strict=True):
        assert case.trial.batch.moments.learner.sums(sums).tolist() == [one.answer for one in law]
    assert reached < exact_share(*case.laws, case.claim) <= 1
    wrong = [tuple(replace(one, variance=one.variance * (reached - 0.05)) for one in law) for law in case.laws]
    assert exact_share(*wrong, case.claim) > 1


@pytest.mark.slow
def test_a_normal_pull_of_half_its_deviation_is_refuted():
    case = gaussian_objective_case(RELATION, UNITS[RELATION])
    assert not breach(case, case.trial)
    batch = case.trial.batch

    class Half:
        events = batch.events
        sample = replace(batch.weights, variance=batch.weights.variance / 4).sample

    assert breach(case, replace(case.trial, batch=Half()), 2 * RUNS)
