"""Costs: what each phase of a run is priced at under every theorem. Public: a plan's events, and no draw's outcome."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dpqr.privacy.accountant import Accountant
from dpqr.privacy.events import Composition
from dpqr.strategies.plan import Plan

Costs = Mapping[str, Mapping[str, Fraction | None]]
"""Phase -> accountant -> epsilon at the plan's delta; None where the theorem does not cover the phase."""


def phases(plan: Plan) -> dict[str, Composition]:
    """The plan's events by what they are for, in the order in which they are drawn.

    A search, whose prices follow what is released, is one phase with all its draws. The stop test is no phase: it
    compares what a measurement released, and that is paid for.
    """
    found: dict[str, Composition] = {}
    for phase in plan.phases:
        if phase.events:
            found[phase.noun] = (*found.get(phase.noun, ()), *phase.events)
    return found


def priced_phases(plan: Plan, accountants: Mapping[str, Accountant]) -> Costs:
    """Every phase by itself. Only sums add up to the total: the other theorems gain from many draws together."""
    return {
        phase: {name: one.epsilon(events, plan.budget.delta) for name, one in accountants.items()}
        for phase, events in phases(plan).items()
    }
