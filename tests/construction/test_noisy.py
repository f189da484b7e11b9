"""Intervals: which answers have one, how wide it is, and how often it misses."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from handmade import BLOCKS, make_plan

from dpqr.construction.noisy import LEVEL, Noisy, measured_answers, unbiased_answers
from dpqr.hypotheses.linear_estimate import GroupEstimate, LinearEstimate
from dpqr.noise.discrete_laplace import DiscreteLaplace
from dpqr.noise.source import SeededNoise
from dpqr.strategies.transcript import Round, Transcript
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.measurement import Measurement

LAW = DiscreteLaplace(Fraction(5))
BETA = float(1 - LEVEL)


def answered(block, values, law=LAW):
    return Measurement(blocks=(block,), values=(np.asarray(values, dtype=np.int64),), law=law)


def after(*measurements, choices=None):
    transcript = Transcript()
    for place, one in enumerate(measurements):
        transcript.add(Round(choice=choices[place] if choices else None, measurement=one, charges=()))
    return transcript


def test_the_margin_of_a_block_is_the_laws_own_quantile_in_records():
    block = replace(BLOCKS[0], scale=Fraction(1, 4))
    plan = make_plan()
    noisy = measured_answers(plan, after(answered(block, np.arange(9))))[block.name]
    assert (noisy.margin == LAW.tail(BETA) / 4).all()
    assert (noisy.values == np.arange(9) / 4).all()
    assert (noisy.lower <= noisy.values - noisy.margin).all()
    assert (noisy.upper >= noisy.values + noisy.margin).all()


def test_a_block_that_was_drawn_again_keeps_its_last_values_and_has_no_interval():
    plan = make_plan()
    noisy = measured_answers(plan, after(answered(BLOCKS[0], [0] * 9), answered(BLOCKS[0], [7] * 9)))[BLOCKS[0].name]
    assert (noisy.values == 7).all()
    assert np.isnan(noisy.margin).all()
    assert np.isnan(noisy.lower).all()


def test_single_queries_have_intervals_row_by_row():
    plan = replace(make_plan(), single=True)
    first, again = (answered(BLOCKS[0].row(row), [4]) for row in (2, 5))
    noisy = measured_answers(plan, after(first, again, again, choices=[2, 5, 5]))[BLOCKS[0].name]
    assert np.flatnonzero(~np.isnan(noisy.values)).tolist() == [2, 5]
    assert np.flatnonzero(~np.isnan(noisy.margin)).tolist() == [2]


def test_a_lost_draw_is_no_answer():
    assert measured_answers(make_plan(), after(None)) == {}


def test_bounds_that_are_not_whole_are_rounded_outwards():
    figures = {name: np.array([value]) for name, value in (("values", 0.1), ("deviation", 1.0), ("margin", 0.2))}
    noisy = Noisy(**figures)
    assert noisy.lower[0] < 0.1 - 0.2
    assert noisy.upper[0] > 0.1 + 0.2


@pytest.mark.parametrize("rows", [(0,), tuple(range(6))], ids=["one cell", "all cells"])
def test_intervals_of_linear_estimates_cover(rows):
    """4,000 runs: a query on cells that were measured one by one. The bound is wide, so hardly any misses; half of
    the margin would miss too often."""
    strategy = QueryBlock(name="cells", factors=(Factor.identity(0, 6),))
    block = QueryBlock(name="q", factors=(Factor.identity(0, 6),))
    draws = LAW.sample(6 * 4000, SeededNoise(11)).reshape(4000, 6).astype(np.float64)
    group = GroupEstimate(axes=(0,), cells=np.zeros(6), strategy=strategy, deviation=LAW.deviation)
    noisy = unbiased_answers(block, LinearEstimate(groups=(group,)), np.zeros(6), [answered(strategy, [0] * 6)])
    margin = noisy.margin[0] * len(rows) ** 0.5
    missed = (np.abs(draws[:, list(rows)].sum(axis=1)) > margin).mean()
    assert missed <= BETA
    assert (np.abs(draws[:, list(rows)].sum(axis=1)) > margin / 2).mean() > BETA


def test_no_interval_without_a_known_spread():
    estimate = LinearEstimate(groups=(GroupEstimate(axes=(0,), cells=np.zeros(6)),))
    block = QueryBlock(name="q", factors=(Factor.identity(0, 6),))
    assert unbiased_answers(block, estimate, np.zeros(6), []) is None
