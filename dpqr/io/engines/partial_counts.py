"""Partial counts: what was counted in one part of a table, as bytes that an engine carries, and sums of such parts.

The bytes are arrays (`numpy.savez`, nothing pickled), or the constant text of what went wrong in the part.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from dpqr.data.arrays import AnyArray
from dpqr.data.histogram import Counts, DenseHistogram, GroupedHistogram, SparseHistogram, occupied
from dpqr.errors import DataError, DpqrError
from dpqr.io.tables.counting import Counted, Counting

FAILED = "counting a part of the table failed; what was said of it may quote rows and is not shown"
_FIGURES = ("read", "units", "dropped", "malformed")


def carried(count: Callable[[], Counted]) -> bytes:
    """The bytes of what `count` returns. Whatever it raises becomes a constant text: nothing of a row is in it."""
    try:
        arrays = _arrays(count())
    except DpqrError as public:
        arrays = {"error": np.array(str(public))}
    except Exception:
        arrays = {"error": np.array(FAILED)}
    found = io.BytesIO()
    np.savez(found, **cast("dict[str, Any]", arrays))  # their names are ours, and none is one of numpy's options
    return found.getvalue()


def added(values: Iterable[bytes], asked: Counting) -> Counted:
    """The sum, each part being added as it comes. Raises: DataError for a part that failed, or beyond a limit."""
    return asked.together(_opened(values, asked.counted(lambda: ())))


def _arrays(counted: Counted) -> dict[str, AnyArray]:
    figures = np.array([int(getattr(counted, name)) for name in _FIGURES])
    return {"figures": figures, "failed": np.array(sorted(counted.failed), dtype=str)} | _cells(counted.counts)


def _cells(counts: Counts) -> dict[str, AnyArray]:
    if isinstance(counts, GroupedHistogram):
        return {f"cells{place}": each for place, each in enumerate(counts.joints.values())}
    if isinstance(counts, DenseHistogram):
        return {"cells": counts.counts}
    codes, records = occupied(counts)
    return {"codes": codes, "records": records}


def _opened(values: Iterable[bytes], empty: Counted) -> Iterator[Counted]:
    """empty: what no row gives, with counts of the same kind."""
    for value in values:
        with np.load(io.BytesIO(value), allow_pickle=False) as found:
            if "error" in found:
                raise DataError(str(found["error"]))
            read, units, dropped, malformed = found["figures"].tolist()
            yield replace(
                empty,
                counts=_counts(found, empty.counts),
                failed=frozenset(found["failed"].tolist()),
                read=read,
                units=units,
                dropped=dropped,
                malformed=bool(malformed),
            )


def _counts(found: Mapping[str, AnyArray], empty: Counts) -> Counts:
    if isinstance(empty, GroupedHistogram):
        joints = {axes: found[f"cells{place}"] for place, axes in enumerate(empty.joints)}
        return GroupedHistogram(empty.shape, joints)
    if isinstance(empty, DenseHistogram):
        return DenseHistogram(found["cells"])
    return SparseHistogram(empty.shape, found["codes"], found["records"])
