"""Audited releases in buckets: neighbours, columns, and what varies."""

from dpqr.audit.cases.releases import ABSENT, CELLS, DRAWS, WIDEST, partition_cases
from dpqr.kernel.noise.source import SeededNoise

(CASE,) = partition_cases()


def test_one_record_comes() -> None:
    one, two = (database.counts for database in CASE.pair)
    assert (two - one).tolist() == [1] + [0] * (CELLS - 1)


def test_buckets_measurements_and_answers_are_looked_at() -> None:
    seen = CASE.outcomes(0, 60, SeededNoise(4))
    plan = CASE.trial.plan
    assert len(plan.named("stage")) == 3
    assert seen.context.shape == (60, CELLS)
    assert len({tuple(buckets) for buckets in seen.context.tolist()}) > 3
    assert seen.measured.shape == (60, DRAWS * WIDEST)
    assert (seen.measured[:, 0] != ABSENT).all()
    assert seen.derived.shape == (60, CELLS)


def test_the_claim_is_the_plans_budget() -> None:
    assert CASE.trial.claim.epsilon == CASE.trial.plan.budget.epsilon == CASE.trial.plan.epsilon
