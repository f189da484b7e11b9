"""Losses and learners of predictions: what their protocols promise, on tiny tables. Each fault is one line."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from dpqr.audit.conformance.cases import frozen_faults
from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.noise.public import public_generator
from dpqr.kernel.plugins import lacking
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.prediction.learners.examples import Examples, LossScale
from dpqr.prediction.learners.features import CellFeatures
from dpqr.prediction.third_party import NamedLearner, NamedLoss
from dpqr.prediction.third_party import loss_faults as broken_constants

UNITS = {
    "a record that comes or goes": PrivacyUnit(),
    "a record that is replaced": PrivacyUnit(neighbours=Neighbours.REPLACE),
    "a person of up to two rows": PrivacyUnit(columns=("person",), rows=2),
}
PAIRS = 40
RECORDS = 6
FEATURES = Domain((Attribute(name="a", axis=Codes(2)), Attribute(name="b", axis=Codes(3))))


def loss_faults(loss: object) -> Iterator[str]:
    """One line a fault. The protocol comes first: without it nothing else is asked."""
    lack = lacking(NamedLoss, loss)
    if lack is not None:
        yield f"protocol: the loss {lack}"
        return
    yield from _value(loss)
    yield from (f"constants: the loss {fault}" for fault in broken_constants(loss))


def learner_faults(learner: object) -> Iterator[str]:
    """One line a fault; of changes beyond the bound, the first one under each unit."""
    lack = lacking(NamedLearner, learner)
    if lack is not None:
        yield f"protocol: the learner {lack}"
        return
    yield from _value(learner)
    for words, unit in UNITS.items():
        fault = next(_on_tables(learner, unit), None)
        if fault is not None:
            yield f"{fault} ({words})"


def _value(given: Any) -> Iterator[str]:
    """Whether it is a frozen value with the right constants."""
    if not isinstance(given.name, str) or not given.name:
        yield "name: it is no text"
    if not isinstance(given.classifies, bool):
        yield "classifies: it is neither True nor False"
    yield from frozen_faults(given)


def _on_tables(learner: Any, unit: PrivacyUnit) -> Iterator[str]:
    values = np.array([-1.0, 1.0]) if learner.classifies else np.array([-1.0, 0.25, 1.0])
    examples = Examples(features=CellFeatures(domain=FEATURES), axis=2, values=values, columns=3)
    made = learner.learner(examples, LossScale(unit=unit, records=RECORDS))
    if not isinstance(made.bound, Fraction) or made.bound <= 0:
        yield "bound: it is no Fraction above 0"
        return
    for one, two in _neighbours(unit, len(values)):
        here, there = (_fitted(made, table, examples.features.width) for table in (one, two))
        if here is None or there is None:
            yield "fit: it returns no finite weight for each feature, or others the second time"
            return
        moved = float(np.linalg.norm(here - there))
        if moved > made.bound:
            yield f"bound: weights move by {moved:.4g}, and {float(made.bound):.4g} is stated"


def _fitted(made: Any, table: IntArray, width: int) -> FloatArray | None:
    """The weights; None: they are none."""
    try:
        found = [np.asarray(made.fit(DenseHistogram(table.copy())), dtype=np.float64) for _ in range(2)]
    except Exception:
        return None
    sound = found[0].shape == (width,) and np.isfinite(found[0]).all() and np.array_equal(found[0], found[1])
    return found[0] if sound else None


def _neighbours(unit: PrivacyUnit, labels: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Pairs of tables: of no record, of one label, of any; with one unit's rows in one cell more, or in another."""
    drawn = public_generator(0)

    def cell() -> tuple[int, ...]:
        return tuple(int(drawn.integers(most)) for most in (2, 3, labels))

    for number in range(PAIRS):
        others = np.zeros((2, 3, labels), dtype=np.int64)
        size = RECORDS - 1 if unit.neighbours is Neighbours.REPLACE else int(drawn.integers(2 * RECORDS)) * (number > 0)
        for place in [cell() for _ in range(size)]:
            others[place if number % 2 else (*place[:2], 0)] += 1
        one, two = others.copy(), others.copy()
        two[cell()] += unit.rows
        if unit.neighbours is Neighbours.REPLACE:
            one[cell()] += unit.rows
        yield one, two
