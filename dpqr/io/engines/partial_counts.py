"""Partial counts: what was counted in one part of a table, as a value that an engine carries, and sums of such values.

A value is a pickled `Counted`, or the constant text of what went wrong in its part.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator

from dpqr.errors import DataError, DpqrError
from dpqr.io.tables.counting import Counted, Counting


def carried(count: Callable[[], Counted]) -> bytes:
    """The value of what `count` returns. Whatever it raises becomes a constant text: nothing of a row is in it."""
    try:
        return pickle.dumps(count())
    except DpqrError as public:
        return pickle.dumps(str(public))
    except Exception as error:
        return pickle.dumps(f"counting a part of the table ended with {type(error).__name__}")


def added(values: Iterable[bytes], asked: Counting) -> Counted:
    """The sum, each value being added as it comes. Raises: DataError for a part that failed, or beyond a limit."""
    return asked.together(_opened(values))


def _opened(values: Iterable[bytes]) -> Iterator[Counted]:
    for value in values:
        found = pickle.loads(value)
        if isinstance(found, str):
            raise DataError(found)
        yield found
