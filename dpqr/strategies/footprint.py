"""Footprint: what a strategy will need, computed from public sizes before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """bytes: peak memory that the strategy's own arrays need. refusal: why it cannot run at all, or None."""

    bytes: int
    refusal: str | None = None
