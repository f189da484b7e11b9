"""A count decides between the strategy and buckets: the plan, the branches, what they cost and what is said."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from universes import dense, domain, marginal

from dpqr.construction.draws import Draws
from dpqr.construction.loop import iterative_construction
from dpqr.construction.release import assemble
from dpqr.data.histogram import DenseHistogram
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.errors import InfeasiblePlan
from dpqr.noise.source import SeededNoise
from dpqr.privacy.accountants.known import ACCOUNTANTS
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.every_filter import EveryFilter
from dpqr.privacy.sealed import Private
from dpqr.strategies.checks.gaussian import Gaussian
from dpqr.strategies.checks.laplace import Laplace
from dpqr.strategies.distinguishers.exponential import Exponential
from dpqr.strategies.guard import guarded, unfit
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules import course
from dpqr.strategies.schedules.dropped_count import WithDroppedCount
from dpqr.strategies.schedules.interface import Explaining
from dpqr.strategies.schedules.ordered import COUNT_SHARE, GLANCE_SHARE, RECORDS, SCOUT_SHARE, Ordered
from dpqr.strategies.schedules.strategy import Strategy
from dpqr.strategies.transcript import Round, Transcript
from dpqr.strategies.updates.bucket_least_squares import BucketLeastSquares
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.measurement import Measurement
from dpqr.workload.merged import Merged
from dpqr.workload.workload import Workload

SHAPE = (16, 3)
CDF = QueryBlock(name="cdf", factors=(Factor(axes=(0,), sizes=(16,), matrix=Prefix(16)),))
BOTH = QueryBlock(name="cdf by kind", factors=(*CDF.factors, Factor.identity(1, 3)))
REPLACE = PrivacyUnit(neighbours=Neighbours.REPLACE)


def planned(*blocks, epsilon="1", delta="0", schedule=None, shape=SHAPE, **more):
    settings = {"unit": PrivacyUnit()} | more
    problem = Problem(domain=domain(shape), workload=Workload(blocks or (CDF,)), **settings)
    pure = delta == "0"
    roles = Roles(
        distinguisher=Exponential(),
        check=Laplace() if pure else Gaussian(),
        update=BucketLeastSquares(),
        accountant=ACCOUNTANTS["basic" if pure else "zcdp"],
    )
    return (schedule or Ordered()).plan(problem, PrivacyBudget.parse(epsilon, delta), roles)


class Quiet:
    def finished(self, rounds, planned):
        pass


def released(plan, counts, seed=1):
    noise, guard = SeededNoise(seed), EveryFilter(filters=(guarded(plan),))
    draws = Draws(data=Private(DenseHistogram(counts)), accountant=guard, noise=noise)
    release = assemble(plan, iterative_construction(draws, plan, Quiet()), {}, private=noise.private)
    return release, guard


def table(records):
    counts = np.zeros(SHAPE, dtype=np.int64)
    counts[3, 1] = records
    return counts


def names(release):
    return [one.blocks[0].name for one in release.transcript.measurements]


@pytest.mark.parametrize("delta", ["0", "0.001"])
def test_the_whole_budget_is_cut_in_four(delta) -> None:
    plan = planned(delta=delta)
    prices = [price.epsilon or price.rho for price in (plan.opening_price, *plan.stages)]
    total = sum(prices)
    rest = 1 - COUNT_SHARE - GLANCE_SHARE
    shares = [COUNT_SHARE, GLANCE_SHARE, rest * SCOUT_SHARE, rest * (1 - SCOUT_SHARE)]
    assert [price / total for price in prices] == shares
    assert plan.epsilon <= plan.budget.epsilon
    assert plan.opening == ((RECORDS,),)
    assert plan.schedule == Ordered()
    if delta == "0":
        assert total == plan.epsilon == 1


@pytest.mark.parametrize("delta", ["0", "0.001"])
@pytest.mark.parametrize("records", [0, 40, 10**6])
@pytest.mark.parametrize("blocks", [(CDF,), (BOTH, CDF)], ids=["one column", "two"])
def test_every_branch_spends_the_budget_and_no_more(records, delta, blocks) -> None:
    plan = planned(*blocks, delta=delta)
    _, guard = released(plan, table(records))
    charged = plan.roles.accountant.epsilon(guard.events, plan.budget.delta)
    assert charged <= plan.budget.epsilon
    assert float(charged) == pytest.approx(float(plan.epsilon), rel=1e-9)
    assert len(guard.charged) in (3, 4)


def test_many_records_are_told_by_the_strategy_without_bias() -> None:
    release, _ = released(planned(), table(10**6))
    assert names(release) == ["number of records", "first look(a0)", "strategy(a0)"]
    assert np.isfinite(release.answers[0].noisy.deviation).all()
    np.testing.assert_array_equal(release.answers[0].estimate, release.answers[0].noisy.values)
    assert any("are not below" in sentence for sentence in release.trust)


def test_few_records_are_told_in_buckets_and_nothing_is_called_unbiased() -> None:
    release, _ = released(planned(), table(30))
    assert names(release) == ["number of records", "scouting(a0)", "buckets(a0)"]
    matrix = release.transcript.measurements[-1].blocks[0].factors[0].matrix
    assert isinstance(matrix, Merged)
    assert matrix.inner.cells < 16
    assert np.isnan(release.answers[0].noisy.values).all()
    assert np.isnan(release.answers[0].noisy.deviation).all()
    assert any(f"{matrix.inner.cells} buckets" in sentence for sentence in release.trust)
    assert any("biased" in sentence for sentence in release.trust)


@pytest.mark.parametrize(
    ("records", "said", "measured"),
    [
        (30, "are below", ["scouting(a0)", "buckets(a0)"]),
        (10**6, "are not below", ["first look(a0)", "strategy(a0)"]),
    ],
)
def test_a_public_number_of_records_decides_for_nothing(records, said, measured) -> None:
    plan = planned(unit=REPLACE, n=records)
    assert (plan.opening, plan.opening_price, len(plan.stages)) == ((), None, 3)
    assert f"{records:,} records, as declared, decides" in plan.notes[-1].replace("decide:", "decides:")
    release, guard = released(plan, table(records))
    assert names(release) == measured
    assert any(f"{records:,} records (declared) {said}" in sentence for sentence in release.trust)
    assert len(guard.charged) == 2


WIDE = QueryBlock(name="cdf", factors=(Factor(axes=(0,), sizes=(256,), matrix=Prefix(256)),))


def crowd(cells) -> np.ndarray:
    """Very many records, evenly in the first `cells` of 256."""
    return np.where(np.arange(256) < cells, 10**5 // cells, 0)


def test_many_records_in_few_places_are_told_in_buckets_after_a_first_look() -> None:
    plan = planned(WIDE, shape=(256,))
    release, guard = released(plan, crowd(16))
    assert names(release) == ["number of records", "first look(a0)", "scouting(a0)", "buckets(a0)"]
    assert plan.roles.accountant.epsilon(guard.events, 0) <= 1
    assert any("but a first look" in sentence for sentence in release.trust)
    assert np.isnan(release.answers[0].noisy.deviation).all()


def test_boxes_that_cannot_be_merged_after_all_are_told_by_the_strategy(monkeypatch) -> None:
    monkeypatch.setattr(course, "WORTH", math.inf)
    counts = np.random.default_rng(1).permutation(256) ** 4
    release, _ = released(planned(WIDE, shape=(256,)), counts)
    assert names(release)[1:] == ["first look(a0)", "scouting(a0)", "strategy(a0)"]
    assert any("tell most cells apart" in sentence for sentence in release.trust)
    assert np.isfinite(release.answers[0].noisy.deviation).all()


def test_what_cannot_be_merged_is_planned_as_by_strategy() -> None:
    few = planned(marginal((1,), SHAPE))
    assert few.schedule == Strategy()
    assert "too few cells" in few.notes[-1]


@pytest.mark.parametrize("delta", ["0", "0.001"])
def test_groups_of_columns_decide_for_themselves_and_share_the_budget(delta) -> None:
    shape = (256, 64, 3)
    other = QueryBlock(name="other cdf", factors=(Factor(axes=(1,), sizes=(64,), matrix=Prefix(64)),))
    plan = planned(other, marginal((2,), shape), WIDE, shape=shape, delta=delta)
    assert len(plan.stages) == 9
    assert [told.name for told in plan.forecast] == [block.name for block in plan.problem.workload.blocks]
    counts = np.zeros(shape, dtype=np.int64)
    counts[:16, :, 1] = 12
    counts[3, 60, 0] = 10**5
    release, guard = released(plan, counts)
    assert names(release)[0] == "number of records"
    kinds = [name.split("(")[0] for name in names(release)[1:] if "(a2)" not in name]
    assert kinds == ["first look", "strategy", "first look", "scouting", "buckets"]
    assert "strategy(a2)" in names(release)
    told = {answers.block.name: answers for answers in release.answers}
    assert np.isfinite(told["other cdf"].noisy.deviation).all()
    assert np.isnan(told["cdf"].noisy.deviation).all()
    for answers in release.answers:
        np.testing.assert_allclose(answers.estimate, answers.block.answer(DenseHistogram(counts)), atol=3000)
    charged = plan.roles.accountant.epsilon(guard.events, plan.budget.delta)
    assert charged <= plan.budget.epsilon


def test_shares_of_the_budget_follow_what_groups_are_hard_to_tell() -> None:
    shape = (256, 8)
    small = QueryBlock(name="small", factors=(Factor(axes=(1,), sizes=(8,), matrix=Prefix(8)),))
    plan = planned(WIDE, small, shape=shape)
    one, two = (plan.stages[3 * group + 2].epsilon for group in range(2))
    assert 3 < one / two < 20


def test_too_many_cells_are_planned_as_by_strategy(monkeypatch) -> None:
    monkeypatch.setattr(course, "LARGEST", 15)
    assert "16 cells are more than 15" in planned().notes[-1]


def test_what_a_strategy_cannot_take_is_refused() -> None:
    with pytest.raises(InfeasiblePlan, match="several columns into one predicate"):
        planned(dense(np.ones((1, 48), dtype=int), SHAPE, name="joint"))


def test_prices_that_depend_on_releases_need_a_filter() -> None:
    assert Ordered().adaptive
    assert unfit(ACCOUNTANTS["optimal"], Ordered()) is not None
    assert unfit(ACCOUNTANTS["basic"], Ordered()) is None
    assert Ordered().distinguisher is None
    assert isinstance(Ordered(), Explaining)


def test_the_count_of_what_was_left_out_takes_its_share_of_all_prices() -> None:
    plan = planned(schedule=WithDroppedCount(schedule=Ordered(), share=Fraction(1, 10)))
    paid = [plan.dropped, plan.opening_price, *plan.stages]
    assert sum(price.epsilon for price in paid) == 1
    assert plan.dropped.epsilon == Fraction(1, 10)


def lost_at(plan, place, counts):
    """The transcript of a run that lost its draw number `place`, and the steps that followed."""
    transcript, steps = Transcript(), []
    while step := plan.schedule.next(plan, transcript):
        steps.append(step)
        block = step.only[0]
        law = plan.roles.check.law(step.only, plan.problem.unit, step.measure)
        measured = None
        if len(steps) - 1 != place:
            values = np.asarray(block.answer(DenseHistogram(counts)))
            measured = Measurement(blocks=step.only, values=(values,), law=law)
        transcript.add(Round(choice=None, measurement=measured, charges=()))
    return transcript, steps


@pytest.mark.parametrize(
    ("records", "place", "said"),
    [
        (30, 0, "count of records was lost"),
        (30, 1, "the counts of boxes were lost"),
        (10**6, 1, "first counts of boxes were lost"),
    ],
)
def test_a_draw_lost_in_a_crash_is_not_made_again(records, place, said) -> None:
    plan = planned()
    transcript, steps = lost_at(plan, place, table(records))
    assert [step.only[0].name for step in steps][-1] == "strategy(a0)"
    assert len(steps) == place + 2
    assert sum(step.measure.epsilon for step in steps) <= 1
    assert said in plan.schedule.reasons(plan, transcript)[0]


def test_the_forecast_is_the_strategys_with_what_the_count_leaves() -> None:
    plan, direct = planned(), planned(schedule=Strategy())
    assert plan.noise == pytest.approx(direct.noise / (1 - float(COUNT_SHARE + GLANCE_SHARE)), rel=0.01)
    assert "decides" in plan.notes[-1]
    assert Ordered().reasons(replace(plan, stages=()), Transcript()) == ()


def test_what_follows_never_changes_the_steps_before() -> None:
    """Continued after every step, a run goes on as it did."""
    plan = planned(WIDE, shape=(256,))
    release, _ = released(plan, crowd(16))
    for done in range(5):
        seen = Transcript()
        for finished in release.transcript.rounds[:done]:
            seen.add(finished)
        step = plan.schedule.next(plan, seen)
        expected = release.transcript.measurements[done].blocks[0] if done < 4 else None
        assert (step is None) == (expected is None)
        if step is not None:
            assert step.only[0].name == expected.name
            ramp = DenseHistogram(np.arange(256))
            np.testing.assert_array_equal(step.only[0].answer(ramp), expected.answer(ramp))
