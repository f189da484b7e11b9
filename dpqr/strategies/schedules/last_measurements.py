"""LastMeasurements: how what is left of a run's budget is split among the marginals that its search has found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from dpqr.data.arrays import Axes
from dpqr.strategies.schedules.expected_error import ExpectedError
from dpqr.strategies.schedules.purse import Purse
from dpqr.workload.block import QueryBlock


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LastMeasurements:
    """singles: one-way marginals by attribute; spent: shares of the budget that went to them before; asked: the
    workload's blocks; errors: what noise leaves in all of them."""

    singles: tuple[QueryBlock, ...]
    spent: tuple[float, ...]
    asked: tuple[QueryBlock, ...]
    errors: ExpectedError
    purse: Purse
    _groups: frozenset[frozenset[int]] = field(init=False, repr=False)
    _loads: Counter[Axes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_groups", frozenset(frozenset(block.axes) for block in self.asked))
        object.__setattr__(self, "_loads", _below(self.asked))

    def split(self, measured: Sequence[QueryBlock], left: float) -> list[tuple[QueryBlock, float]]:
        """Measured blocks, and one-way marginals for all the blocks that they must stand in for, in the split of least
        expected error. A block weighs as much as the asked blocks that are answered by it, alone or with others."""
        wanted = [one for one in self._wanted(measured) if one[1] > 0.0]
        even = self.purse.bought(left / max(len(wanted), 1))
        costs = [weight * self.errors.at(block, even) for block, weight, _ in wanted]
        shares = self.purse.split(left, costs, [spent for _, _, spent in wanted])
        return [(block, share) for (block, _, _), share in zip(wanted, shares, strict=True) if share > 0.0]

    def leaves(self, told: Sequence[QueryBlock], measured: Sequence[QueryBlock], left: float) -> float:
        """Mean records in wrong cells of the blocks `told`, if what is left were spent on `measured` now."""
        names = {block.name for block in told}
        shares = [one for one in self.split(measured, left) if one[0].name in names]
        return float(np.mean([self.errors.at(block, self.purse.bought(share)) for block, share in shares]))

    def _wanted(self, measured: Sequence[QueryBlock]) -> list[tuple[QueryBlock, float, float]]:
        """Blocks, their weights and what went to them before."""
        loads, asked = self._loads.copy(), {block.name for block in self.asked}
        loads.subtract(_below([block for block in measured if block.name in asked]))
        weights = [(frozenset(block.axes) in self._groups) + loads[tuple(sorted(block.axes))] for block in measured]
        wanted = [(block, float(weight), 0.0) for block, weight in zip(measured, weights, strict=True)]
        before = zip(self.singles, self.spent, strict=True)
        return wanted + [(block, float(loads[block.axes]), spent) for block, spent in before]


def _below(blocks: Sequence[QueryBlock]) -> Counter[Axes]:
    """How many of the blocks look at each attribute, and how many of the wider ones at each pair."""
    found: Counter[Axes] = Counter((axis,) for block in blocks for axis in block.axes)
    found.update(pair for block in blocks if len(block.axes) > 2 for pair in combinations(sorted(block.axes), 2))
    return found
