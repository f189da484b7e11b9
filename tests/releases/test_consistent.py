"""Earlier answers that contradict a hypothesis update it for nothing, and others leave it alone."""

from fractions import Fraction

import numpy as np
from support.cases import in_one_test
from support.small_universes import dense, marginal, problem

from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.unit import Neighbours
from dpqr.kernel.values import replace
from dpqr.models.hypothesis import DenseDistribution
from dpqr.releases import consistent
from dpqr.releases.consistent import Answers, furthest, restore_consistency, start_rule, updated_in_stage
from dpqr.strategies.problem import Level
from dpqr.strategies.transcript import Round, Stage, Transcript
from dpqr.strategies.updates.median import Median
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.strategies.updates.perceptron import Perceptron
from dpqr.workload.workload import Measurement

SHAPE, N = (4,), 8_000
LEVEL = Level(value=Fraction(5, 80), variant="sharp")
STAGE = Stage(alpha=Fraction(1, 10), level=LEVEL, finest=LEVEL, noise=Fraction(100), exact=True)
FIRST = dense([[1, 1, 0, 0]], SHAPE, name="first")
CELLS = marginal((0,), SHAPE, "cells")
PROBLEM = replace(problem(SHAPE, [FIRST], n=N, neighbours=Neighbours.REPLACE), level=LEVEL)
UNIFORM = DenseDistribution.uniform(SHAPE, float(N))


def answers(*measured, stage=STAGE):
    found = Answers()
    for block, values in measured:
        law = DiscreteLaplace(Fraction(3))
        drawn = Measurement(blocks=(block,), values=(np.atleast_1d(np.array(values)),), law=law)
        found = found.after(Round(choice=0, measurement=drawn, charges=(0, 1)), stage)
    return found


@in_one_test(("value", "updates"), [(4_599, 0), (4_600, 1), (3_401, 0), (3_400, 1)])
def test_an_answer_contradicts_from_six_times_the_noise_on(value, updates, monkeypatch):
    monkeypatch.setattr(consistent, "MOST", 1)
    found = restore_consistency(MultiplicativeWeights(), PROBLEM, UNIFORM, answers((FIRST, value)), STAGE)
    assert (found is not UNIFORM) == bool(updates)
    if updates:
        assert np.sign(found.answer(FIRST)[0] - 4_000) == np.sign(value - 4_000)


@in_one_test("rule", [MultiplicativeWeights(), Perceptron()])
def test_afterwards_none_contradicts(rule):
    known = answers((FIRST, 7_000), (CELLS, [5_000, 2_000, 900, 100]))
    start = start_rule(rule, PROBLEM)
    found = restore_consistency(rule, PROBLEM, start, known, STAGE)
    assert list(known.contradicting(start, STAGE))
    assert not list(known.contradicting(found, STAGE))


def test_the_level_is_the_gap_that_is_sure_where_n_is_the_tables(monkeypatch):
    seen = []

    class Noting(MultiplicativeWeights):
        def update(self, problem, hypothesis, history):
            seen.append(problem.level.value)
            return super().update(problem, hypothesis, history)

    monkeypatch.setattr(consistent, "MOST", 1)
    for stage in (STAGE, replace(STAGE, exact=False)):
        restore_consistency(Noting(), PROBLEM, UNIFORM, answers((FIRST, 7_000)), stage)
    assert seen == [Fraction(2_900, N), LEVEL.value]


def test_updates_are_bounded():
    far = answers((FIRST, 7_900))
    done = []

    class Stuck(MultiplicativeWeights):
        def update(self, problem, hypothesis, history):
            done.append(1)
            return hypothesis

    assert restore_consistency(Stuck(), PROBLEM, UNIFORM, far, STAGE) is UNIFORM
    assert len(done) == consistent.MOST


def test_an_answer_that_an_earlier_update_of_the_sweep_has_settled_updates_nothing():
    done = []

    class Settling(MultiplicativeWeights):
        def update(self, problem, hypothesis, history):
            done.append(history[-1].blocks[0].name)
            return DenseDistribution.uniform(SHAPE, 2.0 * 7_000)

    same = dense([[1, 1, 0, 0]], SHAPE, name="same")
    assert len(list(answers((FIRST, 7_000), (same, 6_990)).contradicting(UNIFORM, STAGE))) == 2
    restore_consistency(Settling(), PROBLEM, UNIFORM, answers((FIRST, 7_000), (same, 6_990)), STAGE)
    assert done == ["first"]


def test_a_rule_that_runs_out_says_so():
    rule = Median(members=10**4)
    apart = answers((FIRST, 7_000), (dense([[1, 1, 0, 0]], SHAPE, name="again"), 1_000))
    assert restore_consistency(rule, PROBLEM, start_rule(rule, PROBLEM), apart, STAGE) is None


def test_the_newest_answer_of_a_block_replaces_the_older():
    finer = replace(STAGE, noise=Fraction(10))
    known = answers((FIRST, 4_000)).after(
        Round(
            choice=0,
            measurement=Measurement(blocks=(FIRST,), values=(np.array([4_001]),), law=DiscreteLaplace(Fraction(1))),
            charges=(2, 3),
        ),
        finer,
    )
    ((one),) = known.blocks
    assert (one.noise, int(one.measured.values[0][0])) == (10, 4_001)


def test_what_was_lost_or_is_of_no_stage_is_no_answer():
    assert Answers().after(Round(choice=None, measurement=None, charges=(0,)), STAGE) == Answers()
    assert answers((FIRST, 5), stage=None) == Answers()


class Whole:
    """A third party's rule: it is given all measurements, once a round."""

    name = "whole"
    cumulative = True

    def update(self, problem, hypothesis, history):
        self.seen = (problem.level, len(history))
        return hypothesis.with_total(5.0)


def test_a_rule_whose_bound_is_not_carried_reads_all_measurements_after_a_round_that_did_not_stop():
    rule, transcript = Whole(), Transcript()
    for stopped in (False, True, False):
        known = answers((FIRST, 4_000))
        transcript.add(Round(choice=0, measurement=known.blocks[0].measured, charges=(0, 1), stopped=stopped))
        found = updated_in_stage(rule, PROBLEM, UNIFORM, transcript, known, STAGE)
        assert (found is UNIFORM) == stopped
    assert rule.seen == (LEVEL, 3)


def test_the_stop_test_looks_at_the_furthest_answer():
    law = DiscreteLaplace(Fraction(3))
    drawn = Measurement(blocks=(CELLS,), values=(np.array([2_000, 2_100, 1_500, 2_400]),), law=law)
    alone = furthest(drawn, UNIFORM)
    assert (alone.blocks[0].name, int(alone.values[0][0])) == ("cells[2]", 1_500)
