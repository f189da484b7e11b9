"""Which draws follow which, by what was released: branches, groups of columns, lost draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.cases import in_one_test, slow_but, thinned
from support.ordered_releases import WIDE, crowd, names, planned, released, table
from support.schedule_states import next_step
from support.small_universes import marginal

from dpqr.domain.histogram import DenseHistogram
from dpqr.strategies.schedules import ordered as sequence
from dpqr.strategies.schedules.ordered import TUNING, groups
from dpqr.strategies.transcript import Round, Transcript
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.workload import Measurement


def test_many_records_are_told_by_the_strategy_without_bias() -> None:
    release, _ = released(planned(), table(10**6))
    assert names(release) == ["number of records", "first look(a0)", "strategy(a0)"]
    assert np.isfinite(release.answers[0].noisy.deviation).all()
    np.testing.assert_array_equal(release.answers[0].estimate, release.answers[0].noisy.values)
    assert any("the strategy's error: the strategy was measured" in sentence for sentence in release.trust)


@pytest.mark.slow
def test_few_records_are_told_in_buckets_and_nothing_is_called_unbiased() -> None:
    release, _ = released(planned(), table(30))
    assert names(release)[:3] == 3 * ["number of records"]
    assert names(release)[-1] == "buckets(a0)"
    matrix = release.transcript.measurements[-1].blocks[0].factors[0].matrix
    assert isinstance(matrix, BucketMatrix)
    assert matrix.inner.cells < 16
    assert np.isnan(release.answers[0].noisy.values).all()
    assert np.isnan(release.answers[0].noisy.deviation).all()
    assert any(f"{matrix.inner.cells} buckets" in sentence for sentence in release.trust)
    assert any("biased" in sentence for sentence in release.trust)


@pytest.mark.slow
def test_records_in_few_places_are_told_in_buckets_however_many() -> None:
    plan = planned(WIDE, shape=(256,))
    release, guard = released(plan, crowd(16))
    assert names(release)[:2] == ["number of records", "first look(a0)"]
    assert names(release)[-1] == "buckets(a0)"
    assert plan.roles.accountant.epsilon(guard.events, 0) <= 1
    assert np.isnan(release.answers[0].noisy.deviation).all()


@pytest.mark.parametrize(
    ("records", "looks"),
    slow_but({0}, [(0, []), (3, []), (30, ["scouting(a0)"]), (70, ["scouting(a0)"]), (200, ["first look(a0)"])]),
)
def test_few_records_get_one_look_if_they_rise_above_its_noise_and_many_a_first_one(records, looks) -> None:
    plan = planned()
    _, steps = lost_at(plan, -1, table(records))
    assert [step.only[0].name for step in steps][:-1] == [*3 * ["number of records"], *looks]
    assert sum(step.measure.epsilon for step in steps) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("further", "looks"), [(0.0, 2), (math.inf, 1)])
def test_a_second_look_is_taken_where_it_promises_less_error(monkeypatch, further, looks) -> None:
    monkeypatch.setattr(sequence, "_further_part", lambda *_: further)
    release, guard = released(planned(WIDE, shape=(256,)), crowd(16))
    assert names(release)[1:] == ["first look(a0)", *(looks - 1) * ["scouting(a0)"], "buckets(a0)"]
    assert len(guard.charged) == looks + 2


@pytest.mark.slow
def test_boxes_that_cannot_be_merged_after_all_are_told_by_the_strategy(monkeypatch) -> None:
    monkeypatch.setattr(sequence, "_further_part", lambda *_: 0.0)
    counts = np.random.default_rng(1).permutation(256) ** 4
    release, _ = released(planned(WIDE, shape=(256,)), counts)
    assert names(release)[1:] == ["first look(a0)", "scouting(a0)", "strategy(a0)"]
    assert any("after two looks" in sentence for sentence in release.trust)
    assert np.isfinite(release.answers[0].noisy.deviation).all()


@pytest.mark.slow
@pytest.mark.parametrize("delta", ["0", "0.001"])
def test_groups_of_columns_decide_for_themselves_and_share_the_budget(delta) -> None:
    shape = (256, 64, 3)
    other = QueryBlock(name="other cdf", factors=(Factor(axes=(1,), sizes=(64,), matrix=Prefix(64)),))
    plan = planned(other, marginal((2,), shape), WIDE, shape=shape, delta=delta)
    assert len(plan.named("stage")) == 9
    assert [told.name for told in plan.forecast] == [block.name for block in plan.problem.workload.blocks]
    counts = np.zeros(shape, dtype=np.int64)
    counts[:16, :, 1] = 12
    counts[3, :, 0] = np.random.default_rng(1).permutation(64) ** 3
    release, guard = released(plan, counts)
    assert names(release)[0] == "number of records"
    kinds = [name.split("(")[0] for name in names(release)[1:] if "(a2)" not in name]
    assert [kind for kind in kinds if kind != "scouting"] == ["first look", "strategy", "first look", "buckets"]
    assert "strategy(a2)" in names(release)
    told = {answers.block.name: answers for answers in release.answers}
    assert np.isfinite(told["other cdf"].noisy.deviation).all()
    assert np.isnan(told["cdf"].noisy.deviation).all()
    for answers in release.answers:
        np.testing.assert_allclose(answers.estimate, answers.block.answer(DenseHistogram(counts)), atol=3000)
    charged = plan.roles.accountant.epsilon(guard.events, plan.budget.delta)
    assert charged <= plan.budget.epsilon


def test_a_second_look_lost_in_a_crash_is_not_made_again() -> None:
    plan = planned()
    transcript, steps = lost_at(plan, 3, table(30))
    assert [step.only[0].name for step in steps][-2:] == ["scouting(a0)", "strategy(a0)"]
    assert sum(step.measure.epsilon for step in steps) == 1
    assert "the counts of boxes were lost" in plan.schedule.reasons(plan, transcript)[0]


def lost_at(plan, place, counts):
    """The transcript of a run that lost its draw number `place`, and the steps that followed."""
    transcript, steps = Transcript(), []
    while step := next_step(plan, transcript):
        steps.append(step)
        block = step.only[0]
        law = plan.roles.check.law(step.only, plan.problem.unit, step.measure)
        measured = None
        if len(steps) - 1 != place:
            values = np.asarray(block.answer(DenseHistogram(counts)))
            measured = Measurement(blocks=step.only, values=(values,), law=law)
        transcript.add(Round(choice=None, measurement=measured, charges=()))
    return transcript, steps


@in_one_test(
    ("records", "place", "said"),
    [
        (30, 0, "count of records was lost"),
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


@in_one_test("place", [1, 2])
def test_a_lost_further_count_is_paid_and_the_ones_before_decide(place) -> None:
    plan = planned()
    transcript, steps = lost_at(plan, place, table(30))
    counts = [step.only[0].name for step in steps].count("number of records")
    assert counts == place + 1 < len(steps)
    assert sum(step.measure.epsilon for step in steps) == 1
    assert plan.schedule.reasons(plan, transcript)


@in_one_test(("records", "more"), [(0, 2), (30, 2), (2000, 1), (10**4, 0)])
def test_records_are_counted_again_while_their_count_is_not_sure(records, more) -> None:
    """Each further count takes its share from all that is left, so that nothing is spent twice."""
    plan = planned()
    _, steps = lost_at(plan, -1, table(records))
    prices = [step.measure.epsilon for step in steps if step.only[0].name == "number of records"]
    first, second = TUNING.recounts
    rest = 1 - TUNING.count
    assert prices == [TUNING.count, rest * first, rest * (1 - first) * second][: 1 + more]
    assert sum(step.measure.epsilon for step in steps) == 1


@in_one_test("records", [10**4, 10**7])
def test_every_price_is_spent_once_and_the_first_looks_falls_as_records_rise(records) -> None:
    plan = planned()
    _, steps = lost_at(plan, -1, table(records))
    looks = [step.measure.epsilon for step in steps if step.only[0].name == "first look(a0)"]
    sure = records - plan.roles.check.law(plan.opening[0], plan.problem.unit, plan.price("opening")).deviation
    halvings = math.floor(math.log2(max(sure / groups(plan)[0].limit, 1)))
    assert looks == [TUNING.first_look / 2**halvings]
    assert sum(step.measure.epsilon for step in steps) == 1


@pytest.mark.slow
def test_what_was_decided_and_lost_is_not_praised(monkeypatch) -> None:
    monkeypatch.setattr(sequence, "_further_part", lambda *_: math.inf)
    plan = planned(WIDE, shape=(256,))
    transcript, steps = lost_at(plan, 2, crowd(16))
    assert len(steps) == 3
    assert plan.schedule.reasons(plan, transcript) == (
        "buckets(a0): drawn, and lost in a crash; answers rest on earlier counts, if there are any",
    )


@pytest.mark.slow
def test_what_follows_never_changes_the_steps_before() -> None:
    """Continued after every step, a run goes on as it did."""
    plan = planned(WIDE, shape=(256,))
    release, _ = released(plan, crowd(16))
    whole = len(release.transcript.rounds)
    for done in range(whole + 1):
        seen = Transcript()
        for finished in release.transcript.rounds[:done]:
            seen.add(finished)
        step = next_step(plan, seen)
        expected = release.transcript.measurements[done].blocks[0] if done < whole else None
        assert (step is None) == (expected is None)
        if step is not None:
            assert step.only[0].name == expected.name
            ramp = DenseHistogram(np.arange(256))
            np.testing.assert_array_equal(step.only[0].answer(ramp), expected.answer(ramp))


@pytest.mark.parametrize("epsilon", thinned(["0.000001", "1000"], 2))
def test_no_budget_is_too_small_or_too_large(epsilon) -> None:
    release, _ = released(planned(WIDE, shape=(256,), epsilon=epsilon), crowd(16))
    assert np.isfinite(release.answers[0].estimate).all()
    if epsilon == "1000":
        np.testing.assert_array_equal(np.rint(release.answers[0].estimate), np.cumsum(crowd(16)))


def test_records_within_the_noise_of_their_counts_are_not_looked_at() -> None:
    plan = planned(WIDE, shape=(256,))
    law = plan.roles.check.law(plan.opening[0], plan.problem.unit, plan.price("opening"))
    for counted in (-1000, 0, round(law.deviation / 2)):
        seen = Transcript()
        seen.add(_round(plan.opening[0], [counted], law))
        for _ in TUNING.recounts:
            again = next_step(plan, seen)
            assert again.only[0] is sequence.RECORDS
            of_count = plan.roles.check.law(again.only, plan.problem.unit, again.measure)
            seen.add(_round(again.only, [0], of_count))
        assert next_step(plan, seen).only[0].name == "buckets(a0)"


def _round(blocks, values, law) -> Round:
    told = Measurement(blocks=blocks, values=(np.array(values),), law=law)
    return Round(choice=None, measurement=told, charges=())
