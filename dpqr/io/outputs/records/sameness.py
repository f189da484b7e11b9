"""Sameness: figures that were computed again, compared with those of a release.

On the versions and the processor that made a release they are equal bit for bit. Elsewhere sums may be added up in
another order, and figures differ:

| figure                      | tolerance     | why                                                                   |
|-----------------------------|---------------|-----------------------------------------------------------------------|
| computed in closed form     | ROUNDING      | 2^33 units of double precision; a millionth of a record               |
| estimate                    | FIT deviations of the block's planned noise, or FIT errors: a fit stops where it is   |
|                             | exact for answers 0.2 deviations off the noisy ones, and two ends lie up to twice that |
|                             | apart (`MaximumEntropyFit.tolerance`)                                                 |
| error, and what it rests on | the same, or a factor SPREAD: it is the root mean square of a few refits that end so  |
| end of an interval          | what these allow together                                                             |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dpqr.construction.answers.intervals import FACTOR
from dpqr.data.arrays import AnyArray, FloatArray
from dpqr.errors import GoalMissed
from dpqr.io.outputs.releases.read_answers import read_table
from dpqr.io.outputs.releases.release_files import ERROR

ROUNDING = 1e-6
"""Largest difference of two figures: of their size, where that is above 1."""
FIT = 0.5
"""Of the deviation of planned noise, or of an answer's error where that is larger."""
SPREAD = 3.0
ROUGH = ("$.error_bars.",)
"""Where a record holds what errors rest on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sameness:
    """compared: values, or rows. near: those that are equal within the tolerance alone.

    >>> Sameness(compared=1231).words("answers"), Sameness(compared=10, near=2).words("answers")
    ('1,231 answers equal bit for bit', '8 of 10 answers equal bit for bit, the others within the tolerance')
    """

    compared: int
    near: int = 0

    def words(self, noun: str) -> str:
        """What was found."""
        if not self.near:
            return f"{self.compared:,} {noun} equal bit for bit"
        equal = self.compared - self.near
        return f"{equal:,} of {self.compared:,} {noun} equal bit for bit, the others within the tolerance"


def same_documents(kept: Any, made: Any, path: str = "$") -> Sameness:
    """Compare two JSON values. GoalMissed names the first place where they differ."""
    found = list(_differences(kept, made, path))
    return Sameness(compared=len(found), near=sum(found))


def same_answers(kept: Path, made: Path, noise: FloatArray) -> Sameness:
    """Compare two files of answers, row by row. noise: planned deviation of each row's block, shape (rows,).

    Raises: GoalMissed, with the first column and row that differ.
    """
    old, new = _both(kept, made)
    allowed, near = _allowed(old, new, noise), np.zeros(len(old), dtype=bool)
    for name in old.column_names:
        equal = _equal(old[name], new[name])
        close = equal if name not in allowed else equal | (_apart(old, new, name) <= allowed[name])
        _require(close, kept, name, old, new)
        near |= ~equal
    return Sameness(compared=len(old), near=int(near.sum()))


def same_rows(kept: Path, made: Path) -> Sameness:
    """Compare two files of synthetic data, of the same columns and length. near: rows that differ."""
    old, new = _both(kept, made)
    other = np.zeros(len(old), dtype=bool)
    for name in old.column_names:
        other |= ~_equal(old[name], new[name])
    return Sameness(compared=len(old), near=int(other.sum()))


def _both(kept: Path, made: Path) -> tuple[pa.Table, pa.Table]:
    old, new = read_table(kept), read_table(made)
    if old.schema.names != new.schema.names or len(old) != len(new):
        raise GoalMissed(f"{kept.name} holds {_size(old)}, and the draws give {_size(new)}")
    return old, new


def _size(table: pa.Table) -> str:
    return f"{len(table):,} rows of {', '.join(table.schema.names)}"


def _allowed(old: pa.Table, new: pa.Table, noise: FloatArray) -> dict[str, FloatArray]:
    """The largest difference of each figure, shape (rows,)."""
    figures = {name: np.abs(_floats(new, name)) for name in ("estimate", "measured", "noise_deviation", ERROR)}
    rounding = {name: ROUNDING * np.fmax(1, figures[name]) for name in figures}
    fit = np.fmax(FIT * np.fmax(figures[ERROR], noise), rounding["estimate"])
    spread = np.fmax((SPREAD - 1) * np.fmin(figures[ERROR], np.abs(_floats(old, ERROR))), FIT * noise)
    ends = _apart(old, new, "estimate") + FACTOR * _apart(old, new, ERROR)
    end = np.where(np.isnan(ends), 0, ends) + 2 * np.fmax(rounding["estimate"], rounding["measured"])
    return {**rounding, "estimate": fit, ERROR: spread, "lower": end, "upper": end}


def _floats(table: pa.Table, name: str) -> FloatArray:
    return np.asarray(table[name].cast(pa.float64()).to_numpy(), dtype=np.float64)


def _apart(old: pa.Table, new: pa.Table, name: str) -> FloatArray:
    return np.abs(_floats(old, name) - _floats(new, name))


def _equal(old: pa.ChunkedArray, new: pa.ChunkedArray) -> AnyArray:
    """Which values are the same, shape (rows,)."""
    if pa.types.is_floating(old.type) and pa.types.is_floating(new.type):
        one, other = (np.asarray(each.to_numpy(), dtype=np.float64) for each in (old, new))
        return np.asarray((one == other) | (np.isnan(one) & np.isnan(other)))
    return np.array([one == other for one, other in zip(old.to_pylist(), new.to_pylist(), strict=True)], dtype=bool)


def _require(close: AnyArray, kept: Path, name: str, old: pa.Table, new: pa.Table) -> None:
    if not close.all():
        row = int(np.argmin(close))
        stands, given = old[name][row].as_py(), new[name][row].as_py()
        raise GoalMissed(f"{kept.name}, row {row + 1}, {name}: {stands!r} stands there, the draws give {given!r}")


def _differences(kept: Any, made: Any, path: str) -> Iterator[bool]:
    """For each plain value whether it differs within the tolerance."""
    if isinstance(kept, dict) and isinstance(made, dict):
        for key in dict.fromkeys((*kept, *made)):
            yield from _differences(kept.get(key, _Nothing), made.get(key, _Nothing), f"{path}.{key}")
    elif isinstance(kept, list) and isinstance(made, list) and len(kept) == len(made):
        for place, (one, other) in enumerate(zip(kept, made, strict=True)):
            yield from _differences(one, other, f"{path}[{place}]")
    elif type(kept) is type(made) and kept == made:
        yield False
    elif isinstance(kept, float) and isinstance(made, float) and _close(kept, made, rough=path.startswith(ROUGH)):
        yield True
    else:
        raise GoalMissed(f"{path}: {_shown(kept)} stands there, and the draws give {_shown(made)}")


def _close(kept: float, made: float, *, rough: bool) -> bool:
    within = abs(kept - made) <= ROUNDING * max(1, abs(made))
    return within or (rough and max(kept, made) <= SPREAD * min(kept, made))


class _Nothing:
    """Where one of the two has no such key."""


def _shown(value: Any) -> str:
    text = "nothing" if value is _Nothing else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
