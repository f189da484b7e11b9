"""Mechanism: a randomised function of a private value that knows its own cost."""

from __future__ import annotations

from typing import Protocol, TypeVar

from dpqr.noise.source import NoiseSource
from dpqr.privacy.events import Composition, PrivacyEvent

In = TypeVar("In", contravariant=True)
Out = TypeVar("Out", covariant=True)


class Mechanism(Protocol[In, Out]):
    """One draw. `event` is derived from the fields that set the noise, so bill and noise cannot disagree.

    A mechanism may fail on public grounds only, and those are checked when it is made, before the charge.
    """

    @property
    def event(self) -> PrivacyEvent: ...

    def sample(self, value: In, noise: NoiseSource) -> Out: ...


class Batch(Protocol[In, Out]):
    """Many draws that are made together, such as one a point: `events` are all of them, each with how often."""

    @property
    def events(self) -> Composition: ...

    def sample(self, value: In, noise: NoiseSource) -> Out: ...
