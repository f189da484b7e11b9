"""The gate: the only place where a private value is read. Charge, open, sample, release, in this order.

A `Mechanism` is a randomised function of a private value, together with its privacy event.
"""

from __future__ import annotations

import warnings
from typing import Protocol, TypeVar

from dpqr.kernel.accountants.accountant import PrivacyFilter
from dpqr.kernel.errors import MechanismFailed
from dpqr.kernel.events import Composition, PrivacyEvent
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.sealed import Private, ReleasedValue, SealKey

In = TypeVar("In", contravariant=True)
Out = TypeVar("Out", covariant=True)


class Mechanism(Protocol[In, Out]):
    """One draw. `event` is derived from the fields that set the noise, so cost and noise cannot disagree.

    A mechanism may fail on public grounds only. They are checked when it is constructed, before the charge.
    """

    @property
    def event(self) -> PrivacyEvent: ...

    def sample(self, value: In, noise: NoiseSource) -> Out: ...


class Batch(Protocol[In, Out]):
    """Many draws that are made together, such as one for each point. `events`: their events, with counts."""

    @property
    def events(self) -> Composition: ...

    def sample(self, value: In, noise: NoiseSource) -> Out: ...


Value = TypeVar("Value")
Drawn = TypeVar("Drawn")
_KEY = SealKey()


def measure(
    private: Private[Value], mechanism: Mechanism[Value, Drawn], *, accountant: PrivacyFilter, noise: NoiseSource
) -> ReleasedValue[Drawn]:
    """Pay for one draw and make it.

    Args:
        private: the sealed value.
        mechanism: what is drawn.
        accountant: the filter that is charged before anything is opened.
        noise: source of the mechanism's randomness.

    Returns:
        The drawn value, with the number of its charge in the run.

    Raises:
        BudgetRefused: the filter refuses; nothing was opened.
        MechanismFailed: the draw failed; a constant message. The charge stands, and the original error is dropped
            outside its handler, for it may hold private numbers.

    Privacy:
        Costs exactly `mechanism.event`; nothing else of the private value leaves this function.
    """
    return _released(private, mechanism, accountant.charge(mechanism.event), noise)


def measure_together(
    private: Private[Value], batch: Batch[Value, Drawn], *, accountant: PrivacyFilter, noise: NoiseSource
) -> ReleasedValue[Drawn]:
    """Pay for all draws of a batch, one after the other, and then make them.

    Args, Raises and Privacy as for `measure`. If the filter refuses one of the charges, nothing is opened, and the
    charges before it stand.

    Returns:
        The drawn values, with the number of the last charge.
    """
    charge = -1
    for event, count in batch.events:
        for _ in range(count):
            charge = accountant.charge(event)
    return _released(private, batch, charge, noise)


def _released(
    private: Private[Value], drawn_from: Mechanism[Value, Drawn] | Batch[Value, Drawn], charge: int, noise: NoiseSource
) -> ReleasedValue[Drawn]:
    drawn = _attempt(private, drawn_from, noise)
    if isinstance(drawn, BaseException):
        raise drawn
    return ReleasedValue(drawn[0], charge)


def _attempt(
    private: Private[Value], mechanism: Mechanism[Value, Drawn] | Batch[Value, Drawn], noise: NoiseSource
) -> tuple[Drawn] | MechanismFailed | KeyboardInterrupt:
    """Return the draw, or a new error without context, cause or frames of the original one.

    Every exception is caught: an exit or an interrupt also carries frames and earlier errors, which may hold private
    values. Warnings are silenced: whether one appears may depend on the table, and standard error is an output.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return (mechanism.sample(private._unseal(_KEY), noise),)
    except KeyboardInterrupt:
        return KeyboardInterrupt()
    except BaseException:
        return MechanismFailed("a mechanism failed on the private table; its price stays paid and nothing was released")
