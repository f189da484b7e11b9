from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.models.hypothesis import GroupEstimate, LinearEstimate
from dpqr.releases.answers.answered import BlockAnswers
from dpqr.releases.answers.errors import BASES, ESTIMATE, MEASURED, NO_BASIS
from dpqr.releases.answers.figures import (
    AddedUp,
    Covariances,
    FigureAnswers,
    FunctionErrors,
    fieller,
    figure_answers,
    invert_curve,
    linearise,
    rising,
)
from dpqr.releases.answers.noisy import Noisy
from dpqr.releases.answers.refits import BucketMargins, bucket_margins
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.figures import moments
from dpqr.workload.matrix import Dense, Identity, Prefix
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.queries_file import read_queries
from dpqr.workload.workload import Measurement, Workload

DOMAIN: dict[str, Any] = {
    "fields": [
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}},
        {"name": "pay", "type": "integer", "constraints": {"minimum": 0, "maximum": 4}, "dpqr": {"bins": 5}},
        {"name": "loss", "type": "integer", "constraints": {"minimum": -10, "maximum": -6}, "dpqr": {"bins": 5}},
        {"name": "job", "type": "integer", "constraints": {"minimum": 1, "maximum": 3}, "dpqr": {"bins": 3}},
    ]
}
COUNTS = np.array([[40.0, 10.0, 30.0, 15.0, 5.0], [1.0, 0.0, 2.0, 0.0, 1.0]])


def workload(entry: dict[str, Any]) -> Workload:
    return read_queries({"queries": [entry]}, DOMAIN).workload


def answered(
    entry: dict[str, Any],
    truths: list[np.ndarray],
    *,
    deviation: float | None = 2.0,
    error: float = np.nan,
    alone: bool = True,
    **more: Any,
) -> FigureAnswers:
    """The figure where its answers are exact. deviation: of what was measured; None: nothing was. alone: in
    single draws."""
    asked = workload(entry)
    answers = {}
    for block, truth in zip(asked.blocks, truths, strict=True):
        rows = len(truth)
        noisy = Noisy.absent(rows)
        if deviation is not None:
            noisy = Noisy(values=truth, deviation=np.full(rows, deviation), margin=np.full(rows, 2 * deviation))
        held = BlockAnswers(block=block, estimate=truth, error=np.full(rows, error), noisy=noisy)
        answers[block.name] = held
    direct = set(answers) if deviation is not None and alone else set()
    return figure_answers(asked.figures[0], answers, direct, {asked.blocks[0].name: FunctionErrors(**more)})


def sums(*rows: list[float]) -> np.ndarray:
    """Answers to rows of coefficients of pay, by sex."""
    return (COUNTS @ np.array(rows, dtype=float).T).reshape(-1)


def test_a_linearised_span_is_as_many_deviations_wide_as_asked_to_either_side():
    span = linearise(np.array([10.0, -1.0]), np.array([2.0, 0.5]), 3.0)
    assert (span.lower.tolist(), span.upper.tolist()) == ([4.0, -2.5], [16.0, 0.5])
    assert (span.error.tolist(), span.small.tolist()) == ([2.0, 0.5], [False, False])


@in_one_test("how", [{"deviation": 2.0}, {"deviation": None, "error": 2.0}])
def test_a_mean_below_0_is_as_sure_as_one_above(how) -> None:
    truths = [sums([4, 3, 2, 1, 0], [0, 1, 2, 3, 4])]
    above, below = (answered({"mean": name, "by": ["sex"]}, truths, **how) for name in ("pay", "loss"))
    assert below.estimate == pytest.approx(above.estimate - 10)
    assert below.lower == pytest.approx(above.lower - 10)
    assert below.upper == pytest.approx(above.upper - 10)
    assert (below.upper - below.lower > 0.01).all()


def test_a_mean_is_that_of_the_table_and_a_small_group_has_a_wide_interval() -> None:
    found = answered({"mean": "pay", "by": ["sex"]}, [sums([4, 3, 2, 1, 0], [0, 1, 2, 3, 4])])
    truths = COUNTS @ np.arange(5) / COUNTS.sum(axis=1)
    assert found.estimate[:, 0] == pytest.approx(truths)
    assert found.lower[0, 0] > 1.1
    assert found.upper[0, 0] < 1.6
    assert (found.lower[1, 0], found.upper[1, 0]) == pytest.approx((0.9, 2.8), abs=0.35)
    assert found.basis[:, 0].tolist() == [MEASURED, MEASURED]
    assert not found.small.any()


def test_a_group_that_may_be_empty_is_flagged_and_its_interval_is_all_that_can_be() -> None:
    formula = workload({"mean": "pay"}).figures[0].formula
    assert formula.numerator == (Fraction(0), Fraction(1))  # type: ignore[union-attr]
    found = answered({"mean": "pay", "by": ["sex"]}, [sums([4, 3, 2, 1, 0], [0, 1, 2, 3, 4])], deviation=8.0)
    assert found.small[:, 0].tolist() == [False, True]
    assert (found.lower[1, 0], found.upper[1, 0]) == (0.0, 4.0)
    assert np.isnan(found.error[1, 0])


def test_variances_proportions_and_ratios_are_those_of_the_table() -> None:
    squares = sums([16, 9, 4, 1, 0], [0, 6, 8, 6, 0], [0, 1, 4, 9, 16])
    variance = answered({"variance": "pay", "by": ["sex"]}, [squares])
    values = np.repeat(np.arange(5), COUNTS[0].astype(int))
    assert variance.estimate[0, 0] == pytest.approx(values.var())
    assert variance.lower[0, 0] < values.var() < variance.upper[0, 0] <= 4.0
    part = answered({"proportion": "pay >= 2", "by": ["sex"]}, [sums([0, 0, 1, 1, 1], [1, 1, 0, 0, 0])])
    assert part.estimate[:, 0] == pytest.approx([0.5, 0.75])
    ratio = answered(
        {"ratio": {"of": "pay", "to": "job"}, "by": ["sex"]}, [sums([0, 1, 2, 3, 4]), np.array([200.0, 10.0])]
    )
    assert ratio.estimate[:, 0] == pytest.approx(COUNTS @ np.arange(5) / [200.0, 10.0])


def test_quantiles_are_read_off_the_curve_and_their_intervals_are_whole_bins() -> None:
    curve = np.cumsum(COUNTS, axis=1).reshape(-1)
    found = answered({"quantiles": "pay", "at": [0.1, 0.5], "by": ["sex"]}, [curve], deviation=1.0)
    assert found.estimate[0].tolist() == [0.0, 1.0]
    assert (found.lower[0].tolist(), found.upper[0].tolist()) == ([0.0, 1.0], [0.0, 2.0])
    assert found.small[:, 0].tolist() == [False, False]
    assert np.isnan(found.error).sum() == 0


def test_without_any_known_error_a_quantile_is_still_read_off_the_curve() -> None:
    curves = np.cumsum(COUNTS, axis=1).reshape(-1)
    known = answered({"median": "pay", "by": ["sex"]}, [curves])
    found = answered({"median": "pay", "by": ["sex"]}, [curves], deviation=None)
    assert found.estimate.tolist() == known.estimate.tolist()
    assert found.basis.tolist() == [[NO_BASIS], [NO_BASIS]]
    assert np.isnan(np.concatenate([found.error, found.lower, found.upper])).all()


def test_the_largest_cells_are_sure_where_no_other_can_be_as_large() -> None:
    found = answered({"top": "pay", "k": 2, "by": ["sex"]}, [COUNTS.reshape(-1)], deviation=3.0)
    assert found.cells is not None
    assert found.cells.tolist() == [[0, 2], [2, 0]]
    assert found.sure.tolist() == [[True, True], [False, False]]
    assert found.estimate[0].tolist() == [40.0, 30.0]
    rivals = np.where(np.arange(5) == 2, 37.0, COUNTS)  # of the first cell's 40: within its interval
    alone = answered({"top": "pay", "k": 1, "by": ["sex"]}, [rivals.reshape(-1)], deviation=3.0)
    assert not alone.sure[0, 0]


def test_without_draws_of_its_own_a_figure_rests_on_estimated_errors() -> None:
    truth = sums([4, 3, 2, 1, 0], [0, 1, 2, 3, 4])
    entry = {"mean": "pay", "by": ["sex"]}
    safe = answered(entry, [truth], deviation=None, error=4.0)
    assert BASES[safe.basis[0, 0]] == "estimate"
    sums_of_draws = answered(entry, [truth], deviation=1.0, error=4.0, alone=False)
    assert BASES[sums_of_draws.basis[0, 0]] == "estimate"
    apart = answered(entry, [truth], deviation=None, error=4.0, estimated=np.tile([4.0, 4.0, np.sqrt(32.0)], 2))
    width = [float(one.upper[0, 0] - one.lower[0, 0]) for one in (apart, safe)]
    assert width[0] < width[1] < 3 * width[0]
    unknown = answered(entry, [truth], deviation=None)
    assert unknown.basis[:, 0].tolist() == [NO_BASIS, NO_BASIS]
    assert np.isnan(unknown.lower).all()


def test_sums_of_a_measured_table_take_the_place_of_larger_estimated_errors() -> None:
    truth = sums([4, 3, 2, 1, 0], [0, 1, 2, 3, 4])
    tests = np.tile([4.0, 4.0, 6.0], 2)
    more = {"estimated": 2 * tests, "values": truth, "summed": tests, "factor": 2.0}
    found = answered({"mean": "pay", "by": ["sex"]}, [truth], deviation=None, error=8.0, **more)
    assert found.basis[0, 0] == MEASURED
    kept = answered(
        {"mean": "pay", "by": ["sex"]}, [truth], deviation=None, error=1.0, **more | {"estimated": tests / 4}
    )
    assert kept.basis[0, 0] == ESTIMATE


def test_what_merged_cells_hide_widens_an_interval() -> None:
    curve = np.cumsum(COUNTS, axis=1).reshape(-1)
    rows = workload({"median": "pay", "by": ["sex"]}).figures[0].test_rows
    assert rows is not None
    errors, nothing = np.full(rows.size, 0.5), np.zeros(rows.size)
    some = BucketMargins(below=nothing, above=np.full(rows.size, 30.0))
    narrow, wide = (
        answered({"median": "pay", "by": ["sex"]}, [curve], deviation=None, error=0.5, estimated=errors, hidden=hidden)
        for hidden in (BucketMargins(below=nothing, above=nothing), some)
    )
    assert (narrow.lower[0, 0], narrow.upper[0, 0]) == (1.0, 2.0)
    assert (wide.lower[0, 0], wide.upper[0, 0]) == (0.0, 2.0)


def test_fieller_holds_the_quotients_that_are_not_contradicted() -> None:
    errors = np.array([[[4.0, 1.0], [1.0, 2.0]]])
    span = fieller(np.array([30.0]), np.array([20.0]), errors, 1.96)
    for quotient in (float(span.lower[0]), float(span.upper[0])):
        deviation = math.sqrt(4.0 - 2 * quotient + quotient**2 * 2.0)
        assert abs(30.0 - quotient * 20.0) == pytest.approx(1.96 * deviation)
    assert span.lower[0] < 1.5 < span.upper[0]
    assert not span.small[0]


def test_a_denominator_that_may_be_zero_says_nothing() -> None:
    errors = np.array([np.diag([1.0, 100.0])] * 2)
    span = fieller(np.array([5.0, 5.0]), np.array([12.0, -40.0]), errors, 1.96).within(0.0, 9.0)
    assert span.small.tolist() == [True, True]
    assert (span.lower.tolist(), span.upper.tolist()) == ([0.0, 0.0], [9.0, 9.0])
    assert np.isnan(span.error).all()


def test_covariances_follow_from_deviations_of_differences() -> None:
    wanted = np.array([[4.0, 1.0, -0.5], [1.0, 9.0, 2.0], [-0.5, 2.0, 1.0]])
    tests = moments(3)
    deviations = np.sqrt(np.einsum("ti,ij,tj->t", tests, wanted, tests))[None]
    assert Covariances.of(deviations, 3).each[0] == pytest.approx(wanted)


def test_errors_that_add_up_are_no_smaller_than_any_covariance_makes_them() -> None:
    random = np.random.default_rng(8)
    for _ in range(50):
        root = random.normal(size=(2, 2))
        known = Covariances((root @ root.T)[None])
        added = AddedUp(np.sqrt(np.diagonal(known.each, axis1=1, axis2=2)))
        slopes = random.normal(size=(1, 2))
        assert known.along(slopes)[0] <= added.along(slopes)[0] + 1e-12
        top, bottom = np.array([1.0, 0.0]), np.array([0.0, 1.0])
        quotient = abs(random.normal())
        one, other = (each.pair(top, bottom)[0] for each in (known, added))
        line = np.array([1.0, -quotient])
        assert line @ one @ line <= line @ other @ line + 1e-12


def test_two_laplace_draws_stay_within_the_deviations_of_one_as_often() -> None:
    """P[|a X + b Y| > t] = (a^2 exp(-t / a) - b^2 exp(-t / b)) / (a^2 - b^2), X and Y of the standard Laplace law: the
    partial fractions of the product of their characteristic functions. Here a^2 + b^2 = 1."""
    t = math.log(20)  # of one draw, whose deviation a X + b Y has
    for angle in np.linspace(1e-6, math.pi / 4 - 1e-6, 101):
        a, b = math.cos(angle), math.sin(angle)
        assert (a**2 * math.exp(-t / a) - b**2 * math.exp(-t / b)) / (a**2 - b**2) <= 0.05 + 1e-9
    law = DiscreteLaplace(Fraction(1000))
    assert law.tail(0.05) / law.deviation == pytest.approx(t / math.sqrt(2), rel=1e-3)


def test_a_curve_is_inverted_outwards() -> None:
    excess = np.array([[-40.0, -5.0, 3.0, 60.0], [-1.0, 1.0, 2.0, 3.0], [9.0, 9.0, 9.0, 9.0]])
    first, last = invert_curve(excess - 6.0, excess + 6.0)
    assert (first.tolist(), last.tolist()) == ([1, 0, 0], [3, 4, 0])
    (first,), _ = invert_curve(np.array([[-6.0]]), np.array([[0.0]]))  # the quantile may lie at the bin's very end
    assert first == 0


def test_the_nearest_rising_curve_is_no_further_from_a_true_one() -> None:
    random = np.random.default_rng(5)
    truth = np.cumsum(random.exponential(1.0, size=(200, 30)), axis=1)
    deviations = random.uniform(1.0, 4.0, size=(200, 30))
    noisy = truth + deviations * random.normal(size=(200, 30))
    found = rising(noisy, deviations)
    assert (np.diff(found, axis=1) >= -1e-9).all()
    assert np.mean(((found - truth) / deviations) ** 2) < 0.5 * np.mean(((noisy - truth) / deviations) ** 2)
    assert rising(truth, deviations) == pytest.approx(truth)


BUCKETS = np.array([0, 0, 1, 1, 1, 2])


def measured(matrix: Identity | BucketMatrix) -> Measurement:
    factor = Factor(axes=(0, 1), sizes=(2, 3), matrix=matrix)
    block = QueryBlock(name="buckets", factors=(factor,))
    values = (np.zeros(matrix.rows, dtype=np.int64),)
    return Measurement(blocks=(block,), values=values, law=DiscreteLaplace(Fraction(2)))


def test_no_table_with_the_same_buckets_lies_further_away() -> None:
    random = np.random.default_rng(2)
    counts = np.array([6, 9, 4])
    shares = counts / np.bincount(BUCKETS)
    estimate = LinearEstimate(groups=(GroupEstimate(axes=(0, 1), cells=shares[BUCKETS].reshape(2, 3)),))
    blocks = (
        QueryBlock(name="prefix", factors=(Factor.identity(0, 2), Factor(axes=(1,), sizes=(3,), matrix=Prefix(3)))),
        QueryBlock(name="turned", factors=(Factor(axes=(1,), sizes=(3,), matrix=Dense(np.array([[2, -1, 0]]))),)),
    )
    for block in blocks:
        found = bucket_margins(block, estimate, [measured(BucketMatrix(Identity(3), BUCKETS))])
        assert found is not None
        answers = estimate.answer(block)
        for _ in range(300):
            table = np.zeros(6)
            for bucket, count in enumerate(counts):
                np.add.at(table, random.choice(np.flatnonzero(bucket == BUCKETS), count), 1)
            truth = block.answer(GroupEstimate(axes=(0, 1), cells=table.reshape(2, 3)))
            assert (truth >= answers - found.below - 1e-9).all()
            assert (truth <= answers + found.above + 1e-9).all()
        assert bucket_margins(block, estimate, [measured(Identity(6))]) is None, "without buckets nothing is hidden"
