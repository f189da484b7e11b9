"""A draw from the records that the domain's rules left out, charged in parallel with those from the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar, final

from dpqr.data.unit import PrivacyUnit
from dpqr.errors import BudgetRefused
from dpqr.noise.source import NoiseSource
from dpqr.privacy.events import LeftOutEvent
from dpqr.privacy.mechanism import Mechanism

In = TypeVar("In")
Out = TypeVar("Out")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut(Generic[In, Out]):
    """`inner` on the left-out records, for a unit of which each lies in one part alone (`PrivacyUnit.apart`).

    **Privacy.** See `in_parallel`, which prices the event and proves it.
    """

    inner: Mechanism[In, Out]

    @property
    def event(self) -> LeftOutEvent:
        event = self.inner.event
        if isinstance(event, LeftOutEvent):
            raise BudgetRefused("a draw is from left-out records once; nothing was drawn")
        return LeftOutEvent(event=event)

    def sample(self, value: In, noise: NoiseSource) -> Out:
        return self.inner.sample(value, noise)


def on_left_out(mechanism: Mechanism[In, Out], unit: PrivacyUnit) -> Mechanism[In, Out]:
    """`mechanism` as it is charged on the left-out records: in parallel with all other draws where each unit lies in
    one part alone, and beside them elsewhere."""
    return LeftOut(inner=mechanism) if unit.apart else mechanism
