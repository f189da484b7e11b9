"""Kept tunings: strategies that an earlier job of this user has tuned need not be tuned again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dpqr.io.shelf_folder import CACHE, NO_CACHE, ShelfFolder, shelf_path
from dpqr.strategies.designs.tunings import Tunings, tunings_from


@contextmanager
def kept_tunings() -> Iterator[Tunings | None]:
    """Within it, tunings are looked up in the user's cache and put there; None where DPQR_CACHE says to do without.

    Privacy: public things alone are kept (see `Tunings`).
    """
    path = shelf_path()
    if path is None:
        yield None
        return
    with tunings_from(ShelfFolder(path)) as tunings:
        yield tunings


def tuning_notes(tunings: Tunings | None) -> tuple[str, ...]:
    """What a plan's reader is told. Not part of the plan, which is the same for a resumed run."""
    if not tunings or not tunings.taken:
        return ()
    many = "1 strategy was" if tunings.taken == 1 else f"{tunings.taken} strategies were"
    return (f"{many} tuned by an earlier job and kept in this user's cache; {CACHE}={NO_CACHE} does without",)
