"""The last measurements, which spend what is left: tables, or what each of their parts adds, measured apart.

Why apart: the table of a pair holds the sums of both columns too, and so do the tables of all other pairs of these
columns. Where columns have few cells, that is much of what a table is paid for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, product

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import Axes, FloatArray, IntArray
from dpqr.kernel.unit import PrivacyUnit
from dpqr.strategies.schedules.marginals.forecast import NOISE, TUNING, BudgetAllocation, ExpectedError, NoiseSpread
from dpqr.workload.block import QueryBlock
from dpqr.workload.strategy_matrices import interaction, interaction_deviation, is_interaction

Shares = list[tuple[QueryBlock, float]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LastMeasurements:
    """singles: one-way marginals by attribute; spent: shares of the budget that went to them before; queried: the
    workload's blocks; errors: what noise leaves in all of them."""

    singles: tuple[QueryBlock, ...]
    spent: tuple[float, ...]
    queried: tuple[QueryBlock, ...]
    errors: ExpectedError
    budget: BudgetAllocation
    _groups: frozenset[frozenset[int]] = field(init=False, repr=False)
    _loads: Counter[Axes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_groups", frozenset(frozenset(block.axes) for block in self.queried))
        object.__setattr__(self, "_loads", _below(self.queried))

    def split(self, measured: Sequence[QueryBlock], left: float) -> list[tuple[QueryBlock, float]]:
        """Measured blocks, and one-way marginals for the queried blocks that were not measured, in the split of least
        expected error. A block weighs as much as the queried blocks that are answered by it, alone or with others."""
        wanted = [one for one in self._wanted(measured) if one[1] > 0.0]
        even = self.budget.deviation_at(left / max(len(wanted), 1))
        costs = [weight * self.errors.at(block, even) for block, weight, _ in wanted]
        shares = self.budget.split(left, costs, [spent for _, _, spent in wanted])
        return [(block, share) for (block, _, _), share in zip(wanted, shares, strict=True) if share > 0.0]

    def expected(self, blocks: Sequence[QueryBlock], measured: Sequence[QueryBlock], left: float) -> float:
        """Mean expected error of blocks, in records, if all that is left were spent on the last measurements now.

        Args:
            blocks: those whose error is asked for, all of them among `measured`.
            measured: blocks of the last measurements.
            left: share of the budget.
        """
        names = {block.name for block in blocks}
        shares = [one for one in self.split(measured, left) if one[0].name in names]
        return float(np.mean([self.errors.at(block, self.budget.deviation_at(share)) for block, share in shares]))

    def _wanted(self, measured: Sequence[QueryBlock]) -> list[tuple[QueryBlock, float, float]]:
        """Blocks, their weights and what went to them before."""
        loads, queried = self._loads.copy(), {block.name for block in self.queried}
        loads.subtract(_below([block for block in measured if block.name in queried]))
        weights = [(frozenset(block.axes) in self._groups) + loads[tuple(sorted(block.axes))] for block in measured]
        wanted = [(block, float(weight), 0.0) for block, weight in zip(measured, weights, strict=True)]
        before = zip(self.singles, self.spent, strict=True)
        return wanted + [(block, float(loads[block.axes]), spent) for block, spent in before]


def _below(blocks: Sequence[QueryBlock]) -> Counter[Axes]:
    """How many of the blocks look at each attribute, and how many of the wider ones at each pair."""
    found: Counter[Axes] = Counter((axis,) for block in blocks for axis in block.axes)
    found.update(pair for block in blocks if len(block.axes) > 2 for pair in combinations(sorted(block.axes), 2))
    return found


# Interactions: what pairs, single columns and all records together add.


class LastAllocation(Struct, frozen=True, kw_only=True, eq=False):
    """Last measurements, and what they leave.

    pairs, columns, total: deviations, per cell of what each of these adds, in records; of the measured pairs, and of
    all single columns.
    """

    measured: Shares
    pairs: FloatArray
    columns: FloatArray
    total: float


class Interactions(Struct, frozen=True, kw_only=True, eq=False):
    """singles: one-way marginals by attribute; spent: shares of the budget that went to them before; queried: the
    workload's blocks; errors: what noise leaves in all of them; unit: whose neighbours sensitivities are of."""

    singles: Sequence[QueryBlock]
    spent: Sequence[float]
    queried: Sequence[QueryBlock]
    errors: ExpectedError
    budget: BudgetAllocation
    unit: PrivacyUnit

    def better(self, direct: Shares) -> Shares:
        """The last measurements as tables, or interactions for the same budget where these leave clearly less error.

        Args:
            direct: tables and their shares.
        """
        pairs = [(block, share) for block, share in direct if len(block.axes) > 1]
        cells = {block.axes[0]: block.cells for block in self.singles}
        small = (
            block.is_marginal
            and len(block.axes) == 2
            and all(1 < cells.get(axis, 0) <= TUNING.apart_cells for axis in block.axes)
            for block, _ in pairs
        )
        least = min((self.budget.deviation_at(share) for _, share in pairs), default=0.0)
        if least < TUNING.apart_deviation or not all(small):
            return direct
        left = sum(share for _, share in direct)
        names = {block.name for block in self.queried}
        measured = (*(block for block in self.singles if block.cells > 1), *(block for block, _ in pairs))
        apart = {block: interaction(block, _free(f"interaction({block.name})", names)) for block in measured}
        totals = (0.0,) if self.unit.rows_public else TUNING.apart_totals
        widths = np.array([self._width(apart[block]) * _part(block) for block, _ in pairs])
        splits = [self._apart(pairs, apart, widths, left, *parts) for parts in product(TUNING.apart_singles, totals)]
        tables, *errors = self._mean_errors([block for block, _ in pairs], [self._tables(direct), *splits])
        worth = min(errors) <= TUNING.apart_worth * tables
        return splits[errors.index(min(errors))].measured if worth else direct

    def _tables(self, direct: Shares) -> LastAllocation:
        """Tables hold the sums of their columns, which add to what is known of these."""
        new = {block.axes[0]: share for block, share in direct if len(block.axes) == 1}
        known = {
            block.axes[0]: self.budget.combined(spent, new.get(block.axes[0], 0.0)) ** -2.0
            for block, spent in zip(self.singles, self.spent, strict=True)
        }
        total = sum(share / block.cells for block, share in zip(self.singles, known.values(), strict=True))
        pairs = []
        for block, share in ((block, share) for block, share in direct if len(block.axes) > 1):
            deviation = self.budget.deviation_at(share)
            pairs.append(deviation * _part(block))
            total += deviation**-2.0 / block.cells
            for factor in block.factors:
                known[factor.axes[0]] += deviation**-2.0 * factor.matrix.cells / block.cells
        columns = self._of_columns(known)
        return LastAllocation(measured=direct, pairs=np.array(pairs), columns=columns, total=total**-0.5)

    def _apart(
        self,
        pairs: Shares,
        interactions: Mapping[QueryBlock, QueryBlock],
        widths: FloatArray,
        left: float,
        singles: float,
        total: float,
    ) -> LastAllocation:
        """So much of what is left for columns and for the total; pairs in the ratio of their shares as tables. Columns
        of no pair are measured as tables.

        widths: of every pair the deviation of what it adds, per cell, over that of a table at the same share.
        """
        names = {block.name for block in self.queried}
        whole = sum(share for _, share in pairs)
        shares = [left * (1.0 - singles - total) * share / whole for _, share in pairs]
        loads = Counter(axis for block in self.queried for axis in block.axes)
        used = [block for block in self.singles if loads[block.axes[0]]]
        joined = {axis for block, _ in pairs for axis in block.axes}
        even = self.budget.deviation_at(left * singles / len(used))
        costs = [loads[block.axes[0]] * self.errors.at(block, even) for block in used]
        columns = [(block, interactions[block] if block.axes[0] in joined else block) for block in used]
        parts = self.budget.split(left * singles, costs)
        spent = dict(zip((block.axes[0] for block in self.singles), self.spent, strict=True))
        known = {axis: self.budget.deviation_at(share) ** -2.0 for axis, share in spent.items()}
        records = sum(known[block.axes[0]] / block.cells for block in self.singles)
        for (block, apart), share in zip(columns, parts, strict=True):
            known[block.axes[0]] += self._deviation(apart, share) ** -2.0
        measured = [(apart, share) for (_, apart), share in zip(columns, parts, strict=True)]
        measured += [(interactions[block], share) for (block, _), share in zip(pairs, shares, strict=True)]
        if total:
            everybody = QueryBlock(name=_free("records", names))
            measured.insert(0, (everybody, left * total))
            records += self._deviation(everybody, left * total) ** -2.0
        deviations = np.array([self.budget.deviation_at(share) for share in shares]) * widths
        return LastAllocation(measured=measured, pairs=deviations, columns=self._of_columns(known), total=records**-0.5)

    def _deviation(self, apart: QueryBlock, share: float) -> float:
        """Of a marginal's cells whose noise has the same part as that of an interaction at this share."""
        return self.budget.deviation_at(share) * self._width(apart)

    def _width(self, apart: QueryBlock) -> float:
        """That deviation over a table's at the same share."""
        noise = self.budget.relative(apart, self.singles[0], self.unit)
        return noise * interaction_deviation(apart) if is_interaction(apart) else noise

    def _of_columns(self, known: Mapping[int, float]) -> FloatArray:
        return np.array([known[block.axes[0]] ** -0.5 * _part(block) for block in self.singles])

    def _mean_errors(self, pairs: Sequence[QueryBlock], splits: Sequence[LastAllocation]) -> list[float]:
        """Mean expected error of the queried blocks: errors of the parts are independent, so their squares add up."""
        numbers: Places = {frozenset(block.axes): number for number, block in enumerate((*self.singles, *pairs))}
        held = ((row, numbers[part]) for row, block in enumerate(self.queried) for part in _smaller(block, numbers))
        parts, found = PartIncidence.of([(*each, 1.0) for each in held]), []
        for split in splits:
            total = 0.0 if self.unit.rows_public else NOISE * split.total
            errors = [self.errors.each(self.singles, split.columns), self.errors.each(pairs, split.pairs)]
            squares = np.concatenate(errors)[parts.parts] ** 2
            found.append(float(np.sqrt(total**2 + parts.summed(squares, len(self.queried))).mean()))
        return found


def _part(block: QueryBlock) -> float:
    """Deviation of the last part of a marginal per cell, of noise of deviation 1 on each."""
    return math.sqrt(math.prod(1.0 - 1.0 / factor.matrix.cells for factor in block.factors))


def _free(name: str, names: Iterable[str]) -> str:
    """A name that no query has, so that no measurement is mistaken for an answer."""
    while name in names:
        name += "'"
    return name


# Parts: a marginal splits into what its columns together add to its smaller marginals, for sets of its columns.
#
# All measurements that hold a part add up, and errors of different parts are independent, so their squares add up.

Part = frozenset[int | str]
"""The columns of a marginal; the name of another block, which is one part."""

Places = Mapping[Part, int]


class PartIncidence(Struct, frozen=True, kw_only=True, eq=False):
    """Blocks and their parts, one entry each. blocks: their rows. parts: numbers. factors: see `MarginalParts`."""

    blocks: IntArray
    parts: IntArray
    factors: FloatArray

    @classmethod
    def of(cls, entries: Sequence[tuple[int, int, float]]) -> PartIncidence:
        table = np.array(entries, dtype=np.float64).reshape(-1, 3)
        return cls(blocks=table[:, 0].astype(np.int64), parts=table[:, 1].astype(np.int64), factors=table[:, 2])

    def summed(self, values: FloatArray, rows: int) -> FloatArray:
        """Sums over the entries of every block, shape (rows,). values: one an entry."""
        return np.bincount(self.blocks, values, minlength=rows).astype(np.float64)


class MarginalParts(Struct, frozen=True, kw_only=True, eq=False):
    """Of the blocks that may be measured, each the largest part of itself, and of those that are asked for. Part 0: the
    number of records; part 1 + r: block r.

    alone: of every part, the share of its cells that no smaller part accounts for. measured: parts of the blocks that
    may be measured; factors: cells of the part over those of the block. queried: parts of the queried blocks; factors:
    noise of a part's cells in all answers. pairs: pairs of columns of queried blocks of three columns and more.
    own: of every queried block the part that shows it whole; 0: none does.
    """

    alone: FloatArray
    measured: PartIncidence
    queried: PartIncidence
    pairs: PartIncidence
    own: IntArray

    @classmethod
    @lru_cache(maxsize=2)
    def of(cls, measured: tuple[QueryBlock, ...], queried: tuple[QueryBlock, ...]) -> MarginalParts:
        """Kept: a run asks several times."""
        places: dict[Part, int] = {frozenset(): 0}
        for row, block in enumerate(measured):
            places.setdefault(_key(block), 1 + row)
        # Of a marginal 1; of other answers together the size of noise of deviation 1 on each cell of the part, over one
        # cell's.
        entries = list[tuple[int, int, float]]()
        for row, one in enumerate(queried):
            spread, own = NoiseSpread(block=one), one.rows / max(one.largest_coefficient, 1)
            for part in _smaller(one, places):
                summed = 1.0 if one.is_marginal else own if part == _key(one) else spread.noise(part)
                entries.append((row, places[part], summed))
        return cls(
            alone=np.array([1.0, *(_alone(block, places) for block in measured)]),
            measured=PartIncidence.of(
                [entry for row, block in enumerate(measured) for entry in _kept(row, block, places)]
            ),
            queried=PartIncidence.of(entries),
            pairs=PartIncidence.of(
                [
                    (row, places.get(frozenset(pair), 0), 1.0 / math.comb(len(one.axes), 2))
                    for row, one in enumerate(queried)
                    if len(one.axes) > 2
                    for pair in combinations(one.axes, 2)
                ]
            ),
            own=np.array(
                [places.get(_key(block), places.get(frozenset(block.axes), 0)) for block in queried], dtype=np.int64
            ),
        )


def _key(block: QueryBlock) -> Part:
    return frozenset(block.axes if block.is_marginal else (block.name,))


def _smaller(block: QueryBlock, places: Places) -> Iterator[Part]:
    """Its parts: all records, its columns, pairs of them, and itself, those that have a number."""
    found: list[Part] = [frozenset(), *(frozenset(axes) for ways in (1, 2) for axes in combinations(block.axes, ways))]
    return (part for part in dict.fromkeys((*found, frozenset(block.axes), _key(block))) if part in places)


def _kept(row: int, block: QueryBlock, places: Places) -> Iterator[tuple[int, int, float]]:
    """A marginal shows all its parts; another block itself."""
    if not block.is_marginal:
        yield row, places[_key(block)], 1.0
        return
    for part in _smaller(block, places):
        yield row, places[part], 1.0 / math.prod(size for axis, size in _sizes(block).items() if axis not in part)


def _alone(block: QueryBlock, places: Places) -> float:
    """Cells of a marginal, less those that its smaller parts account for, over all of them; 1 for another block."""
    if not block.is_marginal:
        return 1.0
    smaller = (part for part in _smaller(block, places) if part != _key(block))
    taken = sum(math.prod(size - 1 for axis, size in _sizes(block).items() if axis in part) for part in smaller)
    return max(1.0 - taken / block.cells, 0.0)


def _sizes(block: QueryBlock) -> dict[int, int]:
    return {axis: size for factor in block.factors for axis, size in zip(factor.axes, factor.sizes, strict=True)}
