"""Losses and learners from other packages, by entry points."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Counts
from dpqr.kernel.arrays import AnyArray, FloatArray
from dpqr.kernel.errors import UsageFault
from dpqr.prediction.learners.examples import Examples, LossScale
from dpqr.prediction.learners.features import FeatureMap
from dpqr.prediction.learners.losses import Cornered, ExactHinge, ExactPinball, Loss
from dpqr.prediction.problem import LEARNERS, LOSSES


class ThirdPartyMethod(Protocol):
    """name: of its entry point. classifies: whether it tells one label from the others, by a sign."""

    @property
    def name(self) -> str: ...

    @property
    def classifies(self) -> bool: ...


class NamedLoss(ThirdPartyMethod, Loss, Protocol):
    """A loss whose regularised minimiser is a learner."""


class Fits(Protocol):
    """A learner made for a table: as `StableLearner`, its features and lambda apart."""

    @property
    def bound(self) -> Fraction: ...

    def fit(self, counts: Counts) -> FloatArray: ...


class NamedLearner(ThirdPartyMethod, Protocol):
    """A stable learner with a proof of its own."""

    def learner(self, examples: Examples, scale: LossScale) -> Fits:
        """The learner of one table.

        Args:
            examples: reads rows as vectors of norm at most 1 and targets in [-1, 1].
            scale: public number of records, unit and neighbours.
        """
        ...


class ThirdParty(Struct, frozen=True, kw_only=True):
    """A third party's loss, or learner.

    Attributes:
        name, origin: of the entry point, and the distribution that brought it.
        classifies: see `ThirdPartyMethod`.
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

    def made(self, examples: Examples, scale: LossScale) -> OwnLearner:
        """The learner of one table.

        Raises:
            UsageFault: it states no bound.
        """
        assert self.learner is not None
        made = self.learner.learner(examples, scale)
        if not isinstance(made.bound, Fraction) or made.bound <= 0:
            raise UsageFault(f"--learner {self.name}: {self.origin} states a bound that is no Fraction above 0; fix it")
        return OwnLearner(features=examples.features, bound=made.bound, made=made)


class OwnLearner(Struct, frozen=True, kw_only=True, eq=False):
    """A third party's learner, made for a table, as a `StableLearner`.

    Privacy:
        That no neighbours' weights are further apart than `bound`, with rounding, is its package's statement.
    """

    features: FeatureMap
    bound: Fraction
    made: Fits
    penalty: ClassVar[Fraction] = Fraction(0)
    """It has none that is known here."""

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
            made, origin = registry.made(name, trusted=name in trust), found[0].origin
            classifies, learner = bool(made.classifies), None
            if registry is LOSSES:
                for fault in loss_faults(made):
                    raise UsageFault(f"--learner {made.name}: {origin} {fault}; fix it or leave it out")
                loss = made
            else:
                loss, learner = ExactHinge() if classifies else ExactPinball(), made
            return ThirdParty(name=made.name, origin=origin, classifies=classifies, loss=loss, learner=learner)
    return None


# Trial of a loss: its convexity and its constants on a public grid. A trial can refute them, not prove them.

NEAR = np.linspace(-4, 4, 1601)
FAR = np.geomspace(4.5, 1e6, 60)
PREDICTIONS: FloatArray = np.concatenate([-FAR[::-1], NEAR, FAR])
SLACK = 1e-9
"""Relative; covers rounding in double precision."""


def loss_faults(loss: Any) -> Iterator[str]:
    """What a loss promises and does not keep, each as "states ..." with the place that shows it.

    Args:
        loss: with the members of `Loss`, and `classifies`: whether its targets are -1 and 1, or all of [-1, 1].
    """
    for name in ("lipschitz", "smoothness", "start"):
        figure = getattr(loss, name)
        if not isinstance(figure, Fraction) or figure <= 0:
            yield f"states a {name} that is no Fraction above 0"
            return
    for target in (-1.0, 1.0) if loss.classifies else np.linspace(-1, 1, 9).tolist():
        found = list(_at(loss, float(target)))
        yield from found[:1]
        if found:
            return


def _at(loss: Any, target: float) -> Iterator[str]:
    """The faults at one target."""
    arrays: list[FloatArray] = []
    for name in ("value", "slope", "curvature"):
        found = _called(getattr(loss, name), target)
        if found is None:
            yield f"has a {name} that is no function of finite floats to as many at target {target:g}"
            return
        arrays.append(found)
    values, slopes, curvatures = arrays
    steps, rises, gains = np.diff(PREDICTIONS), np.diff(slopes), np.diff(values)
    steepest, sharpest = float(loss.lipschitz), float(loss.smoothness)
    slack = SLACK * (1 + np.abs(values).max())
    below, above = slopes[:-1] * steps - slack, slopes[1:] * steps + slack
    # What is stated, and at which predictions it is wrong.
    checks: tuple[tuple[str, AnyArray], ...] = (
        ("states losses, which are never below 0", values < 0),
        (f"states a start of {loss.start}, an upper bound at 0", np.where(PREDICTIONS == 0, values, 0) > loss.start),
        (f"states a Lipschitz constant of {loss.lipschitz}", np.abs(slopes) > steepest * (1 + SLACK)),
        ("states a convex loss", rises < -SLACK * steepest),
        (f"states a smoothness of {loss.smoothness}", rises > (sharpest * steps + steepest * SLACK) * (1 + SLACK)),
        ("states slopes of its values", (gains < below) | (gains > above)),
        ("states second derivatives, which are never below 0", curvatures < 0),
    )
    for words, wrong in checks:
        if wrong.any():
            yield f"{words}, and breaks it at prediction {PREDICTIONS[int(np.argmax(wrong))]:.4g}, target {target:g}"


def _called(function: Any, target: float) -> FloatArray | None:
    """Its values at PREDICTIONS; None: it fails, changes its arguments, or is no function of them."""
    predicted, targets = PREDICTIONS.copy(), np.full(len(PREDICTIONS), target)
    try:
        with np.errstate(all="ignore"):
            found = [np.asarray(function(predicted, targets), dtype=np.float64) for _ in range(2)]
    except Exception:
        return None
    kept = np.array_equal(predicted, PREDICTIONS) and (targets == target).all()
    sound = found[0].shape == PREDICTIONS.shape and np.isfinite(found[0]).all() and np.array_equal(found[0], found[1])
    return found[0] if kept and sound else None
