"""Tails: how far the two draws of a round may be off, and which of the workload's queries are measured together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpqr.data.unit import PrivacyUnit
from dpqr.errors import InfeasiblePlan
from dpqr.privacy.budget import Price
from dpqr.strategies.candidates import QueryCandidates
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Problem
from dpqr.workload.block import QueryBlock
from dpqr.workload.sensitivity import Norm, sensitivity

TOTAL = QueryBlock(name="number of records")
"""Bought first where it is private; see `Theory`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tails:
    """candidates: what a round selects from. measured: one block for every noise that a check may draw: of thousands of
    blocks most have the same."""

    roles: Roles
    unit: PrivacyUnit
    candidates: QueryCandidates
    measured: tuple[QueryBlock, ...]

    @classmethod
    def of(cls, roles: Roles, unit: PrivacyUnit, candidates: QueryCandidates, *, counted: bool) -> Tails:
        """counted: whether the number of records is measured too."""
        offered = (block if block.name in candidates.whole else block.largest_row for block in candidates.blocks)
        return cls(roles=roles, unit=unit, candidates=candidates, measured=_unlike(offered, unit, counted=counted))

    def shortfall(self, select: Price, gamma: Fraction) -> float:
        """What a selection's query has less error than the worst one, in records, but with probability gamma.

        The hypothesis' answers are rounded to the common grid before they are compared, which moves two scores by half
        a step each.
        """
        moved, grid = self.candidates.sensitivity(self.unit), self.candidates.grid
        short = self.roles.distinguisher.shortfall(len(self.candidates), moved, select, gamma)
        return (short + 1) * float(grid)

    def noise(self, measure: Price, gamma: Fraction) -> float:
        """What any answer of a measurement is off by, in records, but with probability gamma for all of its answers
        together; with half a step of the query's grid, to which the hypothesis' answer is rounded."""
        return max(answers_tail(self.roles, self.unit, block, measure, gamma) for block in self.measured)


def answers_tail(roles: Roles, unit: PrivacyUnit, block: QueryBlock, measure: Price, gamma: Fraction) -> float:
    """The same of one block's answers."""
    law = roles.check.law((block,), unit, measure)
    return (law.tail(float(gamma / block.rows)) + 0.5) * float(block.scale)


def require_fractions(problem: Problem) -> None:
    """The source's queries map a record to [0, 1]."""
    for block in problem.workload.blocks:
        negative = any(factor.matrix.smallest < 0 for factor in block.factors)
        if negative or block.largest_coefficient * block.scale > 1:
            raise InfeasiblePlan(
                f"query {block.name!r} has coefficients outside [0, 1], which --schedule theory needs; "
                "leave it out or use --schedule rounds"
            )


def measured_whole(blocks: Sequence[QueryBlock], unit: PrivacyUnit) -> frozenset[str]:
    """Names of the blocks whose answers move at most twice as far as one of their queries: marginals, above all."""
    return frozenset(
        block.name
        for block in blocks
        if block.rows > 1 and _moved(block, unit) <= 2 * max(1, _moved(block.largest_row, unit))
    )


def _moved(block: QueryBlock, unit: PrivacyUnit) -> int:
    return sensitivity((block,), Norm.L1, unit)


def _unlike(offered: Iterable[QueryBlock], unit: PrivacyUnit, *, counted: bool) -> tuple[QueryBlock, ...]:
    """One for every sensitivity and grid, of most answers. A row of a block that is smaller than its largest has less
    noise."""
    found: dict[tuple[int, int, Fraction], QueryBlock] = {}
    for block in (*((TOTAL,) if counted else ()), *offered):
        key = (_moved(block, unit), sensitivity((block,), Norm.L2_SQUARED, unit), block.scale)
        known = found.get(key)
        if known is None or known.rows < block.rows:
            found[key] = block
    return tuple(found.values())
