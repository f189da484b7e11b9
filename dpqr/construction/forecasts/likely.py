"""Likely: what a loop in stages certifies on public tables, before any private data is opened."""

from __future__ import annotations

from collections.abc import Sequence

from dpqr.construction.draws import Draws
from dpqr.construction.forecasts.public_tables import PublicTable
from dpqr.construction.loop import iterative_construction
from dpqr.noise.public import PublicNoise
from dpqr.privacy.sealed import Private
from dpqr.strategies.choice import guarded
from dpqr.strategies.plan import Plan


class _Unwatched:
    def finished(self, rounds: int, planned: int) -> None:
        """Nothing."""

    def certified(self, stage: int, records: float) -> None:
        """Nothing."""


def likely_certificates(plan: Plan, tables: Sequence[PublicTable]) -> tuple[float, ...]:
    """The best certificate of one simulated run on each table, as a fraction of its records; 1 where there is none.

    Privacy:
        Public: plan, tables and noise are.
    """
    found = []
    for place, table in enumerate(tables):
        noise = PublicNoise(plan.problem.seed + place)
        draws = Draws(data=Private(table.counts), accountant=guarded(plan), noise=noise)
        outcome = iterative_construction(draws, plan, _Unwatched())
        found.append(min(outcome.transcript.bounds, default=float(table.records)) / max(1, table.records))
    return tuple(found)


def likely_words(plan: Plan, tables: Sequence[PublicTable]) -> str:
    """What a plan in stages is likely to certify, and what it certifies for certain."""
    found = likely_certificates(plan, tables)
    low, high = (f"{value:.2g}" for value in (min(found), max(found)))
    span = low if low == high else f"{low} to {high}"
    certain = "none below 1" if plan.promised is None else f"{float(plan.promised):.4g}"
    simulated = "1 simulated run" if len(found) == 1 else f"{len(found)} simulated runs"
    where = f"{simulated} at epsilon {float(plan.budget.epsilon):g}"
    return f"likely certificate: alpha {span}, in {where}; certain: {certain}"
