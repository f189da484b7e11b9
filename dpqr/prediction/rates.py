"""Outlook: what else a budget would buy, and the sources' rates, for comparison with a plan. Public facts only."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from dpqr.domain.attribute import Bins
from dpqr.domain.domain import Domain
from dpqr.kernel.accountants.accountant import Accountant
from dpqr.kernel.errors import DpqrError
from dpqr.kernel.events import DiscreteLaplaceEvent, PrivacyEvent, RoundedGaussianEvent
from dpqr.kernel.unit import Neighbours
from dpqr.prediction.excess_risk import USUAL, ExcessRisk, excess_risk
from dpqr.prediction.forms import selection_epsilon
from dpqr.prediction.learned_functions import FINENESS, PREDICTION
from dpqr.prediction.plan import DirectPlan, EnsemblePlan, PredictionPlan, ProcessPlan, StablePlan
from dpqr.prediction.planner import PlannerInput, least_spread
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.risk_bounds import theory_exponent


@dataclass(frozen=True, slots=True, kw_only=True)
class TheoryRates:
    """The sources' rates as exponents of the number of records m.

    lambda = m^-penalty; excess risk of order m^-risk, which still holds at epsilon = m^-epsilon. For display; only
    lambda is chosen by it, where the user states the smoothness.

    Attributes:
        smoothness: r (least squares) or beta.
        assumed: whether nobody stated it.
        records: m.
    """

    least_squares: bool
    smoothness: Fraction
    assumed: bool
    records: int
    penalty: float
    risk: float
    epsilon: float

    def power(self, exponent: float) -> float:
        """records^-exponent."""
        return math.exp(-exponent * math.log(self.records))


def theory(recipe: StableRecipe, records: int) -> TheoryRates:
    """The rates of Nie and Wang 2017 at `records`.

    Least squares, r: lambda = m^(-2 / min(4, 3 + 2 r)), excess risk m^-min(1/2, 4 r / (3 + 2 r)); epsilon m^-min(1/3, 4
    r / (3 + 6 r)). Others, beta: lambda = m^(-1 / (2 beta + 1)), excess risk m^(-beta / (2 beta + 1)), of a sign half
    that exponent, but for the hinge (`sign_risk`); epsilon = 1 / sqrt(lambda m). The sources call that epsilon optimal.
    It is the smallest one at which their rate survives, and a larger one is always more accurate, so no epsilon is ever
    chosen or lowered by it. Online, r up to 1: excess risk m^-min(theta, 2 r (1 - theta)) but for a logarithm, best at
    theta = 2 r / (2 r + 1) (`OnlineError` proves a bound with all constants); noise adds 2 (sensitivity /
    epsilon)^2, and the sensitivity is of order m^(-(3 theta - 1) / 2).

    References:
        Nie and Wang 2017, JAMP, Theorems 2 and 3; J. Inequal. Appl., Theorem 4. Online: `OnlineError`.
    """
    stated = recipe.smoothness or USUAL
    smooth, penalty = float(stated), theory_exponent(recipe.name, stated, recipe.stability.decay)
    if recipe.ordered:
        theta = float(recipe.steps.theta)
        penalty, risk = 1 - theta, min(theta, 2 * min(smooth, 1.0) * (1 - theta))
        epsilon = (3 * theta - 1 - risk) / 2
    elif recipe.stability.decay is not None:
        risk = min(1.0, 2 * smooth) * penalty
        epsilon = max(0.0, round(1 - penalty - risk / 2, 12))
    elif recipe.name == "least-squares":
        risk, epsilon = min(0.5, 4 * smooth / (3 + 2 * smooth)), min(1 / 3, 4 * smooth / (3 + 6 * smooth))
    else:
        halved = recipe.classifies and recipe.name != "svm"
        risk, epsilon = smooth / (2 * smooth + 1) / (2 if halved else 1), (1 - penalty) / 2
    return TheoryRates(
        least_squares=recipe.loss is None,
        smoothness=stated,
        assumed=recipe.smoothness is None,
        records=records,
        penalty=penalty,
        risk=risk,
        epsilon=epsilon,
    )


MOST = 2**24
"""Larger counts of predictions are not distinguished."""
ROUNDED = 1 + Fraction(1, 2**20)
"""Noise this much above the plan's counts as equal: no count is lost to a rounded figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAlternatives:
    """Alternatives to a plan.

    Attributes:
        bought: predictions with the plan's noise (votes: at its epsilon and parts) that each accountant can prove, at
            most MOST; none for a function by one of the laws in DIRECT, or at points.
        function_from: the number of predictions from which on `--release function` has less noise on each; None: never,
            or there is no function.
        theory: the sources' rates; None for ensembles, and where no number of records is declared.
        excess: see `excess_risk`; None where no number of records is declared.
        sample: see `sample_size`.
    """

    bought: Mapping[str, int]
    function_from: int | None
    theory: TheoryRates | None
    excess: ExcessRisk | None = None
    sample: SampleSize | None = None


def plan_alternatives(plan: PredictionPlan, wanted: PlannerInput) -> PlanAlternatives:
    """For the plan that was made for `wanted`."""
    records = plan.problem.records
    stable = isinstance(plan, StablePlan)
    accountants = () if isinstance(plan, DirectPlan | ProcessPlan) else wanted.accountants
    return PlanAlternatives(
        bought={one.name: count for one in accountants if (count := _most_predictions(plan, one)) is not None},
        function_from=_function_from(wanted) if accountants and stable and plan.releases == 1 else None,
        theory=theory(plan.recipe, records) if isinstance(plan, StablePlan) and records else None,
        excess=excess_risk(plan, records) if records else None,
        sample=sample_size(plan),
    )


def _most_predictions(plan: PredictionPlan, accountant: Accountant) -> int | None:
    """The most predictions that fit; None where the accountant does not cover the budget."""
    before = plan.events[:-1]
    if accountant.refusal(plan.budget) or (accountant.homogeneous and before):
        return None

    def fits(event: PrivacyEvent, count: int) -> bool:
        cost = accountant.epsilon((*before, (event, count)), plan.budget.delta)
        return cost is not None and cost <= plan.budget.epsilon

    # Draws that make one prediction as noisy as the plan's are.
    alike: list[PrivacyEvent] = [plan.events[-1][0]]
    if not isinstance(plan, EnsemblePlan):
        deviation = Fraction(plan.spread) * FINENESS * ROUNDED
        alike = [
            RoundedGaussianEvent(squared_sensitivity=PREDICTION**2, variance=deviation**2),
            DiscreteLaplaceEvent(sensitivity=PREDICTION, scale=deviation * Fraction(2**-0.5), coordinates=1),
        ]
    return max(_most(partial(fits, event)) for event in alike)


def _function_from(wanted: PlannerInput) -> int | None:
    """By the standard deviation of one number's noise, in units of the learner's bound, which both forms share."""

    def spread(points: int | None) -> float:
        try:
            return least_spread(replace(wanted, problem=replace(wanted.problem, points=points))).spread
        except DpqrError:
            return float("inf")

    function = spread(None)
    count = _most(lambda points: spread(points) <= function) + 1
    return count if count <= MOST else None


def _most(fits: Callable[[int], bool]) -> int:
    """The largest count that fits, 0 to MOST, where every smaller one fits too."""
    low, high = 0, 1
    while high <= MOST and fits(high):
        low, high = high, 2 * high
    while high - low > 1 and low < MOST:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


# Sample sizes of private prediction: how many records any method needs, and how many a part of an ensemble has.

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
    problem = plan.problem
    if not isinstance(plan, EnsemblePlan) or problem.target.numeric:
        return None
    epsilon = selection_epsilon(plan.price, plan.noise)
    error, dimension = (
        plan.recipe.added_error(problem, epsilon, plan.parts, plan.noise),
        rule_dimension(problem.features),
    )
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

    >>> from dpqr.domain.attribute import Attribute, Codes
    >>> rule_dimension(Domain((Attribute(name="a", axis=Codes(2)), Attribute(name="b", axis=Codes(3)))))
    4
    """
    total = 1
    for attribute in domain.attributes:
        if isinstance(attribute.axis, Bins):
            # Two bins or more differ by a number; each other cell is one-hot.
            total += min(attribute.axis.size, 2) - 1 + attribute.size - attribute.axis.size
        else:
            total += attribute.size - 1
    return total
