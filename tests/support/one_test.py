"""Many cheap cases as one test: collecting, starting and reporting a test takes longer than such a case."""

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

import pytest


def in_one_test(names: str | tuple[str, ...] = (), values: Iterable[Any] = ((),)) -> Callable[..., Callable[[], None]]:
    """`pytest.mark.parametrize`, with all cases one after the other; the first that fails is named below its traceback.

    Outermost of the decorators; of others that say `parametrize` it takes the cases too. For a test that takes its
    cases alone: no fixture, no other mark, no case with marks.
    """
    parts = list(_cases(names, values))

    def decorated(test: Callable[..., None]) -> Callable[[], None]:
        marks: list[pytest.Mark] = getattr(test, "pytestmark", [])
        if any(mark.name != "parametrize" or mark.kwargs.get("indirect") for mark in marks):
            raise ValueError(f"{test.__name__} has other marks or fixtures")
        others = [list(_cases(*mark.args)) for mark in marks]
        cases = [dict(pair for part in case for pair in part) for case in product(parts, *others)]
        if not cases:
            raise ValueError(f"{test.__name__} has no case")

        def every_case() -> None:
            for case in cases:
                try:
                    test(**case)
                except BaseException as failure:
                    failure.add_note(f"in the case {str(case)[:500]}")
                    raise

        every_case.__name__, every_case.__doc__, every_case.__module__ = test.__name__, test.__doc__, test.__module__
        return every_case

    return decorated


def _cases(names: str | tuple[str, ...], values: Iterable[Any]) -> Iterator[tuple[tuple[str, Any], ...]]:
    """Names and values of each case of one decorator."""
    listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    alone = isinstance(names, str) and len(listed) == 1
    for value in values:
        if hasattr(value, "marks"):
            raise ValueError("a case has marks or fixtures")
        yield tuple(zip(listed, (value,) if alone else value, strict=True))
