"""Block errors: after the last refit, the noisy L1 errors of the released answers that a plan has bought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpqr.construction.draws import Draws
from dpqr.data.arrays import IntArray
from dpqr.data.unit import PrivacyUnit
from dpqr.errors import InfeasiblePlan
from dpqr.hypotheses.hypothesis import Hypothesis, prepare
from dpqr.mechanisms.block_errors import FINENESS, GroupErrors, Groups, error_unit, fine_answers, noisy_errors
from dpqr.noise.law import NoiseLaw
from dpqr.privacy.budget import Price
from dpqr.strategies.plan import Plan
from dpqr.strategies.transcript import Transcript
from dpqr.workload.block import QueryBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Set by `python tests/benchmarks/certify.py`; figures: tests/benchmarks/RESULTS.md."""

    noise: float = 0.02  # deviation of a group's mean error, as a fraction of the records: groups are no smaller
    parts: int = 2  # groups of measured, and of unmeasured blocks, whose largest errors are bought in epsilon


TUNING = Tuning()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyError:
    """The noisy L1 error of one block, or the mean of its group's, in records (or the summed column's unit).

    deviation: standard deviation of its noise. blocks: how many share this figure.

    >>> NoisyError(value=120.0, deviation=15.0, blocks=1).blocks
    1
    """

    value: float
    deviation: float
    blocks: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ErrorDraw:
    """One draw of `errors`, as it was released.

    values: a noisy integer for each group, shape (groups,). law: of its noise. charge: number of the event that paid.
    """

    errors: GroupErrors
    values: IntArray
    law: NoiseLaw
    charge: int


@dataclass(frozen=True, kw_only=True, eq=False)
class BlockErrors:
    """L1 errors between the true answers and those of the final hypothesis, noisy.

    sums: of groups of blocks. largest: of groups; None unless bounds were bought in pure epsilon.

    >>> from fractions import Fraction
    >>> from dpqr.data.unit import PrivacyUnit
    >>> from dpqr.noise.discrete_laplace import DiscreteLaplace
    >>> everybody = QueryBlock(name="all")
    >>> errors = GroupErrors(groups=((everybody,),), expected=((np.array([640]),),), unit=PrivacyUnit())
    >>> drawn = ErrorDraw(errors=errors, values=np.array([128]), law=DiscreteLaplace(Fraction(64)), charge=7)
    >>> BlockErrors(sums=drawn).by_name["all"].value
    2.0
    """

    sums: ErrorDraw
    largest: ErrorDraw | None = None

    @cached_property
    def by_name(self) -> dict[str, NoisyError]:
        """The noisy error of every block that was looked at; it may be negative. Unbiased, but for what the floor in
        `GroupErrors` takes: its mean is added."""
        errors, deviation = self.sums.errors, self.sums.law.deviation
        found = {}
        for group, value in zip(errors.groups, self.sums.values, strict=True):
            for block in group:
                each, scale = error_unit(block, errors.unit), float(block.scale) / FINENESS
                found[block.name] = NoisyError(
                    value=scale * (each * int(value) / len(group) + (each - 1) / 2),
                    deviation=scale * each * deviation / len(group),
                    blocks=len(group),
                )
        return found


def measured_errors(draws: Draws, plan: Plan, released: Hypothesis, transcript: Transcript) -> BlockErrors | None:
    """The draws that the plan has bought for after the loop; None: it bought none, or no block is left to look at, or a
    crash has lost them.

    Args:
        released: the hypothesis whose answers are released.

    Privacy:
        Which blocks, in which groups, follows from plan, transcript and hypothesis, which are released. The draws:
        `GroupErrors`. Each is charged before it is made, and journalled, like those of the loop.
    """
    unit = plan.problem.unit
    drawn = [
        _drawn(draws, groups, released, unit, price, largest=bool(place))
        for place, (groups, price) in enumerate(_asked(plan, released, transcript))
    ]
    if not drawn or drawn[0] is None:
        return None
    return BlockErrors(sums=drawn[0], largest=drawn[1] if len(drawn) > 1 else None)


def _asked(plan: Plan, released: Hypothesis, transcript: Transcript) -> tuple[tuple[Groups, Price], ...]:
    """The groups whose sums are drawn, and those whose largest errors are, each with the price of the draw."""
    phase, blocks = plan.phase("errors") or plan.phase("bounds"), plan.problem.workload.blocks
    missed = unmeasured(blocks, transcript)
    if phase is None or (phase.noun == "errors" and not missed):
        return ()
    price = phase.price
    if phase.noun == "errors":
        return ((_groups(missed, released.total, price), price),)
    if price.rho is not None:
        return ((tuple((block,) for block in blocks), price),)
    left = {block.name for block in missed}
    kinds = [kind for kind in (tuple(block for block in blocks if block.name not in left), missed) if kind]
    halves = tuple(part for kind in kinds for part in _parts(kind, TUNING.parts))
    return (tuple(kinds), price), (halves, price)


def unmeasured(blocks: Sequence[QueryBlock], transcript: Transcript) -> tuple[QueryBlock, ...]:
    """The blocks that no measurement answers: neither they themselves were measured, nor all of their rows, nor a
    marginal over all of their attributes. Public."""
    measured = [block for one in transcript.measurements for block in one.blocks]
    names = {block.name for block in measured}
    tables = {frozenset(block.axes) for block in measured if block.is_marginal}
    return tuple(block for block in blocks if not (_named(block, names) or _inside(block, tables)))


def _named(block: QueryBlock, names: set[str]) -> bool:
    return block.name in names or (block.rows > 1 and all(f"{block.name}[{row}]" in names for row in range(block.rows)))


def _inside(block: QueryBlock, tables: set[frozenset[int]]) -> bool:
    axes = frozenset(block.axes)
    return any(axes <= table for table in tables)


def _groups(blocks: tuple[QueryBlock, ...], records: float, price: Price) -> Groups:
    """As many groups as keep the noise of a group's mean within TUNING.noise of the records; public.

    With G equal groups of m blocks in all, a sum's noise has the deviation sqrt(2) m / epsilon, or m / sqrt(2 rho G);
    that of a mean is sqrt(2) G / epsilon, or sqrt(G / (2 rho)).
    """
    within = TUNING.noise * max(records, 1.0)
    if price.rho is not None:
        return _parts(blocks, int(min(2 * float(price.rho) * within**2, len(blocks))))
    return _parts(blocks, int(min(float(price.pure) * within / 2**0.5, len(blocks))))


def _parts(blocks: tuple[QueryBlock, ...], count: int) -> Groups:
    """At most `count` groups, at least one, of about as many blocks each, of similar numbers of rows."""
    ranked = sorted(range(len(blocks)), key=lambda place: blocks[place].rows)
    parts = np.array_split(np.array(ranked, dtype=np.int64), max(1, min(count, len(blocks))))
    return tuple(tuple(blocks[place] for place in part) for part in parts if len(part))


def _drawn(
    draws: Draws, groups: Groups, released: Hypothesis, unit: PrivacyUnit, price: Price, *, largest: bool = False
) -> ErrorDraw | None:
    """None where a crash has lost the draw, or where the hypothesis' answers are beyond all that integers can hold."""
    prepare(released, [block for group in groups for block in group])
    expected = tuple(tuple(fine_answers(released.answer(block)) for block in group) for group in groups)
    try:
        errors = GroupErrors(groups=groups, expected=expected, unit=unit, largest=largest)
        mechanism = noisy_errors(errors, price)
    except InfeasiblePlan:
        return None
    drawn = draws.errors(mechanism)
    if drawn.value is None:
        return None
    return ErrorDraw(errors=errors, values=drawn.value, law=mechanism.law, charge=drawn.charge)
