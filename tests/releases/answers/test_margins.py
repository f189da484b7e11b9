"""Margins: noise in the counts of single columns reaches answers over several, also where the model estimates 0."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
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


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_columns_noise_reaches_a_cell_by_the_share_of_the_others(place):
    noise, dense = MarginNoise(variances={place: VARIANCES[place]}, total=120.0), model()
    shares = dense.marginal((0, 1, 2)).sum(axis=place, keepdims=True) / 120.0
    expected = np.broadcast_to(VARIANCES[place] * shares**2, SIZES).reshape(-1)
    assert noise.squares(ALL, dense.answer(ALL), dense) == pytest.approx(expected)


def test_columns_add_up_and_one_column_alone_passes_nothing_on():
    dense = model()
    single = [MarginNoise(variances={axis: VARIANCES[axis]}, total=120.0) for axis in range(3)]
    each = sum(one.squares(ALL, dense.answer(ALL), dense) for one in single)
    every = MarginNoise(variances=VARIANCES, total=120.0)
    assert every.squares(ALL, dense.answer(ALL), dense) == pytest.approx(each)
    assert not every.squares(A, dense.answer(A), dense).any()


@pytest.mark.parametrize("place", [0, 1])
def test_a_block_of_other_queries_is_answered_like_the_cells(place):
    """Coefficients of a column, squared, times the others' answers; as prefixes that are cells' sums show."""
    factors = [Factor.identity(0, 2), Factor.identity(1, 3)]
    factors[place] = replace(factors[place], matrix=Prefix(SIZES[place]))
    block, dense = QueryBlock(name="prefixes", factors=tuple(factors)), model()
    table = dense.marginal((0, 1)) / 120.0
    norms = np.arange(1, SIZES[place] + 1).reshape((-1, 1) if place == 0 else (1, -1))
    expected = [
        VARIANCES[axis] * (norms if axis == place else 1.0) * np.broadcast_to(rest**2, table.shape)
        for axis, rest in ((0, table.sum(axis=0, keepdims=True)), (1, table.sum(axis=1, keepdims=True)))
    ]
    expected[1 - place] = VARIANCES[1 - place] * np.broadcast_to(
        np.cumsum(table.sum(axis=1 - place, keepdims=True), axis=place) ** 2, table.shape
    )
    found = MarginNoise(variances=VARIANCES, total=120.0).squares(block, dense.answer(block), dense)
    assert found == pytest.approx(sum(expected).reshape(-1))


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
