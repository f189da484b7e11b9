"""Marginals from parts that were measured apart."""

from __future__ import annotations

import numpy as np
import pytest

from dpqr.kernel.noise.gaussian import DiscreteGaussian
from dpqr.kernel.values import replace
from dpqr.models.fit.evidence import LinearMeasurement, gather
from dpqr.models.fit.local_fits import put_together
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.strategy_matrices import interaction, interaction_deviation
from dpqr.workload.workload import Measurement

SIZES = (3, 2, 4)
COUNTS = np.random.default_rng(2).integers(0, 90, SIZES)
LAW = DiscreteGaussian(100)


def marginal(*axes):
    return QueryBlock(name=str(axes), factors=tuple(Factor.identity(axis, SIZES[axis]) for axis in axes))


def table(*axes):
    kept = COUNTS.sum(axis=tuple(axis for axis in range(3) if axis not in axes))
    return np.transpose(kept, np.argsort(np.argsort(axes)))


def exact(block):
    return Measurement(blocks=(block,), values=(block.apply(table(*block.axes)),), law=LAW)


def apart(*axes):
    return exact(interaction(marginal(*axes), f"apart{axes}"))


def together(*history, total=None):
    seen = put_together(gather(history, SIZES), float(COUNTS.sum()) if total is None else total)
    return {one.axes: one for one in seen}


def test_exact_parts_give_the_exact_marginal():
    found = together(apart(0), apart(1), apart(1, 0))
    assert set(found) == {(0,), (1,), (1, 0)}
    assert found[1, 0].values == pytest.approx(table(1, 0))
    assert found[1, 0].block is None
    assert found[0,].values == pytest.approx(table(0))
    assert found[1, 0].deviation == pytest.approx(10 * interaction_deviation(apart(0, 1).blocks[0]))


def test_marginals_of_single_columns_serve_as_well_and_a_table_adds_to_its_last_part():
    alone = together(exact(marginal(0)), exact(marginal(2)), apart(0, 2))
    assert alone[0, 2].values == pytest.approx(table(0, 2))
    assert alone[2,].deviation == pytest.approx(10)
    found = together(exact(marginal(0)), exact(marginal(2)), exact(marginal(0, 2)), apart(0, 2))
    assert found[0, 2].values == pytest.approx(table(0, 2))
    assert found[0, 2].deviation == pytest.approx((alone[0, 2].deviation ** -2 + 0.01) ** -0.5)


def test_parts_are_weighed_by_their_noise():
    rough = replace(gather([exact(marginal(0))], SIZES)[0], values=np.array([90.0, 0.0, 0.0]), deviation=1e6)
    fine = gather([apart(0)], SIZES)[0]
    (found,) = put_together([rough, fine], float(COUNTS.sum()))
    assert found.values == pytest.approx(table(0), abs=1e-3)


def test_a_pair_without_its_columns_is_left_out_and_other_evidence_stays():
    other = LinearMeasurement(key="x", axes=(0,), values=np.array([1.0]), deviation=1.0, block=QueryBlock(name="x"))
    assert put_together([other], 5.0) == (other,)
    assert not together(apart(0, 1))
    seen = gather([exact(marginal(0, 1))], SIZES)
    assert put_together(seen, 5.0) == seen
