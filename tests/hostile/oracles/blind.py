"""Blind draws: the gate charges as ever, and draws from an empty table with fixed noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dpqr.domain.histogram import DenseHistogram, PersonCounts, SparseHistogram
from dpqr.kernel import gate
from dpqr.kernel.exact import ExactEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.tables.label_counts import LabelCounts


def blind(monkeypatch: Any) -> None:
    """From now on no paid output depends on the table. Whether a draw fails still does: it is made on both. What an
    evaluation takes out exactly is not paid for, and stays."""
    true = gate._attempt

    def attempt(private: Any, mechanism: Any, noise: Any) -> Any:
        drawn = true(private, mechanism, noise)
        if isinstance(drawn, BaseException) or isinstance(getattr(mechanism, "event", None), ExactEvent):
            return drawn
        return true(Private(empty(private._Private__value)), mechanism, SeededNoise(seed=1))

    monkeypatch.setattr(gate, "_attempt", attempt)


def empty(counts: Any) -> Any:
    """A histogram of the same form and shape, without records; tables without persons; labels that all tables have."""
    if isinstance(counts, LabelCounts):
        return LabelCounts(labels=pa.array([b"F", b"M"]), counts=np.array([10**6, 10**6]))
    if isinstance(counts, PersonCounts):
        return PersonCounts(counts.shape, {table: np.zeros_like(values) for table, values in counts.tables.items()})
    shape = counts.shape
    if isinstance(counts, SparseHistogram):
        return SparseHistogram(shape, np.zeros((0, len(shape)), dtype=np.int64), np.zeros(0, dtype=np.int64))
    return DenseHistogram(np.zeros(shape, dtype=np.int64))
