"""The count of left-out records beside an answer about kept ones: free where rows come or go, and paid elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpqr.audit.case import Case, Draws, records
from dpqr.audit.cases.answers import noisy
from dpqr.audit.law import Laws
from dpqr.data.histogram import Counts, DenseHistogram
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.noisy_answers import on_left_out
from dpqr.noise.source import NoiseSource
from dpqr.privacy.budget import Price
from dpqr.privacy.events import PrivacyEvent
from dpqr.privacy.gate import Mechanism
from dpqr.strategies.checks import Check, Gaussian, Laplace
from dpqr.strategies.schedules.dropped_count import DROPPED
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.workload import Measurement

KEPT, LEFT_OUT = 0, 1
SHAPE = (2, 2)
"""The part of a record, and its cell there."""
DELTA = Fraction(1, 100)
PURE, RHO = Price(epsilon=Fraction(1)), Price(rho=Fraction(1, 2))
ROWS = PrivacyUnit()
REPLACED = PrivacyUnit(neighbours=Neighbours.REPLACE, drops=True)
PERSON = PrivacyUnit(column="person", rows=3)
ASKED = QueryBlock(name="cell", factors=(Factor(axes=(0,), sizes=(2,), matrix=Dense(np.array([[1, 0]]))),))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OfParts:
    """`inner` on some parts of a table whose first axis separates the parts."""

    inner: Mechanism[Counts, Measurement]
    parts: tuple[int, ...]

    @property
    def event(self) -> PrivacyEvent:
        return self.inner.event

    def sample(self, value: Counts, noise: NoiseSource) -> Measurement:
        cells = value.marginal((0, 1))
        return self.inner.sample(DenseHistogram(cells[list(self.parts)].sum(axis=0)), noise)


def left_out_cases() -> Iterator[Case]:
    """A kept record comes; a left-out one comes; one takes the other's place; a person brings rows of both kinds."""
    yield left_out_case("kept-add-remove", ROWS, {}, {(KEPT, 0): 1})
    yield left_out_case("dropped-add-remove", ROWS, {}, {(LEFT_OUT, 0): 1})
    yield left_out_case("replace", REPLACED, {(KEPT, 0): 1}, {(LEFT_OUT, 0): 1})
    yield left_out_case("person", PERSON, {}, {(KEPT, 0): 3, (LEFT_OUT, 0): 3})
    yield left_out_case("kept-rho-add-remove", ROWS, {}, {(KEPT, 0): 1}, in_rho=True)
    yield left_out_case("rho-replace", REPLACED, {(KEPT, 0): 1}, {(LEFT_OUT, 0): 1}, in_rho=True)


def left_out_case(
    name: str,
    unit: PrivacyUnit,
    here: dict[tuple[int, ...], int],
    there: dict[tuple[int, ...], int],
    *,
    in_rho: bool = False,
) -> Case:
    """The count, charged as a release charges it, and then an answer, at the same price each."""
    check: Check = Gaussian() if in_rho else Laplace()
    price = RHO if in_rho else PURE
    count = OfParts(inner=on_left_out(check.mechanism((DROPPED,), unit, price), unit), parts=(LEFT_OUT,))
    answer = OfParts(inner=check.mechanism((ASKED,), unit, price), parts=(KEPT,))
    trial = Draws(mechanisms=(count, answer), delta=DELTA if in_rho else Fraction(0))
    return Case(
        name=f"left-out-{name}",
        what=f"a {check.name} count of left-out records and an answer about the others",
        pair=(records(SHAPE, here), records(SHAPE, there)),
        trial=trial,
        laws=(_laws(here, trial), _laws(there, trial)),
    )


def _laws(table: dict[tuple[int, ...], int], trial: Draws) -> Laws:
    """Of the number of left-out records, and of that of kept ones in the first cell."""
    left_out = sum(records for (part, _), records in table.items() if part == LEFT_OUT)
    (count, _), (answer, _) = trial.events
    return noisy(left_out, count), noisy(table.get((KEPT, 0), 0), answer)
