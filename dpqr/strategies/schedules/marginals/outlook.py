"""Outlook: the errors that the ways to spend a budget on marginals are forecast to leave, and the choice of one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from dpqr.strategies.plan import TINY, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import NORMAL
from dpqr.strategies.schedules.marginals.budget_allocation import BudgetAllocation
from dpqr.strategies.schedules.marginals.candidate_blocks import joint, marginal, with_surrogates
from dpqr.strategies.schedules.marginals.one_table import known_records, remaining, whole_table
from dpqr.strategies.schedules.marginals.tuning import TUNING
from dpqr.strategies.schedules.marginals.ways import Noise, Way, even_share, measured_blocks, noise_of
from dpqr.strategies.transcript import ErrorSum
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

Choice = Way | Literal["dependence"]
"""A way; or a measurement of the error that one-way marginals leave in pairs of columns, which decides."""

NOUNS: Mapping[Choice, str] = {
    "table": "one table of all columns",
    "blocks": "all blocks once",
    "pairs": "all pairs of columns once",
    "columns": "one-way marginals alone",
    "search": "what a search finds",
    "dependence": "one-way marginals and their noisy error on pairs of columns, which decides the rest",
}
WORDS: Mapping[Choice, str] = {
    "table": "one table of all columns was measured",
    "blocks": "all blocks were measured once",
    "pairs": "all pairs of columns below the blocks were measured once",
    "columns": "one-way marginals alone were measured",
    "search": "the blocks were searched",
    "dependence": "the error of one-way marginals on pairs of columns was to be measured",
}

POSSIBLE_RECORDS = tuple(float(number) for number in np.geomspace(100, 10**6, 9))
"""Numbers of records at which a plan is judged where nobody knows them."""

POSSIBLE_DEPENDENCES = tuple(float(error) for error in np.geomspace(0.02, 1.0, 5))
"""Mean L1 errors over n of one-way marginals on pairs of columns, at which a plan is judged before they are measured:
the range of the made-up tables of the setting half."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasts:
    """Expected errors by choice, means over the blocks of L1 over n, at so many records.

    dependence: mean L1 error over n of one-way marginals on pairs of columns, as measured; None: it is not known, and
    errors are geometric means over POSSIBLE_DEPENDENCES.
    """

    records: float
    errors: Mapping[Choice, float]
    dependence: float | None = None

    @classmethod
    def of(cls, records: float, each: Sequence[Mapping[Choice, float]], dependence: float | None = None) -> Forecasts:
        """each: errors by choice, at every possible dependence."""
        return cls(
            records=records,
            errors={choice: error_among([one[choice] for one in each]) for choice in each[0]},
            dependence=dependence,
        )

    @property
    def best(self) -> Choice:
        return min(self.errors, key=self.errors.__getitem__)

    @property
    def sentence(self) -> str:
        """For the release."""
        others = ", ".join(f"{one} {error:.2g}" for one, error in self.errors.items() if one != self.best)
        known = "" if self.dependence is None else f", of which one-way marginals miss {self.dependence:.2g} in pairs"
        return (
            f"{WORDS[self.best]}: at {self.records:,.0f} records, as declared or counted with noise{known}, that has "
            f"the least forecast error (L1 over n), {self.errors[self.best]:.2g} ({others})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """Noise by way and block of the workload, from which errors are forecast at any number of records.

    A block whose answers hold m of n even records, and get noise of q records together, is left with an error of about
    q / 2 where q is small beside m; noise on cells that are mostly empty is cut by the fit, so the error grows with
    q to the power of 0.4 from there on. What one-way marginals hide is assumed (POSSIBLE_DEPENDENCES) or measured.

    A search is taken to measure some blocks a column (explored: the part of all), so each more exactly, and to pass
    over the rest, which depend less; or all blocks, or none, if that is less. In epsilon it pays for what it tries: of
    two measurements of a block the better one is all that counts. In rho they add up, so no way but the table is
    better there.

    pairs: of columns below the blocks, whose errors may be measured. opening: deviation of the first one-way marginals.
    """

    noise: Mapping[Way, Noise]
    explored: Mapping[Way, float]
    budget: BudgetAllocation
    pairs: tuple[QueryBlock, ...]
    opening: float

    @classmethod
    def of(cls, problem: Problem, roles: Roles, budget: BudgetAllocation, table: int) -> Outlook:
        """Where `budget` is all that is left; table: cells of one table of all columns, at most."""
        ways: list[Way] = ["blocks", "pairs", "columns"]
        if whole_table(problem).cells <= table:
            ways.insert(0, "table")
        noise = {way: noise_of(way, problem, roles, budget) for way in ways}
        most = TUNING.explored * len(problem.workload.axes)
        searched: tuple[Way, ...] = ("blocks", "pairs")
        numbers = {way: len(measured_blocks(way, problem, roles)) for way in searched}
        return cls(
            noise={way: one for way, one in noise.items() if one is not None},
            explored={way: min(1.0, most / number) for way, number in numbers.items() if number},
            budget=budget,
            pairs=pairs_below(problem, roles),
            opening=budget.deviation_at(float(TUNING.opening) / max(len(problem.workload.axes), 1)),
        )

    def at(self, records: float) -> Forecasts:
        """Where so many records were counted or declared."""
        n = max(1.0, records)
        share, each = self.dependence_share(n), list[dict[Choice, float]]()
        for hidden in POSSIBLE_DEPENDENCES:
            errors = self._errors(n, hidden)
            if share is not None:
                errors["dependence"] = min(self._errors(n, hidden, share).values())
            each.append(errors)
        return Forecasts.of(n, each)

    def after(self, records: float, found: ErrorSum) -> Forecasts:
        """Where the error of the first one-way marginals was measured. The part that their own noise made of it lies
        between what is left where a fit cuts noise and where it cuts none: both are judged by."""
        n = max(1.0, records)
        measured, share = max(found.mean, 0.0) / n, self.dependence_share(n) or 0.0
        squares = [measured**2 - noise**2 for noise in self._opening_errors(n)]
        hidden = [max(square, TUNING.least_dependence**2) ** 0.5 for square in squares]
        return Forecasts.of(n, [self._errors(n, one, share) for one in hidden], math.sqrt(math.prod(hidden)))

    def dependence_share(self, records: float) -> float | None:
        """Of the budget, for the error of one-way marginals on pairs; None: noise would hide it, or there are none."""
        fine, coarse = (self.budget.share(error * records) for error in (TUNING.fine_dependence, TUNING.dependence))
        shown = self.pairs and self._opening_errors(records)[0] <= TUNING.hiding_noise
        return min(fine, TUNING.largest_dependence) if shown and coarse <= TUNING.largest_dependence else None

    def _opening_errors(self, records: float) -> tuple[float, float]:
        """Mean errors that the noise of the first one-way marginals alone leaves in a pair: where a fit cuts as much
        noise as it does in marginals, and where it cuts none."""
        cells = np.array([sum(factor.matrix.rows for factor in pair.factors) for pair in self.pairs])
        total = cells * self.opening
        cut = float(Noise.alone(total, np.ones(len(cells))).errors(records, 1.0, 0.0).mean())
        return cut, float(TUNING.noise_kept * NORMAL * total.mean() / records)

    def _errors(self, records: float, hidden: float, share: float | None = None) -> dict[Choice, float]:
        """Expected errors by way. share: of the budget that the dependence takes after the first one-way marginals;
        None: it is not measured."""
        spent = 0.0 if share is None else share + float(TUNING.opening)
        louder, pure = (1.0 / (1.0 - spent)) ** self.budget.power, not self.budget.concentrated
        ways = (way for way in self.noise if pure or way in ("table", "columns"))
        errors: dict[Choice, float] = {way: self._error(way, records, louder, hidden) for way in ways}
        errors["search"] = self._searched(records, hidden, (1.0 / (1.0 - (share or 0.0))) ** self.budget.power)
        return errors

    def _searched(self, records: float, hidden: float, louder: float) -> float:
        """Of a search for blocks, or for the pairs below them: the least."""
        last, power = TUNING.last_rho if self.budget.concentrated else TUNING.last_pure, self.budget.power
        passed = self._error("columns", records, louder * (1 / (1 - last)) ** power, TUNING.passed_over * hidden)
        hopeless = self._error("columns", records, louder * (1.0 / TUNING.last_pure) ** power, hidden)
        searched = (
            part * self._error(way, records, louder * (part / last) ** power, hidden) + (1.0 - part) * passed
            for way, some in self.explored.items()
            for part in (some, 1.0)
        )
        return min(hopeless, *searched)

    def _error(self, way: Way, records: float, louder: float, hidden: float) -> float:
        return float(self.noise[way].errors(records, louder, hidden).mean())


def pairs_below(problem: Problem, roles: Roles) -> tuple[QueryBlock, ...]:
    """All pairs of columns below the blocks of a search, in the workload's own blocks where these are asked for; none
    where they have too many cells to be answered at once."""
    blocks = joint(with_surrogates(problem, roles.check))
    asked = {tuple(sorted(block.axes)): block for block in blocks if block.is_marginal}
    pairs = sorted({pair for block in blocks for pair in combinations(sorted(block.axes), 2)})
    found = tuple(asked.get(axes) or marginal(problem, axes, "below") for axes in pairs)
    return found if sum(pair.cells for pair in found) <= TUNING.table else ()


def possible_records(problem: Problem) -> tuple[float, ...]:
    """The known number, or POSSIBLE_RECORDS."""
    known = known_records(problem)
    return POSSIBLE_RECORDS if known is None else (float(known),)


def error_among(errors: Sequence[float]) -> float:
    """The geometric mean of errors at different numbers of records, or dependences."""
    return math.exp(float(np.mean(np.log(np.maximum(errors, TINY)))))


def direct_error(plan: Plan, *, fitted: bool) -> float:
    """Forecast error among the possible records of a plan by which every block is measured, or estimated unbiased.

    Args:
        fitted: whether a fit cuts noise on cells of few records; else an answer is off by its noise, or by no more than
            even records would be.
    """
    blocks = plan.problem.workload.blocks
    totals = [
        known.rows * known.deviation / float(block.scale) / max(block.largest_coefficient, 1)
        for block, known in zip(blocks, plan.forecast, strict=True)
    ]
    total, even = np.array(totals), np.array([even_share(block) for block in blocks])
    noise, errors = Noise.alone(total, even), []
    for records in possible_records(plan.problem):
        raw = np.minimum(NORMAL * total / max(1.0, records), even)
        found = noise.errors(max(1.0, records), 1.0, 0.0) if fitted else raw
        errors.append(float(found.mean()))
    return error_among(errors)


def likely_records(plan: Plan, counted: Measurement | None) -> float | None:
    """The known number, or a noisy count less one deviation, for noise on too few records leaves more error than a
    search; None: the count was lost, or there is none."""
    known = known_records(plan.problem)
    if known is not None or counted is None:
        return None if known is None else float(known)
    return max(1.0, float(counted.values[0][0]) - counted.law.deviation)


def outlook(plan: Plan, table: int) -> Outlook:
    """Of the plan of a search: of all that is left after a count of the records."""
    return Outlook.of(plan.problem, plan.roles, remaining(plan), table)
