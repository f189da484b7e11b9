"""Evidence: the measurements so far, one entry per question, in units of its block's grid."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import Axes, FloatArray, freeze
from dpqr.kernel.values import replace
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

SMALLEST_DEVIATION = 0.1
"""Grid units. Below it integer noise is nearly always zero; the floor keeps the fit's equations well posed."""

LISTED = 2**15
"""Coefficients of a block that a fit lists."""

UNDERFLOW = 2.0**-10
"""Grid units. A noise law whose deviation underflows to zero counts as this."""


class LinearMeasurement(Struct, frozen=True, kw_only=True, eq=False):
    """Noisy answers to one block, all of one standard deviation, in units of the block's grid.

    Attributes:
        key: what was asked; the same question in a later round has the same key.
        axes: the block's attributes in the order of the fit's tensor.
        values: for a marginal the tensor over `axes`; for any other block a vector, shape (rows,).
        deviation: standard deviation of the noise of each value.
        block: None for a marginal.

    >>> seen = LinearMeasurement(key=(0,), axes=(0,), values=np.array([3.0, 5.0]), deviation=1.0)
    >>> seen.order, seen.apply(np.array([4.0, 4.0]))
    (1, array([4., 4.]))
    """

    key: Hashable
    axes: Axes
    values: FloatArray
    deviation: float
    block: QueryBlock | None = None

    @property
    def order(self) -> int:
        """Number of attributes."""
        return len(self.axes)

    def apply(self, marginal: FloatArray) -> FloatArray:
        """The block's answers on a tensor over `axes`, flat."""
        if self.block is None:
            return marginal.reshape(-1)
        listed = _listed(self.block, self.axes)
        if listed is not None:
            rows: FloatArray = np.einsum("ij,j->i", listed[0], marginal.reshape(-1))
            return rows
        answers: FloatArray = self.block.apply(marginal.transpose(_positions(self.axes, self.block.axes)))
        return answers

    def adjoint(self, values: FloatArray) -> FloatArray:
        """The transposed product: flat values to a tensor over `axes`."""
        if self.block is None:
            return values.reshape(self.values.shape)
        listed = _listed(self.block, self.axes)
        if listed is not None:
            cells: FloatArray = np.einsum("ij,i->j", listed[0], values)
            return cells.reshape(listed[1])
        tensor: FloatArray = self.block.adjoint(values)
        return tensor.transpose(_positions(self.block.axes, self.axes))


@lru_cache(maxsize=256)
def _listed(block: QueryBlock, axes: Axes) -> tuple[FloatArray, tuple[int, ...]] | None:
    """Coefficients of a small block on the cells over `axes`, shape (rows, cells), and the sizes of the axes; None: it
    is too large to list.

    A fit asks the same block hundreds of times, and a small block's own products are all overhead.
    """
    if block.rows * block.cells > LISTED:
        return None
    sizes = [size for factor in block.factors for size in factor.sizes]
    rows = np.array([*block.coefficients()], dtype=np.float64).reshape(block.rows, *sizes)
    turned = rows.transpose([0, *(1 + place for place in _positions(block.axes, axes))])
    return freeze(turned.reshape(block.rows, -1).copy()), turned.shape[1:]


def _positions(source: Axes, target: Axes) -> Axes:
    """The transposition from the order of `source` to that of `target`."""
    return tuple(source.index(axis) for axis in target)


def gather(history: Sequence[Measurement], shape: tuple[int, ...]) -> tuple[LinearMeasurement, ...]:
    """All measurements as evidence, marginals of the same attributes merged; blocks without attributes are left out.

    Args:
        history: measurements, oldest first.
        shape: cells of each attribute of the domain. Axes of a tensor are ordered by size, small ones first, so that
            partial sums run along the long ones.

    Privacy:
        Post-processing of released values.
    """
    by_key: dict[Hashable, LinearMeasurement] = {}
    for measurement in history:
        deviation = max(measurement.law.deviation, UNDERFLOW)
        for block, values in zip(measurement.blocks, measurement.values, strict=True):
            if not block.factors:
                continue
            axes = tuple(sorted(block.axes, key=lambda axis: (shape[axis], axis)))
            answers = values.astype(np.float64)
            if block.is_marginal:
                table = answers.reshape([shape[axis] for axis in block.axes])
                table = table.transpose(_positions(block.axes, axes))
                seen = LinearMeasurement(key=axes, axes=axes, values=table, deviation=deviation)
            else:
                seen = LinearMeasurement(key=block, axes=axes, values=answers, deviation=deviation, block=block)
            old = by_key.get(seen.key)
            by_key[seen.key] = seen if old is None else _merged((old, seen))
    return tuple(by_key.values())


def _merged(parts: Sequence[LinearMeasurement]) -> LinearMeasurement:
    """The inverse-variance mean of several answers to the same question."""
    if len(parts) == 1:
        return parts[0]
    shares = [part.deviation**-2 for part in parts]
    total = sum(shares)
    values = np.sum([share / total * part.values for share, part in zip(shares, parts, strict=True)], axis=0)
    first = parts[0]
    return LinearMeasurement(key=first.key, axes=first.axes, values=values, deviation=total**-0.5, block=first.block)


def merge_measurements(evidence: Iterable[LinearMeasurement]) -> tuple[LinearMeasurement, ...]:
    """The evidence, answers to the same question merged.

    >>> one, two = (LinearMeasurement(key=0, axes=(0,), values=np.array([x]), deviation=2.0) for x in (1.0, 3.0))
    >>> (both,) = merge_measurements([one, two])
    >>> both.values, round(both.deviation, 3)
    (array([2.]), 1.414)
    """
    by_key: dict[Hashable, list[LinearMeasurement]] = {}
    for seen in evidence:
        by_key.setdefault(seen.key, []).append(seen)
    return tuple(_merged(parts) for parts in by_key.values())


def lower_order(evidence: Iterable[LinearMeasurement], order: int) -> tuple[LinearMeasurement, ...]:
    """Marginals of every `order` attributes, summed from the marginals that contain them and merged.

    A sum of k independent answers has sqrt(k) times their deviation.
    """
    by_axes: dict[Axes, list[LinearMeasurement]] = {}
    for seen in evidence:
        if seen.block is None and seen.order >= order:
            for axes in combinations(seen.axes, order):
                by_axes.setdefault(axes, []).append(marginalise(seen, axes))
    return tuple(_merged(parts) for parts in by_axes.values())


def marginalise(seen: LinearMeasurement, axes: Axes) -> LinearMeasurement:
    """The marginal of some attributes of `seen`: sums of its cells, axes in its own order."""
    gone = tuple(position for position, axis in enumerate(seen.axes) if axis not in axes)
    values = seen.values.sum(axis=gone) if gone else seen.values
    deviation = seen.deviation * (seen.values.size / max(values.size, 1)) ** 0.5
    return LinearMeasurement(key=axes, axes=axes, values=values, deviation=deviation)


# Earlier tables: noisy marginals that an earlier release has published, as weak evidence of the table of today.


class EarlierTables(Struct, frozen=True, kw_only=True, eq=False):
    """Marginals of an earlier release over the same domain.

    sha256: of the release. records: that it has counted, more than 0. tables: with the deviation of their noise.

    Privacy:
        Post-processing of published noisy answers.

    >>> import numpy as np
    >>> table = LinearMeasurement(key=(0,), axes=(0,), values=np.array([60.0, 40.0]), deviation=1.0)
    >>> earlier = EarlierTables(sha256="", records=100.0, tables=(table,))
    >>> today = LinearMeasurement(key=(0,), axes=(0,), values=np.array([160.0, 40.0]), deviation=1.0)
    >>> [weak.values.tolist() for weak in earlier.aged([today], 200.0)]
    [[120.0, 80.0]]
    """

    sha256: str
    records: float
    tables: tuple[LinearMeasurement, ...]

    def aged(self, seen: Sequence[LinearMeasurement], total: float) -> tuple[LinearMeasurement, ...]:
        """The tables at today's number of records, their deviations raised by how much the records have changed.

        Change, as a variance of the cells of a table: what the squares of its distances from the same table of today
        leave beyond both noises; of a table that was not measured today, its mean square times the largest relative
        change of its columns. At least what two samples of as many records differ by. A table of no measured column is
        left out.

        Args:
            seen: today's evidence.
            total: N, records.

        Returns:
            One entry for each table that is kept, in records.

        Privacy:
            Post-processing of released values.
        """
        measured = {one.axes: one for one in seen if one.block is None}
        columns = {one.axes: one for one in lower_order(seen, 1)}
        factor = total / self.records
        aged = []
        for earlier in self.tables:
            table = replace(earlier, values=earlier.values * factor, deviation=earlier.deviation * factor)
            today = measured.get(table.axes)
            # The variance of the cells of this table from then to today, in records squared.
            change = 2.0 * total / table.values.size
            if today is not None:
                # One deviation of the mean square of both noises is added.
                chance = (table.deviation**2 + today.deviation**2) * math.sqrt(2.0 / table.values.size)
                change = max(_squares_beyond_noise(table, today), change) + chance
            else:
                sides = [(marginalise(table, (axis,)), columns.get((axis,))) for axis in table.axes]
                relative = [
                    max(_squares_beyond_noise(then, now), 0.0) / max(float((now.values**2).mean()), 1e-300)
                    for then, now in sides
                    if now is not None
                ]
                if len(relative) < len(sides):
                    continue
                size = max(float((table.values**2).mean()) - table.deviation**2, 0.0)
                change = max(max(relative) * size, change)
            aged.append(replace(table, deviation=math.sqrt(table.deviation**2 + change)))
        return tuple(aged)


def _squares_beyond_noise(then: LinearMeasurement, now: LinearMeasurement) -> float:
    """Mean square distance, less both noises."""
    return float(((then.values - now.values) ** 2).mean()) - then.deviation**2 - now.deviation**2
