"""Release: what a run gives away. It has no field that could hold a private value."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate

import numpy as np

from dpqr.construction.certificate import Certificate, certify
from dpqr.construction.costs import Costs
from dpqr.construction.dropped import DroppedCount
from dpqr.construction.loop import Outcome
from dpqr.data.arrays import FloatArray
from dpqr.hypotheses.hypothesis import Clippable, Hypothesis, Unbiased
from dpqr.privacy.ledger import Reservation
from dpqr.strategies.plan import Plan
from dpqr.strategies.transcript import Transcript
from dpqr.workload.block import QueryBlock
from dpqr.workload.measurement import Measurement


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockAnswers:
    """One block's part of the answers, every array of shape (rows,), in records (or the summed column's unit).

    estimate: the final hypothesis' answers. measured: the last unbiased noisy answers (the estimates themselves, where
    these are unbiased with a known spread), NaN where nothing was measured. deviation: standard deviation of that
    noise, NaN likewise.
    """

    block: QueryBlock
    estimate: FloatArray
    measured: FloatArray
    deviation: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Release:
    """Answers, the hypothesis behind them, the public transcript, the plan, and what was spent.

    spent: epsilon at the plan's delta under every accountant (None: the theorem does not cover the events); the
    guarantee is the plan's budget, whichever of them is smaller. costs: the same for each phase by itself.
    dropped: the noisy count of the records that were left out, where it was bought.
    private: False if the noise came from a test source; such a release protects nobody.
    paid: what a ledger had set aside for it; None: no ledger was used.
    """

    plan: Plan
    answers: tuple[BlockAnswers, ...]
    hypothesis: Hypothesis
    transcript: Transcript
    certificate: Certificate | None
    spent: dict[str, Fraction | None]
    trust: tuple[str, ...]
    private: bool
    dropped: DroppedCount | None = None
    costs: Costs = field(default_factory=dict)
    paid: Reservation | None = None


def assemble(
    plan: Plan,
    outcome: Outcome,
    spent: dict[str, Fraction | None],
    *,
    private: bool,
    dropped: DroppedCount | None = None,
    costs: Costs | None = None,
    paid: Reservation | None = None,
) -> Release:
    """A release from public and released parts. Privacy: post-processing."""
    measured = _measured(plan, outcome.transcript)
    ended = outcome.hypothesis
    shown = ended.clipped() if isinstance(ended, Clippable) else ended
    return Release(
        plan=plan,
        answers=tuple(_answers(block, shown, measured) for block in plan.problem.workload.blocks),
        hypothesis=shown,
        transcript=outcome.transcript,
        certificate=certify(plan, outcome),
        spent=spent,
        trust=_trust(plan, outcome, private=private),
        private=private,
        dropped=dropped,
        costs=costs or {},
        paid=paid,
    )


def _answers(block: QueryBlock, hypothesis: Hypothesis, measured: dict[str, Measured]) -> BlockAnswers:
    scale = float(block.scale)
    nothing = (np.full(block.rows, np.nan), np.full(block.rows, np.nan))
    estimate = np.asarray(hypothesis.answer(block), dtype=np.float64) * scale
    values, deviation = measured.get(block.name) or _unbiased(block, hypothesis, estimate) or nothing
    return BlockAnswers(block=block, estimate=estimate, measured=values, deviation=deviation)


Measured = tuple[FloatArray, FloatArray]


def _unbiased(block: QueryBlock, hypothesis: Hypothesis, estimate: FloatArray) -> Measured | None:
    """Estimates that are right on average, with a known spread, are the measured answers themselves."""
    deviations = hypothesis.deviations(block) if isinstance(hypothesis, Unbiased) else None
    return None if deviations is None else (estimate, deviations * float(block.scale))


def _measured(plan: Plan, transcript: Transcript) -> dict[str, Measured]:
    """Noisy answers and their deviation, by the name of the workload's block; the last draw of a query counts."""
    blocks = plan.problem.workload.blocks
    ends = list(accumulate(block.rows for block in blocks))
    found: dict[str, Measured] = {}
    for finished in transcript.rounds:
        if finished.measurement is None:
            continue
        if plan.threshold is not None and finished.choice is not None:
            position = bisect_right(ends, finished.choice)
            block, row = blocks[position], finished.choice - (ends[position] - blocks[position].rows)
            values, deviation = found.setdefault(block.name, (np.full(block.rows, np.nan), np.full(block.rows, np.nan)))
            values[row], deviation[row] = _single(finished.measurement)
        else:
            found.update(_whole(finished.measurement))
    return found


def _single(measured: Measurement) -> tuple[float, float]:
    scale = float(measured.blocks[0].scale)
    return float(measured.values[0][0]) * scale, measured.law.deviation * scale


def _whole(measured: Measurement) -> Iterator[tuple[str, Measured]]:
    for block, values in zip(measured.blocks, measured.values, strict=True):
        scale = float(block.scale)
        deviation = np.full(block.rows, measured.law.deviation * scale, dtype=np.float64)
        yield block.name, (np.asarray(values * scale, dtype=np.float64), deviation)


def _trust(plan: Plan, outcome: Outcome, *, private: bool) -> tuple[str, ...]:
    """What a reader must know before relying on the figures."""
    sentences = list(plan.notes) + list(plan.roles.update.trust)
    if not private:
        sentences.insert(0, "NOT PRIVATE: the noise came from a repeatable test source")
    if outcome.transcript.lost:
        sentences.append(
            f"the run was interrupted and continued; {outcome.transcript.lost} of its rounds lost a draw by that: they "
            "stay paid and are left out"
        )
    if outcome.exhausted:
        sentences.append(
            "the update rule ran out of hypotheses that agree with the noisy answers (an event of probability at most "
            "beta); the last one is released"
        )
    return tuple(sentences)
