"""Intervals: which answers have one, how wide it is, and how often it misses."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.handmade_release import BLOCKS, make_plan
from support.plan_phases import changed

from dpqr.kernel.budget import Price
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.gaussian import DiscreteGaussian
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.values import replace
from dpqr.models.hypothesis import GroupEstimate, LinearEstimate
from dpqr.releases.answers.noisy import LEVEL, SHARES, Noisy, measured_answers, unbiased_answers
from dpqr.releases.sentences import INTERVALS
from dpqr.strategies.plan import Phase, StopTest
from dpqr.strategies.transcript import Round, Transcript
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.workload import Measurement

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
    assert (noisy.margin == LAW.tail(0.05) / 4).all()
    assert (noisy.deviation == LAW.deviation / 4).all()
    assert (noisy.values == np.arange(9) / 4).all()
    assert (Fraction(95, 100), "at least 0.95 over" in INTERVALS) == (LEVEL, True)
    twice = measured_answers(plan, after(answered(BLOCKS[0], [0] * 9), answered(BLOCKS[0], [7] * 9)))[BLOCKS[0].name]
    assert ((twice.values == 0) & (twice.margin == LAW.tail(BETA))).all(), "of equal draws the first counts"
    assert measured_answers(plan, after(None)) == {}, "a lost draw is no answer"
    assert (noisy.lower <= noisy.values - noisy.margin).all()
    assert (noisy.upper >= noisy.values + noisy.margin).all()


def searching(plan):
    """The same plan with a search phase, as the schedule for marginals has it."""
    return replace(plan, phases=(*plan.phases, Phase(noun="search", count=1, price=Price(epsilon=Fraction(1)))))


def test_after_a_search_the_last_measurement_counts_and_a_selected_draw_has_no_interval():
    plan, drawn = searching(make_plan()), [answered(BLOCKS[1], [value] * 3) for value in (1, 2)]
    once = measured_answers(plan, after(*drawn[:1], choices=[4]))[BLOCKS[1].name]
    assert (once.values == 1).all()
    assert np.isnan(once.margin).all()
    twice = measured_answers(plan, after(*drawn, choices=[4, None]))[BLOCKS[1].name]
    assert (twice.values == 2).all()
    assert (twice.margin == LAW.tail(BETA)).all()
    assert (measured_answers(plan, after(*drawn, choices=[None, 4]))[BLOCKS[1].name].values == 1).all()


def test_draws_of_a_block_of_the_opening_share_what_may_be_missed():
    plan, drawn = searching(make_plan()), [answered(BLOCKS[0], [value] * 9) for value in range(4)]
    for count in range(1, 5):
        noisy = measured_answers(plan, after(*drawn[:count]))[BLOCKS[0].name]
        last = min(count, len(SHARES)) - 1
        assert (noisy.values == last).all()
        assert (noisy.margin == LAW.tail(BETA * SHARES[last])).all()
    assert sum(map(Fraction, map(str, SHARES))) == 1


def test_of_the_draws_that_stages_chose_the_narrowest_counts_and_all_share_what_may_be_missed():
    plan = searching(make_plan())
    stop = StopTest(threshold=None, promise="proved", stages=(Fraction(1, 2), Fraction(1, 4)))
    plan = replace(plan, stop=stop)
    laws = [DiscreteLaplace(Fraction(scale)) for scale in (8, 5, 5, 2)]
    drawn = [answered(BLOCKS[1], [value] * 3, law) for value, law in enumerate(laws)]
    margins = [law.tail(BETA * 0.9 / (k * (k + 1))) for k, law in enumerate(laws, 1)]
    assert margins[1] < margins[0] < np.inf
    assert margins[3] < margins[1] < margins[2]
    for count, counted in ((1, 0), (2, 1), (3, 1), (4, 3)):
        noisy = measured_answers(plan, after(*drawn[:count], choices=[4] * count))[BLOCKS[1].name]
        assert ((noisy.values == counted) & (noisy.margin == margins[counted])).all()
    # With one more of an opening, over any number of draws.
    assert sum(0.9 / (k * (k + 1)) for k in range(1, 10**5)) + SHARES[0] <= 1.0


@in_one_test("kept", [0, 5, LAW.tail(0.05), LAW.tail(0.02)])
def test_whoever_chooses_by_the_first_noise_whether_there_is_a_second_draw_misses_no_more_often(kept):
    """Exactly, over all draws: a second one is made where the first is off by at most `kept`. Margins at the full level
    would be missed too often."""
    plan, names = searching(make_plan()), BLOCKS[0].name
    first, second = (
        measured_answers(plan, after(*[answered(BLOCKS[0], [0] * 9)] * count))[names].margin[0] for count in (1, 2)
    )

    def missed(one, two):
        return (1 - below(max(one, kept))) + below(kept) * (1 - below(two))

    assert missed(first, second) <= BETA
    if kept == LAW.tail(0.05):
        assert missed(LAW.tail(BETA), LAW.tail(BETA)) > BETA * 1.5


def below(size):
    """Pr[|draw| <= size] under LAW, whose masses fall by r = exp(-1 / scale): 1 - 2 r^(size + 1) / (1 + r)."""
    ratio = np.exp(-1 / 5)
    return 1 - 2 * ratio ** (size + 1) / (1 + ratio)


@in_one_test("choice", range(3 + 9 + 1))
def test_a_single_query_stands_in_its_own_row_of_its_own_block(choice):
    """Counted over all blocks of the workload, in their order."""
    plan = changed(make_plan(blocks=(BLOCKS[1], BLOCKS[0], BLOCKS[2])), "selection", single=True)
    position, row = next(
        (place, choice - first) for place, first, last in ((1, 0, 3), (0, 3, 12), (2, 12, 13)) if first <= choice < last
    )
    block = BLOCKS[position]
    found = measured_answers(plan, after(answered(block.row(row), [4]), choices=[choice]))
    assert set(found) == {block.name}
    for figures in (found[block.name].values, found[block.name].margin):
        assert np.flatnonzero(~np.isnan(figures)).tolist() == [row]


def test_an_estimate_s_interval_is_in_records_and_by_the_widest_law_of_all():
    """Which draws went into an estimate is not asked: the law with the widest tail for its deviation serves for all."""
    block = replace(QueryBlock(name="q", factors=(Factor.identity(0, 6),)), scale=Fraction(1, 4))
    strategy = QueryBlock(name="cells", factors=(Factor.identity(0, 6),))
    group = GroupEstimate(axes=(0,), cells=np.zeros(6), strategy=strategy, deviation=8.0)
    narrow, wide = DiscreteGaussian(Fraction(64)), LAW
    per = [law.weighted_tail(0.05) / law.deviation for law in (narrow, wide)]
    assert per[0] < per[1]
    for history in ([narrow, wide], [wide, narrow], [narrow]):
        measured = [answered(strategy, [0] * 6, law) for law in history]
        noisy = unbiased_answers(block, LinearEstimate(groups=(group,)), np.zeros(6), measured)
        assert noisy.deviation == pytest.approx(8.0 / 4)
        assert noisy.margin == pytest.approx(8.0 / 4 * (per[0] if history == [narrow] else per[1]), rel=1e-12)
    unknown = LinearEstimate(groups=(GroupEstimate(axes=(0,), cells=np.zeros(6)),))
    assert unbiased_answers(block, unknown, np.zeros(6), []) is None


def test_bounds_that_are_not_whole_are_rounded_outwards():
    figures = {name: np.array([value]) for name, value in (("values", 0.1), ("deviation", 1.0), ("margin", 0.2))}
    noisy = Noisy(**figures)
    assert noisy.lower[0] < 0.1 - 0.2
    assert noisy.upper[0] > 0.1 + 0.2


@in_one_test("rows", [(0,), tuple(range(6))])
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
