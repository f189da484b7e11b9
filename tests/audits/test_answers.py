"""Noisy answers and measured strategies on all neighbouring tiny databases; and the same audit against wrong ones."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from audits.answers import Claim, audit_answers, laplace_loss
from audits.neighbours import Breach, pairs
from support.cases import in_one_test, slowly

from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.gaussian import DiscreteGaussian
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.noisy_answers import GaussianAnswers, LaplaceAnswers
from dpqr.strategies.designs.buckets import merged_block
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity, Prefix
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.ranges import Ranges
from dpqr.workload.strategy_matrices import PIdentity, scale_strategy, strategy_block
from dpqr.workload.trees import NestedTree, Nesting, Tree

UNITS = {relation.value: PrivacyUnit(neighbours=relation) for relation in Neighbours}


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
"""Over a table of 2 by 2 cells and up to 3 records."""

GRID = (2, 3)
TREE = Tree(3, (4, 2, 1), (1, 2, 3))
TUNED = PIdentity(np.array([2, 1]), np.array([3, 2]), np.array([[1, 2], [4, 0]]))
COLUMN = strategy_block("column", (0,), (Identity(2),))
NESTED = NestedTree(Nesting(3, (np.array([1, 0, 1]),)), (2, 3))
RANGES = Factor(axes=(1,), sizes=(3,), matrix=Ranges(np.array([0, 1, 0]), np.array([2, 3, 1]), 3))
MERGED = BucketMatrix(TREE, np.array([0, 0, 1, 2, 2, 2]))
STRATEGIES = {
    "tree": (strategy_block("tree", (1,), (TREE,)),),
    "levels": (strategy_block("levels", (1,), (NESTED,)),),
    "p-identity": (strategy_block("tuned", (1,), (TUNED,)),),
    "kronecker": (strategy_block("both", (0, 1), (Tree(2, (2, 1), (1, 2)), TUNED)),),
    "tree and column": (scale_strategy(COLUMN, 3), strategy_block("tree", (1,), (TREE,))),
    "ranges": (QueryBlock(name="ranges", factors=(RANGES,)),),
    "buckets": (merged_block("buckets", (0, 1), GRID, MERGED.inner, MERGED.buckets),),
}
"""Over 2 by 3 cells and up to 2 records."""

TIGHT = ["marginal", "marginal of two", "predicate", "sum", "two together"]
TIGHT += ["buckets", "tree", "levels", "p-identity", "ranges"]
MAKERS = {
    "laplace": lambda blocks, unit: LaplaceAnswers(blocks=blocks, unit=unit, scale=Fraction(7, 2)),
    "gaussian": lambda blocks, unit: GaussianAnswers(blocks=blocks, unit=unit, variance=Fraction(13, 4)),
}
every_unit = pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
every_maker = pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS.keys())


def claimed(name: str, maker, unit: PrivacyUnit) -> Claim:
    return Claim.of(maker((BLOCKS | STRATEGIES)[name], unit))


def audit(name: str, claim: Claim, unit: PrivacyUnit) -> float:
    shape, records = (GRID, 2) if name in STRATEGIES else ((2, 2), 3)
    return audit_answers(claim, pairs(shape, records, unit.neighbours))


@every_unit
@every_maker
@pytest.mark.parametrize("name", [*BLOCKS, *slowly(*STRATEGIES)])
def test_no_answers_cost_more_than_their_event(name, maker, unit) -> None:
    share = audit(name, claimed(name, maker, unit), unit)
    assert share > 1 - 1e-9 or name not in TIGHT


@every_unit
@every_maker
@pytest.mark.parametrize("name", [TIGHT[0], *slowly(*TIGHT[1:])])
def test_ten_percent_less_noise_is_rejected(name, maker, unit) -> None:
    claim = claimed(name, maker, unit)
    if isinstance(claim.law, DiscreteLaplace):
        less = DiscreteLaplace(claim.law.scale * Fraction(9, 10))
    else:
        less = DiscreteGaussian(claim.law.variance * Fraction(81, 100))
    with pytest.raises(Breach):
        audit(name, replace(claim, law=less), unit)


@every_maker
@pytest.mark.parametrize("name", ["marginal", "marginal of two", "two together"])
def test_the_sensitivity_of_the_other_relation_is_rejected(name, maker) -> None:
    """A record moves one cell of a marginal when it comes or goes, and two when it is replaced."""
    wrong = claimed(name, maker, UNITS["add-remove"])
    assert audit(name, wrong, UNITS["add-remove"]) <= 1
    with pytest.raises(Breach):
        audit(name, wrong, UNITS["replace"])


SMALLER = {
    "tree": Tree(3, (4, 2, 1), (1, 2, 2)),
    "levels": NestedTree(NESTED.nesting, (2, 2)),
    "p-identity": PIdentity(TUNED.widths, TUNED.diagonal - 1, TUNED.sums),
}
"""Strategies whose largest weight is one smaller."""


@in_one_test("name", ["two together", *SMALLER])
@every_maker
def test_the_event_of_fewer_blocks_or_smaller_weights_is_rejected(name, maker) -> None:
    unit = UNITS["add-remove"]
    less = (strategy_block("less", (1,), (SMALLER[name],)),) if name in SMALLER else BLOCKS["marginal"]
    with pytest.raises(Breach):
        audit(name, replace(claimed(name, maker, unit), event=Claim.of(maker(less, unit)).event), unit)


def test_the_laplace_loss_is_what_all_outputs_show() -> None:
    scale, here, there = Fraction(5, 3), np.array([2, 0]), np.array([-1, 1])
    outputs = itertools.product(range(-6, 7), repeat=2)
    worst = max(int(np.abs(o - there).sum() - np.abs(o - here).sum()) for o in map(np.array, outputs))
    assert laplace_loss(here - there, scale) == worst / scale
