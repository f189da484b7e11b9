"""The gate: the one place where a seal is opened. Charge, open, sample, release, in this order.

Mechanism: a randomised function of a private value that knows its own cost.
"""

from __future__ import annotations

import warnings
from typing import Protocol, TypeVar

from dpqr.errors import MechanismFailed
from dpqr.noise.source import NoiseSource
from dpqr.privacy.accountant import PrivacyFilter
from dpqr.privacy.events import Composition, PrivacyEvent
from dpqr.privacy.sealed import Private, Released, SealKey

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


Value = TypeVar("Value")
Drawn = TypeVar("Drawn")
_KEY = SealKey()


def measure(
    private: Private[Value], mechanism: Mechanism[Value, Drawn], *, accountant: PrivacyFilter, noise: NoiseSource
) -> Released[Drawn]:
    """Pay for one draw and make it.

    Errors: BudgetRefused before anything is opened; MechanismFailed, a constant, if the draw fails. The charge then
    stands, and the original error is dropped outside its handler, for it may hold private numbers.

    Privacy: costs exactly `mechanism.event`; nothing else of the private value leaves this function.
    """
    return _released(private, mechanism, accountant.charge(mechanism.event), noise)


def measure_together(
    private: Private[Value], batch: Batch[Value, Drawn], *, accountant: PrivacyFilter, noise: NoiseSource
) -> Released[Drawn]:
    """Pay for all draws of a batch, one after the other, and then make them; `charge` is the number of the last.

    Errors and privacy: as `measure`. Where the budget ends among the charges, nothing is opened, and those that came
    before it stand.
    """
    charge = -1
    for event, count in batch.events:
        for _ in range(count):
            charge = accountant.charge(event)
    return _released(private, batch, charge, noise)


def _released(
    private: Private[Value], drawn_from: Mechanism[Value, Drawn] | Batch[Value, Drawn], charge: int, noise: NoiseSource
) -> Released[Drawn]:
    drawn = _attempt(private, drawn_from, noise)
    if isinstance(drawn, BaseException):
        raise drawn
    return Released(drawn[0], charge)


def _attempt(
    private: Private[Value], mechanism: Mechanism[Value, Drawn] | Batch[Value, Drawn], noise: NoiseSource
) -> tuple[Drawn] | MechanismFailed | KeyboardInterrupt:
    """The draw, or a fresh error with nothing of the one it stands for: no context, cause or frames.

    Why everything is caught: an exit or an interrupt carries the frames and the chain of what was going on. Why
    warnings are silenced: whether one appears may depend on the table, and standard error is an output.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return (mechanism.sample(private._unseal(_KEY), noise),)
    except KeyboardInterrupt:
        return KeyboardInterrupt()
    except BaseException:
        return MechanismFailed("a mechanism failed on the private table; its price stays paid and nothing was released")
