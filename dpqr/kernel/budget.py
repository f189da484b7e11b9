"""Exact privacy figures: the budget of a run, the price of one draw, the cost of a run, and all of them as text.

In text, costs are rounded up and the remaining budget is rounded down, so that no output understates the one or
overstates the other.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import final

from msgspec import Struct

from dpqr.kernel.accountants.numerics import decimal, density, rounded_down, rounded_up, sixty_digits, upper_tail
from dpqr.kernel.errors import InfeasiblePlan, UsageFault
from dpqr.kernel.events import MuSumEvent, PrivacyEvent, PureSumEvent, RhoSumEvent

SMALLEST_EPSILON = Fraction(1, 10**9)
LARGEST_EPSILON = Fraction(1000)
SMALLEST_DELTA = Fraction(1, 10**30)
LONGEST_TEXT = 100
BLANKS = " \t"
"""Characters that may surround a number."""
_DECIMAL = re.compile(r"\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


class PrivacyBudget(Struct, frozen=True):
    """The budget of a run: (epsilon, delta)-differential privacy, exact; delta 0 is pure.

    >>> PrivacyBudget.parse("0.1", "1e-9")
    PrivacyBudget(epsilon=Fraction(1, 10), delta=Fraction(1, 1000000000))

    Raises:
        UsageFault: not exact, or not epsilon > 0 and 0 <= delta < 1.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not (isinstance(self.epsilon, Fraction) and isinstance(self.delta, Fraction)):
            raise UsageFault("a privacy budget is made of exact fractions; give it Fraction or parse decimal text")
        if not (self.epsilon > 0 and 0 <= self.delta < 1):
            raise UsageFault("a privacy budget needs epsilon > 0 and 0 <= delta < 1, for example epsilon 1, delta 1e-9")

    @property
    def pure(self) -> bool:
        return self.delta == 0

    @classmethod
    def parse(cls, epsilon: str, delta: str | None = None) -> PrivacyBudget:
        """Parse decimal text; no delta, or "0", is a pure budget.

        Raises:
            UsageFault: no plain decimal number, or out of range.
        """
        eps = exact_decimal(epsilon, option="--eps")
        if not SMALLEST_EPSILON <= eps <= LARGEST_EPSILON:
            raise UsageFault(
                f"--eps {epsilon.strip(BLANKS)}: epsilon must lie between 1e-9 and 1000, for example --eps 1"
            )
        if delta is None:
            return cls(eps)
        dlt = exact_decimal(delta, option="--delta")
        if dlt and not SMALLEST_DELTA <= dlt < 1:
            raise UsageFault(
                f"--delta {delta.strip(BLANKS)}: delta must be 0 (pure privacy) or lie in [1e-30, 1), for example 1e-9"
            )
        return cls(eps, dlt)


def exact_decimal(text: str, *, option: str) -> Fraction:
    """Return the exact value of plain decimal text ("0.1", "1e-9").

    Args:
        option: name of the option, for messages.

    Raises:
        UsageFault: anything else, such as nan, inf, hex, minus signs, digits of other scripts, control characters or
            other blanks around the number, and texts or exponents so long that the exact number would be huge.
    """
    cleaned = text.strip(BLANKS)
    if len(cleaned) > LONGEST_TEXT:
        raise UsageFault(f"{option}: {len(cleaned)} characters are too many; give a number of at most {LONGEST_TEXT}")
    if not _DECIMAL.fullmatch(cleaned):
        meant = _meant(cleaned)
        example = f"; write {meant}" if meant else ", for example 0.5 or 1e-9"
        raise UsageFault(f"{option} {cleaned!r}: give a plain decimal number of at least 0{example}")
    return Fraction(cleaned)


_PERCENTAGE, _COMMA = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?%"), re.compile(r"([0-9]{1,9}),([0-9]{1,9})")
_POWER, _RATIO = re.compile(r"10(?:\^|\*\*)(-?[0-9]{1,3})"), re.compile(r"([0-9]{1,9})/([1-9][0-9]{0,8})")


def _meant(text: str) -> str | None:
    """The plain decimal number that another form most probably means; None: it has none of these forms.

    >>> [_meant(text) for text in ("5%", "0,5", "10^-6", "1/1000", "one")]
    ['0.05', '0.5', '1e-6', '0.001', None]
    """
    if found := _PERCENTAGE.fullmatch(text):
        return f"{float(found[1]) / 100:.10g}"
    if found := _COMMA.fullmatch(text):
        return f"{found[1]}.{found[2]}"
    if found := _POWER.fullmatch(text):
        return f"1e{found[1]}"
    if found := _RATIO.fullmatch(text):
        return f"{int(found[1]) / int(found[2]):.10g}"
    return None


ROOT_BITS = 100


class Price(Struct, frozen=True, kw_only=True):
    """The price of one draw: pure epsilon, zero-concentrated rho, or mu^2 of Gaussian DP; exact and positive.

    A draw reads the parameter that its own law needs; that parameter costs at most this price.

    >>> Price(rho=Fraction(1, 2)).bounded_range, Price(squared_mu=Fraction(1, 2)).concentrated
    (Fraction(2, 1), Fraction(1, 4))

    Raises:
        InfeasiblePlan: none or several figures are set, or rho is asked of a pure price.
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    squared_mu: Fraction | None = None

    def __post_init__(self) -> None:
        stated = [figure for figure in (self.epsilon, self.rho, self.squared_mu) if figure is not None]
        if len(stated) != 1 or not isinstance(stated[0], Fraction) or stated[0] <= 0:
            raise InfeasiblePlan("a price is one exact positive fraction, of epsilon, of rho or of squared mu")

    @property
    def currency(self) -> str:
        """The name of the figure that is set."""
        return next(name for name in ("epsilon", "rho", "squared_mu") if getattr(self, name) is not None)

    @property
    def figure(self) -> Fraction:
        """The one that is set."""
        return next(one for one in (self.epsilon, self.rho, self.squared_mu) if one is not None)

    def of(self, figure: Fraction) -> Price:
        """Return another price in the same currency."""
        return Price(**{self.currency: figure})

    def times(self, factor: Fraction) -> Price:
        """So many times this price; factor: above 0."""
        return self.of(self.figure * factor)

    def plus(self, other: Price) -> Price:
        """Return the sum. InfeasiblePlan for prices in two currencies."""
        if self.currency != other.currency:
            raise InfeasiblePlan("prices in epsilon, in rho and in squared mu do not add up")
        return self.of(self.figure + other.figure)

    @property
    def event(self) -> PrivacyEvent:
        """The event of any number of draws whose sum a filter limits to this price."""
        if self.epsilon is not None:
            return PureSumEvent(epsilon=self.epsilon)
        return RhoSumEvent(rho=self.rho) if self.rho is not None else MuSumEvent(squared_mu=self.figure)

    @property
    def pure(self) -> Fraction:
        """Epsilon of any eps-DP mechanism (rho = eps^2 / 2; `squared_mu_of_pure`)."""
        if self.epsilon is not None:
            return self.epsilon
        return root_below(2 * self.rho) if self.rho is not None else pure_of_squared_mu(self.figure)

    @property
    def bounded_range(self) -> Fraction:
        """Epsilon of the exponential mechanism (rho = eps^2 / 8, Cesar and Rogers 2021; `squared_mu_of_ranged`)."""
        if self.epsilon is not None:
            return self.epsilon
        return root_below(8 * self.rho) if self.rho is not None else 2 * self.pure

    @property
    def concentrated(self) -> Fraction:
        """rho of Gaussian noise, mu^2 / 2; a price in pure epsilon buys none."""
        if self.epsilon is not None:
            raise InfeasiblePlan(
                "a price in pure epsilon buys no Gaussian noise; use the zcdp accountant, or the laplace check"
            )
        return self.rho if self.rho is not None else self.figure / 2

    def part(self, epsilon: float) -> float:
        """How much of this price an exponential mechanism of `epsilon` costs, to six digits: a forecast."""
        if self.epsilon is not None:
            return epsilon / float(self.epsilon)
        if self.rho is not None:
            return epsilon**2 / 8 / float(self.rho)
        return float(squared_mu_of_ranged(Fraction(f"{epsilon:.6g}")) / self.figure)


def root_below(value: Fraction) -> Fraction:
    """Return a rational at most sqrt(value), below it by a relative 2^-48 or less; value >= 0.

    Proof. value 2^shift is above 2^(ROOT_BITS - 1), so dropping its fraction costs a relative 2^-99, and the integer
    root, at least 2^49, is too small by less than 1.
    """
    if value == 0:
        return Fraction(0)
    shift = ROOT_BITS + max(0, value.denominator.bit_length() - value.numerator.bit_length())
    shift += shift % 2
    scaled = (value.numerator << shift) // value.denominator
    return Fraction(isqrt(scaled), 1 << (shift // 2))


ZERO = Fraction(0)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Cost:
    """The cost of a run: an exact amount of epsilon, rho or mu^2, and an exact delta where the budget counts deltas.

    The order is partial: one cost is at most another if both figures are. So there is no `<`; what does not fit is
    `not cost <= limit`. A bare number is that amount without a delta.

    >>> Cost(Fraction(1), Fraction(1, 10)) <= Cost(Fraction(2)), Cost(Fraction(1)) <= 2
    (False, True)
    """

    amount: Fraction = ZERO
    delta: Fraction = ZERO

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.amount + other.amount, self.delta + other.delta)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.amount - other.amount, self.delta - other.delta)

    def __le__(self, other: Cost | Fraction | int) -> bool:
        most = _cost(other)
        return self.amount <= most.amount and self.delta <= most.delta

    def __ge__(self, other: Cost | Fraction | int) -> bool:
        return _cost(other) <= self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cost | Fraction | int):
            return NotImplemented
        return (self.amount, self.delta) == (_cost(other).amount, _cost(other).delta)

    def __hash__(self) -> int:
        return hash((self.amount, self.delta)) if self.delta else hash(self.amount)

    def __bool__(self) -> bool:
        return bool(self.amount or self.delta)

    def least(self, other: Cost) -> Cost:
        """The smaller of each figure."""
        return Cost(min(self.amount, other.amount), min(self.delta, other.delta))

    def most(self, other: Cost) -> Cost:
        """The larger of each figure."""
        return Cost(max(self.amount, other.amount), max(self.delta, other.delta))


NO_COST = Cost()


class Pricing(Struct, frozen=True, kw_only=True):
    """The name of the accountant that proves a run's guarantee, and the delta of that proof.

    >>> Pricing()
    Pricing(accountant='basic', delta=Fraction(0, 1))
    """

    accountant: str = "basic"
    delta: Fraction = ZERO


PURE = Pricing()
"""The sum of pure epsilons."""


def _cost(value: Cost | Fraction | int) -> Cost:
    return value if isinstance(value, Cost) else Cost(Fraction(value))


PLAIN = range(-5, 13)
"""Decimal exponents that are written without an exponent."""


def upward(value: Fraction) -> float:
    """Return the smallest float that is at least `value`."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def upward_text(value: Fraction, digits: int = 12) -> str:
    """Write `value` in decimal, rounded up to `digits` significant digits; exact if it has no more of them."""
    return _text(value, Context(prec=digits, rounding=ROUND_CEILING))


def downward_text(value: Fraction, digits: int = 12) -> str:
    """Write `value` in decimal, rounded down to `digits` significant digits; exact if it has no more of them."""
    return _text(value, Context(prec=digits, rounding=ROUND_FLOOR))


def _text(value: Fraction, context: Context) -> str:
    shown = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)
    if not shown or shown.adjusted() in PLAIN:
        return f"{shown:f}"
    return f"{shown:e}"


# Conversions: what a pure draw and a draw of bounded range cost in mu^2, rounded up, and what a mu^2 buys.
#
# A small epsilon costs mu^2 = pi epsilon^2 / 2 and rho = epsilon^2 / 2, where Gaussian noise has rho = mu^2 / 2: so
# under Gaussian DP a choice costs pi / 2 times as much beside the noise as under zCDP.

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

    Statement P12 of the guide's topic proofs.

    >>> round(float(squared_mu_of_pure(Fraction(1))), 4)
    1.5179
    """
    if not epsilon or epsilon > LARGE:
        return 8 * epsilon
    with sixty_digits():
        loss = decimal(max(epsilon, SMALLEST))
        wanted = -(loss + (1 + (-loss).exp()).ln())  # -ln(1 + e^epsilon)
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

    Statement P12 of the guide's topic proofs.
    """
    return squared_mu_of_pure(epsilon / 2)
