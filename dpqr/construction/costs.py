"""Costs: what each phase of a run is priced at under every theorem. Public: a plan's events, and no draw's outcome."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dpqr.privacy.accountant import Accountant
from dpqr.privacy.events import Composition, ExponentialEvent, PermuteAndFlipEvent, PureSumEvent, RhoSumEvent
from dpqr.strategies.plan import Plan

Costs = Mapping[str, Mapping[str, Fraction | None]]
"""Phase -> accountant -> epsilon at the plan's delta; None where the theorem does not cover the phase."""


def phases(plan: Plan) -> dict[str, Composition]:
    """The plan's events by what they are for, in the order in which they are drawn; empty phases are left out.

    A search, whose prices follow what is released, is one phase with all its draws. The stop test is no phase: it
    compares what a measurement released, and that is paid for.
    """
    events = plan.events
    counted, others = (events[:1], events[1:]) if plan.dropped else ((), events)
    chosen = tuple(one for one in others if isinstance(one[0], ExponentialEvent | PermuteAndFlipEvent))
    search = tuple(one for one in others if isinstance(one[0], PureSumEvent | RhoSumEvent))
    drawn = tuple(one for one in others if one not in (*chosen, *search))
    first, last = (drawn[:-1], drawn[-1:]) if plan.measure else (drawn, ())
    found = {"left out": counted, "opening": first, "selection": chosen, "measurement": last, "search": search}
    return {name: composition for name, composition in found.items() if composition}


def priced_phases(plan: Plan, accountants: Mapping[str, Accountant]) -> Costs:
    """Every phase by itself. Only sums add up to the total: the other theorems gain from many draws together."""
    return {
        phase: {name: one.epsilon(events, plan.budget.delta) for name, one in accountants.items()}
        for phase, events in phases(plan).items()
    }
