"""Tunings: p-Identities that were tuned before, by this job or an earlier one, from a shelf that the caller provides.

**Privacy.** Nothing private goes on the shelf or comes from it: a tuning is a function of the workload and the domain.
Whatever lies there, the guarantee stands: noise and inverse are derived from the integers that are used, as for a
strategy tuned on the spot. A wrong tuning could cost accuracy only; what it costs is computed before it is taken, and
a hierarchy or the identity is taken where that is less.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpqr import __version__
from dpqr.data.arrays import IntArray
from dpqr.strategies.designs.axis_queries import Queries
from dpqr.strategies.designs.p_identity import (
    PRECISION,
    STEPS,
    TOLERANCE,
    PIdentityError,
    error_to_tune,
    p_identity,
    tune,
)
from dpqr.workload.p_identity import PIdentity
from dpqr.workload.ranges import everything
from dpqr.workload.sensitivity import Norm

SMALLEST = 32
"""Cells below which tuning takes no longer than looking."""


class Shelf(Protocol):
    """Tables of integers by name, which may be lost, old or wrong at any time. Never an error."""

    def find(self, name: str) -> IntArray | None: ...

    def keep(self, name: str, table: IntArray) -> None: ...


@dataclass(slots=True, kw_only=True)
class Tunings:
    """A shelf in use. taken: p-Identities that came from it."""

    shelf: Shelf
    taken: int = 0

    def p_identity(self, queries: Queries, norm: Norm, precision: int) -> PIdentity:
        """The tuning on the shelf, else a new one, which is put there."""
        error = error_to_tune(queries, norm)
        name = _name(error, precision)
        found = _taken(self.shelf.find(name), error, precision)
        if found is not None:
            self.taken += 1
            return found
        found = tune(error, precision)
        self.shelf.keep(name, np.concatenate([found.diagonal[None], found.sums]))
        return found


_IN_USE: ContextVar[Tunings | None] = ContextVar("tunings", default=None)


@contextmanager
def tunings_from(shelf: Shelf) -> Iterator[Tunings]:
    """Within it, `tuned` takes from this shelf and puts there."""
    tunings = Tunings(shelf=shelf)
    before = _IN_USE.set(tunings)
    try:
        yield tunings
    finally:
        _IN_USE.reset(before)


def tuned(queries: Queries, norm: Norm, precision: int = PRECISION) -> PIdentity:
    """`p_identity`, from the shelf in use where that has it."""
    tunings = _IN_USE.get() if queries.size >= SMALLEST else None
    return p_identity(queries, norm, precision) if tunings is None else tunings.p_identity(queries, norm, precision)


def _name(error: PIdentityError, precision: int) -> str:
    """A digest of all that tuning depends on, this version of dpqr included."""
    said = f"{__version__} {STEPS} {TOLERANCE} {error.norm.name} {precision} {error.support.shape}"
    hashed = hashlib.sha256(said.encode())
    for array in (error.widths, error.pairs, error.diagonal, error.support):
        hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()


def _taken(table: IntArray | None, error: PIdentityError, precision: int) -> PIdentity | None:
    """The table as a strategy; None unless it is one that tuning could end in, and that can be inverted."""
    if table is None or not _plausible(table, error, precision):
        return None
    found = PIdentity(error.widths.astype(np.int64), table[0], table[1:])
    try:
        variance = found.variances(everything(found.cells))
    except np.linalg.LinAlgError:
        return None
    return found if np.isfinite(variance).all() else None


def _plausible(table: IntArray, error: PIdentityError, precision: int) -> bool:
    """Whether the table is of the form that tuning ends in: a diagonal, sums, no coefficient beyond the precision."""
    sums, groups = error.support.shape
    if table.ndim != 2 or table.shape[1] != groups or not 1 <= len(table) <= 1 + sums:
        return False
    return bool(table[0].min() >= 1 and table.min() >= 0 and table.max() <= precision)
