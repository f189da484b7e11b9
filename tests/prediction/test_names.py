"""Methods of learners."""

import pytest

from dpqr.kernel.errors import UsageFault
from dpqr.prediction.problem import METHODS, REGULARISED, require_method


def test_every_learner_with_a_lambda_has_a_descent_without():
    assert all(METHODS[name][-1] == "descent" for name in REGULARISED)


def test_a_learner_has_its_own_methods_only():
    require_method("svm", "exact")
    require_method("online", None)
    with pytest.raises(UsageFault, match="has output or objective or descent"):
        require_method("logistic", "exact")
    with pytest.raises(UsageFault, match="one method only"):
        require_method("online", "descent")
