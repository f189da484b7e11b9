"""Cases of a parametrised test: many cheap ones as one test, dear ones left out of the plain run."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

import pytest


def in_one_test(names: str | tuple[str, ...] = (), values: Iterable[Any] = ((),)) -> Callable[..., Callable[..., None]]:
    """Many cheap cases as one test: to collect, start and report a test takes longer than such a case.

    `pytest.mark.parametrize`, with all cases one after the other; the first that fails is named below its traceback.

    Outermost of the decorators; of others that say `parametrize` it takes the cases too. No other mark, no case with
    marks. Each case has a `tmp_path` and a `monkeypatch` of its own; any other fixture is made once for all cases.
    """
    parts = list(_cases(names, values))

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        marks: list[pytest.Mark] = getattr(test, "pytestmark", [])
        if any(mark.name != "parametrize" or mark.kwargs.get("indirect") for mark in marks):
            raise ValueError(f"{test.__name__} has other marks or fixtures")
        others = [list(_cases(*mark.args)) for mark in marks]
        cases = [dict(pair for part in case for pair in part) for case in product(parts, *others)]
        if not cases:
            raise ValueError(f"{test.__name__} has no case")

        def every_case(**fixtures: Any) -> None:
            skipped = []
            for number, case in enumerate(cases):
                own = dict(fixtures)
                if "tmp_path" in own:
                    own["tmp_path"] = fixtures["tmp_path"] / f"case{number}"
                    own["tmp_path"].mkdir()
                try:
                    with pytest.MonkeyPatch.context() as patches:
                        test(**case, **own | ({"monkeypatch": patches} if "monkeypatch" in own else {}))
                except pytest.skip.Exception as skip:
                    skipped.append(skip)
                except BaseException as failure:
                    failure.add_note(f"in the case {str(case)[:500]}")
                    raise
            if len(skipped) == len(cases):
                raise skipped[0]

        every_case.__name__, every_case.__doc__, every_case.__module__ = test.__name__, test.__doc__, test.__module__
        parameters = inspect.signature(test).parameters
        every_case.__signature__ = inspect.Signature(
            [each for name, each in parameters.items() if name not in cases[0]]
        )
        return every_case

    return decorated


def _cases(names: str | tuple[str, ...], values: Iterable[Any]) -> Iterator[tuple[tuple[str, Any], ...]]:
    """Names and values of each case of one decorator."""
    listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    alone = isinstance(names, str) and len(listed) == 1
    for value in values:
        if getattr(value, "marks", ()):
            raise ValueError("a case has marks")
        if hasattr(value, "marks"):  # `pytest.param`, for its name
            yield tuple(zip(listed, value.values, strict=True))
        else:
            yield tuple(zip(listed, (value,) if alone else value, strict=True))


def slowly(*values):
    """Each value of one parameter as a case marked slow."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def slow_but(kept, rows):
    """Rows of several parameters, marked slow apart from those in the places `kept`."""
    return [row if place in kept else pytest.param(*row, marks=pytest.mark.slow) for place, row in enumerate(rows)]


def thinned(cases, every):
    """One of so many cases in the plain run, the others marked slow; each a value of one parameter or a `param`."""
    return [case if place % every == 0 else slow_one(case) for place, case in enumerate(cases)]


def slow_one(case):
    """One value, or one `param` with its name, marked slow."""
    if hasattr(case, "marks"):
        return pytest.param(*case.values, id=case.id, marks=[*case.marks, pytest.mark.slow])
    return pytest.param(case, marks=pytest.mark.slow)
