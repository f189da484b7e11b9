"""Fixtures: small tables on disk, and a loader whose sealed result the test may look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpqr.domain.domain import Domain
from dpqr.kernel.sealed import SealKey
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource

Load = Callable[..., np.ndarray]


@pytest.fixture
def load() -> Load:
    """Every cell's count, shape = domain shape; `source` holds TableSource's other fields, the rest is Limits."""

    def counts(domain: Domain, *paths: Any, source: dict[str, Any] | None = None, **limits: int) -> np.ndarray:
        table = TableSource(paths=tuple(str(path) for path in paths), **(source or {}))
        histogram = load_table(table, domain, Limits(**limits)).counts._unseal(SealKey())
        return histogram.marginal(tuple(range(len(domain.shape))))

    return counts
