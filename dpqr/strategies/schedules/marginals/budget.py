"""Budget allocation: shares of a run's budget as prices, the noise that they buy, and the split of the last one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpqr.kernel.budget import Price
from dpqr.kernel.unit import PrivacyUnit
from dpqr.strategies.plan import Phase, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.marginals.errors import TUNING
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
