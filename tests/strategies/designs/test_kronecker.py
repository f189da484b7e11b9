"""Designs of several attributes against their matrices multiplied out, and against each other."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import slow_but
from support.small_universes import dense, marginal

from dpqr.strategies.designs.kronecker import HIERARCHY, IDENTITY, KINDS, designs, expected_error, importance
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.ranges import Ranges
from dpqr.workload.sensitivity import Norm

SHAPE = (16, 8)
CDF = QueryBlock(name="cdf", factors=(Factor(axes=(0,), sizes=(16,), matrix=Prefix(16)), Factor.identity(1, 8)))


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


def written(block) -> np.ndarray:
    """Coefficients on all cells, shape (rows, cells)."""
    return np.stack(list(block.coefficients())).astype(float)


RANGES = QueryBlock(name="ranges", factors=boxes().factors[1:], rowwise=True)
"""Ranges drawn row by row on one column: in rows of all cells they ask for the total of the other."""


@pytest.mark.parametrize(
    ("more", "rows"),
    slow_but(
        {0},
        [
            (CDF, lambda: written(CDF)),
            (RANGES, lambda: np.stack([np.tile(RANGES.factors[0].matrix.row(at), SHAPE[0]) for at in range(60)])),
        ],
    ),
    ids=["all combinations", "row by row on one of them"],
)
def test_the_error_is_the_sum_of_all_rows_variances(more, rows) -> None:
    (*_, best) = offered(boxes(), more)
    inverse = np.linalg.inv(written(best.strategy).T @ written(best.strategy))
    total = sum(((each @ inverse) * each).sum() for each in (written(boxes()), rows()))
    assert best.error == pytest.approx(total)


@pytest.mark.slow
@pytest.mark.parametrize("norm", [Norm.L1, Norm.L2_SQUARED])
@pytest.mark.parametrize("blocks", [(CDF,), (boxes(), CDF)])
def test_more_kinds_to_choose_from_are_never_worse(blocks, norm) -> None:
    errors = [scaled(design, norm) for design in offered(*blocks, norm=norm)]
    assert errors[0] > errors[-1]
    assert min(errors) == errors[-1]


def test_attributes_that_are_only_queried_apart_are_measured_apart() -> None:
    assert [design.kinds for design in offered(marginal((0, 1), SHAPE))] == [(IDENTITY, IDENTITY)]
    assert all(design.kinds[1] == IDENTITY for design in offered(CDF))
    assert {design.kinds[0] for design in offered(CDF)} >= {IDENTITY, HIERARCHY}
    assert set(KINDS) >= {kind for design in offered(CDF) for kind in design.kinds}
    turned = QueryBlock(name="turned", factors=CDF.factors[::-1])
    assert offered(turned)[-1].error == pytest.approx(offered(CDF)[-1].error)


def test_importance_is_the_users_weight_on_the_scale_of_the_coefficients() -> None:
    sums = QueryBlock(name="sum", factors=dense([[100, -400]], (2,)).factors, weight=Fraction(3))
    assert importance(sums) == 3 / 400**2
    assert expected_error(offered(CDF)[0].strategy, (CDF,)) == pytest.approx(16 * 17 / 2 * 8)
