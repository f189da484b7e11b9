"""Noisy answers on all neighbouring tiny databases; and the same audit against answers made wrong on purpose."""

import itertools
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from audits.answers import DIGITS, ORDERS, Claim, audit_answers, gaussian_divergence, laplace_loss
from audits.neighbours import Breach, pairs

from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.gaussian import DiscreteGaussian
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.noisy_answers import GaussianAnswers, LaplaceAnswers
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix

SHAPE = (2, 2)
RECORDS = 3
UNITS = {relation.value: PrivacyUnit(neighbours=relation) for relation in Neighbours}
every_unit = pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())


def block(name: str, *parts) -> QueryBlock:
    factors = (Factor(axes=(axis,), sizes=(2,), matrix=matrix) for axis, matrix in enumerate(parts))
    return QueryBlock(name=name, factors=tuple(factors))


ROWS = Dense(np.array([[1, 0], [0, 1]]))
MARGINAL = QueryBlock(name="marginal", factors=(Factor.identity(1, 2),))
BLOCKS = {
    "marginal": (MARGINAL,),
    "marginal of two": (QueryBlock(name="both", factors=(Factor.identity(0, 2), Factor.identity(1, 2))),),
    "predicate": (block("predicate", Dense(np.array([[0, 1]]))),),
    "sum": (block("sum", Dense(np.array([[-2, 5]]))),),
    "prefix": (block("prefix", Prefix(2)),),
    "prefix by predicate": (block("grid", Prefix(2), Dense(np.array([[0, 3], [1, 0]]))),),
    "row by row": (replace(block("rows", ROWS, Dense(np.array([[1, 1], [2, 0]]))), rowwise=True),),
    "two together": (MARGINAL, block("other", ROWS)),
    "total": (QueryBlock(name="total"),),
}
TIGHT = ["marginal", "marginal of two", "predicate", "sum", "two together"]
every_block = pytest.mark.parametrize("blocks", BLOCKS.values(), ids=BLOCKS.keys())
tight_blocks = pytest.mark.parametrize("blocks", [BLOCKS[name] for name in TIGHT], ids=TIGHT)
MAKERS = {
    "laplace": lambda blocks, unit: LaplaceAnswers(blocks=blocks, unit=unit, scale=Fraction(7, 2)),
    "gaussian": lambda blocks, unit: GaussianAnswers(blocks=blocks, unit=unit, variance=Fraction(13, 4)),
}
every_maker = pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS.keys())


def audit(claim: Claim, unit: PrivacyUnit) -> float:
    return audit_answers(claim, pairs(SHAPE, RECORDS, unit.neighbours))


@every_unit
@every_maker
@every_block
def test_no_answers_cost_more_than_their_event(blocks, maker, unit) -> None:
    share = audit(Claim.of(maker(blocks, unit)), unit)
    if blocks in [BLOCKS[name] for name in TIGHT]:
        assert share > 1 - 1e-9


@every_unit
@every_maker
@tight_blocks
def test_ten_percent_less_noise_is_rejected(blocks, maker, unit) -> None:
    claim = Claim.of(maker(blocks, unit))
    if isinstance(claim.law, DiscreteLaplace):
        less = DiscreteLaplace(claim.law.scale * Fraction(9, 10))
    else:
        less = DiscreteGaussian(claim.law.variance * Fraction(81, 100))
    with pytest.raises(Breach):
        audit(replace(claim, law=less), unit)


@every_unit
@every_maker
@tight_blocks
def test_a_halved_event_is_rejected(blocks, maker, unit) -> None:
    claim = Claim.of(maker(blocks, unit))
    if isinstance(claim.law, DiscreteLaplace):
        half = replace(claim.event, scale=2 * claim.event.scale)
    else:
        half = replace(claim.event, variance=2 * claim.event.variance)
    with pytest.raises(Breach):
        audit(replace(claim, event=half), unit)


@every_maker
@pytest.mark.parametrize("name", ["marginal", "marginal of two", "two together"])
def test_the_sensitivity_of_the_other_relation_is_rejected(name, maker) -> None:
    """A record moves one cell of a marginal when it comes or goes, and two when it is replaced."""
    wrong = Claim.of(maker(BLOCKS[name], UNITS["add-remove"]))
    assert audit(wrong, UNITS["add-remove"]) <= 1
    with pytest.raises(Breach):
        audit(wrong, UNITS["replace"])


@every_maker
def test_a_block_left_out_of_the_event_is_rejected(maker) -> None:
    unit = UNITS["add-remove"]
    both = Claim.of(maker(BLOCKS["two together"], unit))
    one = Claim.of(maker(BLOCKS["marginal"], unit))
    with pytest.raises(Breach):
        audit(replace(both, event=one.event), unit)


def test_the_laplace_loss_is_what_all_outputs_show() -> None:
    scale, here, there = Fraction(5, 3), np.array([2, 0]), np.array([-1, 1])
    outputs = itertools.product(range(-6, 7), repeat=2)
    worst = max(int(np.abs(o - there).sum() - np.abs(o - here).sum()) for o in map(np.array, outputs))
    assert laplace_loss(here - there, scale) == worst / scale


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("move", [1, 2, 5])
@pytest.mark.parametrize("variance", [Fraction(1, 5), Fraction(13, 4), Fraction(400)])
def test_the_divergence_is_the_theorems(variance, move, order) -> None:
    """At most order move^2 / (2 variance) (Canonne, Kamath and Steinke 2020, Proposition 5), equal where order move
    is an integer: there the two sums are shifts of each other."""
    exact = order * move**2 / (2 * variance)
    with mpmath.workdps(DIGITS):
        found = gaussian_divergence(move, variance, order)
        limit = mpmath.mpf(exact.numerator) / exact.denominator
        assert found <= limit * (1 + mpmath.mpf(10) ** -30)
        if (order * move).denominator == 1:
            assert abs(found - limit) < limit * mpmath.mpf(10) ** -30
