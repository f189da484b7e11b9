"""Risk bounds: what regularised minimisers lose for want of records, with all constants. Public facts."""

from __future__ import annotations

import math
from fractions import Fraction

from msgspec import Struct

from dpqr.kernel.errors import UsageFault
from dpqr.prediction.forms import OBJECTIVES, Noise
from dpqr.prediction.learners.examples import LossScale
from dpqr.prediction.learners.losses import Cornered, ExactHinge, Hinge, Logistic, Loss

BALL = Fraction(1)
"""Largest norm of a least-squares function: predictions in [-1, 1] seldom need a larger one."""
LARGEST = 1 / 4
"""lambda up to which that ball is the learner's."""


class RiskBound(Struct, frozen=True, kw_only=True):
    """E risk(f) at most `fitted` + `sample` above a reference, f the minimiser of the mean loss of m independent
    records plus lambda ||f||^2.

    Attributes:
        radius: R; of squares at most that of the ball, but for a smoothness below 1 / 2.
        smoothness: None: the reference is the best function of norm R. Else it is the least risk of all functions, of
            which the best f_rho is approached: inf over f of risk(f) - risk(f_rho) + lambda ||f||^2 <= R^2 lambda^beta;
            for squares f_rho = L^r g, ||g|| <= R in L2, L the kernel's integral operator.
        slope: G of a Lipschitz loss; None: the square, over a ball of norm R = BALL, for lambda up to LARGEST.
        records: m.
        width: number of features.
        decay: p > 1: the eigenvalues of the mean of x x^T, in falling order, are at most j^-p; None: nothing is known.

    References:
        Nie and Wang 2017, JAMP, Theorems 1 to 3, and J. Inequal. Appl., Theorem 4, have the orders; their constants
        multiply terms that grow with epsilon, as generalisation is proved through privacy there. Here it is not.

    >>> bound = RiskBound(radius=0.5, slope=None, records=10_000, width=100)
    >>> round(bound.fitted(0.02), 4), round(bound.sample(0.02), 4), round(bound.dimension(0.02), 1)
    (0.005, 0.0269, 33.3)
    """

    radius: float
    slope: float | None
    records: int
    width: int
    smoothness: float | None = None
    decay: float | None = None

    def fitted(self, penalty: float) -> float:
        """What lambda costs: inf over f of risk(f) + lambda ||f||^2, above the reference.

        Of squares with smoothness r: f = (L + u)^(-1) L f_rho has ||f - f_rho||^2 + u ||f||^2 <= R^2 u^min(1, 2 r), and
        norm R u^(r - 1/2) at most. u is lambda, or for r < 1 / 2 the least u at which that norm is 1, if it is larger:
        then f lies in the ball.
        """
        if self.smoothness is None:
            return self.radius**2 * penalty
        if self.slope is not None:
            return self.radius**2 * math.pow(penalty, self.smoothness)
        power = min(1.0, 2 * self.smoothness)
        inside = math.pow(self.radius, 2 / (1 - power)) if power < 1 else 0.0
        if inside <= penalty:
            return self.radius**2 * math.pow(penalty, power)
        return self.radius**2 * math.pow(inside, power) + penalty

    def sample(self, penalty: float) -> float:
        """What a function learned from the records gains on them alone.

        Of a Lipschitz loss: G^2 / (lambda m) (Bousquet and Elisseeff 2002, Lemma 7). Of squares: let f minimise the sum
        over m + 1 records plus m lambda ||f||^2 on the ball, and f_i the same without record i, of which the expected
        loss on it is the risk. Both objectives are quadratic, so with A = mean of x x^T + l, l = m lambda / (m + 1), r
        = f(x_i) - y_i and d = (f_i - f)(x_i) their gains at each other's minimiser add up to (2 r d + d^2) / (m + 1) >=
        2 ||f_i - f||_A^2 - d^2 / (m + 1), while d^2 <= (m + 1) h ||f_i - f||_A^2, h = <x_i, A^(-1) x_i> / (m + 1): |d|
        <= |r| h / (1 - h), and the loss of f_i is at most r^2 / (1 - h)^2. h <= 1 / (1 + lambda m), the sum of all h is
        tr((A - l) A^(-1)), of which the mean is at most `dimension` (m + 1) / m (it is concave), and |r| <= R + 1 on
        the ball: (R + 1)^2 (2 - h) / (1 - h)^2 N(lambda) / m.
        """
        if self.slope is not None:
            return self.slope**2 / (penalty * self.records)
        share = 1 / (1 + penalty * self.records)
        return float(BALL + 1) ** 2 * (2 - share) / (1 - share) ** 2 * self.dimension(penalty) / self.records

    def dimension(self, penalty: float) -> float:
        """N(lambda) at most: the sum of s / (s + lambda) over eigenvalues s of the mean of x x^T.

        They add up to 1 at most and are as many as the features, so it is largest where all are alike. Of eigenvalues
        below j^-p it is at most the integral of 1 / (1 + lambda j^p), pi / p / sin(pi / p) lambda^(-1 / p).
        """
        alike = self.width / (1 + penalty * self.width)
        if self.decay is None:
            return alike
        angle = math.pi / self.decay
        return min(alike, angle / math.sin(angle) * math.pow(penalty, -1 / self.decay))


def sign_risk(loss: object, excess: float) -> float | None:
    """How much more often than any rule the sign of a function errs, of which the risk is `excess` above the least.

    Hinge: not more than `excess` (Zhang 2004), and rounded over w < 1 not more than
    `excess` / (1 - w): with t = |2 P(y = 1 | x) - 1|, the least loss at x is (1 - t) (1 + w t / (1 + t)), so a wrong
    sign, of loss 1 at least, loses t (1 - w (1 - t) / (1 + t)). Logistic: not more than sqrt(2 `excess`), as a wrong
    sign loses ((1 + t) log(1 + t) + (1 - t) log(1 - t)) / 2 >= t^2 / 2, which is convex (Bartlett, Jordan and McAuliffe
    2006, Theorem 1).

    Returns:
        None for losses whose comparison is not known.

    >>> sign_risk(Logistic(), 0.02), sign_risk(ExactHinge(), 0.02)
    (0.2, 0.02)
    """
    if isinstance(loss, ExactHinge):
        return excess
    if isinstance(loss, Hinge) and loss.width < 1:
        return excess / (1 - float(loss.width))
    return math.sqrt(2 * excess) if isinstance(loss, Logistic) else None


# Added loss: what independent noise of mean 0 adds to a mean loss at most, by its deviation and its law.


def mean_share(noise: Noise) -> float:
    """Mean absolute noise over its standard deviation, at most.

    Laplace: sqrt(2 q) / (1 + q) with q = exp(-1 / scale), below 1 / sqrt(2); normal: sqrt(2 / pi), and as much for the
    spherical law, which is a mixture of normal ones; others: 1 (Jensen).
    """
    shares: dict[Noise, float] = {"laplace": math.sqrt(1 / 2)}
    return shares.get(noise, 1.0 if noise in OBJECTIVES else math.sqrt(2 / math.pi))


def tail_share(noise: Noise) -> float:
    """Noise that one draw in 20 exceeds, over its standard deviation: log(20) scales of a Laplace law, the widest."""
    return 1.96 if noise == "gaussian" else math.log(20) / math.sqrt(2)


def added_loss(loss: Loss | Cornered, slope: float, spread: float, share: float) -> float:
    """What independent noise of mean 0 adds to a mean loss at most, of deviation `spread` and mean absolute size
    `share` of it: min(G e, smoothness d^2 / 2).

    References:
        Rana 2019, Theorem 4 (its smoothness gamma^2 / epsilon^2 is that of a mean square of 2 gamma^2 / epsilon^2).
    """
    by_slope = slope * share * spread
    return by_slope if isinstance(loss, Cornered) else min(by_slope, float(loss.smoothness) * spread**2 / 2)


def most_noise(loss: Loss | Cornered, slope: float, added: float, share: float) -> float:
    """The largest deviation of noise for which `added_loss` is `added` at most."""
    by_slope = added / (slope * share)
    return by_slope if isinstance(loss, Cornered) else max(by_slope, math.sqrt(2 * added / float(loss.smoothness)))


# Penalties: a lambda by a public guess or by the theory, on a grid of two digits.

NORM_GUESSES = {"logistic": 20.0, "svm": 10.0, "quantile": 2.0, "least-squares": 0.5, "online": 0.5}
"""Public guess at the norm of a good function, from which lambda follows by default: a wrong one costs accuracy
only."""
PERTURBED_NORM_GUESSES = {"logistic": 10.0, "quantile": 1.25}
"""The same of perturbed objectives, where it is another; set by `tests/benchmarks/RESULTS.md`, made-up tables, that of
quantiles by the tuning half of `predict_quantiles.py`."""
SMALLEST_PENALTY, LARGEST_PENALTY = Fraction(1, 10**9), Fraction(100)


def on_grid(value: float) -> Fraction:
    """Two significant digits, so that a plan can be read and repeated.

    >>> on_grid(0.01234)
    Fraction(3, 250)
    """
    return min(max(Fraction(f"{value:.1e}"), SMALLEST_PENALTY), LARGEST_PENALTY)


def balanced_penalty(reach: float, loss: Loss | Cornered | None, scale: LossScale, spread: float) -> float:
    """What balances lambda reach^2 against the noise.

    Args:
        reach: guess at the norm of a good function.
        loss: None for squares.
        spread: the noise, in units of the learner's bound.
    """
    steps = 2 if scale.replaced else scale.steps
    noise = max(spread, 1e-9) * steps / scale.records
    if loss is None:
        return float((2 * (2 * noise / reach) ** 2) ** (1 / 3))
    return math.sqrt(float(loss.lipschitz) * noise / 2) / reach


def theory_exponent(name: str, smoothness: Fraction, decay: Fraction | None = None) -> float:
    """a in lambda = m^-a.

    Args:
        decay: p, of least squares. Then the risk has terms lambda^c, c = min(1, 2 r), lambda^(-1 / p) / m and noise of
            (lambda m)^-2 (`RiskBound`), and a = min(1 / (c + 1 / p), 2 / (c + 2)) makes the largest of them least.

    References:
        Nie and Wang 2017, JAMP, Theorem 2: 2 / min(4, 3 + 2 r) for least squares; J. Inequal. Appl., Theorem 4:
        1 / (2 beta + 1) for the others. Caponnetto and De Vito 2007: 1 / (2 r + 1 / p) without noise.
    """
    if decay is not None:
        power = min(1.0, 2 * float(smoothness))
        return min(1 / (power + 1 / float(decay)), 2 / (power + 2))
    if name == "least-squares":
        return 2 / min(4.0, 3 + 2 * float(smoothness))
    return 1 / (2 * float(smoothness) + 1)


def require_penalty(
    penalty: Fraction | None, smoothness: Fraction | None, tuning: Fraction | None, *, squares: bool
) -> None:
    """Check the figures that choose lambda.

    Args:
        squares: whether the loss is a square, whose smoothness r may be any.

    Raises:
        UsageFault: one is outside its range, or there are two.
    """
    if tuning is not None and not 0 < tuning < 1:
        raise UsageFault("--tune is a share of the budget, between 0 and 1, for example 0.1")
    if tuning is not None and (penalty or smoothness):
        raise UsageFault("--tune chooses lambda, and so do --lambda and --smoothness; leave one out")
    if penalty is not None and not SMALLEST_PENALTY <= penalty <= LARGEST_PENALTY:
        raise UsageFault("--lambda must lie between 1e-9 and 100, for example --lambda 0.001")
    if penalty is not None and smoothness is not None:
        raise UsageFault("--lambda and --smoothness both choose lambda; leave one out")
    if smoothness is not None and not (smoothness > 0 and (squares or smoothness < 1)):
        raise UsageFault("--smoothness: r must lie above 0, and beta (of losses that are not squares) between 0 and 1")
