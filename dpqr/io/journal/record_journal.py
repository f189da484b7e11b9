"""RecordJournal: the draws of a finished release, taken from its record, for a run that repeats it without a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NoReturn, final

from msgspec import UNSET

from dpqr.construction.journal import Blocks, Past, Plain
from dpqr.errors import GoalMissed
from dpqr.io.outputs.records.record_form import ReleaseRecord, Round
from dpqr.privacy.events import PrivacyEvent
from dpqr.strategies.schedules.dropped_count import DROPPED


@final
class RecordJournal:
    """`Journal` in which every draw is of the past: first the count of what was left out, then the rounds, then the
    errors of the answers, then what was paid and lost.

    Raises: GoalMissed where the run asks for another draw than the record holds.
    """

    def __init__(
        self, rounds: Sequence[Plain | None], after: Sequence[Plain | None] = (), dropped: Plain | None = None
    ) -> None:
        self._dropped = dropped
        self._number, self._rounds, self._left = 0, len(rounds), iter([*rounds, *after])

    @classmethod
    def of(cls, record: ReleaseRecord) -> RecordJournal:
        """The draws of a release."""
        rounds = [value for finished in record.transcript for value in _values(finished)]
        after: list[Plain | None] = [[list(drawn.values)] for drawn in record.errors.draws] if record.errors else []
        lost = sum(event.count or 0 for event in record.events) - len(rounds) - len(after)
        return cls(rounds, [*after, *[None] * lost], [[record.dropped.estimate]] if record.dropped else None)

    def past(self, event: PrivacyEvent, blocks: Blocks) -> Past:
        if blocks == (DROPPED,):
            return Past(value=self._dropped)
        value = self._next()
        in_loop = self._number <= self._rounds
        if in_loop and value is not None and _rows(value) != [block.rows for block in blocks]:
            raise GoalMissed(f"draw {self._number} of the record is not what the plan draws there")
        return Past(value=value)

    def _next(self) -> Plain | None:
        try:
            value = next(self._left)
        except StopIteration:
            raise GoalMissed(f"the record ends after draw {self._number}, and the plan goes on") from None
        self._number += 1
        return value

    def finish(self) -> None:
        """GoalMissed where the record holds draws that the plan does not make."""
        if any(value is not None for value in self._left):
            raise GoalMissed(f"the plan ends after draw {self._number}, and the record goes on")

    def begin(self, event: PrivacyEvent, blocks: Blocks) -> NoReturn:
        """Nothing is drawn: `past` knows every draw, or refuses it."""
        raise AssertionError("a repeated run draws nothing")

    def record(self, value: Plain) -> NoReturn:
        """Nothing is drawn."""
        raise AssertionError("a repeated run draws nothing")


def _rows(value: Plain) -> list[int]:
    """How many answers each block has; none of a choice."""
    return [] if isinstance(value, int) else [len(each) for each in value]


def _values(finished: Round) -> Iterator[Plain | None]:
    """The draws of a round: a choice where two were paid, and a measurement; None where a crash has lost it. Or the
    one sum of errors; nothing where nothing was paid."""
    if finished.error_sum is not UNSET or not finished.charges:
        yield from () if finished.error_sum is UNSET else (finished.error_sum,)
        return
    if len(finished.charges) > 1:
        yield finished.choice
    yield None if finished.measured is None else [list(block.values) for block in finished.measured]
