"""Private and Released: the type says whether a value is private.

The seal prevents mistakes, not malice: Python cannot stop code that deliberately reaches inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar, final

T = TypeVar("T")


class SealKey:
    """Needed to open a private value. Only the gate may make one; an architecture test searches for the name."""

    __slots__ = ()


@final
class Private(Generic[T]):
    """An opaque private value: no printing, comparing, hashing, copying, pickling or converting.

    There is no `__float__`, `__len__` or `__iter__` that refuses: a type checker would take it for permission.

    >>> Private(42)
    Private(...)
    """

    __slots__ = ("__value",)

    def __init__(self, value: T) -> None:
        self.__value = value

    def _unseal(self, key: SealKey) -> T:
        if not isinstance(key, SealKey):
            raise TypeError("only the gate opens a private value")
        return self.__value

    def __repr__(self) -> str:
        return "Private(...)"

    def __format__(self, spec: str) -> NoReturn:
        raise TypeError("a private value cannot be printed")

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("a private value cannot be compared")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> NoReturn:
        raise TypeError("a private value has no truth value")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a private value cannot be copied or pickled")

    def __getstate__(self) -> NoReturn:
        raise TypeError("a private value cannot be copied or pickled")

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        raise TypeError("a private value cannot be converted to an array")


@final
@dataclass(frozen=True, slots=True)
class ReleasedValue(Generic[T]):
    """A released value. charge: number of the event in the run that paid for it.

    >>> ReleasedValue(7, charge=0).value
    7
    """

    value: T
    charge: int
