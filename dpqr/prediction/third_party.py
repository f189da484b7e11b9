"""Losses and learners from other packages, by entry points."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.data.histogram import Counts
from dpqr.errors import UsageFault
from dpqr.prediction.learners.examples import Examples, Scale
from dpqr.prediction.learners.features import FeatureMap
from dpqr.prediction.learners.losses import Cornered, ExactHinge, ExactPinball, Loss
from dpqr.prediction.loss_trial import loss_faults
from dpqr.prediction.names import LEARNERS, LOSSES


class Named(Protocol):
    """name: of its entry point. classifies: whether it tells one label from the others, by a sign."""

    @property
    def name(self) -> str: ...

    @property
    def classifies(self) -> bool: ...


class NamedLoss(Named, Loss, Protocol):
    """A loss whose regularised minimiser is a learner."""


class Fits(Protocol):
    """A learner made for a table: as `StableLearner`, its features and lambda apart."""

    @property
    def bound(self) -> Fraction: ...

    def fit(self, counts: Counts) -> FloatArray: ...


class NamedLearner(Named, Protocol):
    """A stable learner with a proof of its own."""

    def learner(self, examples: Examples, scale: Scale) -> Fits:
        """The learner of one table.

        Args:
            examples: reads rows as vectors of norm at most 1 and targets in [-1, 1].
            scale: public number of records, unit and neighbours.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ThirdParty:
    """A third party's loss, or learner.

    Attributes:
        name, origin: of the entry point, and the distribution that brought it.
        classifies: see `Named`.
        loss: that noise is judged by; of a learner the hinge, or the absolute error.
        learner: None for a loss.
    """

    name: str
    origin: str
    classifies: bool
    loss: Loss | Cornered
    learner: NamedLearner | None = None

    @property
    def note(self) -> str:
        """What a plan says of it."""
        stated = "constants of the loss" if self.learner is None else "bound of the learner"
        return (
            f"stated by {self.origin}, vouched for by --trust, not proved here: the {stated} {self.name}; "
            "its code meets the rows"
        )

    def made(self, examples: Examples, scale: Scale) -> OwnLearner:
        """The learner of one table.

        Raises:
            UsageFault: it states no bound.
        """
        assert self.learner is not None
        made = self.learner.learner(examples, scale)
        if not isinstance(made.bound, Fraction) or made.bound <= 0:
            raise UsageFault(f"--learner {self.name}: {self.origin} states a bound that is no Fraction above 0; fix it")
        return OwnLearner(features=examples.features, bound=made.bound, made=made)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OwnLearner:
    """A third party's learner, made for a table, as a `StableLearner`.

    Privacy:
        That no neighbours' weights are further apart than `bound`, with rounding, is its package's statement.
    """

    features: FeatureMap
    bound: Fraction
    made: Fits

    @property
    def penalty(self) -> Fraction:
        """It has none that is known here."""
        return Fraction(0)

    def fit(self, counts: Counts) -> FloatArray:
        return np.asarray(self.made.fit(counts), dtype=np.float64).reshape(self.features.width)


def read_third_party(name: str, trust: tuple[str, ...]) -> ThirdParty | None:
    """The loss or learner called `name`; None: no package brings one.

    Raises:
        UsageFault: it is not trusted, does not load, lacks a member, or breaks a constant that it states.
    """
    for registry in (LOSSES, LEARNERS):
        found = [entry for entry in registry.entries() if entry.name == name]
        if found:
            made = registry.made(name, trusted=name in trust)
            return _of_loss(made, found[0].origin) if registry is LOSSES else _of_learner(made, found[0].origin)
    return None


def _of_loss(loss: Any, origin: str) -> ThirdParty:
    for fault in loss_faults(loss):
        raise UsageFault(f"--learner {loss.name}: {origin} {fault}; fix it or leave it out")
    return ThirdParty(name=loss.name, origin=origin, classifies=bool(loss.classifies), loss=loss)


def _of_learner(learner: Any, origin: str) -> ThirdParty:
    judged = ExactHinge() if learner.classifies else ExactPinball()
    return ThirdParty(
        name=learner.name, origin=origin, classifies=bool(learner.classifies), loss=judged, learner=learner
    )
