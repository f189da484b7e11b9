"""The array types of all modules."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
WordArray = NDArray[np.uint64]
CodeArray = NDArray[np.integer]
AnyArray = NDArray[Any]

Axes = tuple[int, ...]
"""Positions of attributes in a domain, in the order in which a marginal's tensor has them."""


def freeze(array: AnyArray) -> AnyArray:
    """Return the same array, set read-only: the arrays of values never change."""
    array.flags.writeable = False
    return array
