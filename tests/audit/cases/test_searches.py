import pytest

from dpqr.audit.cases.releases import ABSENT
from dpqr.audit.cases.selections import MOST, search_cases
from dpqr.kernel.events import PureSumEvent, RhoSumEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import Neighbours

CASES = {case.name: case for case in search_cases()}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@every_case
def test_one_record_comes_or_takes_the_place_of_another(case):
    one, two = (database.counts for database in case.pair)
    replaced = case.trial.plan.problem.unit.neighbours is Neighbours.REPLACE
    assert sorted((two - one)[two != one].tolist()) == ([-1, 1] if replaced else [1])
    assert not replaced or one.sum() == two.sum() == case.trial.plan.problem.n


def test_the_count_leads_to_one_table_and_to_one_way_marginals():
    seen = CASES["release-counted-basic-add-remove"].outcomes(0, 25, SeededNoise(4))
    assert {15, 1} == set(seen.context[:, 0].tolist())


def test_the_error_of_one_way_marginals_leads_to_all_pairs_and_to_a_search():
    """Three columns, the error, and three pairs; a search makes choices between."""
    seen = CASES["release-dependence-zcdp-replace"].outcomes(0, 25, SeededNoise(4))
    assert (seen.context[:, 0] == 1).all()
    rounds = seen.context[:, 1].tolist()
    assert min(rounds) == 7 < max(rounds)


@pytest.mark.parametrize("case", [case for name, case in CASES.items() if "search" in name])
def test_what_a_run_draws_follows_what_it_released(case):
    seen = case.outcomes(0, 25, SeededNoise(4))
    assert seen.context.shape == (25, 2 * MOST)
    draws = (seen.context[:, ::2] != ABSENT).sum(axis=1)
    assert 6 < draws.max() < MOST
    pairs = seen.context[:, ::2][:, 3:]
    assert ((pairs == 3).sum(axis=1) == 2).any(), "the two columns that agree are chosen, and measured again"
    assert len({tuple(row) for row in seen.context.tolist()}) > 1


@every_case
def test_the_claim_is_the_sum_that_the_filter_allows(case):
    plan, claim = case.trial.plan, case.trial.claim
    ((event, count),) = plan.events
    assert count == 1
    if isinstance(event, PureSumEvent):
        assert claim.epsilon == event.epsilon == plan.budget.epsilon
    else:
        assert isinstance(event, RhoSumEvent)
        assert claim.rho == event.rho
