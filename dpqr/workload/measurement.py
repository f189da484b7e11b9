"""Measurement: blocks, their released noisy answers, and the law of the noise that was added."""

from __future__ import annotations

from dataclasses import dataclass

from dpqr.data.arrays import IntArray
from dpqr.noise.law import NoiseLaw
from dpqr.workload.block import QueryBlock


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measurement:
    """What one check released. Public from birth.

    values: one int64 array a block, shape (rows,), in units of the block's grid.
    law: the noise of every entry, in the same units.
    """

    blocks: tuple[QueryBlock, ...]
    values: tuple[IntArray, ...]
    law: NoiseLaw
