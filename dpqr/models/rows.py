"""WeightedRows: a distribution over a bounded public list of rows, for domains with too many cells to weigh each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from msgspec import Struct

from dpqr.domain.domain import Region
from dpqr.kernel.arrays import AnyArray, Axes, CodeArray, FloatArray, IntArray
from dpqr.kernel.noise.public import public_generator
from dpqr.models.hypothesis import Sampleable
from dpqr.workload.block import QueryBlock

LISTED = 2**17
"""Cells of a domain that are all listed; of larger domains so many rows are drawn."""


class Tilt(Struct, frozen=True, kw_only=True, eq=False):
    """What one measured table did to the weights.

    Attributes:
        places: of every row in the table, shape (rows,).
        wanted: the noisy answers, in records.
        deviation: of their noise, in records.
        logs: a row in place p has exp(logs[p]) times the weight that it would have without the table.

    >>> Tilt(places=np.array([0, 1]), wanted=np.array([3.0, 5.0]), deviation=1.0, logs=np.zeros(2)).wanted.sum()
    np.float64(8.0)
    """

    places: IntArray
    wanted: FloatArray
    deviation: float
    logs: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightedRows:
    """`total` records, spread over rows by their shares.

    Attributes:
        codes: cells of each row, shape (rows, attributes).
        shares: sum 1, shape (rows,).
        tilts: parameters of the update rule, from which the shares follow; they never change an answer.

    >>> rows = WeightedRows(shape=(2, 2), codes=np.array([[0, 0], [1, 1]]), shares=np.array([0.5, 0.5]), total=8.0)
    >>> rows.marginal((1,)).tolist()
    [4.0, 4.0]
    """

    shape: tuple[int, ...]
    codes: AnyArray
    shares: FloatArray
    total: float
    tilts: tuple[Tilt, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, model: Sampleable, shape: tuple[int, ...], seed: int) -> WeightedRows:
        """List the cells of a model with their weights where there are few, else LISTED rows drawn from it.

        Args:
            seed: public.
        """
        if int(np.prod([float(size) for size in shape])) <= LISTED:
            weights = model.weights().reshape(-1)
            codes = np.stack(np.unravel_index(np.arange(weights.size), shape), axis=1)
            whole = float(weights.sum())
            shares = weights / whole if whole > 0 else np.full(weights.size, 1 / weights.size)
            return cls(shape=shape, codes=_small(codes, shape), shares=shares, total=model.total)
        drawn = model.rows(LISTED, seed)
        return cls(
            shape=shape, codes=_small(drawn, shape), shares=np.full(len(drawn), 1 / len(drawn)), total=model.total
        )

    def coefficients(self, block: QueryBlock) -> AnyArray:
        """Return what each row counts in a block of one query, shape (rows,)."""
        counted: AnyArray = np.ones(len(self.codes), dtype=np.int64)
        for factor in block.factors:
            counted = counted * np.asarray(factor.matrix.row(0))[self.places(factor.axes)]
        return counted

    def places(self, axes: Axes) -> IntArray:
        """Return each row's cell in a flat table over `axes`, shape (rows,)."""
        place = np.zeros(len(self.codes), dtype=np.int64)
        for axis in axes:
            place = place * self.shape[axis] + self.codes[:, axis]
        return place

    def marginal(self, axes: Axes) -> FloatArray:
        """Records, shape = sizes of `axes` in that order; () for the total."""
        sizes = [self.shape[axis] for axis in axes]
        counts = np.bincount(self.places(axes), weights=self.shares, minlength=int(np.prod(sizes)))
        table: FloatArray = (self.total * counts).reshape(sizes).astype(np.float64)
        return table

    def answer(self, block: QueryBlock) -> FloatArray:
        """Answers in units of the block's grid (records), shape (block.rows,)."""
        if block.rows == 1:
            return np.array([self.total * float(self.shares @ self.coefficients(block))])
        answers: FloatArray = block.answer(self)
        return answers

    def rows(self, count: int, seed: int) -> CodeArray:
        """Draw `count` synthetic records; cell codes, shape (count, attributes)."""
        generator = public_generator(seed)
        edges = np.cumsum(self.shares)
        points = (np.arange(count) + generator.random()) / count * edges[-1]
        drawn = np.minimum(np.searchsorted(edges, points, side="right"), len(edges) - 1)
        return self.codes[generator.permutation(drawn)]


def _small(codes: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """In the smallest type of integers that holds every code."""
    return np.ascontiguousarray(codes.astype(np.min_scalar_type(max(shape, default=1))), dtype=None)


# RowFit: synthetic records fitted, one value at a time, to the tables of their hypothesis.

FULL = 2**15 - 2
"""The largest sum of gains, over all faces; one below what the smallest type of 16 bits holds, and its negative."""


class Face(Struct, frozen=True, kw_only=True, eq=False):
    """The gaps of a table, arranged along one of its attributes: records wanted minus records there.

    Attributes:
        axes: the table's attributes.
        place: position of the attribute.
        sizes: of the table with the attribute last.
        gap: shape (cells of the other attributes, values), single precision, changed by `moved`.
        scale: weight of a gap of one record, of the same shape: 1 where no record is wanted, less where many are.
    """

    axes: Axes
    place: int
    sizes: tuple[int, ...]
    gap: AnyArray
    scale: AnyArray

    @classmethod
    def of(cls, axes: Axes, axis: int, gap: FloatArray, wanted: FloatArray) -> Face:
        """Return the face of a table over `axes` along `axis`. gap, wanted: shape = sizes of `axes`."""
        place = axes.index(axis)
        turned = np.moveaxis(gap, place, -1)
        scale = 1.0 / (1.0 + np.sqrt(np.moveaxis(wanted, place, -1)))
        return cls(axes=axes, place=place, sizes=turned.shape, gap=_flat(turned), scale=_flat(scale))

    @property
    def others(self) -> Axes:
        return tuple(axis for place, axis in enumerate(self.axes) if place != self.place)

    @property
    def apart(self) -> float:
        """Least number of records that must move."""
        return float(np.abs(self.gap).sum()) / 2.0

    def gains(self, faces: int) -> tuple[AnyArray, AnyArray]:
        """Return the gains of one record more and of one record less in each cell.

        They are integers of which `faces` can be added in 16 bits: |gap| - |gap -+ 1|, times the scale. Without the
        scale that is the gap's sign, but for gaps below one record.
        """
        unit = np.float32(FULL // faces)
        slope = self.scale * unit
        rise = self.gap * (2.0 * slope)
        more, less = rise - slope, -rise - slope
        return np.clip(more, -unit, unit).astype(np.int16), np.clip(less, -unit, unit).astype(np.int16)

    def moved(self, places: IntArray, old: IntArray, new: IntArray) -> None:
        """Update the gaps: records in the cells `places` of the other attributes changed from `old` to `new`."""
        flat, width, one = self.gap.reshape(-1), self.gap.shape[1], np.float32(1.0)
        np.add.at(flat, places * width + old, one)
        np.subtract.at(flat, places * width + new, one)

    def restored(self) -> FloatArray:
        """Return the gaps in the table's own order."""
        turned: FloatArray = np.moveaxis(self.gap.reshape(self.sizes), -1, self.place).astype(np.float64)
        return turned


def _flat(table: FloatArray) -> AnyArray:
    return np.ascontiguousarray(table.reshape(-1, table.shape[-1]), dtype=np.float32)


class RowFitTuning(Struct, frozen=True, kw_only=True):
    """Limits of time; `share`, `least_share`, `least_gain` and `least_block` are set on made-up tables.

    Figures on the other half: `python tests/benchmarks/rows.py`, tests/benchmarks/RESULTS.md, "Synthetic rows".
    """

    share: float = 0.5  # part of the records that the table of largest error needs moved, which a sweep may move
    least_share: float = 0.05  # sweeps end below it
    least_gain: float = 0.05  # the share is halved after a sweep that removes a smaller part of the distance
    sweeps: int = 24  # at most
    blocks: int = 32  # batches that records are moved in, at most
    least_block: int = 64  # records of such a batch, at least
    work: int = 10**9  # cells that a sweep may visit, less than a second's work: larger sweeps visit other records each
    least_part: int = 48  # nothing moves if a sweep would visit fewer than one of so many records
    largest_table: int = 2**16  # cells of a table that records are fitted to, at most
    overhead: int = 16  # cost of visiting one table for one record beside its cells, in cells


TUNING = RowFitTuning()


class RowFit(Struct, frozen=True, kw_only=True, eq=False):
    """Moves that lower sum over tables and cells of |records wanted - records there|, attribute by attribute.

    For each record of a batch, the gain of every other value of the attribute is summed over all tables; then the
    records of largest gain move. A gap within the sampling error of a count (its root) has less weight than a wide one.
    Records of one batch move at once, so that many of them may fill the same gap: a sweep over all attributes that
    brings nothing is undone, and fewer records move in the next.

    Why: rows that are drawn have sampling error. A tree that holds few of the measured marginals makes rows that are
    far from the answers, and one that holds more takes many times as long to fit. Row weights by iterative proportional
    fitting (Deming and Stephan 1940) must be resampled, which loses most of their accuracy.

    Attributes:
        shape: sizes of all attributes.
        wanted: tables over groups of attributes, of as many records as there are rows.
        fixed: regions that no record enters or leaves, so that public facts about them stay true.

    Privacy:
        Post-processing. No randomness: the same rows move in the same way.

    References:
        Williamson, Birkin and Rees 1998 (moves that reduce the distance of synthetic populations); Zhang et al. 2021
        (PrivSyn, many moves at once).

    >>> codes = np.zeros((4, 2), dtype=np.int64, order="F")
    >>> RowFit(shape=(2, 2), wanted={(0, 1): np.array([[2.0, 2.0], [0.0, 0.0]])}).run(codes)
    2
    """

    shape: tuple[int, ...]
    wanted: Mapping[Axes, FloatArray]
    fixed: Sequence[Region] = ()

    def run(self, codes: CodeArray) -> int:
        """Move records, in place, if that reduces the distance.

        Args:
            codes: shape (records, attributes), records in random order, each attribute contiguous.

        Returns:
            Number of changed values.
        """
        visited = fittable_records(self.shape, self.wanted, len(codes))
        if not visited:
            return 0
        gaps = {}
        for axes, table in self.wanted.items():
            counts = np.bincount(_places(codes, axes, self.shape), minlength=table.size)
            gaps[axes] = table - counts.reshape(table.shape).astype(np.float64)
        drawn, distance, share = codes.astype(np.min_scalar_type(max(self.shape))), _distance(gaps), TUNING.share
        for sweep in range(TUNING.sweeps):
            start = sweep * visited % len(codes)
            part = codes[start : start + visited]
            before, gaps_before = part.copy(order="F"), dict(gaps)
            for axis in sorted({axis for axes in gaps for axis in axes}):
                self._sweep(part, axis, gaps, share)
            reached = _distance(gaps)
            if reached > (1.0 - TUNING.least_gain) * distance:
                share /= 2.0
            if reached < distance:
                distance = reached
            else:
                part[:], gaps = before, gaps_before
            if share < TUNING.least_share:
                break
        return int(np.count_nonzero(codes != drawn))

    def _sweep(self, codes: CodeArray, axis: int, gaps: dict[Axes, FloatArray], share: float) -> None:
        """Change values of one attribute, batch by batch; `codes` and `gaps` change in place."""
        faces = [Face.of(axes, axis, gaps[axes], self.wanted[axes]) for axes in gaps if axis in axes]
        needed = min(share * max(face.apart for face in faces) / len(codes), 1.0)
        step = max(-(-len(codes) // TUNING.blocks), TUNING.least_block)
        for start in range(0, len(codes) if needed else 0, step):
            block = codes[start : start + step]
            most = math.ceil(needed * len(block))
            # The `most` records of largest gain get their best value, unless they would enter or leave a fixed region.
            places = [_places(block, face.others, self.shape) for face in faces]
            best, gains = _best(block[:, axis], places, faces)
            least = max(int(np.partition(gains, -most)[-most]), 1)
            movers = np.flatnonzero(gains >= least)[:most]
            now, after, stay = block[movers], block[movers], np.ones(len(movers), dtype=bool)
            after[:, axis] = best[movers]
            for region in (region for region in self.fixed if axis in region.axes):
                was, will = (region.cells[tuple(one[:, each] for each in region.axes)] for one in (now, after))
                stay &= was == will
            movers = movers[stay]
            for face, place in zip(faces, places, strict=True):
                face.moved(place[movers], block[movers, axis], best[movers])
            block[movers, axis] = best[movers]
        for face in faces:
            gaps[face.axes] = face.restored()


def fittable_records(shape: tuple[int, ...], groups: Iterable[Axes], count: int) -> int:
    """Return how many of `count` records a sweep can fit to tables over these groups; 0 if that is too few to matter.

    Args:
        shape: sizes of all attributes.
        groups: attributes of each table.
        count: records.
    """
    sizes = [[shape[axis] for axis in axes] for axes in groups]
    record = sum(size + TUNING.overhead for each in sizes for size in each)
    tables = sum(len(each) * math.prod(each) for each in sizes)
    visited = min(count, (TUNING.work - TUNING.overhead * TUNING.blocks * tables) // max(record, 1))
    return visited if sizes and visited * TUNING.least_part >= count else 0


def reachable(shape: tuple[int, ...], groups: Iterable[Axes]) -> list[Axes]:
    """Return the groups of two attributes or more whose tables are small enough to fit; ascending, each once."""
    distinct = {tuple(sorted(axes)) for axes in groups if len(axes) > 1}
    return sorted(axes for axes in distinct if math.prod(shape[axis] for axis in axes) <= TUNING.largest_table)


def _best(values: CodeArray, places: Sequence[IntArray], faces: Sequence[Face]) -> tuple[IntArray, IntArray]:
    """For each record the value of largest gain, other than its own, and this gain."""
    width, every = faces[0].gap.shape[1], np.arange(len(values))
    coming = np.zeros((len(values), width), dtype=np.int16)
    going, rows, ones = np.zeros(len(values), dtype=np.int32), np.empty_like(coming), np.empty(len(values), np.int16)
    for face, place in zip(faces, places, strict=True):
        come, go = face.gains(len(faces))
        # With an output and this mode numpy copies without a check of each index: several times faster.
        np.take(come, place, axis=0, out=rows, mode="clip")
        coming += rows
        cells = place * width
        cells += values
        np.take(go.reshape(-1), cells, out=ones, mode="clip")
        going += ones
    coming[every, values] = np.iinfo(np.int16).min
    best: IntArray = coming.argmax(axis=1)
    return best, coming[every, best] + going


def _places(codes: CodeArray, axes: Axes, shape: tuple[int, ...]) -> IntArray:
    """Each record's cell in a flat table over `axes`."""
    place = codes[:, axes[0]].astype(np.int64)
    for axis in axes[1:]:
        place = place * shape[axis] + codes[:, axis]
    return place


def _distance(gaps: Mapping[Axes, FloatArray]) -> float:
    return sum(float(np.abs(gap).sum()) for gap in gaps.values())
