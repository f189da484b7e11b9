"""Prediction releases: what a run publishes, and released functions as models. No field could hold a private value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpqr.domain.domain import Domain
from dpqr.kernel.arrays import AnyArray, FloatArray, IntArray
from dpqr.kernel.events import Composition
from dpqr.ledger.ledger import NO_REASON, Reason, Reservation
from dpqr.prediction.learners.examples import BLOCK
from dpqr.prediction.learners.features import FeatureMap
from dpqr.prediction.plan import PredictionPlan
from dpqr.prediction.problem import Target, without


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PredictionRelease:
    """Noisy integers, the public grid that they lie on, the plan, and what was spent.

    Attributes:
        plan: of the run.
        numbers: weights of a function, noisy predictions (release after release), or indices of labels.
        step: width of the grid on the scale of `Target`, or of each number's; 1 for labels.
        spent: epsilon at the plan's delta under every accountant.
        private: False if the noise came from a test source.
        records: m0 of the objective, declared or bought; None for ensembles.
        counted: the bought count, as it was drawn.
        penalty: lambda.
        bound: the learner's certified sensitivity.
        paid: the ledger's reservation.
        reason: why it was made, and who asked.
        rehearsed: how many rows were drawn from the public domain in place of a table; None: a table was read.
        charged: draws of a session, of those that it has paid for; None: all of the plan's.

    >>> from dpqr.domain.attribute import Attribute, Labels
    >>> from dpqr.kernel.unit import PrivacyUnit
    >>> from dpqr.prediction.learners.features import CellFeatures
    >>> from dpqr.prediction.planner import PlannerInput, least_spread
    >>> from dpqr.prediction.problem import PredictionProblem, read_target
    >>> from dpqr.kernel.accountants.sums import Basic
    >>> from dpqr.kernel.budget import PrivacyBudget
    >>> domain = Domain(tuple(Attribute(name=name, axis=Labels(("no", "yes"))) for name in ("smokes", "ill")))
    >>> target = read_target(domain, "ill", None)
    >>> problem = PredictionProblem(domain=domain, target=target, unit=PrivacyUnit(), records=1000, points=2)
    >>> recipe = StableRecipe(name="logistic", features=CellFeatures(domain=without(domain, target)))
    >>> budget = PrivacyBudget(epsilon=Fraction(1))
    >>> plan = least_spread(PlannerInput(problem=problem, budget=budget, recipe=recipe, accountants=[Basic()]))
    >>> numbers, spent = np.array([-4, 7]), {"basic": plan.epsilon}
    >>> release = PredictionRelease(plan=plan, numbers=numbers, step=0.5, spent=spent, private=True)
    >>> release.values.tolist(), release.predictions.tolist()
    ([-2.0, 3.5], ['no', 'yes'])
    """

    plan: PredictionPlan
    numbers: IntArray
    step: float | FloatArray
    spent: Mapping[str, Fraction | None]
    private: bool
    records: int | None = None
    counted: int | None = None
    penalty: Fraction | None = None
    bound: Fraction | None = None
    paid: Reservation | None = None
    reason: Reason = NO_REASON
    rehearsed: int | None = None
    charged: Composition | None = None

    @property
    def values(self) -> FloatArray:
        """The numbers on the scale of `Target`."""
        return np.asarray(self.numbers * self.step, dtype=np.float64)

    @property
    def pointwise(self) -> bool:
        """Whether predictions were released, and not a function."""
        return self.plan.pointwise

    @property
    def scores(self) -> FloatArray | None:
        """Of the positive label, one a point, where they were released: their signs are the predictions."""
        return self.values if self.plan.classifies else None

    @property
    def predictions(self) -> AnyArray:
        """One label (text) or number, in the target's unit, for each point; not for functions, which have none yet."""
        return self.plan.decode(self.numbers, self.values)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Model:
    """A released function, applied to any points free of charge.

    Attributes:
        domain: of the table, target included.
        target: what is predicted.
        classifies: whether values are scores of the positive label.
        features: of the other columns.
        weights: on the scale of `Target`.

    Privacy:
        Post-processing of a release: any number of predictions, at points chosen in any way, cost nothing.

    >>> from dpqr.domain.attribute import Attribute, Labels
    >>> from dpqr.prediction.learners.features import CellFeatures
    >>> from dpqr.prediction.problem import read_target
    >>> domain = Domain(tuple(Attribute(name=name, axis=Labels(("no", "yes"))) for name in ("smokes", "ill")))
    >>> target = read_target(domain, "ill", None)
    >>> features, weights = CellFeatures(domain=without(domain, target)), np.array([-1.0, 1.0, 0.0])
    >>> model = Model(domain=domain, target=target, classifies=True, features=features, weights=weights)
    >>> model.predictions(np.array([[0], [1]])).tolist()
    ['no', 'yes']
    """

    domain: Domain
    target: Target
    classifies: bool
    features: FeatureMap
    weights: FloatArray

    @property
    def columns(self) -> Domain:
        """The columns that points need."""
        return without(self.domain, self.target)

    def scores(self, codes: AnyArray) -> FloatArray:
        """Values at points, by their codes; shape (points,)."""
        blocks = [self.features.of(codes[at : at + BLOCK]) @ self.weights for at in range(0, len(codes), BLOCK)]
        return np.concatenate([np.zeros(0), *blocks])

    def predictions(self, codes: AnyArray) -> AnyArray:
        """Labels, or numbers in the target's unit."""
        scores = self.scores(codes)
        return self.target.labels(scores) if self.classifies else self.target.unscaled(scores)
