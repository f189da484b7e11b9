"""Dense members: what a third party's rule may take as its own methods."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.models.hypothesis import DenseDistribution
from dpqr.strategies.problem import Level, Problem
from dpqr.strategies.updates.interface import (
    DENSE_LIMIT,
    any_block,
    dense_footprint,
    exponential_step,
    no_bound,
    uniform_start,
)
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.workload import Workload

BLOCK = QueryBlock(name="a", factors=(Factor.identity(1, 3),))
UPWARD = QueryBlock(name="up", factors=(Factor(axes=(1,), sizes=(3,), matrix=Prefix(3)),))


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Methods as the guide's rule takes them."""

    start, footprint = uniform_start, dense_footprint
    mistakes, fits = no_bound, any_block


def problem(*sizes, n=None):
    domain = Domain(tuple(Attribute(name=f"c{i}", axis=Codes(size)) for i, size in enumerate(sizes)))
    unit = PrivacyUnit(neighbours=Neighbours.ADD_REMOVE if n is None else Neighbours.REPLACE)
    return Problem(domain=domain, workload=Workload((BLOCK,)), unit=unit, n=n)


@pytest.mark.parametrize(("n", "total"), [(None, 0.0), (12, 12.0)])
def test_they_are_methods(n, total):
    rule, public = Rule(), problem(2, 3, n=n)
    first = rule.start(public)
    assert first.shape == (2, 3)
    assert first.total == total
    assert np.array_equal(first.probabilities, np.full((2, 3), 1 / 6))
    assert rule.mistakes(public, Level(value=Fraction(1, 10))) is None
    assert rule.fits(public, (), (BLOCK,)) is True


def test_the_footprint_is_four_arrays_and_a_refusal_beyond_the_limit():
    rule = Rule()
    assert (rule.footprint(problem(2, 3)).bytes, rule.footprint(problem(2, 3)).refusal) == (4 * 8 * 6, None)
    assert rule.footprint(problem(DENSE_LIMIT)).refusal is None
    refusal = rule.footprint(problem(DENSE_LIMIT, 2)).refusal
    assert refusal.startswith(
        f"the domain has {2 * DENSE_LIMIT} cells, and this update rule keeps at most {DENSE_LIMIT}"
    )


@pytest.mark.parametrize(("block", "weights"), [(BLOCK, [1, 2, 4]), (UPWARD, [8, 8, 4])])
def test_a_step_multiplies_each_cell_by_the_exponential_of_its_queries(block, weights):
    start = DenseDistribution.uniform((2, 3), 30.0)
    found = exponential_step(start, block, np.log(2.0) * np.arange(3))
    shares = np.array(weights) / (2 * sum(weights))
    assert np.allclose(found.probabilities, [shares, shares], rtol=1e-13, atol=0)
    assert found.total == 30.0
    assert not found.probabilities.flags.writeable


def test_a_cell_that_is_as_good_as_empty_comes_back():
    start = DenseDistribution.uniform((1, 3), 9.0)
    gone = exponential_step(start, BLOCK, np.array([0.0, -5_000.0, 0.0]))
    assert gone.probabilities[0, 1] == 0.0
    back = exponential_step(gone, BLOCK, np.array([0.0, 5_000.0, 0.0]))
    assert np.allclose(back.probabilities, 1 / 3, rtol=1e-12, atol=0)
