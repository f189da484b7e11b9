"""How far boxes are counted, and the strategies over the buckets that they suggest."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test, thinned
from support.small_universes import measured, problem

from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.budget import Price
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.distinguishers import Exponential
from dpqr.strategies.plan import Roles
from dpqr.strategies.schedules.ordered import TUNING, RecordEstimate, TwoStagePartition
from dpqr.strategies.updates.least_squares import BucketLeastSquares
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.strategy_matrices import query_variances

SHAPE = (64,)
CDF = QueryBlock(name="cdf", factors=(Factor(axes=(0,), sizes=SHAPE, matrix=Prefix(64)),))
SURE = RecordEstimate(count=3200.0, noise=10.0)
PRICE = Price(epsilon=Fraction(1, 2))


def two_stage(check=None, shape=SHAPE, blocks=(CDF,)):
    accountant = ACCOUNTANTS["basic" if check is None else "zcdp"]
    roles = Roles(
        distinguisher=Exponential(), check=check or Laplace(), update=BucketLeastSquares(), accountant=accountant
    )
    axes = tuple(range(len(shape)))
    return TwoStagePartition(problem=problem(shape, list(blocks)), roles=roles, axes=axes, blocks=tuple(blocks))


def depth(block) -> int:
    return block.factors[0].matrix.inner.cells.bit_length() - 1


def test_sureness_is_epsilon_times_records() -> None:
    assert two_stage().sureness(1000, PRICE) == pytest.approx(500, rel=0.02)
    assert two_stage().sureness(-5, PRICE) == 0


@pytest.mark.slow
def test_more_records_are_counted_in_smaller_boxes() -> None:
    depths = [depth(two_stage().box_tree(records, PRICE)) for records in (-10, 0, 4, 20, 1e6)]
    assert depths == sorted(depths)
    assert depths[0] == TUNING.shallowest
    assert depths[-1] == 6
    cells = QueryBlock(name="cells", factors=(Factor.identity(0, 2**12),))
    assert depth(two_stage(shape=(2**12,), blocks=[cells]).box_tree(1e9, PRICE)) == TUNING.deepest


@pytest.mark.parametrize("check", thinned([None, Gaussian()], 2), ids=["laplace", "gaussian"])
def test_buckets_come_from_released_counts_alone(check) -> None:
    price = PRICE if check is None else Price(rho=PRICE.epsilon)
    one = two_stage(check)
    block = one.box_tree(1000, price)
    counts = np.repeat([100, 0], 32)
    told = measured([block], [block.apply(counts)], 1.0)
    partition = one.partition(told, SURE, price)
    assert {0, 32} <= set(partition.boxes.starts[:, 0].tolist())
    strategy = one.strategy(partition)
    matrix = strategy.factors[0].matrix
    assert isinstance(matrix, BucketMatrix)
    assert matrix.inner.cells == len(partition.boxes)
    np.testing.assert_array_equal(matrix.buckets, partition.buckets)
    assert one.strategy(one.partition(told, SURE, price)).factors[0].matrix.inner is matrix.inner


def test_estimates_of_the_records_are_weighted_by_their_precision() -> None:
    one, other = RecordEstimate(count=100.0, noise=1.0), RecordEstimate(count=200.0, noise=3.0)
    both = one.combined(other)
    assert (both.count, both.noise) == (pytest.approx(110.0), pytest.approx(0.9**0.5))
    assert both == other.combined(one)
    exact = RecordEstimate(count=7.0, noise=0.0)
    assert one.combined(exact) == exact.combined(one) == exact
    assert 1.0 <= RecordEstimate(count=-5.0, noise=2.0).likely < 2.0


def test_names_are_those_of_no_query() -> None:
    taken = QueryBlock(name="scouting(a0)", factors=CDF.factors)
    assert two_stage(blocks=[CDF, taken]).box_tree(10, PRICE).name == "scouting(a0)'"


def test_persons_of_several_rows_make_records_less_sure() -> None:
    one = two_stage()
    persons = replace(one.problem, unit=PrivacyUnit(neighbours=Neighbours.ADD_REMOVE, columns=("p",), rows=4))
    assert replace(one, problem=persons).sureness(1000, PRICE) == pytest.approx(125, rel=0.02)


@in_one_test("check", [None, Gaussian()])
def test_the_error_of_all_cells_is_that_of_the_best_strategy(check) -> None:
    """The closed form of its recovery, at the noise that the price buys."""
    price = PRICE if check is None else Price(rho=PRICE.epsilon)
    one = two_stage(check)
    strategy = one.direct(price).strategy
    noise = one.roles.check.law((strategy,), one.problem.unit, price).deviation
    assert one.cells_error(price) == pytest.approx(float(query_variances(strategy, CDF).sum()) * noise**2, rel=0.03)


def test_a_large_budget_takes_the_strategy_of_small_integers() -> None:
    """At eps 30 noise on whole counts is next to nothing, that on a tuned strategy's fine grid is not."""
    kinds = [two_stage().direct(Price(epsilon=Fraction(eps))).kinds for eps in (1, 30)]
    assert kinds == [("p-identity",), ("identity",)]
