import math
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.handmade_release import make_release

from dpqr.domain.domain import Domain
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.values import replace
from dpqr.releases.answers.answered import DETAIL, AnsweredBlock, BlockAnswers, add_periods, answered_block, trend
from dpqr.releases.answers.errors import (
    CERTIFIED,
    COMPARED,
    ESTIMATE,
    MEASURED,
    NO_BASIS,
    AnswerIntervals,
    consistent_with_draws,
    distance_error,
    is_measured_exactly,
)
from dpqr.releases.answers.noisy import Noisy
from dpqr.releases.answers.refits import MeasuredBlocks
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.workload import Measurement


@pytest.fixture(scope="module")
def blocks():
    release = make_release()
    return {each.block.name: answered_block(each, release.plan.problem.domain) for each in release.answers}


def test_cells_by_column_in_the_order_of_the_rows(blocks):
    block = blocks["sex by age"]
    assert [block.cells(row) for row in (0, 1, 8)] == [("F", "[0, 20)"), ("F", "[20, 40)"), ("(null)", "[40, 60]")]
    assert [(each.name, each.ordered, each.own) for each in block.columns] == [("sex", False, 1), ("age", True, 0)]
    assert (block.rows, block.certain) == (9, True)
    assert [column.name for column in blocks["years"].columns] == ["sex", DETAIL]
    assert (blocks["cdf"].cells(2), blocks["all"].cells(0), blocks["cdf"].certain) == (("<= 60",), (), False)


def test_some_rows_in_another_order(blocks):
    block = blocks["sex by age"].chosen(np.array([8, 0]))
    assert [block.cells(row) for row in range(block.rows)] == [("(null)", "[40, 60]"), ("F", "[0, 20)")]
    assert block.measured.tolist() == [4, -4]
    assert blocks["sex by age"].first(2).estimate.tolist() == [5, 4.5]
    assert blocks["sex by age"].first(99).rows == 9


# Changes of answers and their errors, on paper.


def point(estimate, error, deviation=np.nan):
    none = np.full(2, np.nan)
    return AnsweredBlock(
        name="n",
        columns=(),
        estimate=np.array(estimate),
        error=np.array(error),
        measured=none,
        deviation=np.full(2, deviation),
        lower=none,
        upper=none,
        basis=np.full(2, NO_BASIS, dtype=np.int8),
    )


POINTS = (point([10.0, 5.0], [3.0, np.nan]), point([14.0, 4.0], [4.0, 1.0]))


def test_squared_errors_of_both_points_add_up():
    found = trend(POINTS)
    assert found.change[1].tolist() == [4.0, -1.0]
    assert found.change_error[1][0] == 5.0
    assert np.isnan(found.change_error[1][1]), "one of the errors is not known"
    assert np.isnan([*found.change[0], *found.change_error[0]]).all()
    noise = trend((point([1.0, 1.0], [np.nan, np.nan], 6.0), point([1.0, 1.0], [np.nan, 8.0])))
    assert noise.change_error[1][1] == 10.0, "without an error of the estimate the noise counts"


def test_an_answer_of_which_the_interval_alone_speaks_has_no_change():
    bounded = replace(POINTS[0], basis=np.full(2, MEASURED, dtype=np.int8))
    for pair in ((bounded, POINTS[1]), (POINTS[1], bounded)):
        assert np.isnan(trend(pair).change[1]).tolist() == [False, True]


def test_shared_noise_cancels():
    """Both points hold noise of standard deviation 3; the second one has 4 of its own."""
    shared = (np.zeros(2), np.full(2, 3.0))
    points = (POINTS[0], replace(POINTS[1], error=np.full(2, 5.0)))
    assert trend(points, shared).change_error[1][0] == pytest.approx(4.0)


# Cumulative answers on paper.


OWN = AnsweredBlock(
    name="n",
    columns=(),
    estimate=np.array([10.0, -1.0]),
    error=np.array([3.0, np.nan]),
    measured=np.array([10.0, -1.0]),
    deviation=np.array([3.0, 6.0]),
    lower=np.array([4.0, -13.0]),
    upper=np.array([16.0, 11.0]),
    basis=np.array([MEASURED, MEASURED], dtype=np.int8),
)
BEFORE = replace(OWN, estimate=np.array([100.0, 7.0]), error=np.array([4.0, 8.0]))


def test_estimates_and_squared_errors_add_up_and_the_first_node_keeps_its_interval():
    (first,), (found,) = add_periods((OWN,), None), add_periods((OWN,), (BEFORE,))
    assert (first.estimate.tolist(), first.error.tolist()) == ([10.0, -1.0], [3.0, 6.0])
    assert first.lower.tolist() == [4.0, -13.0]
    assert np.isnan([first.measured, first.deviation]).all()
    assert (found.estimate.tolist(), found.error.tolist()) == ([110.0, 6.0], [5.0, 10.0])
    assert (found.upper - found.estimate).tolist() == [9.799999999999997, 19.6]
    assert found.basis.tolist() == [ESTIMATE, ESTIMATE]


# Distances from draws: where the noise is small, they are the errors.


BLOCK, OTHER = (QueryBlock(name=f"{axis}", factors=(Factor.identity(axis, 3),)) for axis in (0, 1))
DRAWN = Noisy(values=np.array([5.0, 5.0, 5.0]), deviation=np.full(3, 0.5), margin=np.array([1.0, 1.0, np.nan]))


@in_one_test(("scale", "known"), [(Fraction(1, 10), True), (Fraction(1, 2), False), (Fraction(9), False)])
def test_a_block_is_known_where_cells_are_as_they_were(scale, known):
    history = [Measurement(blocks=(BLOCK,), values=(np.zeros(3, dtype=np.int64),), law=DiscreteLaplace(scale))]
    places = MeasuredBlocks.of(history)
    assert is_measured_exactly(BLOCK, DRAWN, history, places) == known
    assert not is_measured_exactly(OTHER, DRAWN, history, places)
    assert not is_measured_exactly(BLOCK, Noisy.absent(3), history, places)


def test_the_error_of_a_known_block_is_its_distance_or_the_noise():
    assert distance_error(np.array([5.0, 5.25, 9.0]), DRAWN).tolist() == [0.5, 0.5, 4.0]


def test_no_error_contradicts_the_draws():
    estimate = np.array([9.0, 5.5, 100.0])  # distances less margins: 3, -0.5
    assert consistent_with_draws(np.full(3, 0.1), estimate, DRAWN).tolist() == [
        3.0,
        0.1,
        0.1,
    ]  # the distances less the margins
    assert consistent_with_draws(np.full(3, 4.0), estimate, DRAWN).tolist() == [4.0, math.hypot(0.5, 0.5), 4.0]
    assert np.isnan(consistent_with_draws(np.full(3, np.nan), estimate, DRAWN)).all()
    assert consistent_with_draws(np.full(3, 4.0), estimate, Noisy.absent(3)).tolist() == [4.0] * 3


# Which interval an answer gets, and what it rests on.


ESTIMATES = np.array([10.0, 20.0, 30.0])


def noisy(margins):
    figures = np.array(margins)
    return Noisy(values=figures * 0 + 5.0, deviation=figures / 2, margin=figures)


def test_a_proved_interval_goes_before_an_estimated_one():
    found = AnswerIntervals.of(ESTIMATES, np.array([1.0, 2.0, np.nan]), noisy([4.0, np.nan, np.nan]))
    assert found.basis.tolist() == [MEASURED, ESTIMATE, NO_BASIS]
    assert found.lower[:2].tolist() == [1.0, 20.0 - 1.96 * 2.0]
    # The draw proves 1 to 9; the estimate, 10, is not left outside.
    assert found.upper[:2].tolist() == [10.0, 20.0 + 1.96 * 2.0]
    assert np.isnan([found.lower[2], found.upper[2]]).all()
    proved = AnswerIntervals.of(ESTIMATES, np.full(3, np.nan), noisy([4.0] * 3))
    assert ((proved.basis == MEASURED) & (proved.lower == 1.0)).all()


def test_a_certificate_bounds_what_has_no_other_interval():
    found = AnswerIntervals.of(ESTIMATES, np.array([np.nan, 2.0, np.nan]), noisy([4.0, np.nan, np.nan]), bound=7.0)
    assert found.basis.tolist() == [MEASURED, ESTIMATE, CERTIFIED]
    assert (found.lower[2], found.upper[2]) == (23.0, 37.0)


@pytest.mark.parametrize(("coefficients", "least"), [((1, 0, 2), 0.0), ((1, 0, -1), -5.0)])
def test_intervals_begin_at_zero_where_nothing_negative_is_added_up(coefficients, least):
    block = QueryBlock(name="sum", factors=(Factor(axes=(0,), sizes=(3,), matrix=Dense(np.array([coefficients]))),))
    drawn = Noisy(values=np.array([-1.0]), deviation=np.array([2.0]), margin=np.array([4.0]))
    for found in (drawn, Noisy.absent(1)):
        answers = BlockAnswers(block=block, estimate=np.array([1.0]), error=np.array([6 / 1.96]), noisy=found)
        ends = answers.intervals.lower[0], answers.intervals.upper[0]
        assert ends == pytest.approx((least, 3.0 if found is drawn else 7.0))
        assert replace(answers, from_zero=False).intervals.lower[0] == pytest.approx(-5.0)
    for bounded_by in (CERTIFIED, COMPARED):
        answers = BlockAnswers(block=block, estimate=np.array([1.0]), error=np.array([np.nan]), noisy=Noisy.absent(1))
        intervals = replace(answers, bound=6.0, bounded_by=bounded_by).intervals
        assert (intervals.lower[0], intervals.upper[0], intervals.basis[0]) == (least, 7.0, bounded_by)


def test_how_wide_a_bounded_interval_is_does_not_depend_on_what_is_cut_off_below_0():
    count = BlockAnswers(
        block=QueryBlock(name="records"),
        estimate=np.array([1.0]),
        error=np.array([np.nan]),
        noisy=Noisy.absent(1),
        bound=6.0,
    )
    shown = answered_block(count, Domain(()))
    assert (shown.lower[0], shown.upper[0], shown.spread[0]) == (0.0, 7.0, 6.0)
