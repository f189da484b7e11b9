"""Answers of pairs from parts that were measured apart."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.gaussian import DiscreteGaussian
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.releases.answers.noisy import BETA, assembled_answers
from dpqr.strategies.transcript import Round, Transcript
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.strategy_matrices import interaction
from dpqr.workload.workload import Measurement, Workload

COUNTS = np.random.default_rng(3).integers(0, 60, (3, 4))
GAUSSIAN = [DiscreteGaussian(Fraction(variance)) for variance in (900, 400, 100, 25)]


def marginal(*axes):
    return QueryBlock(name=f"pair{axes}", factors=tuple(Factor.identity(axis, COUNTS.shape[axis]) for axis in axes))


PAIR = marginal(0, 1)
BLOCKS = [QueryBlock(name="all"), *(interaction(marginal(*axes), f"apart{axes}") for axes in ((0,), (1,), (0, 1)))]


def plan(unit=None, n=None):
    workload = Workload((PAIR, marginal(0)))
    return SimpleNamespace(problem=SimpleNamespace(workload=workload, unit=unit or PrivacyUnit(), n=n))


def released(laws, blocks=BLOCKS, errors=None, choice=None):
    transcript = Transcript()
    for place, (block, law) in enumerate(zip(blocks, laws, strict=True)):
        counts = COUNTS.sum(axis=tuple(axis for axis in (0, 1) if axis not in block.axes))
        error = 0 if errors is None else errors[place]
        measured = Measurement(blocks=(block,), values=(block.apply(counts) + error,), law=law)
        transcript.add(Round(choice=choice, measurement=measured, charges=()))
    return transcript


def test_exact_parts_give_the_exact_pair():
    found = assembled_answers(plan(), released(GAUSSIAN))
    assert set(found) == {PAIR.name}
    assert found[PAIR.name].values == pytest.approx(COUNTS.reshape(-1).astype(float))


def test_deviations_and_margins_follow_from_the_weights():
    exact = assembled_answers(plan(), released(GAUSSIAN))[PAIR.name].values
    parts = []
    for place, (block, law) in enumerate(zip(BLOCKS, GAUSSIAN, strict=True)):
        squares = np.zeros(exact.size)
        for row in range(block.rows):
            errors = [np.zeros(each.rows, dtype=np.int64) for each in BLOCKS]
            errors[place][row] = 1
            squares += (assembled_answers(plan(), released(GAUSSIAN, errors=errors))[PAIR.name].values - exact) ** 2
        parts.append((squares, law))
    found = assembled_answers(plan(), released(GAUSSIAN))[PAIR.name]
    assert found.deviation**2 == pytest.approx(sum(squares * law.deviation**2 for squares, law in parts))
    assert found.margin**2 == pytest.approx(sum(squares * law.weighted_tail(BETA) ** 2 for squares, law in parts))


def test_bounds_of_other_laws_add_up():
    laws = [DiscreteLaplace(Fraction(scale)) for scale in (30, 20, 10, 5)]
    found = assembled_answers(plan(), released(laws))[PAIR.name]
    assert (found.margin > 2.7 * found.deviation).all()


def test_a_public_number_of_records_has_no_noise():
    public = plan(PrivacyUnit(neighbours=Neighbours.REPLACE), int(COUNTS.sum()))
    found = assembled_answers(public, released(GAUSSIAN[1:], BLOCKS[1:]))[PAIR.name]
    assert found.values == pytest.approx(COUNTS.reshape(-1).astype(float))


@in_one_test("gone", range(4))
def test_nothing_where_a_part_was_lost_or_selected(gone):
    kept = [place for place in range(4) if place != gone]
    assert not assembled_answers(plan(), released([GAUSSIAN[one] for one in kept], [BLOCKS[one] for one in kept]))
    assert not assembled_answers(plan(), released(GAUSSIAN, choice=0))
