"""Error bars: the estimated root mean square error of every answer, and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from dpqr.construction.answers.error_factors import bought_factors, selected_factors
from dpqr.construction.answers.refits import can_refit, most_refits, refit_count, refit_errors
from dpqr.construction.block_errors import unmeasured
from dpqr.construction.loop import Outcome
from dpqr.data.arrays import FloatArray
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.strategies.plan import Plan
from dpqr.strategies.schedules.error_bars import searched
from dpqr.workload.block import QueryBlock

Source = Literal["bought", "rule of thumb", "refits alone"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ErrorBars:
    """Estimated errors by the block's name, in records, shape (rows,).

    refits: how many they come from. source: of the factors of unmeasured blocks: noisy errors that the plan has
    bought, a rule of thumb from the last selections, or none. factors: of unmeasured blocks.
    predicted: L1 errors by refits, in records, before the factor. known: how many blocks have hardly any noise, so that
    their errors need no refits. missing: why the others have no errors; None: they have, or nobody asked. tests: errors
    of blocks that nobody asked for.

    >>> ErrorBars(missing="the update rule is a third party's").each
    {}
    """

    each: Mapping[str, FloatArray] = field(default_factory=dict, repr=False)
    tests: Mapping[str, FloatArray] = field(default_factory=dict, repr=False)
    refits: int = 0
    source: Source = "refits alone"
    factors: Mapping[str, float] = field(default_factory=dict, repr=False)
    predicted: Mapping[str, float] = field(default_factory=dict, repr=False)
    known: int = 0
    missing: str | None = None


def error_bars(
    plan: Plan,
    outcome: Outcome,
    shown: Hypothesis,
    blocks: Sequence[QueryBlock],
    known: Mapping[str, FloatArray],
    tests: Mapping[str, QueryBlock] | None = None,
) -> ErrorBars:
    """The errors of all answers of a run, unless the plan asks for none.

    Args:
        shown: the hypothesis, as it is released.
        blocks: of the workload; those whose errors are not known in closed form.
        known: errors of those of them that `is_known`, in records.
        tests: blocks that nobody asked for, by the block whose answers they are functions of.

    Privacy:
        Post-processing of released values, with public randomness.
    """
    history = outcome.transcript.measurements
    if not plan.error_bars or not blocks or not history:
        return ErrorBars()
    others = [block for block in blocks if block.name not in known]
    missing = can_refit(plan) if others else None
    if not others or missing is not None:
        return ErrorBars(each=known, known=len(known), missing=missing)
    beside = dict(tests or {})
    errors = refit_errors(plan, outcome, shown, tuple(beside.values()))
    open_blocks = [block for block in searched(plan) if block in blocks]
    left = {block.name: errors[block.name].total for block in unmeasured(open_blocks, outcome.transcript)}
    source, factors = _scaled_by(plan, outcome, left)
    return ErrorBars(
        each={**{one.name: errors[one.name].each * factors.get(one.name, 1.0) for one in others}, **known},
        tests={
            test.name: errors[test.name].each * factors.get(name, 1.0)
            for name, test in beside.items()
            if name not in known
        },
        refits=refit_count(plan.problem.workload.blocks, history, most_refits(shown)),
        source=source,
        factors=factors,
        predicted={block.name: errors[block.name].total for block in plan.problem.workload.blocks},
        known=len(known),
    )


def _scaled_by(plan: Plan, outcome: Outcome, left: Mapping[str, float]) -> tuple[Source, dict[str, float]]:
    """What the errors of unmeasured blocks are scaled by, and where that comes from. left: their errors by refits."""
    source: Source = "refits alone"
    found: dict[str, float] = {}
    if left and outcome.errors is not None:
        source, found = "bought", bought_factors(outcome.errors, left)
    elif left and (found := selected_factors(plan, outcome.transcript, left)):
        source = "rule of thumb"
    return source, {name: found.get(name, 1.0) for name in left}
