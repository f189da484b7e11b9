"""Designs of several attributes against their matrices multiplied out, and against each other."""

from fractions import Fraction

import numpy as np
import pytest
from support.small_universes import dense, marginal

from dpqr.strategies.designs.kronecker import HIERARCHY, IDENTITY, KINDS, designs, expected_error, importance
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.ranges import Ranges
from dpqr.workload.sensitivity import Norm

SHAPE = (24, 12)
CDF = QueryBlock(name="cdf", factors=(Factor(axes=(0,), sizes=(24,), matrix=Prefix(24)), Factor.identity(1, 12)))


def boxes(count: int = 60) -> QueryBlock:
    generator = np.random.default_rng(2)
    factors = []
    for axis, size in enumerate(SHAPE):
        lengths = generator.integers(1, size + 1, count)
        starts = generator.integers(0, size - lengths + 1)
        factors.append(Factor(axes=(axis,), sizes=(size,), matrix=Ranges(starts, starts + lengths, size)))
    return QueryBlock(name="boxes", factors=tuple(factors), rowwise=True)


def offered(*blocks, norm=Norm.L1):
    axes = tuple(sorted({axis for block in blocks for axis in block.axes}))
    return designs("s", axes, tuple(SHAPE[axis] for axis in axes), tuple(blocks), norm)


def scaled(design, norm=Norm.L1) -> float:
    column = np.prod([factor.matrix.column_norm(norm.value) for factor in design.strategy.factors], dtype=float)
    return design.error * (column**2 if norm is Norm.L1 else column)


def test_the_error_is_the_sum_of_all_rows_variances() -> None:
    (*_, best) = offered(boxes(), CDF)
    strategy = np.stack(list(best.strategy.coefficients())).astype(float)
    inverse = np.linalg.inv(strategy.T @ strategy)
    total = 0.0
    for block in (boxes(), CDF):
        rows = np.stack(list(block.coefficients())).astype(float)
        total += ((rows @ inverse) * rows).sum()
    assert best.error == pytest.approx(total)


@pytest.mark.parametrize("norm", [Norm.L1, Norm.L2_SQUARED])
@pytest.mark.parametrize("blocks", [(boxes(),), (CDF,), (boxes(), CDF)])
def test_more_kinds_to_choose_from_are_never_worse(blocks, norm) -> None:
    errors = [scaled(design, norm) for design in offered(*blocks, norm=norm)]
    assert errors[0] > errors[-1]
    assert min(errors) == errors[-1]


def test_attributes_that_are_only_queried_apart_are_measured_apart() -> None:
    assert [design.kinds for design in offered(marginal((0, 1), SHAPE))] == [(IDENTITY, IDENTITY)]
    assert all(design.kinds[1] == IDENTITY for design in offered(CDF))
    assert {design.kinds[0] for design in offered(CDF)} >= {IDENTITY, HIERARCHY}
    assert set(KINDS) >= {kind for design in offered(CDF) for kind in design.kinds}


def test_the_order_of_a_blocks_factors_does_not_matter() -> None:
    turned = QueryBlock(name="turned", factors=CDF.factors[::-1])
    assert offered(turned)[-1].error == pytest.approx(offered(CDF)[-1].error)


def test_importance_is_the_users_weight_on_the_scale_of_the_coefficients() -> None:
    sums = QueryBlock(name="sum", factors=dense([[100, -400]], (2,)).factors, weight=Fraction(3))
    assert importance(sums) == 3 / 400**2
    assert expected_error(offered(CDF)[0].strategy, (CDF,)) == pytest.approx(24 * 25 / 2 * 12)


def test_row_by_row_blocks_on_some_of_the_attributes_are_taken_too() -> None:
    """Rectangles, and ranges drawn row by row on one of their columns: these ask for the total of the other."""
    (_, alone) = boxes().factors
    ranges = QueryBlock(name="ranges", factors=(alone,), rowwise=True)
    (*_, best) = offered(boxes(), ranges)
    strategy = np.stack(list(best.strategy.coefficients())).astype(float)
    inverse = np.linalg.inv(strategy.T @ strategy)
    rows = np.stack(list(boxes().coefficients())).astype(float)
    sums = np.stack([np.tile(alone.matrix.row(index), SHAPE[0]) for index in range(60)]).astype(float)
    assert best.error == pytest.approx(sum(((each @ inverse) * each).sum() for each in (rows, sums)))
