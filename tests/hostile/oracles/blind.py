"""Blind draws: the gate charges as ever, and draws from an empty table with fixed noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpqr.domain.histogram import DenseHistogram, SparseHistogram
from dpqr.kernel import gate
from dpqr.kernel.exact import ExactEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private


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
    """A histogram of the same form and shape, without records."""
    shape = counts.shape
    if isinstance(counts, SparseHistogram):
        return SparseHistogram(shape, np.zeros((0, len(shape)), dtype=np.int64), np.zeros(0, dtype=np.int64))
    return DenseHistogram(np.zeros(shape, dtype=np.int64))
