"""The problem of a prediction run: all that is public before any data, and the target column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from dpqr.domain.attribute import Attribute, Bins
from dpqr.domain.domain import Domain
from dpqr.kernel.arrays import AnyArray, FloatArray
from dpqr.kernel.errors import DocumentError, InfeasiblePlan, UsageFault
from dpqr.kernel.plugins import Registry
from dpqr.kernel.unit import PrivacyUnit

SHOWN = 6
"""Labels that a refusal shows."""


class Target(Struct, frozen=True, kw_only=True):
    """The attribute that is predicted, as the numbers that learners work with.

    Its cells are all values that a target can have: the column's rules put every row into one of them, so a target is
    neither NaN nor outside the declared bounds.

    Attributes:
        axis: its position in the domain.
        positive: the label that classifiers of two classes call +1.

    >>> from dpqr.domain.attribute import Attribute, Labels
    >>> target = Target(attribute=Attribute(name="ill", axis=Labels(("no", "yes"))), axis=0, positive=1)
    >>> target.signs(), target.labels(np.array([-0.2, 0.7])).tolist()
    (array([-1.,  1.]), ['no', 'yes'])
    """

    attribute: Attribute
    axis: int
    positive: int | None = None

    @property
    def numeric(self) -> bool:
        return isinstance(self.attribute.axis, Bins)

    @property
    def bounds(self) -> tuple[float, float]:
        """The outermost edges, which -1 and 1 stand for.

        Raises:
            InfeasiblePlan: the column has labels.
        """
        axis = self.attribute.axis
        if not isinstance(axis, Bins):
            raise InfeasiblePlan(
                f"--target {self.attribute.name!r} has labels, and this learner predicts numbers; "
                "choose --learner logistic, svm or aggregate"
            )
        return float(axis.edges[0]), float(axis.edges[-1])

    def scaled(self) -> FloatArray:
        """The number of each cell in [-1, 1], the middle of its bin; shape (cells,).

        NaN for a cell of its own (null): such a row is left out.
        """
        low, high = self.bounds
        axis = self.attribute.axis
        assert isinstance(axis, Bins)
        values = np.full(self.attribute.size, np.nan)
        for index in range(axis.size):
            values[index] = (2 * float(axis.midpoint(index)) - low - high) / (high - low)
        return np.asarray(np.clip(values, -1.0, 1.0), dtype=np.float64)

    def signs(self) -> FloatArray:
        """+1 for the positive label, -1 for the others; shape (cells,).

        NaN for a cell of a target that is not known, null for example: such a row is left out.
        """
        signs = np.full(self.attribute.size, np.nan)
        signs[self._others()], signs[self._positive()] = -1.0, 1.0
        return signs

    def unscaled(self, values: FloatArray) -> FloatArray:
        """Numbers of [-1, 1] in the column's own unit; others are clipped first."""
        low, high = self.bounds
        return (np.clip(values, -1.0, 1.0) * (high - low) + low + high) / 2

    def labels(self, scores: FloatArray) -> AnyArray:
        """Two classes by a classifier's scores: the positive label where a score is above 0, else the only other one,
        or "not" the positive one where there are several."""
        titles, others = self.attribute.titles(), self._others()
        positive = titles[self._positive()]
        return np.where(scores > 0, positive, titles[others[0]] if len(others) == 1 else f"not {positive}")

    def _others(self) -> list[int]:
        """Cells that are known not to be the positive one."""
        faults = dict(enumerate(self.attribute.own_cells, self.attribute.axis.size))
        known = (cell for cell in range(self.attribute.size) if faults.get(cell, "outside") == "outside")
        return [cell for cell in known if cell != self._positive()]

    def _positive(self) -> int:
        if self.positive is None:
            if self.attribute.size == 1:
                raise InfeasiblePlan(
                    f"--target {self.attribute.name!r} has one label only, so there is nothing to predict; name another"
                )
            raise InfeasiblePlan(
                f"--target {self.attribute.name!r}: this learner tells one class from the others; name it with "
                f"--positive LABEL ({_known(self.attribute.titles())}), or choose --learner aggregate"
            )
        return self.positive


def read_target(domain: Domain, name: str, positive: str | None) -> Target:
    """The target called `name`.

    Args:
        positive: a label; None: the last of two.

    Raises:
        DocumentError: the domain has no such column, or no other.
        UsageFault: the label does not go with the column.
    """
    axis = domain.axis(name)
    if len(domain.attributes) == 1:
        raise DocumentError(f"the domain has the target {name!r} alone; add the columns that it is predicted from")
    attribute = domain.attributes[axis]
    if isinstance(attribute.axis, Bins):
        if positive is not None:
            raise UsageFault(f"--positive: the target {name!r} holds numbers, which have no classes; leave it out")
        return Target(attribute=attribute, axis=axis)
    titles = attribute.titles()
    if positive is not None and positive not in titles:
        raise UsageFault(f"--positive {positive!r} is no label of the target {name!r}; {_known(titles)}")
    if positive is not None:
        return Target(attribute=attribute, axis=axis, positive=titles.index(positive))
    return Target(attribute=attribute, axis=axis, positive=1 if len(titles) == 2 else None)


class PredictionProblem(Struct, frozen=True, kw_only=True):
    """Public facts of a prediction run. Nothing here comes from the data.

    Attributes:
        domain: of the table, target included.
        target: the attribute that is predicted.
        unit: neighbours, and rows per person.
        records: m under `replace`, persons where these are replaced, a declared n0 under `add-remove`; None: it is
            bought.
        points: how many predictions are requested; None: a function is.
        seed: public, of random features.
    """

    domain: Domain
    target: Target
    unit: PrivacyUnit
    records: int | None = None
    points: int | None = None
    seed: int = 0

    @property
    def features(self) -> Domain:
        """The domain without its target."""
        return without(self.domain, self.target)


def without(domain: Domain, target: Target) -> Domain:
    """The other columns, in their order."""
    return domain.project(tuple(axis for axis in range(len(domain.attributes)) if axis != target.axis))


# Names of stable learners, and of the methods that each of them has.

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


def _known(titles: Sequence[str]) -> str:
    return f"known: {', '.join(map(repr, titles[:SHOWN]))}{' and others' if len(titles) > SHOWN else ''}"
