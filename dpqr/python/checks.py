"""Checks of what options are given: each returns the value as the use cases take it. Nothing heavy is imported."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from numbers import Integral, Rational, Real
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from dpqr.kernel.errors import NO_MEMORY, PUBLIC_NOTES, UNEXPECTED, DpqrError, InfeasiblePlan, UsageFault

Figure = str | int | float | Decimal
"""A figure of privacy: decimal text, or a number, which counts as the decimal that it prints as."""


Path = str | os.PathLike[str]


class Built(Protocol):
    """A document that a builder has made."""

    @property
    def document(self) -> dict[str, Any]: ...


Document = str | os.PathLike[str] | Mapping[str, Any] | Built


Check = Callable[[str, Any], Any]


MOST_WORKERS = 256


MOST_RECORDS = 2**36
"""No declared number of records may be larger: up to it the mechanisms keep their integers exact."""


def figure(name: str, value: object) -> str:
    """Decimal text of a figure of privacy. UsageFault for what has none."""
    if isinstance(value, str):
        return value
    if isinstance(value, Integral | Decimal) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, Real) and not isinstance(value, Rational):
        return repr(float(value))
    raise UsageFault(f"{name}: {type(value).__name__} is no decimal number; give 1, 0.5 or '1e-9'")


def integer(name: str, value: object, *, least: int = 1, most: int | None = None) -> int:
    """A whole number within bounds. UsageFault for anything else."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise UsageFault(f"{name}: {type(value).__name__} is no whole number; give one, for example 1000")
    found = int(value)
    if found < least or (most is not None and found > most):
        raise UsageFault(f"{name}: {found} is below {least}{'' if most is None else f' or above {most}'}")
    return found


def text(name: str, value: object, *, among: Sequence[str] = ()) -> str:
    """A text, one of `among` where these are named. UsageFault for anything else."""
    if not isinstance(value, str):
        raise UsageFault(f"{name}: {type(value).__name__} is no text; give one")
    if not value:
        raise UsageFault(f"--{name.replace('_', '-')} is empty; give a text, or leave it out")
    if among and value not in among:
        raise UsageFault(f"{name}: {value!r} is none of {', '.join(map(repr, among))}")
    return value


def remark(name: str, value: object) -> str:
    """A text, which may be empty. UsageFault for anything else."""
    return text(name, value) if value != "" else ""


def line(name: str, value: object) -> str:
    """One line of a record, which may be empty. UsageFault for anything else."""
    from dpqr.ledger.ledger import require_line

    found = remark(name, value)
    require_line(f"--{name.replace('_', '-')}", found)
    return found


def boolean(name: str, value: object) -> bool:
    """True or False. UsageFault for anything else."""
    if not isinstance(value, bool):
        raise UsageFault(f"{name}: {type(value).__name__} is neither True nor False")
    return value


def above_zero(name: str, value: object) -> float:
    """A number above 0. UsageFault for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) > 0:
        raise UsageFault(f"{name}: is no number above 0; give one, for example 0.05")
    return float(value)


def texts(name: str, value: object) -> tuple[str, ...]:
    """One text, or several. UsageFault for anything else."""
    given = (value,) if isinstance(value, str) else value
    if not isinstance(given, Sequence):
        raise UsageFault(f"{name}: give a name, or a list of names")
    return tuple(text(name, each) for each in given)


def columns(name: str, value: object) -> str | tuple[str, ...]:
    """The name of a column, or several: a list of names, or a text with commas between them. UsageFault for anything
    else."""
    found = tuple(value.split(",")) if isinstance(value, str) and "," in value else value
    return text(name, found) if isinstance(found, str) else texts(name, found)


def document(name: str, given: object) -> str | dict[str, Any]:
    """A document as the use cases take it: the path of a file, or its content."""
    content = getattr(given, "document", given)
    if isinstance(content, Mapping):
        return dict(content)
    if isinstance(content, str | os.PathLike):
        path = os.fspath(content)
        if path.lstrip()[:7].upper() == "SELECT ":
            raise UsageFault(
                f"{name}: is a statement and no path; give --sql, from Python {name}=dpqr.sql('SELECT ...')"
            )
        return path
    raise UsageFault(
        f"{name}: {type(given).__name__} is no document; give the path of a file, a dict, or what dpqr.{name}"
        f"{'_from' if name == 'domain' else ''}() has built"
    )


class Whole(Struct, frozen=True):
    """Check of a whole number from `least` to `most`; None: without an upper bound."""

    least: int = 1
    most: int | None = None

    def __call__(self, name: str, value: object) -> int:
        return integer(name, value, least=self.least, most=self.most)


class OneOf(tuple[str, ...]):
    """Check of a text that is one of these.

    >>> OneOf(("csv", "json"))("format", "csv")
    'csv'
    """

    __slots__ = ()

    def __call__(self, name: str, value: object) -> str:
        return text(name, value, among=self)


def check_options(given: Mapping[str, object], known: Mapping[str, Check]) -> dict[str, Any]:
    """The options that were stated, checked. TypeError for a name that is no option."""
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"no such option {name!r}{hint}")
    return {name: known[name](name, value) for name, value in given.items() if value is not None}


T = TypeVar("T")


def run_sanitised(work: Callable[[], T]) -> T:
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
        if note in PUBLIC_NOTES:
            error.add_note(note)
    raise error
