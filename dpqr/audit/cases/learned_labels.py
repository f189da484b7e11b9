"""Labels that nobody has listed, on neighbours where some labels have one unit on the one table and none on the other.

That is where a comparison that is wrong by one step shows: such a label appears with probability delta, not more.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

import numpy as np
from msgspec import Struct

from dpqr.audit.case import Case, Claim, PublicOutcome
from dpqr.audit.cases.noisy_answers import UNITS
from dpqr.audit.law import Laws
from dpqr.domain.histogram import Counts, DenseHistogram
from dpqr.kernel.accountants.accountant import PairFilter
from dpqr.kernel.accountants.losses import approximate_cost
from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.budget import NO_COST
from dpqr.kernel.events import LabelSelectionEvent
from dpqr.kernel.gate import measure
from dpqr.kernel.noise.keeping import KeepingLaw
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours
from dpqr.mechanisms.learning import LabelSelection

EPSILON, DELTA = Fraction(1), Fraction(1, 10)
"""Why so large a delta: what is lost with a probability of one in a million shows in no audit."""
MOST = (1, 2)
"""Labels of one unit."""
LOWEST = 1e-40
"""Stands for a probability of 0: small beside any that matters, and its logarithm is finite."""


class NumberedLabels(Struct, frozen=True, kw_only=True, eq=False):
    """The cells of a histogram as labels, which are called by their numbers."""

    counts: IntArray

    def texts(self, places: IntArray) -> tuple[str, ...]:
        return tuple(map(str, places.tolist()))


class NumberedSelection(Struct, frozen=True, kw_only=True):
    """The selection, over a database of the audit; it releases a flag for each cell, whether its label is kept."""

    selection: LabelSelection

    @property
    def event(self) -> LabelSelectionEvent:
        return self.selection.event

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        counts = value.marginal((0,))
        kept = self.selection.sample(NumberedLabels(counts=counts), noise)
        flags = np.zeros(len(counts), dtype=np.int64)
        flags[[int(label) for label in kept]] = 1
        return flags


class Kept(Struct, frozen=True, kw_only=True):
    """Whether a label of so many units is kept, 1 or 0. A narrower law is that of a larger epsilon."""

    count: int
    epsilon: Fraction
    delta: Fraction
    support: ClassVar[tuple[int, int]] = (0, 1)

    def log_probabilities(self, values: IntArray, width: float = 1.0) -> FloatArray:
        law = KeepingLaw(self.epsilon / Fraction(width), self.delta)
        chance = float(law.probability(self.count))
        found: FloatArray = np.log(np.maximum([1 - chance, chance], LOWEST))[np.asarray(values)]
        return found


class LabelTrial(Struct, frozen=True, kw_only=True):
    """One selection of labels, charged as a ledger of pairs charges it."""

    mechanism: NumberedSelection

    @property
    def claim(self) -> Claim:
        return Claim.proved(Basic(), ((self.mechanism.event, 1),), DELTA)

    def run(self, database: Private[Counts], noise: NoiseSource) -> PublicOutcome:
        guard = PairFilter(limit=approximate_cost(self.mechanism.event) or NO_COST)
        released = measure(database, self.mechanism, accountant=guard, noise=noise).value
        return (), tuple(released.tolist()), ()


def label_cases() -> Iterator[Case]:
    """A unit of m labels that comes, or takes another's place, whose labels nobody else has."""
    for relation, unit in UNITS.items():
        for most in MOST:
            selection = LabelSelection.within(EPSILON, DELTA, most=most, unit=unit)
            replaced = unit.neighbours is Neighbours.REPLACE
            one, other = [0] * most + [int(replaced)] * most, [1] * most + [0] * most
            yield Case(
                name=f"labels-{most}-{relation}",
                what=f"labels that nobody has listed, {most} of each unit",
                pair=(DenseHistogram(np.array(one)), DenseHistogram(np.array(other))),
                trial=LabelTrial(mechanism=NumberedSelection(selection=selection)),
                laws=(_laws(one, selection), _laws(other, selection)),
            )


def _laws(counts: list[int], selection: LabelSelection) -> Laws:
    return tuple(Kept(count=count, epsilon=selection.epsilon, delta=selection.delta) for count in counts)
