"""Faults of the samplers and of the public figures of their laws."""

from faults.fault import Planted

FAULTS = (
    Planted(
        file="noise/discrete_laplace.py",
        before="second = 2 * ratio / gap**2",
        after="second = ratio / gap**2",
        words="the second moment is half of what it is",
    ),
)
