"""SomeCandidates: scores of a part of the blocks are those that this part would have alone."""

from fractions import Fraction

import numpy as np
from support.fakes import Says

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.strategies.candidates import BlockCandidates, SomeCandidates
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix

ADD_REMOVE = PrivacyUnit(neighbours=Neighbours.ADD_REMOVE)
REPLACE = PrivacyUnit(neighbours=Neighbours.REPLACE)
COUNTS = DenseHistogram(np.array([[4, 0, 1], [2, 2, 9]]))
MARGINAL = QueryBlock(name="marginal", factors=(Factor.identity(0, 2), Factor.identity(1, 3)))
PREFIX = QueryBlock(name="prefix", factors=(Factor(axes=(1,), sizes=(3,), matrix=Prefix(3)),))
ONE = QueryBlock(name="one", factors=(Factor.identity(0, 2),), weight=Fraction(1, 2))


def test_some_blocks_are_scored_as_if_they_were_all() -> None:
    """Up to a factor that scores and sensitivities share: a selection looks at their quotients alone."""
    every = BlockCandidates(blocks=(MARGINAL, PREFIX, ONE), penalties=(1, 2, 3), keep=True)
    says = Says({"marginal": 4, "prefix": [6, 8.7, 7.6], "one": [20.6, 12.4]})
    for gone in ((), ("prefix",), ("marginal", "one")):
        some = SomeCandidates.without(every, gone)
        alone = some.listed
        assert [some[place] for place in range(len(some))] == [(block,) for block in alone.blocks]
        assert [block.name for block in alone.blocks] == [each.name for each in every.blocks if each.name not in gone]
        found, expected = some.scores(says), alone.scores(says)
        assert len(found) == len(expected) == len(some)
        for unit in (ADD_REMOVE, REPLACE):
            widths = (found.sensitivity(unit), expected.sensitivity(unit))
            pairs = zip(found.evaluate(COUNTS).tolist(), expected.evaluate(COUNTS).tolist(), strict=True)
            assert all(one * widths[1] == other * widths[0] for one, other in pairs)
            assert alone.sensitivity(unit) == some.sensitivity(unit) == widths[1]


def test_choices_from_one_hypothesis_are_scored_once() -> None:
    every, asked = BlockCandidates(blocks=(MARGINAL, PREFIX)), []

    class Counted(Says):
        def answer(self, block):
            asked.append(block.name)
            return super().answer(block)

    says = Counted({"marginal": 4, "prefix": 5})
    for gone in ((), ("marginal",)):
        SomeCandidates.without(every, gone).scores(says)
    assert asked == ["marginal", "prefix"]
    every.scores(Counted({"marginal": 0, "prefix": 5}))
    assert len(asked) == 4
