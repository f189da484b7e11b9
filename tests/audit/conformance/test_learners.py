"""The kit finds each fault that is planted in a loss or a learner, and finds none in sound ones."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.guide_rule import LEARNER, LOSS, made_of

from dpqr.testing import check_learner, check_loss

LogCosh, Centroids = made_of(LOSS, "LogCosh"), made_of(LEARNER, "Centroids")


def loss(**members):
    """The loss of the guide with other members."""
    return dataclass(frozen=True)(type("Broken", (LogCosh,), members))()


def learner(**members):
    """The learner of the guide, whose made one has other members."""
    made = dataclass(frozen=True)(type("Made", (made_of(LEARNER, "MeanRow"),), members))
    given = {"learner": lambda self, examples, scale: made(examples, scale)}
    return dataclass(frozen=True)(type("Broken", (Centroids,), given))()


class Counted:
    calls = 0

    @classmethod
    def next(cls):
        cls.calls += 1
        return float(cls.calls)


def writing(self, predicted, target):
    predicted[:] = 0
    return predicted


def unseen(self, counts):
    return np.zeros(self.examples.features.width) + Counted.next()


def bound(self):
    return self.scale.distance(Fraction(1), Fraction(1)) / 2


BROKEN_LOSSES = {
    "no value": (loss(value=None), "protocol: the loss has value, but not as a method"),
    "no name": (loss(name=""), "name: it is no text"),
    "classifies": (loss(classifies=1), "classifies: it is neither True nor False"),
    "a float": (loss(lipschitz=1.0), "constants: the loss states a lipschitz that is no Fraction above 0"),
    "too steep": (loss(lipschitz=Fraction(9, 10)), "constants: the loss states a Lipschitz constant of 9/10"),
    "too curved": (loss(smoothness=Fraction(9, 10)), "constants: the loss states a smoothness of 9/10"),
    "start": (loss(start=Fraction(1, 9)), "constants: the loss states a start of 1/9"),
    "not convex": (
        loss(
            smoothness=Fraction(2),
            value=lambda self, p, t: (p - t) ** 2 / (1 + (p - t) ** 2),
            slope=lambda self, p, t: 2 * (p - t) / (1 + (p - t) ** 2) ** 2,
        ),
        "constants: the loss states a convex loss, and breaks it at prediction",
    ),
    "below 0": (
        loss(value=lambda self, p, t: LogCosh().value(p, t) - 1),
        "constants: the loss states losses, which are never below 0",
    ),
    "another slope": (
        loss(slope=lambda self, p, t: np.tanh(p - t) * 0.9),
        "constants: the loss states slopes of its values",
    ),
    "curvature": (
        loss(curvature=lambda self, p, t: -np.ones(p.shape)),
        "constants: the loss states second derivatives, which are never below 0",
    ),
    "infinite": (loss(value=lambda self, p, t: np.exp(np.abs(p))), "constants: the loss has a value that is no"),
    "one number": (loss(slope=lambda self, p, t: 0.5), "constants: the loss has a slope that is no function"),
    "fails": (loss(value=lambda self, p, t: p / None), "constants: the loss has a value that is no function"),
    "by chance": (loss(value=lambda self, p, t: p * 0 + Counted.next()), "constants: the loss has a value that is no"),
    "writes": (loss(slope=writing), "constants: the loss has a slope that is no function"),
}
BROKEN_LEARNERS = {
    "no learner": (loss(), "protocol: the learner lacks learner"),
    "half the bound": (learner(bound=property(bound)), "bound: weights move by"),
    "a float": (learner(bound=1.0), "bound: it is no Fraction above 0"),
    "too few weights": (learner(fit=lambda self, counts: np.zeros(2)), "fit: it returns no finite weight"),
    "infinite": (learner(fit=lambda self, counts: np.full(4, np.inf)), "fit: it returns no finite weight"),
    "by chance": (learner(fit=unseen), "fit: it returns no finite weight for each feature, or others"),
}


def test_sound_losses_and_learners_pass():
    check_loss(LogCosh())
    check_learner(Centroids())


@in_one_test("fault", BROKEN_LOSSES)
def test_each_fault_of_a_loss_is_one_line(fault):
    given, line = BROKEN_LOSSES[fault]
    with pytest.raises(AssertionError) as raised:
        check_loss(given)
    assert str(raised.value).startswith(line)
    assert "\n" not in str(raised.value)


@in_one_test("fault", BROKEN_LEARNERS)
def test_each_fault_of_a_learner_is_found(fault):
    given, line = BROKEN_LEARNERS[fault]
    with pytest.raises(AssertionError) as raised:
        check_learner(given)
    assert all(found.startswith(line) for found in str(raised.value).splitlines())


def test_a_mutable_learner_is_no_value():
    with pytest.raises(AssertionError, match="value: Loose is no frozen dataclass"):
        check_loss(dataclass(type("Loose", (), {**vars(LogCosh), "__dict__": None}))())
