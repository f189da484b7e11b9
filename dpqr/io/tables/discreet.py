"""Discretion: what fails over a private table is told in constant words.

A reader's own message quotes the row that it stumbled over, and a traceback keeps it alive. So every call that
touches the table's contents goes through `discreetly`, which drops the original error with all that hangs on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from dpqr.errors import DataError, DpqrError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Done(Generic[T]):
    value: T


def discreetly(work: Callable[[], T], explain: Callable[[Exception], str]) -> T:
    """What `work` returns; its failure becomes a DataError that says `explain(failure)` and remembers nothing.

    explain: chooses one of a few constant messages; it must not quote the failure. A DpqrError keeps its own words,
    which are public already, but loses its history.

    **Privacy**: raised outside the handler, so neither `__cause__`, `__context__` nor a frame of the failed call
    (whose locals are private) reaches whoever prints the error.
    """
    outcome = _attempt(work, explain)
    if isinstance(outcome, _Done):
        return outcome.value
    raise outcome


def _attempt(work: Callable[[], T], explain: Callable[[Exception], str]) -> _Done[T] | DpqrError:
    try:
        return _Done(work())
    except DpqrError as failure:
        return type(failure)(*failure.args)
    except Exception as failure:
        return DataError(explain(failure))
