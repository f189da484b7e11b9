"""PrivacyEvent: what a mechanism did, by the parameters that are necessary and sufficient for accounting.

What happened stands apart from what it costs: accountants price events, and a recorded run can be priced again by a
better theorem. Rules: an event is never removed, the meaning of a parameter never changes, an unknown event must be
refused by every accountant.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplaceEvent:
    """Integers of L1 sensitivity `sensitivity` plus independent noise, Pr[k] proportional to exp(-|k| / scale)."""

    sensitivity: int
    scale: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianEvent:
    """Integers plus independent noise, Pr[k] proportional to exp(-k^2 / (2 variance)).

    squared_sensitivity: largest squared L2 distance between neighbours, an integer.
    """

    squared_sensitivity: int
    variance: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialEvent:
    """A draw with Pr[i] proportional to exp(epsilon score_i / (2 sensitivity)): eps-DP and eps-bounded range."""

    epsilon: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class PermuteAndFlipEvent:
    """A draw by permute-and-flip with the same scores: eps-DP, but not eps-bounded range."""

    epsilon: Fraction


PrivacyEvent = DiscreteLaplaceEvent | DiscreteGaussianEvent | ExponentialEvent | PermuteAndFlipEvent

Composition = tuple[tuple[PrivacyEvent, int], ...]
"""Events with how often each happened; the record of a run."""
