"""Continuations after the first one-way marginals, and the error that each is forecast to leave."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

import numpy as np

from dpqr.kernel.arrays import FloatArray
from dpqr.strategies.plan import Plan
from dpqr.strategies.schedules.marginals.candidate_blocks import (
    candidate_levels,
    coarsen,
    fitted_together,
    with_surrogates,
)
from dpqr.strategies.schedules.marginals.candidate_plans import error_words
from dpqr.strategies.schedules.marginals.forecast import (
    NOISE,
    TUNING,
    ExpectedError,
    estimated_records,
    first_marginals,
    remaining,
)
from dpqr.strategies.schedules.marginals.last_measurements import MarginalParts
from dpqr.strategies.schedules.marginals.search import MarginalSearch, SearchState
from dpqr.strategies.transcript import ErrorSum
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

Continuation = Literal["search", "blocks", "pairs", "columns"]
"""A search; all blocks once, all pairs below them once, or one-way marginals alone, without a search."""

WORDS: Mapping[Continuation, str] = {
    "search": "the blocks were searched",
    "blocks": "all blocks were measured once, without a search",
    "pairs": "all pairs of columns below the blocks were measured once, without a search",
    "columns": "one-way marginals alone were measured, without a search",
}

LARGEST = 1.0
"""Mean L1 error over n of one-way marginals on pairs of columns: hardly any tables have more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContinuationForecaster:
    """Forecasts the error of each continuation.

    known: what a search knows after the first one-way marginals. blocks: all that may be measured. wanted: blocks
    whose errors are forecast.
    """

    known: MarginalSearch
    blocks: tuple[QueryBlock, ...]
    wanted: tuple[QueryBlock, ...]
    _parts: MarginalParts = field(init=False, repr=False)
    _louder: FloatArray = field(init=False, repr=False)
    _further: FloatArray = field(init=False, repr=False)
    _weights: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        weights = [self._weight(block) for block in self.wanted]
        further = [max(len(block.axes) - 1.0, 0.0) for block in self.wanted]
        object.__setattr__(self, "_parts", MarginalParts.of(self.blocks, self.wanted, weights))
        object.__setattr__(self, "_louder", np.array([self._relative(block) for block in self.blocks]))
        object.__setattr__(self, "_further", np.array(further))
        object.__setattr__(self, "_weights", np.array(weights))

    @classmethod
    def of(cls, known: MarginalSearch) -> ContinuationForecaster:
        return cls(known=known, blocks=(*chain(*known.levels), *known.singles), wanted=known.asked)

    @property
    def pairs(self) -> tuple[QueryBlock, ...]:
        """Marginals of two columns among the candidates, whose errors show how much columns depend; none where they
        have too many cells to be answered at once."""
        found = tuple(
            block for level in self.known.levels[:1] for block in level if block.is_marginal and len(block.axes) == 2
        )
        return found if sum(pair.cells for pair in found) <= TUNING.table else ()

    @property
    def continuations(self) -> frozenset[Continuation]:
        """That may be best, before it is known how much columns depend."""
        return frozenset(self.after(dependence, 0.0)[0] for dependence in (TUNING.least_dependence, LARGEST))

    @property
    def share(self) -> float:
        """Of the budget, for the error of one-way marginals on pairs; 0: there are none, or noise would hide it."""
        fine, coarse = (
            self.known.budget.share(error * self.known.records) for error in (TUNING.fine_dependence, TUNING.dependence)
        )
        shown = len(self.pairs) > 1 and coarse <= TUNING.largest_dependence
        return min(fine, TUNING.largest_dependence) if shown else 0.0

    def dependence(self, found: ErrorSum) -> float:
        """Mean L1 error over n of exact one-way marginals on pairs, from the noisy one of noisy ones."""
        spent = self._deviations(zip(self.known.singles, self.known.spent, strict=True))
        noise = replace(self, wanted=self.pairs)._error(spent, 0.0)
        measured = max(found.mean, 0.0) / self.known.records
        return float(max(measured**2 - noise**2, TUNING.least_dependence**2) ** 0.5)

    def after(self, dependence: float, share: float) -> tuple[Continuation, Mapping[Continuation, float]]:
        """The continuation of least forecast error, and the errors, means over the asked blocks of L1 over n.

        In rho all that a search measures adds up, so one that finds nothing has lost little. In epsilon it has, and
        one-way marginals alone may be better: where they are so even if few pairs hold most of the dependence. Blocks
        are not all measured where the model has no room for them together, for the fit would then lose some of them.

        Args:
            dependence: mean L1 error over n of one-way marginals on pairs.
            share: of the budget that was spent to know it.
        """
        left = 1.0 - sum(self.known.spent) - share
        least, most = TUNING.concentration
        errors: dict[Continuation, float] = {"search": self._searched(left, dependence, least)}
        if self.known.started:
            errors["search"] /= TUNING.started
        levels: dict[Continuation, int] = {"pairs": 0, "blocks": len(self.known.levels) - 1}
        for continuation, place in levels.items():
            if (continuation == "blocks" or place < levels["blocks"]) and place not in self.known.crowded:
                errors[continuation] = self._error(self._split(self.known.levels[place], left), dependence)
        if not self.known.budget.concentrated:
            alone = self._error(self._split((), left), dependence)
            if alone < self._searched(left, dependence, most):
                errors["columns"] = alone
        return min(errors, key=errors.__getitem__), errors

    def sentence(self, found: ErrorSum) -> str:
        """For the release."""
        dependence = self.dependence(found)
        best, errors = self.after(dependence, self.share)
        others = ", ".join(
            f"{continuation} {error_words(error)}" for continuation, error in errors.items() if continuation != best
        )
        return (
            f"{WORDS[best]}: one-way marginals leave about {error_words(dependence)} (L1 over n) in pairs of columns, "
            f"by a noisy sum; the least forecast error is then {error_words(errors[best])} ({others})"
        )

    def ended(self, continuation: Continuation, share: float) -> SearchState:
        """The end of a search that has explored all that the continuation measures."""
        swept = {"blocks": self.known.levels[-1:], "pairs": self.known.levels[:1]}.get(continuation, ())
        left = 1.0 - sum(self.known.spent) - share
        return SearchState(left=left, explored=tuple(chain(*swept)), level=len(self.known.levels))

    def _searched(self, left: float, dependence: float, concentration: float) -> float:
        """Of a search that explores as many blocks as is best, or that finds nothing and ends.

        concentration: pairs that a search has explored, a part x of all, leave (1 - x)^concentration of the dependence
        in the rest.
        """
        power = self.known.budget.power
        last = TUNING.explored_rho if self.known.budget.concentrated else TUNING.explored_pure
        errors = [self._error(self._split((), last * left), dependence)]
        beside = self._split((), TUNING.beside * left)
        for level in self.known.levels:
            all_of_it = self._split(level, left)
            for part in np.geomspace(1.0 / len(level), 1.0, 12):
                explored = self._error(all_of_it * (part / last) ** power, dependence)
                passed = self._error(beside, dependence * (1.0 - part) ** (concentration - 1.0))
                errors.append(part * explored + (1.0 - part) * passed)
        return min(errors)

    def _split(self, measured: Sequence[QueryBlock], left: float) -> FloatArray:
        """Deviations where all that is left is spent on these blocks, and on one-way marginals for the others."""
        spent = zip(self.known.singles, self.known.spent, strict=True)
        return self._deviations(chain(self.known.split(measured, left), spent))

    def _deviations(self, shares: Iterable[tuple[QueryBlock, float]]) -> FloatArray:
        """Of all blocks, shape (blocks,); infinite: it is not measured."""
        found = dict.fromkeys((block.name for block in self.blocks), 0.0)
        for block, share in shares:
            found[block.name] += self.known.budget.deviation_at(share) ** -2.0
        with np.errstate(divide="ignore"):
            deviations: FloatArray = self._louder * np.array([*found.values()]) ** -0.5
        return deviations

    def _error(self, deviations: FloatArray, dependence: float) -> float:
        """Mean over the wanted blocks, L1 over n. deviations: of the measurements, shape (blocks,)."""
        held, rows = self._parts.measured, len(self.wanted)
        shown = np.bincount(held.parts, held.factors * deviations[held.blocks] ** -2.0, minlength=1 + len(self.blocks))
        each = np.where(shown > 0.0, shown, np.inf) ** -0.5
        errors = self._of_parts(each * self._parts.alone**0.5)
        asked = self._parts.asked
        noise = asked.summed((asked.factors * np.where(shown > 0.0, errors, 0.0)[asked.parts]) ** 2, rows)
        hidden = self._hidden(np.where(shown > 0.0, np.minimum(self._of_parts(each), 1.0), 1.0), dependence)
        return float(np.mean((TUNING.kept**2 * noise + hidden**2) ** 0.5))

    def _hidden(self, lost: FloatArray, dependence: float) -> FloatArray:
        """L1 errors over n of the wanted blocks from what measurements do not show of them, shape (wanted,).

        Args:
            lost: of every part, how much of it noise hides, from 0 to 1; 1: it is not measured.
        """
        apart = 2.0 * (1.0 - (1.0 - min(dependence, 2.0) / 2.0) ** self._further) * self._weights
        own = np.where(self._parts.own > 0, lost[self._parts.own], 1.0) ** 2
        pairs = self._parts.pairs
        below = pairs.summed(pairs.factors * np.where(pairs.parts > 0, lost[pairs.parts], 1.0) ** 2, len(self.wanted))
        missed = TUNING.hidden_below * dependence * np.maximum(self._further - 1.0, 0.0) * self._weights
        by_pairs = np.where(self._further > 1.0, np.maximum(below * apart, missed), apart)
        hidden: FloatArray = np.minimum(own * apart, by_pairs)
        return hidden

    def _of_parts(self, deviations: FloatArray) -> FloatArray:
        """Expected error of every part at its deviation, L1 over n, shape (1 + blocks,)."""
        total = 0.0 if self.known.unit.rows_public else NOISE * deviations[0]
        found: FloatArray = np.array([total, *self.known.errors.each(self.blocks, deviations[1:])]) / self.known.records
        return found

    def _weight(self, block: QueryBlock) -> float:
        """Part of the expected records that its answers hold, where it is no marginal."""
        if block.is_marginal or len(block.axes) < 2:
            return 1.0
        return min(1.0, self.known.errors.at(block, math.inf) / self.known.records)

    def _relative(self, block: QueryBlock) -> float:
        known = self.known
        return 1.0 if block.is_marginal else known.budget.relative(block, known.singles[0], known.unit)


# The first one-way marginals: what they say of a search, and how exactly they are measured again before it.


def start_search(plan: Plan, released: Sequence[Measurement | None]) -> MarginalSearch:
    """What the first measurements of all attributes say of the rest."""
    problem = with_surrogates(plan.problem, plan.roles.check)
    levels = candidate_levels(problem)
    singles = tuple(candidate[0] for candidate in first_marginals(plan).blocks)
    counts = opening_counts(singles, released)
    budget = remaining(plan)
    records = max(1.0, float(problem.n or estimated_records(counts)))
    errors = ExpectedError.of((*chain(*levels), *singles), counts)
    coarse = (
        coarsen(levels[0], counts, errors, records, budget.deviation_at(TUNING.last / len(singles))) if levels else ()
    )
    return MarginalSearch(
        levels=levels,
        coarse=coarse,
        singles=singles,
        asked=problem.workload.blocks,
        errors=errors.joined(ExpectedError.of(coarse, counts)) if coarse else errors,
        budget=budget,
        unit=problem.unit,
        records=records,
        spent=(float(TUNING.opening) / len(singles),) * len(singles),
        started=problem.start is not None,
        crowded=frozenset(
            place for place, level in enumerate(levels) if not fitted_together(level, problem, plan.roles)
        ),
    )


def plan_remeasurement(known: MarginalSearch) -> tuple[MarginalSearch, tuple[tuple[QueryBlock, float], ...]]:
    """The first measurements that are made again before the search, with their shares, and what is known after them."""
    again = remeasured_shares(known)
    spent = tuple(old + new for old, new in zip(known.spent, again, strict=True))
    shares = tuple((block, share) for block, share in zip(known.singles, again, strict=True) if share)
    return replace(known, spent=spent), shares


def opening_counts(singles: Sequence[QueryBlock], released: Sequence[Measurement | None]) -> dict[int, FloatArray]:
    """The first noisy one-way marginals; even counts for one that was lost.

    Args:
        released: their measurements, in their order; None: lost in a crash.

    Returns:
        By attribute, in records, shape (cells,).
    """
    found: dict[int, FloatArray] = {}
    for block, measured in zip(singles, released, strict=True):
        if measured is not None:
            found[block.axes[0]] = np.asarray(measured.values[0], dtype=np.float64)
    total = estimated_records(found)
    for block in singles:
        found.setdefault(block.axes[0], np.full(block.cells, total / block.cells))
    return found


def remeasured_shares(known: MarginalSearch) -> list[float]:
    """Further shares of the budget, one for each of `known.singles`, from the error that the first ones left; zeros
    where that is small enough. A function of what was released."""
    loads = Counter(axis for block in known.asked for axis in block.axes)
    weights = [float(loads[block.axes[0]]) for block in known.singles]

    def error(further: Sequence[float]) -> float:
        shares = zip(known.singles, known.spent, further, strict=True)
        each = [known.errors.at(block, known.budget.combined(old, new)) for block, old, new in shares]
        return float(np.dot(weights, each)) / len(known.asked) / known.records

    further = [0.0] * len(known.singles)
    if not known.levels or error(further) <= TUNING.opening_error:
        return further
    for share in np.geomspace(float(TUNING.opening), TUNING.largest_opening, 12)[1:]:
        even = known.budget.deviation_at(share / len(weights))
        costs = [load * known.errors.at(block, even) for load, block in zip(weights, known.singles, strict=True)]
        further = known.budget.split(float(share) - float(TUNING.opening), costs, known.spent)
        if error(further) <= TUNING.opening_error:
            break
    return further
