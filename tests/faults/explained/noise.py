"""Harmless faults of noise."""

from faults.fault import Explained

EXPLAINED: tuple[Explained, ...] = ()
