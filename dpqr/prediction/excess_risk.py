"""Excess risk: what a plan's predictions lose, in expectation, to the best function of a stated norm. Public facts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from dpqr.prediction.learners.gradient_steps import Averaged, GradientDescent, OnlineLearner, PartLearner, Steps
from dpqr.prediction.learners.losses import Square
from dpqr.prediction.learners.stable import RidgeRegression
from dpqr.prediction.plan import PredictionPlan, StablePlan
from dpqr.prediction.risk_bounds import BALL, LARGEST, RiskBound, added_loss, mean_share, most_noise, sign_risk

USUAL = Fraction(1, 2)
"""The smoothness that is taken where nobody states one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcessRisk:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineError:
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
