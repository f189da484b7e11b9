"""Failures of a run: what a program may read of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dpqr.errors import NO_MEMORY, RESUMABLE, STAYS_SPENT, UNEXPECTED, DpqrError, InfeasiblePlan

T = TypeVar("T")


def withheld(work: Callable[[], T]) -> T:
    """What `work` returns. A DpqrError passes; any other failure becomes one, as the command line ends with it.

    Privacy:
        The text, and the frames, of a failure that nobody foresaw may hold values of the private table. The error is
        made outside the handler, so nothing leads from it to the failure; of notes only those of the family are kept.
    """
    try:
        return work()
    except DpqrError:
        raise
    except MemoryError as failure:
        error: DpqrError = InfeasiblePlan(NO_MEMORY)
        notes = getattr(failure, "__notes__", ())
    except Exception as failure:
        error, notes = DpqrError(UNEXPECTED), getattr(failure, "__notes__", ())
    for note in notes:
        if note in (RESUMABLE, STAYS_SPENT):
            error.add_note(note)
    raise error
