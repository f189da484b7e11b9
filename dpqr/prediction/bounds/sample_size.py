"""Sample sizes of private prediction: how many records any method needs, and how many a part of an ensemble has."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpqr.data.attribute import Attribute, Bins
from dpqr.data.domain import Domain
from dpqr.data.unit import Neighbours
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.forms import LabelsForm, selection_epsilon
from dpqr.prediction.plan import PredictionPlan

RARE = 0.27846
"""Largest x / (1 + e^x), rounded down; at x = 1.278, where it is x - 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSize:
    """Records that an ensemble's labels need.

    Attributes:
        error: alpha, what the plan's noise may add.
        dimension: d, of the linear rules on the plan's features (VC dimension).
        least: with fewer records no method of this privacy has an error of alpha on all of them.
        each: records of a part, on average; None: their number is not declared.
        declared: the number of records, if it is.
    """

    error: float
    dimension: int
    least: int
    each: float | None
    declared: int | None

    @property
    def few(self) -> bool:
        """Whether the declared records are too few."""
        return self.declared is not None and self.declared < self.least


def sample_size(plan: PredictionPlan) -> SampleSize | None:
    """For labels by votes; None for other plans."""
    recipe, problem = plan.recipe, plan.problem
    if not isinstance(recipe, Aggregate) or not isinstance(plan.form, LabelsForm) or plan.parts is None:
        return None
    epsilon = selection_epsilon(plan.price, plan.noise)
    error, dimension = recipe.added_error(problem, epsilon, plan.parts, plan.noise), rule_dimension(problem.features)
    flips = 1 if problem.unit.neighbours is Neighbours.REPLACE else 2
    return SampleSize(
        error=error,
        dimension=dimension,
        least=least_records(error, dimension, flips * float(epsilon)),
        each=None if problem.records is None else problem.records / plan.parts,
        declared=problem.records,
    )


def least_records(error: float, dimension: int, epsilon: float) -> int:
    """Records below which no method errs at most `error` on every rule of a class of VC dimension d, in expectation.

    Let rules realise every labelling of d points. The point is drawn from them, its label by a labelling that is
    uniform at random. Given k records at a point, flipping their labels changes the probability of a predicted label by
    a factor of at most exp(epsilon k), so the two labellings' errors there add up to at least 2 / (1 + exp(epsilon k)):
    the mean error at a point is at least 1 / (1 + exp(epsilon k)), which is convex in k.

    - All points alike: error >= 1 / (1 + exp(epsilon n / d)), so n >= d log(1 / error - 1) / epsilon.
    - One point of mass 1 - p, the others alike: error >= p / (1 + exp(epsilon n p / (d - 1))). The best p <= 1 is
      1.278 (d - 1) / (epsilon n): n >= 0.278 (d - 1) / (error epsilon), for errors of at most 0.278 / 1.278.

    The source has d / (32 error epsilon), which is less for every d from 2 on.

    Args:
        epsilon: of a prediction, per flipped label: twice that of a record under add-remove, where it goes and comes.

    References:
        Rana 2019, Theorem 2, after Dwork and Feldman 2018.

    >>> least_records(0.1, 11, 1.0), least_records(0.4, 1, 0.5), least_records(0.5, 9, 1.0)
    (28, 1, 0)
    """
    if not 0 < error < 1 / 2:
        return 0
    alike = dimension * math.log(1 / error - 1) / epsilon
    rare = RARE * (dimension - 1) / (error * epsilon) if error <= RARE / (1 + RARE) else 0.0
    return math.ceil(max(alike, rare))


def rule_dimension(domain: Domain) -> int:
    """Dimension of the linear rules on a domain's features: 1 for the constant, and for each column that of its cells.

    Scaling a row to norm 1 changes no sign and no independence.

    >>> from dpqr.data.attribute import Codes
    >>> rule_dimension(Domain((Attribute(name="a", axis=Codes(2)), Attribute(name="b", axis=Codes(3)))))
    4
    """
    return 1 + sum(map(_dimension, domain.attributes))


def _dimension(attribute: Attribute) -> int:
    """Of the affine hull of a column's cells; two bins or more differ by a number, each other cell is one-hot."""
    if not isinstance(attribute.axis, Bins):
        return attribute.size - 1
    return min(attribute.axis.size, 2) - 1 + attribute.size - attribute.axis.size
