from fractions import Fraction

from dpqr.kernel.budget import Price
from dpqr.strategies.candidates import BlockCandidates
from dpqr.strategies.transcript import Step
from dpqr.workload.block import Factor, QueryBlock

PRICE = Price(epsilon=Fraction(1))
BLOCKS = tuple(QueryBlock(name=str(axis), factors=(Factor.identity(axis, 2),)) for axis in range(2))


def test_a_step_with_blocks_has_nothing_to_choose() -> None:
    step = Step(candidates=BLOCKS, select=None, measure=PRICE)
    assert step.only == BLOCKS
    assert not step.stop


def test_a_list_without_a_price_for_the_choice_means_its_first() -> None:
    step = Step(candidates=BlockCandidates(blocks=BLOCKS), select=None, measure=PRICE, threshold=Fraction(3))
    assert step.only == BLOCKS[:1]
    assert step.stop
