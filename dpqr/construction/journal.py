"""Journal: where a run keeps its draws as they are made, so that it can be continued after a crash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, final

from dpqr.privacy.events import PrivacyEvent
from dpqr.workload.block import QueryBlock

Plain = int | list[list[int]]
"""A drawn value as JSON holds it: the index of a choice, or the noisy answers of every block."""
Blocks = tuple[QueryBlock, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A draw that was begun before. value: what it released; None: that was lost in a crash, and is not drawn anew.

    >>> Past(value=3).value
    3
    """

    value: Plain | None


class Journal(Protocol):
    """Draws in their order.

    Privacy:
        A draw is begun before it is made and counts as spent from then on, whatever becomes of it; nothing may depend
        on its value or show it before `record` has returned. A draw of the past is taken as it was released and never
        made a second time: else one could draw until the answer pleases.
    """

    def past(self, event: PrivacyEvent, blocks: Blocks) -> Past | None:
        """The next draw, which must be of this event and these blocks (none, if it chooses), as it was; None: it is
        still to be made."""
        ...

    def begin(self, event: PrivacyEvent, blocks: Blocks) -> None:
        """The draw is about to be made. Durable on return."""
        ...

    def record(self, value: Plain) -> None:
        """The draw that was begun released this. Durable on return."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Unkept:
    """No journal: a run that dies is lost with all that it has paid.

    >>> from fractions import Fraction
    >>> from dpqr.privacy.events import ExponentialEvent
    >>> Unkept().past(ExponentialEvent(epsilon=Fraction(1)), ()) is None
    True
    """

    def past(self, event: PrivacyEvent, blocks: Blocks) -> None:
        return None

    def begin(self, event: PrivacyEvent, blocks: Blocks) -> None:
        """Nothing is written."""

    def record(self, value: Plain) -> None:
        """Nothing is written."""
