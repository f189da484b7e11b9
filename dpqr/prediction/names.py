"""Names of stable learners, and of the methods that each of them has."""

from __future__ import annotations

from typing import Literal

from dpqr.errors import UsageFault

StableName = Literal["logistic", "svm", "least-squares", "quantile", "online"]
CLASSIFIERS = ("logistic", "svm")
REGULARISED = ("logistic", "svm", "least-squares", "quantile")
"""Learners with a lambda to choose."""
Method = Literal["output", "objective", "moments", "rounded", "exact", "descent"]
METHODS: dict[str, tuple[Method, ...]] = {
    "logistic": ("output", "objective", "descent"),
    "least-squares": ("output", "moments", "descent"),
    "svm": ("rounded", "exact", "descent"),
    "quantile": ("rounded", "exact", "descent"),
}
"""By learner, `descent` without a lambda; the first is the default, but for logistic and least-squares, whose default
is the one of least noise by forecast."""


def require_method(learner: StableName, method: Method | None) -> None:
    """Check that the learner has the method.

    Raises:
        UsageFault: it has not.
    """
    if method is not None and method not in METHODS.get(learner, ()):
        known = " or ".join(METHODS.get(learner, ()))
        hint = f"has {known}" if known else "has one method only; leave it out"
        raise UsageFault(f"--method {method}: --learner {learner} {hint}")
