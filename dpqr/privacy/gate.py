"""The gate: the one place where a seal is opened. Charge, open, sample, release, in this order."""

from __future__ import annotations

import warnings
from typing import TypeVar

from dpqr.errors import MechanismFailed
from dpqr.noise.source import NoiseSource
from dpqr.privacy.accountant import PrivacyFilter
from dpqr.privacy.mechanism import Batch, Mechanism
from dpqr.privacy.sealed import Private, Released, SealKey

In = TypeVar("In")
Out = TypeVar("Out")
_KEY = SealKey()


def measure(
    private: Private[In], mechanism: Mechanism[In, Out], *, accountant: PrivacyFilter, noise: NoiseSource
) -> Released[Out]:
    """Pay for one draw and make it.

    Errors: BudgetRefused before anything is opened; MechanismFailed, a constant, if the draw fails. The charge then
    stands, and the original error is dropped outside its handler, for it may hold private numbers.

    Privacy: costs exactly `mechanism.event`; nothing else of the private value leaves this function.
    """
    return _released(private, mechanism, accountant.charge(mechanism.event), noise)


def measure_together(
    private: Private[In], batch: Batch[In, Out], *, accountant: PrivacyFilter, noise: NoiseSource
) -> Released[Out]:
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
    private: Private[In], drawn_from: Mechanism[In, Out] | Batch[In, Out], charge: int, noise: NoiseSource
) -> Released[Out]:
    drawn = _attempt(private, drawn_from, noise)
    if isinstance(drawn, BaseException):
        raise drawn
    return Released(drawn[0], charge)


def _attempt(
    private: Private[In], mechanism: Mechanism[In, Out] | Batch[In, Out], noise: NoiseSource
) -> tuple[Out] | MechanismFailed | KeyboardInterrupt:
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
