"""Sameness: figures that were computed again, compared with those of a release.

Equal bit for bit, or within TOLERANCE. Why there is one: another numpy, scipy or processor may add up in another order.
A fit ends where its iteration stops, so its end differs by that rounding, carried on by the iterations, and not by
another draw. TOLERANCE is 2^33 units of rounding, and a millionth of a record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dpqr.data.arrays import AnyArray
from dpqr.errors import GoalMissed
from dpqr.io.outputs.read_answers import read_table

TOLERANCE = 1e-6
"""Largest difference of two figures: of their size, where that is above 1."""
MOST_OTHER_ROWS = 1 / 1000
"""Part of the synthetic rows that may differ: each is drawn where a uniform meets a sum of the fit's weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sameness:
    """compared: values. near: those that are equal within the tolerance alone.

    >>> Sameness(compared=1231).words("answers"), Sameness(compared=10, near=2).words("answers")
    ('1,231 answers equal bit for bit', '8 of 10 answers equal bit for bit, the others within 1e-06')
    """

    compared: int
    near: int = 0

    def words(self, noun: str) -> str:
        """What was found."""
        if not self.near:
            return f"{self.compared:,} {noun} equal bit for bit"
        equal = self.compared - self.near
        return f"{equal:,} of {self.compared:,} {noun} equal bit for bit, the others within {TOLERANCE:g}"


def same_documents(kept: Any, made: Any, path: str = "$") -> Sameness:
    """Compare two JSON values. GoalMissed names the first place where they differ."""
    found = list(_differences(kept, made, path))
    return Sameness(compared=len(found), near=sum(found))


def same_tables(kept: Path, made: Path, *, other_rows: float = 0.0) -> Sameness:
    """Compare two files of one form, row by row. near: rows that differ.

    Args:
        other_rows: part of the rows that may hold anything.

    Raises:
        GoalMissed: names the first column and row that differ.
    """
    old, new = read_table(kept), read_table(made)
    if old.schema.names != new.schema.names or len(old) != len(new):
        raise GoalMissed(f"{kept.name} holds {_size(old)}, and the draws give {_size(new)}")
    near = np.zeros(len(old), dtype=bool)
    for name in old.schema.names:
        equal, close = _compared(old[name], new[name])
        near |= ~equal
        if (~close).sum() > other_rows * len(old):
            row = int(np.argmin(close))
            stands, given = old[name][row].as_py(), new[name][row].as_py()
            raise GoalMissed(f"{kept.name}, row {row + 1}, {name}: {stands!r} stands there, the draws give {given!r}")
    return Sameness(compared=len(old), near=int(near.sum()))


def _size(table: pa.Table) -> str:
    return f"{len(table):,} rows of {', '.join(table.schema.names)}"


def _compared(old: pa.ChunkedArray, new: pa.ChunkedArray) -> tuple[AnyArray, AnyArray]:
    """Which values are equal, and which are within the tolerance, shape (rows,)."""
    if pa.types.is_floating(old.type) and pa.types.is_floating(new.type):
        kept, made = (np.asarray(each.to_numpy(), dtype=np.float64) for each in (old, new))
        equal = (kept == made) | (np.isnan(kept) & np.isnan(made))
        return equal, equal | (np.abs(kept - made) <= TOLERANCE * np.maximum(1, np.abs(made)))
    equal = np.array([one == other for one, other in zip(old.to_pylist(), new.to_pylist(), strict=True)], dtype=bool)
    return equal, equal


def _differences(kept: Any, made: Any, path: str) -> Iterator[bool]:
    """For each plain value whether it differs within the tolerance."""
    if isinstance(kept, dict) and isinstance(made, dict):
        for key in (*kept, *(key for key in made if key not in kept)):
            yield from _differences(kept.get(key, _Nothing), made.get(key, _Nothing), f"{path}.{key}")
    elif isinstance(kept, list) and isinstance(made, list) and len(kept) == len(made):
        for place, (one, other) in enumerate(zip(kept, made, strict=True)):
            yield from _differences(one, other, f"{path}[{place}]")
    elif type(kept) is type(made) and kept == made:
        yield False
    elif isinstance(kept, float) and isinstance(made, float) and abs(kept - made) <= TOLERANCE * max(1, abs(made)):
        yield True
    else:
        raise GoalMissed(f"{path}: {_shown(kept)} stands there, and the draws give {_shown(made)}")


class _Nothing:
    """Where one of the two has no such key."""


def _shown(value: Any) -> str:
    text = "nothing" if value is _Nothing else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
