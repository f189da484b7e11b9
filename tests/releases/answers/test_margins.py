"""Margins: noise in the counts of single columns reaches answers over several, also where the model estimates 0."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from support.cases import in_one_test
from support.handmade_release import make_plan

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.noise.gaussian import DiscreteGaussian
from dpqr.kernel.values import replace
from dpqr.models.hypothesis import DenseDistribution
from dpqr.releases.answers.margins import MarginNoise
from dpqr.releases.answers.refits import refit_errors
from dpqr.releases.loop import Outcome
from dpqr.strategies.transcript import Round, Transcript
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity, Prefix
from dpqr.workload.workload import Measurement

SIZES = (2, 3, 4)
A, B, C = (QueryBlock(name=f"{axis}", factors=(Factor.identity(axis, size),)) for axis, size in enumerate(SIZES))
ALL = QueryBlock(name="all", factors=tuple(Factor.identity(axis, size) for axis, size in enumerate(SIZES)))
VARIANCES = {0: 9.0, 1: 4.0, 2: 1.0}


def model():
    table = np.random.default_rng(1).uniform(1.0, 9.0, SIZES)
    return DenseDistribution(probabilities=table / table.sum(), total=120.0)


def measured(block, values, variance=Fraction(100)):
    values = (np.asarray(values, dtype=np.int64),)
    return Measurement(blocks=(block,), values=values, law=DiscreteGaussian(variance))


def shares(dense, place):
    """Of the cells of one column."""
    return dense.marginal((place,)) / dense.total


def test_noise_of_several_columns_and_of_the_total_is_the_variance_of_their_product():
    """Every share a deviation below or above its estimate, and so the total; beside it, what the total alone moves."""
    dense, spread = model(), 50.0
    records = 120.0**2 + spread**2
    deviations = [(VARIANCES[axis] / records) ** 0.5 for axis in range(3)]
    squares = np.zeros(SIZES)
    for signs in product((-1, 1), repeat=4):
        moved = [shares(dense, axis) + sign * deviations[axis] for axis, sign in zip(range(3), signs, strict=False)]
        total = 120.0 + signs[3] * spread
        still = [shares(dense, axis) for axis in range(3)]
        for sign, each in ((1, moved), (-1, still)):
            cells = total * np.multiply.outer(np.multiply.outer(each[0], each[1]), each[2])
            squares += sign * cells**2 / 16
    found = MarginNoise(variances=VARIANCES, total=120.0, of_total=spread**2).squares(ALL, dense.answer(ALL), dense)
    assert found == pytest.approx(squares.reshape(-1))
    alone = MarginNoise(variances=VARIANCES, total=120.0)
    assert not alone.squares(A, dense.answer(A), dense).any()


def test_where_noise_took_the_total_for_0_the_variances_of_all_are_left():
    empty, noise = DenseDistribution.uniform(SIZES, 0.0), MarginNoise(variances=VARIANCES, total=0.0, of_total=100.0)
    expected = np.full(24, 100.0 * (9.0 / 100.0) * (4.0 / 100.0) * (1.0 / 100.0))
    assert noise.squares(ALL, empty.answer(ALL), empty) == pytest.approx(expected)


@in_one_test("place", [0, 1])
def test_a_block_of_other_queries_is_answered_like_the_cells(place):
    """Coefficients of a column, squared, times its cells' noise, beside the answers to the column's queries."""
    factors = [Factor.identity(0, 2), Factor.identity(1, 3)]
    factors[place] = replace(factors[place], matrix=Prefix(SIZES[place]))
    block, dense = QueryBlock(name="prefixes", factors=tuple(factors)), model()
    answers = [shares(dense, axis) for axis in range(2)]
    answers[place] = np.cumsum(answers[place])
    norms = [np.arange(1, SIZES[axis] + 1) if axis == place else np.ones(SIZES[axis]) for axis in range(2)]
    raised = [answers[axis] ** 2 + VARIANCES[axis] / 120.0**2 * norms[axis] for axis in range(2)]
    expected = 120.0**2 * (np.multiply.outer(*raised) - np.multiply.outer(*answers) ** 2)
    found = MarginNoise(variances=VARIANCES, total=120.0).squares(block, dense.answer(block), dense)
    assert found == pytest.approx(expected.reshape(-1))


def test_rowwise_queries_are_rows_of_all_combinations():
    dense, noise = model(), MarginNoise(variances=VARIANCES, total=120.0)
    crossed = QueryBlock(name="", factors=(Factor.identity(0, 2), replace(Factor.identity(1, 3), matrix=Prefix(3))))
    rows = [Factor(axes=(0,), sizes=(2,), matrix=Identity(2)), Factor(axes=(1,), sizes=(3,), matrix=_first(Prefix(3)))]
    rowwise = QueryBlock(name="", factors=tuple(rows), rowwise=True)
    found = noise.squares(rowwise, dense.answer(rowwise), dense)
    assert found == pytest.approx(noise.squares(crossed, dense.answer(crossed), dense)[[0, 4]])


def _first(prefix):
    """Its first two rows."""
    return Dense(prefix.table(0, 2))


def test_marginals_are_weighed_by_their_precision_and_few_records_bound_what_noise_says():
    wide = QueryBlock(name="wide", factors=(Factor.identity(0, 2), Factor.identity(1, 3)))
    history = [measured(A, [50, 50]), measured(wide, np.full(6, 17), Fraction(50))]
    many = MarginNoise.of(history, SIZES, 1e9)
    assert many.variances == pytest.approx({0: 1 / (1 / 100 + 1 / 150), 1: 100.0}, rel=1e-6)
    few = MarginNoise.of([measured(A, [3, 2], Fraction(10**12))], SIZES, 0.0)
    assert few.variances[0] == pytest.approx(1 / (1e-12 + 1 / (2e12 / 8)))
    assert MarginNoise.of([measured(A, [3, 2])], SIZES, 4.0).variances[0] < 100


def test_cells_of_a_count_that_noise_took_for_0_have_an_error():
    """The second cell of a column was measured below 0. So it is estimated as 0, and so it is in every refit."""
    domain = Domain(tuple(Attribute(name=name, axis=Codes(2)) for name in "ab"))
    pair = QueryBlock(name="pair", factors=(Factor.identity(0, 2), Factor.identity(1, 2)))
    plan = make_plan(domain, (pair,))
    rule = MultiplicativeWeights()
    plan = replace(plan, roles=replace(plan.roles, update=rule))
    one, other = (QueryBlock(name=f"{axis}", factors=(Factor.identity(axis, 2),)) for axis in (0, 1))
    history = [measured(one, [1000, -30]), measured(other, [500, 500])]
    transcript = Transcript()
    for each in history:
        transcript.add(Round(choice=None, measurement=each, charges=()))
    hypothesis = rule.update(plan.problem, rule.start(plan.problem), history)
    assert hypothesis.answer(pair)[2:].max() < 1.0
    errors = refit_errors(plan, Outcome(hypothesis=hypothesis, transcript=transcript), hypothesis)["pair"]
    assert errors.each[2:].min() > 0.9 * 10 / 2


TOTAL = QueryBlock(name="total", factors=())
FEW = QueryBlock(name="few", factors=(Factor(axes=(0,), sizes=(2,), matrix=Dense(np.array([[1, 0]], dtype=np.int64))),))


def errors_of(records, blocks, **known):
    """Of blocks that nobody measured, where two columns were, with so many records."""
    domain = Domain(tuple(Attribute(name=name, axis=Codes(size)) for name, size in zip("ab", SIZES, strict=False)))
    plan, rule = make_plan(domain, blocks), MultiplicativeWeights()
    plan = replace(plan, problem=replace(plan.problem, **known), roles=replace(plan.roles, update=rule))
    history = [measured(A, [records // 2] * 2), measured(B, [records // 3] * 3, Fraction(50))]
    transcript = Transcript()
    for each in history:
        transcript.add(Round(choice=None, measurement=each, charges=()))
    hypothesis = rule.update(plan.problem, rule.start(plan.problem), history)
    return refit_errors(plan, Outcome(hypothesis=hypothesis, transcript=transcript), hypothesis)


def test_the_total_errs_as_the_average_of_what_all_marginals_sum_to():
    variance = 1 / (1 / (2 * 100) + 1 / (3 * 50))
    history = [measured(A, [60, 60]), measured(B, [40] * 3, Fraction(50))]
    assert MarginNoise.of(history, SIZES, 120.0).of_total == pytest.approx(variance)
    found = errors_of(120, (A, B, TOTAL))["total"]
    assert found.each == pytest.approx(variance**0.5)
    assert found.total == pytest.approx((2 * variance / np.pi) ** 0.5)


def test_a_total_that_is_declared_or_was_not_asked_of_columns_has_no_such_error():
    assert MarginNoise.of([measured(TOTAL, [120])], SIZES, 120.0).of_total is None
    assert errors_of(120, (A, B, TOTAL), n=120)["total"].each != pytest.approx((1 / (1 / 200 + 1 / 150)) ** 0.5)


def test_the_error_of_a_single_answer_does_not_hang_on_a_power_of_two():
    """The refits' answers lie on both sides of 256 or not; the seeds are public, so their noise is the same."""
    errors = [errors_of(records, (A, B, FEW))["few"].each[0] for records in range(480, 546, 6)]
    assert max(errors) < 1.5 * min(errors)
