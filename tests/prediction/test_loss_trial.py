"""The trial of a loss' constants: sound ones pass; what `tests/audit/conformance/test_learners.py` plants is found."""

from fractions import Fraction

import pytest

from dpqr.prediction.learners.losses import Hinge, Logistic, Pinball
from dpqr.prediction.third_party import PREDICTIONS, loss_faults


@pytest.mark.parametrize("kind", [Logistic, Hinge, Pinball])
def test_the_built_in_losses_keep_their_constants(kind):
    named = type("Named", (kind,), {"classifies": kind is not Pinball})()
    assert list(loss_faults(named)) == []


def test_a_fault_names_its_place():
    steep = type("Steep", (Logistic,), {"classifies": True, "lipschitz": Fraction(999, 1000)})()
    (fault,) = loss_faults(steep)
    assert fault.startswith("states a Lipschitz constant of 999/1000, and breaks it at prediction")
    assert fault.endswith("target -1")
    assert 0.0 in PREDICTIONS
