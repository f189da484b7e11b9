"""Names of stable learners, and of the methods that each of them has."""

from __future__ import annotations

from typing import Literal

from dpqr.errors import UsageFault
from dpqr.plugins import Registry

StableName = Literal["logistic", "svm", "least-squares", "quantile", "online"]
CLASSIFIERS = ("logistic", "svm")
REGULARISED = ("logistic", "svm", "least-squares", "quantile")
"""Learners with a lambda to choose."""
Method = Literal["output", "objective", "moments", "rounded", "exact", "descent"]
METHODS: dict[str, tuple[Method, ...]] = {
    "logistic": ("output", "objective", "descent"),
    "least-squares": ("output", "moments", "descent"),
    "svm": ("rounded", "objective", "exact", "descent"),
    "quantile": ("rounded", "objective", "exact", "descent"),
}
"""By learner, `descent` without a lambda; the default is the first, or for functions that of the first two that has
less noise by forecast."""
OF_LOSSES: tuple[Method, ...] = ("output", "descent")
"""Of a third party's loss."""

LOSSES = Registry(role="learner", group="dpqr.losses", protocol="dpqr.prediction.third_party:NamedLoss", builtins={})
LEARNERS = Registry(
    role="learner", group="dpqr.learners", protocol="dpqr.prediction.third_party:NamedLearner", builtins={}
)


def require_method(learner: str, method: Method | None, *, loss: bool = False) -> None:
    """Check that the learner has the method.

    Args:
        loss: whether it minimises a third party's loss.

    Raises:
        UsageFault: it has not.
    """
    methods = OF_LOSSES if loss else METHODS.get(learner, ())
    if method is not None and method not in methods:
        known = " or ".join(methods)
        hint = f"has {known}" if known else "has one method only; leave it out"
        raise UsageFault(f"--method {method}: --learner {learner} {hint}")
