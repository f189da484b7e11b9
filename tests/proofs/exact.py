"""Laws and curves written from the statements of the guide's topic `proofs`; nothing of dpqr is imported."""

from fractions import Fraction
from itertools import accumulate, product

from mpmath import erfc, erfinv, exp, log, mp, mpf, sqrt

mp.dps = 30
LEAST = mpf(10) ** -20
"""Room for the rounding of thirty digits, where a figure is compared with its equal."""


def real(value):
    """A rational to thirty digits."""
    value = Fraction(value)
    return mpf(value.numerator) / value.denominator


def normal_tail(place):
    return erfc(place / sqrt(2)) / 2


def normal_quantile(tail):
    """z with Q(z) = tail."""
    return sqrt(2) * erfinv(1 - 2 * tail)


def gaussian_curve(mu, epsilon):
    """delta(epsilon) of N(mu, 1) against N(0, 1)."""
    return normal_tail(epsilon / mu - mu / 2) - exp(epsilon) * normal_tail(epsilon / mu + mu / 2)


def hockey_stick(one, other, ratio):
    """The largest P(E) - ratio Q(E)."""
    return sum(max(p - ratio * q, 0) for p, q in zip(one, other, strict=True))


def losses(one, other):
    """The smallest and the largest log(P / Q) of the outcomes."""
    found = [log(p / q) for p, q in zip(one, other, strict=True) if p or q]
    return min(found), max(found)


def renyi(one, other, order):
    total = sum(p**order * q ** (1 - order) for p, q in zip(one, other, strict=True) if p)
    return log(total) / (order - 1)


def trade_off_slack(one, other, mu):
    """How far the curve of errors of a finite pair lies above that of mu, at its corners; below 0: mu is too small."""
    ordered = sorted(zip(one, other, strict=True), key=lambda pair: pair[0] / pair[1])
    missed = list(accumulate(p for p, _ in ordered))
    false = [1 - q for q in accumulate(q for _, q in ordered)]
    corners = [(a, b) for a, b in zip(false, missed, strict=True) if 0 < a < 1]
    # Errors: reject P's side on the outcomes of small ratio; N(mu, 1) is missed with Phi(Q^-1(a) - mu).
    return min(b - normal_tail(mu - normal_quantile(a)) for a, b in corners)


def randomised_response(ratio):
    """The worst pair of a draw of likelihood ratios up to `ratio`."""
    return (ratio / (1 + ratio), 1 / (1 + ratio)), (1 / (1 + ratio), ratio / (1 + ratio))


def two_sided_geometric(scale, reach):
    """Pr[k] for |k| <= reach, proportional to exp(-|k| / scale)."""
    q = exp(-1 / real(scale))
    return {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-reach, reach + 1)}


def geometric(scale, reach):
    q = exp(-1 / real(scale))
    return {k: (1 - q) * q**k for k in range(reach + 1)}


def discrete_normal(variance, reach):
    weights = {k: exp(-(mpf(k) ** 2) / (2 * real(variance))) for k in range(-reach, reach + 1)}
    whole = sum(weights.values())
    return {k: weight / whole for k, weight in weights.items()}


def rounded_normal(variance, reach):
    deviation, half = sqrt(real(variance)), mpf(1) / 2
    tails = {k: normal_tail((k - half) / deviation) for k in range(-reach, reach + 2)}
    return {k: tails[k] - tails[k + 1] for k in range(-reach, reach + 1)}


def exponential_law(scores, rate):
    """Pr[i] proportional to exp(rate score_i)."""
    weights = [exp(real(rate) * score) for score in scores]
    return [weight / sum(weights) for weight in weights]


def permute_and_flip_law(scores, rate):
    """The first head in random order: every order and every set of heads, added up."""
    best = max(scores)
    heads = [exp(real(rate) * (score - best)) for score in scores]
    found = [mpf(0)] * len(scores)
    for shown in product((0, 1), repeat=len(scores)):
        probability = mpf(1)
        for one, head in zip(shown, heads, strict=True):
            probability *= head if one else 1 - head
        for index, one in enumerate(shown):
            if one:
                found[index] += probability / sum(shown)
    return found


def rho_to_epsilon(rho, delta):
    """The smallest epsilon over the orders of the conversion, by a grid that is refined."""

    def at(order):
        return order * rho + log(1 / (order * delta)) / (order - 1) + log(1 - 1 / order)

    low, high = log(mpf(10) ** -6), log(mpf(10) ** 8)
    for _ in range(6):
        grid = [low + (high - low) * step / 40 for step in range(41)]
        best = min(range(41), key=lambda step: at(1 + exp(grid[step])))
        low, high = grid[max(0, best - 1)], grid[min(40, best + 1)]
    return max(mpf(0), at(1 + exp((low + high) / 2)))
