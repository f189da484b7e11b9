"""PrivacyBudget: epsilon and delta as exact rationals, parsed from the decimal text that the user wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from dpqr.errors import UsageFault

SMALLEST_EPSILON = Fraction(1, 10**9)
LARGEST_EPSILON = Fraction(1000)
SMALLEST_DELTA = Fraction(1, 10**30)
LONGEST_TEXT = 100
BLANKS = " \t"
"""All that may stand around a number."""
_DECIMAL = re.compile(r"\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class PrivacyBudget:
    """What a run may spend: (epsilon, delta)-differential privacy; delta 0 is pure.

    Invariant: exact rationals, epsilon > 0 and 0 <= delta < 1.
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
        """A budget from decimal text; a UsageFault says what is allowed. No delta, or "0": pure."""
        eps = decimal(epsilon, option="--eps")
        if not SMALLEST_EPSILON <= eps <= LARGEST_EPSILON:
            raise UsageFault(
                f"--eps {epsilon.strip(BLANKS)}: epsilon must lie between 1e-9 and 1000, for example --eps 1"
            )
        if delta is None:
            return cls(eps)
        dlt = decimal(delta, option="--delta")
        if dlt and not SMALLEST_DELTA <= dlt < 1:
            raise UsageFault(
                f"--delta {delta.strip(BLANKS)}: delta must be 0 (pure privacy) or lie in [1e-30, 1), for example 1e-9"
            )
        return cls(eps, dlt)


def decimal(text: str, *, option: str) -> Fraction:
    """The exact value of plain decimal text ("0.1", "1e-9").

    Everything else is refused with a UsageFault: nan, inf, hex, minus signs, other scripts' digits, control characters
    and blanks of other kinds around the number, and texts or exponents so long that the exact number would be huge.
    """
    cleaned = text.strip(BLANKS)
    if len(cleaned) > LONGEST_TEXT:
        raise UsageFault(f"{option}: {len(cleaned)} characters are too many; give a number of at most {LONGEST_TEXT}")
    if not _DECIMAL.fullmatch(cleaned):
        raise UsageFault(f"{option} {cleaned!r}: give a plain decimal number, for example 0.5 or 1e-9")
    return Fraction(cleaned)
