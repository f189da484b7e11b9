"""Losses and learners of other packages; `tests/cli/test_third_party.py` has them installed."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.guide_rule import LEARNER, LOSS, made_of
from support.prediction_tables import domain

from dpqr.domain.attribute import Attribute, Bins
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.prediction.learners.examples import Examples, LossScale
from dpqr.prediction.learners.features import CellFeatures
from dpqr.prediction.learners.losses import Hinge, Logistic, Pinball
from dpqr.prediction.problem import PredictionProblem, Target
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.third_party import PREDICTIONS, ThirdParty, loss_faults, read_third_party

NUMBER = Attribute(name="y", axis=Bins(edges=(Fraction(0), Fraction(9))))
TABLE = Domain((*domain(3).attributes, NUMBER))
LOG_COSH, CENTROIDS = made_of(LOSS, "LogCosh")(), made_of(LEARNER, "Centroids")()
FEATURES = CellFeatures(domain=domain(3))
THEIRS = ThirdParty(name="log-cosh", origin="theirs 1", classifies=False, loss=LOG_COSH)
LEARNS = replace(THEIRS, name="centroids", classifies=True, learner=CENTROIDS)


def test_nobody_brings_a_name_that_is_not_installed():
    assert read_third_party("nowhere", ()) is None


def test_a_loss_has_the_sensitivity_of_its_stated_constants():
    recipe = StableRecipe(name="log-cosh", features=FEATURES, own=THEIRS)
    assert (recipe.loss, recipe.classifies, recipe.reach) == (LOG_COSH, False, 2.0)
    problem = PredictionProblem(domain=TABLE, target=Target(attribute=NUMBER, axis=1), unit=PrivacyUnit(), points=1)
    learner = replace(recipe, penalty=Fraction(1, 10)).learner(problem, 100, 1.0)
    assert learner.distance == Fraction(65, 64) / (2 * Fraction(1, 10) * 100)


def test_a_learner_states_its_bound_and_chooses_no_lambda():
    recipe = StableRecipe(name="centroids", features=FEATURES, own=LEARNS)
    examples = Examples(features=FEATURES, axis=1, values=np.array([-1.0, 1.0]))
    made = LEARNS.made(examples, LossScale(unit=PrivacyUnit(), records=100))
    assert float(made.bound) == pytest.approx(65 / 6400)
    assert (made.penalty, recipe.classifies) == (0, True)
    with pytest.raises(UsageFault, match="has no lambda"):
        replace(recipe, penalty=Fraction(1, 10))


# The trial of a loss' constants: sound ones pass; what `tests/audit/conformance/test_learners.py` plants is found.


@in_one_test("kind", [Logistic, Hinge, Pinball])
def test_the_built_in_losses_keep_their_constants(kind):
    named = type("Named", (kind,), {"classifies": kind is not Pinball})()
    assert list(loss_faults(named)) == []


@in_one_test("shift", [0.25, -0.25])
def test_slopes_that_are_all_too_large_or_all_too_small_are_found(shift):
    class Shifted(Logistic):
        classifies, lipschitz = True, Fraction(2)

        def slope(self, predictions, target):
            return super().slope(predictions, target) + shift

    assert any(fault.startswith("states slopes of its values") for fault in loss_faults(Shifted()))


def test_a_fault_names_its_place():
    steep = type("Steep", (Logistic,), {"classifies": True, "lipschitz": Fraction(999, 1000)})()
    (fault,) = loss_faults(steep)
    assert fault.startswith("states a Lipschitz constant of 999/1000, and breaks it at prediction")
    assert fault.endswith("target -1")
    assert 0.0 in PREDICTIONS
