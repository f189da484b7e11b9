"""Aggregate: the recipe of an ensemble, and how many parts it takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from dpqr.data.arrays import FloatArray
from dpqr.errors import InfeasiblePlan, UsageFault
from dpqr.prediction.bases import Base
from dpqr.prediction.ensemble import PartsEnsemble
from dpqr.prediction.features import FeatureMap
from dpqr.prediction.problem import PredictionProblem

MOST_PARTS = 2**20
TARGET_ERROR = Fraction(1, 5)

Vote = Literal["exponential", "randomised"]
"""How labels are chosen. exponential: by the exponential mechanism; randomised: by a coin, with probability the noisy
share of votes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Aggregate:
    """Any base learner on disjoint parts.

    parts: r; None: by `error`, what the noise may add to the base's error. vote: of
    labels; None: exponential.
    """

    features: FeatureMap
    base: Base
    parts: int | None = None
    error: Fraction = TARGET_ERROR
    vote: Vote | None = None

    def __post_init__(self) -> None:
        if self.parts is not None and not 1 <= self.parts <= MOST_PARTS:
            raise UsageFault(f"--parts must lie between 1 and {MOST_PARTS:,}")
        if not 0 < self.error < 1:
            raise UsageFault("--target-error must lie between 0 and 1, for example 0.1")

    @property
    def name(self) -> str:
        return "aggregate"

    def require(self, problem: PredictionProblem) -> None:
        """UsageFault where the target does not go with the vote."""
        name, labels = problem.target.attribute.name, problem.target.attribute.size
        wanted = "numbers" if problem.target.numeric else "labels"
        if self.base.predicts not in (None, wanted):
            other = "a regressor" if problem.target.numeric else "a classifier"
            raise UsageFault(
                f"--base {self.base.name}: it predicts {self.base.predicts}, and the target {name!r} holds {wanted}; "
                f"choose {other}, or least-squares"
            )
        if self.vote is not None and problem.target.numeric:
            raise UsageFault(f"--vote: the target {name!r} holds numbers, which are averaged; leave it out")
        if self.vote == "randomised" and labels != 2:
            raise UsageFault(
                f"--vote randomised tells two labels apart, and the target {name!r} has {labels}, cells for nulls and "
                "other faults included; leave it out, or choose --vote exponential"
            )

    def chosen_parts(self, problem: PredictionProblem, epsilon: Fraction) -> int:
        """r, from the epsilon of one prediction: 6 log(4 / a) / epsilon for labels (Rana 2019, Theorem 1: error a in
        the realisable case from members of error a / 4); 1 / (a epsilon) for randomised labels (Corollary 1, agnostic:
        error a above that of the members); 2 / (a epsilon) for numbers, where the noise of an average,
        gamma / epsilon = 2 M / (r epsilon), is then a M."""
        if self.parts is not None:
            return self.parts
        parts = math.ceil(self._wanted(problem) / float(epsilon))
        if parts > MOST_PARTS:
            raise InfeasiblePlan(
                f"{parts:,} parts would be needed at epsilon {float(epsilon):.3g} a prediction; raise --eps, ask for "
                "fewer predictions, or state --parts"
            )
        return parts

    def added_error(self, problem: PredictionProblem, epsilon: Fraction, parts: int) -> float:
        """a, the other way round, with so many parts: for labels at most 1, for numbers the noise in units of M."""
        if problem.target.numeric:
            return 2 / (parts * float(epsilon))
        if self.vote == "randomised":
            return min(1.0, 1 / (parts * float(epsilon)))
        return min(1.0, 4 * math.exp(-parts * float(epsilon) / 6))

    def _wanted(self, problem: PredictionProblem) -> float:
        """r epsilon."""
        share = float(self.error)
        if problem.target.numeric:
            return 2 / share
        return 1 / share if self.vote == "randomised" else 6 * math.log(4 / share)

    def ensemble(self, problem: PredictionProblem, points: FloatArray, parts: int) -> PartsEnsemble:
        """What predicts at `points`, features of shape (predictions, width)."""
        target = problem.target
        return PartsEnsemble(
            features=self.features,
            base=self.base,
            axis=target.axis,
            labels=target.attribute.size,
            values=target.scaled() if target.numeric else None,
            points=points,
            parts=parts,
        )


def read_vote(name: str | None) -> Vote | None:
    """By its name; UsageFault for one that is not known."""
    if name is None:
        return None
    for known in get_args(Vote):
        if known == name:
            found: Vote = known
            return found
    raise UsageFault(f"--vote {name}: there is {', '.join(get_args(Vote))}")
