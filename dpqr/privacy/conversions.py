"""Conversions: what a pure draw and a draw of bounded range cost in mu^2, rounded up, and what a mu^2 buys.

A small epsilon costs mu^2 = pi epsilon^2 / 2 and rho = epsilon^2 / 2, where Gaussian noise has rho = mu^2 / 2: so under
Gaussian DP a choice costs pi / 2 times as much beside the noise as under zCDP.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from dpqr.privacy.accountants.numerics import decimal, density, rounded_down, rounded_up, sixty_digits, upper_tail

CACHED = 1024
_STEPS = 100
_SETTLED = Decimal("1e-35")
SMALLEST = Fraction(1, 10**20)
"""A smaller epsilon costs as much: sixty digits would not show it beside 1."""
LARGE = 10**4
"""A larger epsilon costs mu^2 = 8 epsilon, for Q(z) <= e^(-z^2 / 2) / 2 is at most 1 / (1 + e^epsilon) at
z = sqrt(2 epsilon)."""


@lru_cache(maxsize=CACHED)
def squared_mu_of_pure(epsilon: Fraction) -> Fraction:
    """Return the least mu^2 for which every epsilon-DP draw is mu-GDP, rounded up: mu = 2 z with
    Q(z) = 1 / (1 + e^epsilon), the normal tail.

    Proof. The trade-off curve of epsilon-DP is two straight lines that meet at (1, 1) / (1 + e^epsilon) (Dong, Roth and
    Su 2019, Proposition 2.4). The one of mu-GDP is convex, with the same ends, so it lies below if and only if it does
    there: Phi(z - mu) <= Q(z) at the z of that point, which is mu >= 2 z.

    Newton's steps on the logarithm, from 0: ln Q falls and is concave, so the first step may go too far, and all others
    come nearer from above. A z that is too large is a weaker claim, so only errors downward matter: sixty digits and
    `upper_tail` leave a relative 10^-38 of z at most, from SMALLEST on, and what is returned is larger by 10^-29.

    >>> round(float(squared_mu_of_pure(Fraction(1))), 4)
    1.5179
    """
    if not epsilon or epsilon > LARGE:
        return 8 * epsilon
    with sixty_digits():
        wanted = -_log_one_and_power(decimal(max(epsilon, SMALLEST)))
        place = Decimal(0)
        for _ in range(_STEPS):
            tail = upper_tail(place)
            step = (tail.ln() - wanted) * tail / density(place)
            place += step
            if abs(step) < _SETTLED * place:
                break
        return rounded_up(4 * place * place)


@lru_cache(maxsize=CACHED)
def pure_of_squared_mu(squared_mu: Fraction) -> Fraction:
    """Return the epsilon that a mu^2 above 0 buys in any epsilon-DP draw, rounded down: ln(Phi(z) / Q(z)), z = mu / 2.

    The inverse of `squared_mu_of_pure`.
    """
    with sixty_digits():
        place = decimal(squared_mu).sqrt() / 2
        tail = upper_tail(place)
        return rounded_down(((1 - tail) / tail).ln())


def squared_mu_of_ranged(epsilon: Fraction) -> Fraction:
    """Return the least mu^2 for which every draw of epsilon-bounded range is mu-GDP, rounded up: that of any
    epsilon / 2-DP draw.

    Proof. Of the losses on [t - epsilon, t] those on the two ends are the worst (Dong, Durfee and Rogers 2020; see
    `RangedPair`). Such a draw is one event, of probability p on one database and q on the other, with
    logit p - logit q = epsilon whatever t is. Its trade-off curve is two straight lines that meet at (q, 1 - p), so it
    is mu-GDP if and only if g(logit p) - g(logit q) <= mu, g = Phi^-1 of the logistic function. g is odd, and its
    derivative Phi (1 - Phi) / phi falls in z = g above 0 (below), so the difference is largest at logit p = epsilon /
    2: randomised response of epsilon / 2.

    The derivative falls: its logarithm has the derivative z - phi (1/Q - 1/Phi), which is below 0 if
    F(z) = phi (Phi - Q) - z Phi Q > 0. With A = Phi - 1/2, F' = 2 phi^2 + A^2 - 1/4 and F'' = 2 phi (A - 2 z phi),
    where A - 2 z phi has the derivative phi (2 z^2 - 1): it falls from 0, then rises to 1/2. So F' falls and then
    rises; it is 2 / pi / 2 - 1/4 > 0 at 0 and comes to 0 at infinity, so it is above 0 and then below. So F rises from
    0 and then falls to 0: it is above 0 in between.
    """
    return squared_mu_of_pure(epsilon / 2)


def _log_one_and_power(x: Decimal) -> Decimal:
    """ln(1 + e^x), x >= 0."""
    return x + (1 + (-x).exp()).ln()
