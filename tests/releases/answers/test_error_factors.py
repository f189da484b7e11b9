"""Factors of unmeasured blocks: what was bought over what refits predict, shrunk, and never below 1."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpqr.kernel.noise.gaussian import DiscreteGaussian
from dpqr.kernel.unit import PrivacyUnit
from dpqr.mechanisms.block_errors import FINENESS, GroupErrors
from dpqr.releases.answers.errors import TUNING, measured_factors
from dpqr.releases.error_bounds import BlockErrorDraw, BlockErrors
from dpqr.workload.block import Factor, QueryBlock

BLOCKS = tuple(QueryBlock(name=f"q{place}", factors=(Factor.identity(place, 2),)) for place in range(6))


def bought(values, deviation, groups=None):
    """L1 errors in records, of single blocks or of groups of them."""
    groups = groups or tuple((block,) for block in BLOCKS[: len(values)])
    expected = np.zeros(sum(block.rows for group in groups for block in group), dtype=np.int64)
    errors = GroupErrors(groups=groups, expected=expected, unit=PrivacyUnit())
    noisy = np.array([round(value * FINENESS) for value in values])
    law = DiscreteGaussian(Fraction(deviation * FINENESS) ** 2)
    return BlockErrors(sums=BlockErrorDraw(errors=errors, values=noisy, law=law, charge=0))


def test_exact_errors_are_taken_as_they_are():
    found = measured_factors(bought([200, 300, 50], 1), {"q0": 100.0, "q1": 100.0, "q2": 100.0})
    assert found["q0"] == pytest.approx(2.0, abs=0.05)
    assert found["q1"] == pytest.approx(3.0, abs=0.05)
    assert found["q2"] == 1.0


def test_noisy_errors_are_shrunk_towards_the_mean_of_their_kind():
    found = measured_factors(bought([150, 250], 100), {"q0": 100.0, "q1": 100.0})
    assert 1.5 < found["q0"] < found["q1"] < 2.5
    assert found["q1"] - found["q0"] < 0.1


def test_blocks_that_share_a_figure_share_a_factor_and_its_doubt():
    sums = bought([600], 1, groups=(BLOCKS[:3],))
    found = measured_factors(sums, {"q0": 100.0, "q1": 100.0, "q2": 100.0})
    assert len(set(found.values())) == 1
    assert found["q0"] == pytest.approx(2.0 * (1 + TUNING.deviations * TUNING.spread), rel=0.02)


def test_a_block_that_refits_always_answer_has_no_ratio():
    assert measured_factors(bought([5, 5], 1), {"q0": 0.0, "q1": 5.0}).keys() == {"q1"}
