"""Penalties: a lambda by a public guess or by the theory, on a grid of two digits."""

from __future__ import annotations

import math
from fractions import Fraction

from dpqr.errors import UsageFault
from dpqr.prediction.learners.examples import Scale
from dpqr.prediction.learners.losses import Cornered, Loss

REACH = {"logistic": 20.0, "svm": 10.0, "quantile": 2.0, "least-squares": 0.5, "online": 0.5}
"""Public guess at the norm of a good function, from which lambda follows by default: a wrong one costs accuracy
only."""
PULLED_REACH = {"logistic": 10.0, "quantile": 1.25}
"""The same of perturbed objectives, where it is another; set by `tests/benchmarks/RESULTS.md`, made-up tables, that of
quantiles by the tuning half of `predict_quantiles.py`."""
SMALLEST_PENALTY, LARGEST_PENALTY = Fraction(1, 10**9), Fraction(100)


def on_grid(value: float) -> Fraction:
    """Two significant digits, so that a plan can be read and repeated.

    >>> on_grid(0.01234)
    Fraction(3, 250)
    """
    return min(max(Fraction(f"{value:.1e}"), SMALLEST_PENALTY), LARGEST_PENALTY)


def balanced_penalty(reach: float, loss: Loss | Cornered | None, scale: Scale, spread: float) -> float:
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
