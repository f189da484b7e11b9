"""Plan: the whole run on paper, before any data: what will be drawn, how often, at what price."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from dpqr.privacy.accountant import Accountant
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.privacy.events import Composition
from dpqr.strategies.candidates import Candidate
from dpqr.strategies.checks import Check
from dpqr.strategies.distinguishers import Distinguisher
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.interface import Schedule
from dpqr.strategies.updates.interface import UpdateRule

Promise = Literal["proved", "stated", "heuristic"]
"""What stands behind alpha: a proof, the word of a third party's update rule, or neither."""

TINY = 1e-300
"""A deviation that underflows to zero (a budget so large that there is no noise) counts as this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The strategies of one run."""

    distinguisher: Distinguisher
    check: Check
    update: UpdateRule[Any]
    accountant: Accountant


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockForecast:
    """Noise that a block's answers would get if the block is measured.

    deviation: standard deviation of the noise of one answer, in records.
    """

    name: str
    rows: int
    deviation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Public; the same inputs always give the same plan.

    opening: what is measured before any selection, each in a step of its own at the price `opening_price`.
    rounds: adaptive rounds, each a selection at `select` and a measurement at `measure`. single: whether a round
    selects and measures one query, numbered along the workload's rows, and not a block.
    stages: prices of further measurements, one each, of blocks that what was released before decides.
    dropped: price of a noisy count of the records that were left out, drawn before all else; None: not bought.
    threshold: the stop test's 3 alpha / 4 in records, or None where the schedule has none.
    promise: what stands behind alpha, where there is one: a proof, or a heuristic that the notes name.
    events: everything that will be charged at most; `epsilon`: what the accountant proves for it at the budget's
    delta, rounded up; in the order of the draws. asked: the roles that the user named a strategy for; the others were
    free to choose. bytes: peak memory that the plan foresees. notes: sentences for the user.
    """

    problem: Problem
    budget: PrivacyBudget
    roles: Roles
    schedule: Schedule
    opening: tuple[Candidate, ...] = ()
    opening_price: Price | None = None
    rounds: int = 0
    select: Price | None = None
    measure: Price | None = None
    single: bool = False
    stages: tuple[Price, ...] = ()
    dropped: Price | None = None
    threshold: Fraction | None = None
    promise: Promise = "proved"
    events: Composition = ()
    epsilon: Fraction = Fraction(0)
    forecast: tuple[BlockForecast, ...] = ()
    bytes: int = 0
    notes: tuple[str, ...] = ()
    asked: frozenset[str] = frozenset()

    @property
    def noise(self) -> float:
        """Geometric mean of the forecast deviations over all answers: what plans are compared by.

        Why not the mean square: a sum of incomes, in euros, would drown every count.
        """
        rows = sum(block.rows for block in self.forecast)
        logarithms = (block.rows * math.log(max(block.deviation, TINY)) for block in self.forecast)
        return math.exp(math.fsum(logarithms) / rows) if rows else 0.0
