"""Mistake bounds that are carried: updates at falling levels share one potential."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.small_universes import dense, measured, problem

from dpqr.kernel.unit import Neighbours
from dpqr.strategies.problem import Level
from dpqr.strategies.updates.interface import TransferableBound
from dpqr.strategies.updates.median import Median
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.strategies.updates.perceptron import Perceptron

CELLS, N = 4, 10**6
LEVELS = [Fraction(5, 16) * Fraction(4, 5) ** stage for stage in range(6)]
TRUTH = np.array([970_000, 10_000, 20_000, 0])
ROWS = [[(number >> cell) & 1 for cell in range(CELLS)] for number in range(1, 2**CELLS - 1)]
QUERIES = [dense([row], (CELLS,), name=f"query {place}") for place, row in enumerate(ROWS)]


def updates(rule, variant):
    """By level: an adversary that knows the table asks whatever is off by the level, until nothing is."""
    finest = Level(value=LEVELS[-1], variant=variant)
    stated = replace(problem((CELLS,), QUERIES, n=N, neighbours=Neighbours.REPLACE), level=finest)
    hypothesis, counted = rule.start(stated), []
    for value in LEVELS:
        made = 0
        at_level = replace(stated, level=Level(value=value, variant=variant))
        while True:
            off = [block for block in QUERIES if abs(error(hypothesis, block)) >= float(value) * N]
            if not off:
                break
            block = min(off, key=lambda one: abs(error(hypothesis, one)))
            answer = measured([block], [truth(block)])
            hypothesis = rule.update(at_level, hypothesis, (answer,))
            made += 1
        counted.append(made)
    return counted, stated


def truth(block):
    return int(np.dot(block.factors[0].matrix.row(0), TRUTH))


def error(hypothesis, block):
    return float(hypothesis.answer(block)[0]) - truth(block)


@pytest.mark.parametrize("rule", [MultiplicativeWeights(), Perceptron(), Median()])
@pytest.mark.parametrize("variant", ["printed", "sharp"])
def test_updates_at_falling_levels_share_one_potential(rule, variant):
    counted, stated = updates(rule, variant)
    assert isinstance(rule, TransferableBound)
    finest = stated.level
    bounds = [rule.mistakes_carried(stated, Level(value=value, variant=variant), finest) for value in LEVELS]
    assert sum(counted) > 0
    assert all(made <= bound for made, bound in zip(counted, bounds, strict=True))
    assert sum(made / (bound + 1) for made, bound in zip(counted, bounds, strict=True)) < 1
