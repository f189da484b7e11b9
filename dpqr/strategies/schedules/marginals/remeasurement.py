"""The first one-way marginals: what they say of a search, and how exactly they are measured again before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.strategies.plan import Plan
from dpqr.strategies.schedules.marginals.candidate_blocks import (
    candidate_levels,
    coarsened,
    fitted_together,
    with_surrogates,
)
from dpqr.strategies.schedules.marginals.expected_error import ExpectedError, estimated_records
from dpqr.strategies.schedules.marginals.one_table import first_marginals, remaining
from dpqr.strategies.schedules.marginals.search import Search
from dpqr.strategies.schedules.marginals.tuning import TUNING
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement


def opened(plan: Plan, released: Sequence[Measurement | None]) -> Search:
    """What the first measurements of all attributes say of the rest."""
    problem = with_surrogates(plan.problem, plan.roles.check)
    levels = candidate_levels(problem)
    singles = tuple(candidate[0] for candidate in first_marginals(plan).blocks)
    counts = opening_counts(singles, released)
    budget = remaining(plan)
    records = max(1.0, float(problem.n or estimated_records(counts)))
    errors = ExpectedError.of((*chain(*levels), *singles), counts)
    coarse = (
        coarsened(levels[0], counts, errors, records, budget.deviation_at(TUNING.last / len(singles))) if levels else ()
    )
    return Search(
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


def remeasured(known: Search) -> tuple[Search, tuple[tuple[QueryBlock, float], ...]]:
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


def remeasured_shares(known: Search) -> list[float]:
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
