"""Measured strategies on all neighbouring tiny databases; and the audit against strategies made wrong on purpose."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from audits.answers import Claim, audit_answers
from audits.neighbours import Breach, pairs

from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.noisy_answers import GaussianAnswers, LaplaceAnswers
from dpqr.strategies.designs.buckets import merged_block
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.ranges import Ranges
from dpqr.workload.strategy_matrices import PIdentity, scale_strategy, strategy_block
from dpqr.workload.trees import NestedTree, Nesting, Tree

SHAPE = (2, 3)
RECORDS = 2
UNITS = {relation.value: PrivacyUnit(neighbours=relation) for relation in Neighbours}
every_unit = pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
TREE = Tree(3, (4, 2, 1), (1, 2, 3))
TUNED = PIdentity(np.array([2, 1]), np.array([3, 2]), np.array([[1, 2], [4, 0]]))
COLUMN = strategy_block("column", (0,), (Identity(2),))
NESTED = NestedTree(Nesting(3, (np.array([1, 0, 1]),)), (2, 3))
BLOCKS = {
    "tree": (strategy_block("tree", (1,), (TREE,)),),
    "levels": (strategy_block("levels", (1,), (NESTED,)),),
    "p-identity": (strategy_block("tuned", (1,), (TUNED,)),),
    "kronecker": (strategy_block("both", (0, 1), (Tree(2, (2, 1), (1, 2)), TUNED)),),
    "together": (scale_strategy(COLUMN, 3), strategy_block("tree", (1,), (TREE,))),
    "ranges": (
        QueryBlock(
            name="ranges",
            factors=(Factor(axes=(1,), sizes=(3,), matrix=Ranges(np.array([0, 1, 0]), np.array([2, 3, 1]), 3)),),
        ),
    ),
}
MERGED = BucketMatrix(TREE, np.array([0, 0, 1, 2, 2, 2]))
BLOCKS["buckets"] = (merged_block("buckets", (0, 1), SHAPE, MERGED.inner, MERGED.buckets),)
TIGHT = ["buckets", "tree", "levels", "p-identity", "ranges"]
every_block = pytest.mark.parametrize("name", BLOCKS)
tight_block = pytest.mark.parametrize("name", TIGHT)
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
def test_no_strategy_costs_more_than_its_event(name, maker, unit) -> None:
    share = audit(Claim.of(maker(BLOCKS[name], unit)), unit)
    if name in TIGHT:
        assert share > 1 - 1e-9


@every_unit
@every_maker
@tight_block
def test_a_halved_event_is_rejected(name, maker, unit) -> None:
    claim = Claim.of(maker(BLOCKS[name], unit))
    field = "scale" if hasattr(claim.event, "scale") else "variance"
    half = replace(claim.event, **{field: 2 * getattr(claim.event, field)})
    with pytest.raises(Breach):
        audit(replace(claim, event=half), unit)


@every_maker
@pytest.mark.parametrize("name", ["tree", "levels", "p-identity"])
def test_the_sensitivity_before_rounding_up_a_weight_is_rejected(name, maker) -> None:
    """The event of a strategy whose largest weight is one smaller does not cover the one that was measured."""
    smaller = {
        "tree": Tree(3, (4, 2, 1), (1, 2, 2)),
        "levels": NestedTree(NESTED.nesting, (2, 2)),
        "p-identity": PIdentity(TUNED.widths, TUNED.diagonal - 1, TUNED.sums),
    }
    claim = Claim.of(maker(BLOCKS[name], UNITS["add-remove"]))
    less = Claim.of(maker((strategy_block("less", (1,), (smaller[name],)),), UNITS["add-remove"]))
    with pytest.raises(Breach):
        audit(replace(claim, event=less.event), UNITS["add-remove"])
