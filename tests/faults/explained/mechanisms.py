"""Harmless faults of mechanisms."""

from faults.fault import Explained

EXPLAINED: tuple[Explained, ...] = ()
