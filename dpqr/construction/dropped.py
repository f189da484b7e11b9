"""The noisy count of the records that were left out: how a curator learns of a wrong domain file, at a price."""

from __future__ import annotations

from dataclasses import dataclass

from dpqr.construction.draws import Draws
from dpqr.strategies.plan import Plan
from dpqr.strategies.schedules.dropped_count import DROPPED
from dpqr.workload.workload import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedCount:
    """What was released of it. charge: number of the event that paid."""

    measurement: Measurement
    charge: int

    @property
    def estimate(self) -> int:
        """Unbiased, so it may be negative."""
        return int(self.measurement.values[0][0])

    @property
    def deviation(self) -> float:
        """Standard deviation of its noise, in records."""
        return self.measurement.law.deviation


def count_dropped(dropped: Draws, plan: Plan) -> DroppedCount | None:
    """One draw at the price that the plan has set aside; None where it bought no count, or a crash has lost it.

    dropped: draws from the records that were left out.

    Privacy:
        These are, of each unit, at most K records that the domain's rules or the bound on a person's rows left out.
        *Add-remove:* one unit comes or goes with at most K of them. *Replace:* at most K take the place of at most K.
        So the count moves by at most K under either relation, which is what `sensitivity` gives for `DROPPED`, and the
        draw is a noisy answer like any other (LaplaceAnswers, GaussianAnswers). The clipped number of a person's
        dropped rows is a function of that person's rows alone: it does not depend on which rows were drawn to be kept.
        Beside the draws from the kept records it costs nothing where a unit lies in one part alone, and its own price
        elsewhere: see `WithDroppedCount`.
    """
    price = plan.price("left out")
    if price is None:
        return None
    drawn = dropped.measure(plan, (DROPPED,), price)
    return None if drawn.value is None else DroppedCount(measurement=drawn.value, charge=drawn.charge)
