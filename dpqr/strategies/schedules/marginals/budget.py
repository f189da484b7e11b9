"""Budget allocation: shares of a run's budget as prices, the noise that they buy, and the split of the last one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

import numpy as np

from dpqr.kernel.arrays import Axes
from dpqr.kernel.budget import Price
from dpqr.kernel.unit import PrivacyUnit
from dpqr.strategies.plan import Phase, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.marginals.errors import TUNING, ExpectedError
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.sensitivity import Norm, sensitivity
from dpqr.workload.strategy_matrices import squared_norms

SHARE_GRID = 2**40
"""Shares are rounded down to this part of the whole."""

REFERENCE = 2.0**-20
"""A share at which discrete noise has the deviation of continuous noise, so that others follow by scaling."""

ROUNDING = 1.0 - 1e-9
"""Shares of a split stay by this much below the whole, so that no rounding takes their sum beyond it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetAllocation:
    """whole: the budget in the accountant's currency, epsilon, rho or mu^2. deviation: of a marginal measured with all
    of it, if noise were continuous, in records. pure: whether noise is in proportion to L1 sensitivity, not to L2.

    A share x buys a deviation of deviation / sqrt(x) in rho or mu^2 and of deviation / x in epsilon: `power` is 1/2 or
    1.
    """

    whole: Price
    deviation: float
    pure: bool = False

    @classmethod
    def of(cls, roles: Roles, unit: PrivacyUnit, block: QueryBlock, whole: Price) -> BudgetAllocation:
        bare = cls(whole=whole, deviation=1.0)
        law = roles.check.law((block,), unit, bare.price(REFERENCE))
        return cls(whole=whole, deviation=law.deviation * REFERENCE**bare.power, pure=roles.check.pure)

    @property
    def concentrated(self) -> bool:
        return self.whole.epsilon is None

    def relative(self, block: QueryBlock, other: QueryBlock, unit: PrivacyUnit) -> float:
        """Deviation of a block's noise over that of another one's at the same share."""
        norm = Norm.L1 if self.pure else Norm.L2_SQUARED
        moved, reference = (float(sensitivity((one,), norm, unit)) for one in (block, other))
        return moved / reference if self.pure else (moved / reference) ** 0.5

    @property
    def power(self) -> float:
        return 0.5 if self.concentrated else 1.0

    def price(self, share: float) -> Price:
        """At most `share` of the whole."""
        return self.whole.times(Fraction(max(1, int(share * SHARE_GRID)), SHARE_GRID))

    def deviation_at(self, share: float) -> float:
        """Standard deviation of a marginal measured at this share, in records."""
        return float(self.deviation / max(share, 1.0 / SHARE_GRID) ** self.power)

    def combined(self, first: float, second: float) -> float:
        """Standard deviation of the inverse-variance mean of two measurements at these shares."""
        shares = [share for share in (first, second) if share > 0.0]
        return float(sum(self.deviation_at(share) ** -2.0 for share in shares) ** -0.5)

    def share(self, deviation: float) -> float:
        """The share that buys a deviation; it may be more than the whole."""
        return float((self.deviation / deviation) ** (1.0 / self.power))

    def selection(self, temperature: float) -> float:
        """The share of a selection whose odds fall e-fold where scores (of sensitivity 1) differ by `temperature`."""
        return self.whole.part(2.0 / temperature)

    def split(self, share: float, costs: Sequence[float], spent: Sequence[float] = ()) -> list[float]:
        """Shares of `share` that minimise sum cost times deviation: in the ratio cost^(1 / (1 + power)).

        spent: shares that went to the same before. In rho what they bought adds up with the new shares, so it is the
        sums that come as near to that ratio as they can; in epsilon a smaller share adds next to nothing to a larger
        one, and nothing is counted.
        """
        if not costs:
            return []
        parts = np.array(costs) ** (1.0 / (1.0 + self.power))
        before = np.array(spent) if len(spent) and self.concentrated else np.zeros(parts.size)
        chosen = np.ones(parts.size, dtype=bool)
        while True:
            level = (share + before[chosen].sum()) / parts[chosen].sum()
            shares = np.where(chosen, level * parts - before, 0.0)
            if (shares >= 0.0).all():
                return [float(each) for each in ROUNDING * shares]
            chosen &= shares > 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LastMeasurements:
    """singles: one-way marginals by attribute; spent: shares of the budget that went to them before; asked: the
    workload's blocks; errors: what noise leaves in all of them."""

    singles: tuple[QueryBlock, ...]
    spent: tuple[float, ...]
    asked: tuple[QueryBlock, ...]
    errors: ExpectedError
    budget: BudgetAllocation
    _groups: frozenset[frozenset[int]] = field(init=False, repr=False)
    _loads: Counter[Axes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_groups", frozenset(frozenset(block.axes) for block in self.asked))
        object.__setattr__(self, "_loads", _below(self.asked))

    def split(self, measured: Sequence[QueryBlock], left: float) -> list[tuple[QueryBlock, float]]:
        """Measured blocks, and one-way marginals for the asked blocks that were not measured, in the split of least
        expected error. A block weighs as much as the asked blocks that are answered by it, alone or with others."""
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


# One table of all columns, the count of the records, and what is left after it.

RECORDS = QueryBlock(name="number of records")


def full_table(problem: Problem) -> QueryBlock:
    """All asked columns together; the workload's own block where it is one."""
    axes = problem.workload.axes
    full = (block for block in problem.workload.blocks if block.is_marginal and set(block.axes) == set(axes))
    own = next(full, None)
    factors = tuple(Factor.identity(axis, problem.domain.attributes[axis].size) for axis in axes)
    return own or QueryBlock(name="table of all columns", factors=factors)


def public_records(problem: Problem) -> float | None:
    """n, where it is declared or a public fact; or as it was counted with noise."""
    known = problem.n if problem.n is not None else problem.domain.facts.records
    return problem.counted if known is None else known


def counts_records(plan: Plan) -> bool:
    """Whether a count of the records decides what is measured (`Forecasts`)."""
    return bool(plan.named("stage"))


def first_marginals(plan: Plan) -> Phase:
    """The phase of the first one-way marginals."""
    phase = plan.phase("stage") or plan.phase("opening")
    assert phase is not None, "a search opens with one-way marginals"
    return phase


def search_budget(plan: Plan) -> Price:
    """The budget of a search, less the price of the count of the records: exact."""
    whole = plan.price("search")
    assert whole is not None, "a plan with rounds states what its search may cost"
    return whole.times(1 - TUNING.count) if counts_records(plan) else whole


def remaining(plan: Plan) -> BudgetAllocation:
    """What is left after the count of the records, to be shared out."""
    single = first_marginals(plan).blocks[0][0]
    return BudgetAllocation.of(plan.roles, plan.problem.unit, single, search_budget(plan))


def summed_noise(table: QueryBlock, block: QueryBlock, deviation: float) -> float:
    """Of all answers of a block, as sums over the table's cells, in units of the most that a record changes one."""
    squared = (table.cells / block.cells) * float(squared_norms(block).mean())
    return block.rows * deviation * math.sqrt(squared) / max(block.largest_coefficient, 1)
