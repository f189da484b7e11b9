"""What else a budget would buy, what predictions lose to the best function, and the sources' rates. Public facts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial

from msgspec import Struct

from dpqr.domain.attribute import Bins
from dpqr.domain.domain import Domain
from dpqr.kernel.accountants.accountant import Accountant
from dpqr.kernel.errors import DpqrError
from dpqr.kernel.events import DiscreteLaplaceEvent, PrivacyEvent, RoundedGaussianEvent
from dpqr.kernel.unit import Neighbours
from dpqr.kernel.values import replace
from dpqr.prediction.forms import selection_epsilon
from dpqr.prediction.learned_functions import FINENESS, PREDICTION
from dpqr.prediction.learners.gradient_steps import Averaged, GradientDescent, OnlineLearner, PartLearner, Steps
from dpqr.prediction.learners.losses import Square
from dpqr.prediction.learners.stable import RidgeRegression
from dpqr.prediction.plan import DirectPlan, EnsemblePlan, ObjectivePlan, PredictionPlan, ProcessPlan, StablePlan
from dpqr.prediction.planner import PlannerInput, least_spread
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.risk_bounds import (
    BALL,
    LARGEST,
    RiskBound,
    added_loss,
    mean_share,
    most_noise,
    sign_risk,
    theory_exponent,
)

USUAL = Fraction(1, 2)
"""The smoothness that is taken where nobody states one."""


class ExcessRisk(Struct, frozen=True, kw_only=True):
    """A bound on the expected loss of a prediction, above that of the best function of norm `radius`.

    Attributes:
        assumed: whether nobody stated the radius.
        fitted: what the penalty, or the end of descent, costs on the table; online, all that is not noise.
        sample: what a function learned from the table may gain on it alone.
        noise: what the noise adds.
        smoothness: the bound is above the least loss of all functions (`RiskBound`); None: not so.
        sign: how much more often than any rule the sign errs at most, if no loss of all functions is less than that of
            the one compared with; None: not a class, or its comparison is not known.
        least_epsilon: at which noise would add as much as all else, where it is pure and lambda stays; None: elsewhere.
    """

    radius: Fraction
    assumed: bool
    fitted: float
    sample: float
    noise: float
    smoothness: Fraction | None = None
    sign: float | None = None
    least_epsilon: float | None = None

    @property
    def total(self) -> float:
        return self.fitted + self.sample + self.noise


def excess_risk(plan: PredictionPlan, records: int) -> ExcessRisk | None:
    """The bound for a plan of a stated radius or smoothness, of descent, or online (`OnlineError`, with noise of
    deviation d adding d^2); None for others.

    For m independent records, m the number that the plan is made for, and a convex loss L of Lipschitz constant G on
    the functions that are learned. Let f be the learned function and f* the best of norm R.

    - A regularised minimiser: `RiskBound`.
    - Descent: on the table F(f) <= F(f*) + R^2 / (2 s), s = steps times their length, none above 1 / smoothness (Beck
      and Teboulle 2009, Theorem 3.1); the mean of F(f) and the risk of f differ by at most G gamma, gamma = 2 s G / m
      what one replaced record may move a prediction (Bousquet and Elisseeff 2002, Lemma 7): as a penalty of 1 / (2 s).
    - Noise of mean absolute size e and deviation d adds at most min(G e, smoothness d^2 / 2), to a square d^2.

    A mean of functions has at most the mean of their risks, each for m / parts records. What solvers leave is added to
    the noise.

    References:
        Rana 2019, Corollaries 3 and 4; `best_length`.
    """
    if not isinstance(plan, StablePlan):
        return None
    recipe, spread = plan.recipe, plan.deviation(records)
    stated = recipe.stability.radius
    radius = Fraction(recipe.reach) if stated is None else stated
    learner = plan.learner(records)
    if isinstance(learner, OnlineLearner) and learner.column is None and spread is not None:
        error = OnlineError(steps=learner.steps, radius=float(radius), smoothness=float(recipe.smoothness or USUAL))
        return ExcessRisk(
            radius=radius,
            assumed=stated is None,
            fitted=error.after(learner.slots),
            sample=0.0,
            noise=spread**2,
            smoothness=recipe.smoothness,
        )
    member = learner.learner if isinstance(learner, Averaged) else learner
    if stated is None and recipe.smoothness is None and not recipe.descends:
        return None
    if spread is None or not isinstance(member, PartLearner):
        return None
    # The bound, and the penalty or what stands for it.
    if isinstance(member, GradientDescent):
        of_parts, width = member.scale.records, member.features.width
        bound = RiskBound(radius=float(radius), slope=float(member.slope), records=of_parts, width=width)
        penalty = float(1 / (2 * member.reached))
    else:
        bound, penalty = recipe.risk_bound(member.scale.records), float(member.penalty)
    if bound.slope is None and penalty > LARGEST:
        return None
    left = float(member.bound - member.distance)
    loss = Square() if isinstance(member, RidgeRegression) else member.loss
    slope = float(2 * (BALL + 1)) if bound.slope is None else bound.slope
    share = mean_share(plan.noise)
    found = ExcessRisk(
        radius=Fraction(bound.radius) if stated is None else stated,
        assumed=stated is None,
        fitted=bound.fitted(penalty),
        sample=bound.sample(penalty),
        noise=added_loss(loss, slope, spread, share) + slope * left,
        smoothness=recipe.smoothness,
    )
    room = most_noise(loss, slope, found.fitted + found.sample, share)
    return replace(
        found,
        sign=sign_risk(loss, found.total) if recipe.classifies else None,
        least_epsilon=float(plan.budget.epsilon) * spread / room if plan.noise in ("laplace", "spherical") else None,
    )


# Online error: a bound on the expected excess risk of the online learner, without its noise. Public facts.

EARLIEST = 10**4
"""Steps among which the suprema over all times are sought; later on every part of the bound falls."""


class OnlineError(Struct, frozen=True, kw_only=True):
    """E ||f_t - f_rho||^2 in L2 after t steps, M = kappa = 1, for independent records and f_rho = L^r g.

    ||g|| <= R in L2, 0 < r <= 1; at r = 1/2 that is ||f_rho||_K <= R. A larger r helps no more than 1, and ||L|| <= 1.

    With lambda_t = (t + t0)^(theta - 1), L the kernel's integral operator, f_lambda = (L + lambda)^(-1) L f_rho and
    u_t = f_t - f_(lambda_t), one step is u_(t+1) = (1 - eta_t (L + lambda_t)) u_t + eta_t z_t + d_t, z_t a martingale
    difference with E ||z_t||^2 <= E (f_t(x) - y)^2 <= 1 + E ||f_t - f_rho||^2, and d_t = f_(lambda_t) -
    f_(lambda_(t+1)). The steps after i shrink every direction of eigenvalue s by (i + t0) / N exp(-s S_i),
    N = t - 1 + t0, S_i the sum of their sizes, at least (t - 1 - i) N^(-theta). In L2 (one factor s^(1/2)):

    - ||f_(lambda_t) - f_rho|| <= R max_s lambda_t s^r / (s + lambda_t) = R B lambda_t^r, B = r^r (1 - r)^(1 - r);
    - d_i in the direction of s is g times s^(r+1) (lambda_i - lambda_(i+1)) / ((s + lambda_i) (s + lambda_(i+1))), so
      ||d_i|| <= R D (lambda_i - lambda_(i+1)) lambda_(i+1)^(r-1), D = max_u u^(r+1) / (u + 1)^2, reached at
      u = (1 + r) / (1 - r): (1 + r)^(1+r) (1 - r)^(1-r) / 4. With q = r (1 - theta) all of them together, each times
      (i + t0) / N, are at most R D (1 - theta) (1 + 1 / t0)^((1 - theta) (1 - r)) / (1 - q) N^(-q), for
      lambda_i - lambda_(i+1) <= (1 - theta) (i + t0)^(theta - 2), and sum_(y <= N) y^(-q) <= N^(1 - q) / (1 - q);
    - u_0 = -f_(lambda_0), at most ||f_rho|| <= 1: (t0 - 1) / N;
    - the z_i have no correlation, s exp(-2 s S) <= 1 / (2 e S), and eta_i (i + t0) / N <= N^(-theta): the mean square
      of their sum is at most N^(-2 theta) sum_k min(1, N^theta / (2 e k)) times the largest of their mean squares. (Of
      steps before N / 2 less remains: `_squares` charges those of each halving with the error that was proved for it.)

    Fewer slots than steps: an empty slot has eta z = 0 and shrinks f to 0, so the bound is for streams without them.

    References:
        After Tarres and Yao 2014. Theorem 2 of Nie and Wang 2017, JCC, does not hold (erratum E16 of topic `sources`).

    >>> error = OnlineError(steps=Steps(), radius=0.5)
    >>> round(error.after(20_000), 3), error.after(10**6) < error.after(10**5)
    (0.013, True)
    >>> round(OnlineError(steps=Steps(), radius=0.5, smoothness=1.0).after(20_000), 4)
    0.0066
    """

    steps: Steps
    radius: float
    smoothness: float = 0.5

    def after(self, slots: int) -> float:
        """The bound after this many steps; at most 4, for predictions are clipped."""
        highest = self._highest()
        if highest is None:
            return 4.0
        last = slots - 1 + self.steps.start
        halvings = max(0, int(math.log2(last / (4 * self.steps.start))))
        found = [highest] * (halvings + 64)
        for place in range(halvings, -1, -1):
            squares = self._squares(last / 2**place, found[place + 2 :])
            tried = (self._bias(last / 2**place) + math.sqrt(squares)) ** 2
            if tried <= found[place + 1]:
                found[place] = tried
            else:  # no induction from here; what holds at any time starts another one
                found[place:] = [highest] * len(found[place:])
        return min(4.0, found[0])

    def _bias(self, last: float) -> float:
        """All but the martingale, at N = last; falls with N."""
        smooth, start, left = min(self.smoothness, 1.0), self.steps.start, 1 - float(self.steps.theta)
        rough, power = 1 - smooth, left * smooth
        bias = math.pow(smooth, smooth) * math.pow(rough, rough)
        drift = math.pow(1 + smooth, 1 + smooth) * math.pow(rough, rough) / 4
        drift *= left * math.pow(1 + 1 / start, left * rough) / (1 - power)
        return self.radius * (bias + drift) * math.pow(last, -power) + (start - 1) / last

    def _noise(self, last: float) -> float:
        """N^(-2 theta) sum_k min(1, N^theta / (2 e k)), over fewer than N steps."""
        theta = float(self.steps.theta)
        few = math.pow(last, theta) / (2 * math.e)
        return math.pow(last, -2 * theta) * (2 + few * (1 + max(0.0, math.log(last / few))))

    def _squares(self, last: float, earlier: list[float]) -> float:
        """Mean square of the martingale's sum, for any time from N = last to 2 N.

        The steps with i + t0 in (N / 2^(k + 1), N / 2^k], at most N / 2^(k + 1) + 1 of them, add at most
        (N / 2^k)^(2 - 2 theta) / N^2 N^(theta - 1) / e each for k >= 1, as S_i >= N^(1 - theta) / 2.

        Args:
            earlier: bounds on the error at the steps of k = 0, 1, ..., each no smaller than those before it.
        """
        theta = float(self.steps.theta)
        total = (1 + earlier[0]) * self._noise(last)
        for place, error in enumerate(earlier[1:], 1):
            each = math.pow(last / 2**place, 2 - 2 * theta) * math.pow(last, theta - 3) / math.e
            total += (1 + error) * (last / 2 ** (place + 1) + 1) * each
        return total

    def _highest(self) -> float | None:
        """The error at any time: the least x^2 with x >= bias + sqrt(noise (1 + x^2)), by induction over time.

        None: there is none.
        """
        times = range(self.steps.start, EARLIEST)
        bias, noise = max(map(self._bias, times)), max(map(self._noise, times))
        if noise >= 1:
            return None
        root = math.sqrt(max(0.0, bias**2 - (1 - noise) * (bias**2 - noise)))
        return max(1.0, (bias + root) / (1 - noise)) ** 2


# What else a budget would buy, and the sources' rates, for comparison with a plan.


class TheoryRates(Struct, frozen=True, kw_only=True):
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


class PlanAlternatives(Struct, frozen=True, kw_only=True):
    """Alternatives to a plan.

    Attributes:
        bought: predictions with the plan's noise (votes: at its epsilon and parts) that each accountant can prove, at
            most MOST; none for a function by one of the laws in DIRECT, or at points.
        expected: standard deviation of a prediction's noise by a forecast, on the scale of `Target`; of a perturbed
            objective, whose plan states a bound.
        function_from: the number of predictions from which on `--release function` has less noise on each; None: never,
            or there is no function.
        theory: the sources' rates; None for ensembles, and where no number of records is declared.
        excess: see `excess_risk`; None where no number of records is declared.
        sample: see `sample_size`.
    """

    bought: Mapping[str, int]
    function_from: int | None
    theory: TheoryRates | None
    expected: float | None = None
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
        expected=plan.expected_deviation if isinstance(plan, ObjectivePlan) else None,
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


class SampleSize(Struct, frozen=True, kw_only=True):
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
