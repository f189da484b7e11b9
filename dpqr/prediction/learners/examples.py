"""Examples: the rows that learners read, block by block, and the public number that scales their losses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Counts, occupied_cells
from dpqr.kernel.arrays import AnyArray, FloatArray, IntArray
from dpqr.kernel.budget import root_below
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.unit import PrivacyUnit
from dpqr.prediction.learners.features import FeatureMap

BLOCK = 2**12
"""Rows whose gradients are summed together."""
KEPT = 2**26
"""Features that are kept in memory; those of larger tables are recomputed in every pass."""


class ExampleBatch(NamedTuple):
    """Rows of a pass.

    Attributes:
        vectors: shape (rows, width), norms at most 1.
        targets: on the scale of `Target`, shape (rows,).
        weights: of their losses, shape (rows,).
    """

    vectors: FloatArray
    targets: FloatArray
    weights: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingRows:
    """Distinct rows of a table. Private.

    Attributes:
        codes: of the rows without their target, shape (rows, columns).
        targets, weights: one per row.
    """

    features: FeatureMap
    codes: AnyArray
    targets: FloatArray
    weights: FloatArray
    _kept: list[FloatArray] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        small = len(self.codes) * self.features.width <= KEPT
        object.__setattr__(self, "_kept", [self._vectors(at) for at in self._starts] if small else [])

    def blocks(self) -> Iterator[ExampleBatch]:
        """At least one, possibly of no rows."""
        for index, at in enumerate(self._starts):
            vectors = self._kept[index] if self._kept else self._vectors(at)
            yield ExampleBatch(vectors, self.targets[at : at + BLOCK], self.weights[at : at + BLOCK])

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def width(self) -> int:
        return self.features.width

    @property
    def _starts(self) -> range:
        return range(0, max(1, len(self.codes)), BLOCK)

    def _vectors(self, at: int) -> FloatArray:
        return self.features.of(self.codes[at : at + BLOCK])


def pairwise_sum(parts: Iterator[AnyArray]) -> AnyArray:
    """The sum of arrays of one shape and type, in pairs, so that rounding hardly grows with their number."""
    waiting: list[tuple[int, AnyArray]] = []
    for part in parts:
        level, total = 0, part
        while waiting and waiting[-1][0] == level:
            total = waiting.pop()[1] + total
            level += 1
        waiting.append((level, total))
    total = waiting.pop()[1]
    while waiting:
        total = waiting.pop()[1] + total
    return total


TAPER = Fraction(1, 64)
"""eta: what the taper adds to a sensitivity, as a share of it."""
MOST_RECORDS = 2**28
"""Beyond it, the weights of a function would not keep to their grid in double precision."""


class LossScale(Struct, frozen=True, kw_only=True):
    """The factor u / m0 of the sum of losses: m0 a public number of records, u a taper of the private one.

    Where the number of rows is public (`replace` of rows), m0 is that number and u is 1. Elsewhere m0 is declared or
    bought, the real number m is private, and u = 1 up to m = m0, then 1 - eta (m / m0 - 1), never below 0. The taper
    gives the weight of all losses together a public bound, on which a solver's proved number of steps depends: m u / m0
    <= (1 + eta)^2 / (4 eta) = `heaviest`, for every table. With an m0 that is not below m it costs no accuracy; a table
    of more than m0 (1 + 1 / eta) records is not learned from at all.

    Attributes:
        unit: neighbours, and rows per person.
        records: m0.
        part: whether the rows are a part of the table that every unit draws by itself: how many drew it is private
            under `replace` too, where a record goes and another one comes.

    Raises:
        InfeasiblePlan: m0 is below 1 or above MOST_RECORDS.

    Privacy:
        Add-remove. Let g be the gradient of the new record's loss, ||g|| <= G as every other's. Adding it to m others
        changes the gradient of the sum of losses, at any point, by (u(m+1) g + (u(m+1) - u(m)) sum_i g_i) / m0, of norm
        at most (G / m0) [u(m+1) + m (u(m) - u(m+1))]. In brackets: 1 as long as m + 1 <= m0; beyond, u falls by at most
        eta / m0 a record, so 1 - eta ((m+1) / m0 - 1) + m eta / m0 <= 1 + eta while u(m+1) > 0; and where u(m+1) = 0,
        u(m) <= eta / m0 and m <= m0 (1 + 1 / eta), so m u(m) <= 1 + eta.
        Statement P15 of the guide's topic proofs.

    >>> from dpqr.kernel.unit import Neighbours
    >>> scale = LossScale(unit=PrivacyUnit(neighbours=Neighbours.REPLACE), records=100)
    >>> scale.distance(Fraction(1), Fraction(1, 10))
    Fraction(1, 5)
    """

    unit: PrivacyUnit
    records: int
    part: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.records <= MOST_RECORDS:
            raise InfeasiblePlan("--n: prediction works with 1 to 2^28 records; give a number within")

    @property
    def steps(self) -> int:
        """Records that come or go between neighbours, one after the other, where none is merely replaced."""
        return self.unit.changes

    @property
    def replaced(self) -> bool:
        """Whether m is public, so that the formulas of `replace` hold."""
        return self.unit.rows_public and not self.part

    @property
    def heaviest(self) -> Fraction:
        """The sum of losses weighs at most this many average losses."""
        return Fraction(1) if self.replaced else (1 + TAPER) ** 2 / (4 * TAPER)

    def weights(self, records: IntArray) -> FloatArray:
        """The factor of each distinct row's loss.

        Args:
            records: how many records each row stands for, shape (rows,).
        """
        return np.asarray(self.weight(int(records.sum())) * records, dtype=np.float64)

    def weight(self, records: int) -> float:
        """The factor of each loss in a table of this many records."""
        if self.replaced:
            return 1 / self.records
        taper = 1 - TAPER * (Fraction(records, self.records) - 1)
        return float(min(Fraction(1), max(Fraction(0), taper)) / self.records)

    def distance(self, gradient: Fraction, modulus: Fraction) -> Fraction:
        """How far the minimiser moves, in norm, between neighbours.

        Strong convexity: ||f - f'|| <= ||grad(F' - F)(f)|| / modulus. Replace: two gradients over m. Add-remove: one
        over m0 and the taper, for each of `steps` records (group privacy by a path of neighbours).

        Args:
            gradient: bound on the norm of the gradients of one record's loss.
            modulus: of strong convexity of the objective.
        """
        moved = 2 * gradient if self.replaced else (1 + TAPER) * gradient * self.steps
        return moved / (modulus * self.records)

    def bounded_distance(self, largest: Fraction, modulus: Fraction) -> Fraction:
        """The same without a Lipschitz constant, for losses of 0 to `largest` at every minimiser and every record.

        F and F', their minimisers f and f': strong convexity of both gives modulus ||f - f'||^2 <= (F' - F)(f) -
        (F' - F)(f'). Replace: two losses over m change, each between 0 and `largest`, so that is at most 2 largest / m.
        Add-remove: at most largest (1 + eta) / m0, by the bracket above; the root of it for each of `steps` records.
        (Nie and Wang 2017, J. Inequal. Appl., Theorem 1, prints 16 in place of 2.)
        """
        share = 2 * largest if self.replaced else (1 + TAPER) * largest
        return (1 if self.replaced else self.steps) / root_below(modulus * self.records / share)


class Examples(Struct, frozen=True, kw_only=True, eq=False):
    """How rows of the domain become vectors and targets.

    A row whose target has no number is left out, which depends on that row alone: where it comes, goes or is replaced,
    the losses change by one term less than the learners' proofs allow for.

    Attributes:
        features: of the columns without the target.
        axis: of the target.
        values: one number for each of its cells, within [-1, 1], or NaN.
        columns: of the domain; counts may have further axes.

    >>> from dpqr.domain.attribute import Attribute, Codes
    >>> from dpqr.domain.domain import Domain
    >>> from dpqr.domain.histogram import DenseHistogram
    >>> from dpqr.prediction.learners.features import CellFeatures
    >>> features = CellFeatures(domain=Domain((Attribute(name="a", axis=Codes(2)),)))
    >>> examples = Examples(features=features, axis=1, values=np.array([-1.0, 1.0]))
    >>> counts = DenseHistogram(np.array([[3, 0], [0, 1]]))
    >>> rows = examples.read(counts, LossScale(unit=PrivacyUnit(), records=4))
    >>> rows.targets.tolist(), rows.weights.tolist()
    ([-1.0, 1.0], [0.75, 0.25])
    """

    features: FeatureMap
    axis: int
    values: FloatArray
    columns: int = 2

    def read(self, counts: Counts, scale: LossScale) -> TrainingRows:
        """The distinct rows, each with the weight of its records. Private."""
        codes, records = occupied_cells(counts)
        return self.rows(codes, scale.weights(records))

    def rows(self, codes: AnyArray, weights: FloatArray) -> TrainingRows:
        """Rows of codes with these weights. Private."""
        codes, weights = (each[self.labelled(codes)] for each in (codes, weights))
        return TrainingRows(
            features=self.features,
            codes=np.delete(codes[:, : self.columns], self.axis, axis=1),
            targets=self.values[codes[:, self.axis]],
            weights=weights,
        )

    def labelled(self, codes: AnyArray) -> AnyArray:
        """Which rows have a target. Private."""
        known: AnyArray = ~np.isnan(self.values)[codes[:, self.axis]]
        return known
