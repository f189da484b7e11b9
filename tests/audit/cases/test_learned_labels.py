"""Selections of labels under attack: sound as they are, and refuted where the comparison is wrong by one step."""

import numpy as np
import pytest

from dpqr.audit.attack import attack
from dpqr.audit.cases.learned_labels import label_cases
from dpqr.kernel.noise.keeping import KeepingLaw
from dpqr.kernel.noise.source import SeededNoise

CASES = list(label_cases())
RUNS, ALARM = 3000, 1e-6
"""A false alarm in one of these tests has a probability of 4e-6 at most, by seeds that are fixed: none comes."""


def attacked(case):
    one, two = (case.outcomes(side, RUNS, SeededNoise(side + 1)) for side in (0, 1))
    return attack(one, two, case.claim, ALARM, case.laws)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_sound_build_passes(case):
    found = attacked(case)
    assert not found.breach
    assert found.stated <= 1 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES[:2], ids=lambda case: case.name)
def test_a_comparison_that_is_wrong_by_one_step_is_refuted(case, monkeypatch):
    """Under replace half of delta is for the labels that come, so that the same fault takes four times the runs."""
    right = KeepingLaw.sample

    def wrong(law, counts, noise):
        return right(law, np.where(counts > 0, counts + 1, 0), noise)

    monkeypatch.setattr(KeepingLaw, "sample", wrong)
    assert attacked(case).breach
