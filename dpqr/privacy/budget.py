"""PrivacyBudget: epsilon and delta as exact rationals, parsed from the decimal text that the user wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from dpqr.errors import UsageFault

SMALLEST_EPSILON = Fraction(1, 10**9)
LARGEST_EPSILON = Fraction(1000)
SMALLEST_DELTA = Fraction(1, 10**30)
_DECIMAL = re.compile(r"\+?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")


@dataclass(frozen=True, slots=True)
class PrivacyBudget:
    """What a run may spend: (epsilon, delta)-differential privacy; delta 0 is pure."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    @property
    def pure(self) -> bool:
        return self.delta == 0

    @classmethod
    def parse(cls, epsilon: str, delta: str | None = None) -> PrivacyBudget:
        """A budget from decimal text; a UsageFault says what is allowed. No delta, or "0": pure."""
        eps = decimal(epsilon, option="--eps")
        if not SMALLEST_EPSILON <= eps <= LARGEST_EPSILON:
            raise UsageFault(f"--eps {epsilon}: epsilon must lie between 1e-9 and 1000, for example --eps 1")
        if delta is None:
            return cls(eps)
        dlt = decimal(delta, option="--delta")
        if dlt and not SMALLEST_DELTA <= dlt < 1:
            raise UsageFault(f"--delta {delta}: delta must be 0 (pure privacy) or lie in [1e-30, 1), for example 1e-9")
        return cls(eps, dlt)


def decimal(text: str, *, option: str) -> Fraction:
    """The exact value of plain decimal text ("0.1", "1e-9"); everything else (nan, inf, hex, signs) is refused."""
    cleaned = text.strip()
    if not _DECIMAL.fullmatch(cleaned):
        raise UsageFault(f"{option} {text!r}: give a plain decimal number, for example 0.5 or 1e-9")
    return Fraction(cleaned)
