"""Harmless faults of workload."""

from faults.fault import Explained

EXPLAINED: tuple[Explained, ...] = ()
