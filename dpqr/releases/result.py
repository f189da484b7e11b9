"""Release: what a run gives away. It has no field that could hold a private value."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from msgspec import Struct, field

from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.events import Composition
from dpqr.kernel.values import replace
from dpqr.ledger.ledger import NO_REASON, Reason, Reservation
from dpqr.models.compound import ModelAverage, ProductDistribution, RefinedDistribution
from dpqr.models.hypothesis import Hypothesis, Unbiased, prepare
from dpqr.releases.answers.answered import BlockAnswers, Earlier, distance_errors
from dpqr.releases.answers.errors import ErrorBars, error_bars
from dpqr.releases.answers.figures import FigureAnswers, FunctionErrors, figure_answers
from dpqr.releases.answers.noisy import (
    BETA,
    LEVEL,
    Noisy,
    assembled_answers,
    is_answered_alone,
    measured_answers,
    summed_answers,
    summed_tests,
    unbiased_answers,
)
from dpqr.releases.answers.refits import bucket_margins
from dpqr.releases.consistent import require_answers
from dpqr.releases.draws import Costs, DroppedCount, MeasuredPersons
from dpqr.releases.error_bounds import SLACK, BlockErrors, Certificate, ErrorBounds, certify, error_bounds
from dpqr.releases.loop import Outcome, released_hypothesis
from dpqr.releases.questions import Questions
from dpqr.strategies.plan import Explaining, Plan
from dpqr.strategies.transcript import Transcript
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement


class FinishedRun(Struct, frozen=True, kw_only=True, eq=False):
    """Answers, the hypothesis behind them, the public transcript, the plan, and what was spent.

    spent: epsilon at the plan's delta under every accountant (None: the theorem does not cover the events); the
    guarantee is the plan's budget, whichever of them is smaller. costs: the same for each phase by itself.
    events: what was charged, draw by draw; empty: the plan's events, all of them.
    dropped: the noisy count of the records that were left out, where it was bought.
    persons: the noisy tables of persons, where they were asked for; their answers are the last of `answers`.
    errors: noisy L1 errors of the answers, of the blocks that were left unmeasured or of all, where they were bought.
    figures: what is computed from the answers.
    bounds: on these errors, where they were bought.
    private: False if the noise came from a test source; such a release protects nobody.
    paid: what a ledger had set aside for it; None: no ledger was used. charged: what it keeps of that, in the ledger's
    currency; empty: all.
    reason: why it was made, and who asked. date: the UTC day on which it was begun, and publisher: whose it is; empty:
    not stated. planned: SHA-256 of the plan's document, by which ledger and record name it.
    rehearsed: how many rows were drawn from the public domain in place of a table; None: a table was read.
    earlier: of a counter, the cumulative answers that those of this release are added to; None: there are none.
    questions: of a session, what its answers follow from.
    """

    # What was planned and drawn, and what follows from it.
    plan: Plan
    transcript: Transcript
    hypothesis: Hypothesis
    answers: tuple[BlockAnswers, ...]
    figures: tuple[FigureAnswers, ...] = ()
    trust: tuple[str, ...]
    # Accuracy.
    certificate: Certificate | None
    dropped: DroppedCount | None = None
    persons: MeasuredPersons | None = None
    errors: BlockErrors | None = None
    bars: ErrorBars = field(default_factory=ErrorBars)
    bounds: ErrorBounds | None = None
    # What it cost.
    private: bool
    events: Composition = ()
    spent: dict[str, Fraction | None]
    costs: Costs = field(default_factory=dict)
    paid: Reservation | None = None
    charged: str = ""
    # Where it comes from.
    reason: Reason = NO_REASON
    date: str = ""
    publisher: str = ""
    planned: str = ""
    rehearsed: int | None = None
    earlier: Earlier | None = None
    questions: Questions | None = None

    @property
    def rehearsal(self) -> bool:
        return self.rehearsed is not None


def assemble(
    plan: Plan,
    outcome: Outcome,
    spent: dict[str, Fraction | None],
    *,
    private: bool,
    events: Composition = (),
    dropped: DroppedCount | None = None,
    persons: MeasuredPersons | None = None,
    costs: Costs | None = None,
    paid: Reservation | None = None,
) -> FinishedRun:
    """A release from public and released parts. Privacy: post-processing."""
    transcript, history = outcome.transcript, outcome.transcript.measurements
    direct, assembled = measured_answers(plan, transcript), assembled_answers(plan, transcript)
    shown = released_hypothesis(plan, outcome)
    prepare(shown, plan.problem.workload.blocks)
    summed = summed_answers(plan, history)
    answers = sound_answers(plan, shown, direct | assembled, summed, history)
    unknown = [each for each in answers if np.isnan(each.error).any()]
    known = distance_errors(unknown, history)
    bars = error_bars(plan, outcome, shown, [each.block for each in unknown], known, tests_of(plan, direct))
    certificate = certify(plan, transcript)
    bound = certificate.records * SLACK if certificate and plan.problem.beta <= 1 - LEVEL else math.nan
    answers = tuple(replace(each.with_error(bars.each, summed), bound=bound) for each in answers)
    tested = partial(tested_errors, plan=plan, hypothesis=shown, history=history, errors=bars.tests, summed=summed)
    people = person_answers(persons)
    named = {each.block.name: each for each in people}  # none where a crash has lost their draw
    of_persons = plan.problem.workload.person_figures if people else ()
    estimates = {each.block.name: each.estimate / float(each.block.scale) for each in answers}
    return FinishedRun(
        plan=plan,
        answers=(*answers, *people),
        figures=(
            *figures_of(plan, answers, direct, tested),
            *(figure_answers(figure, named, named, {}) for figure in of_persons),
        ),
        hypothesis=shown,
        transcript=transcript,
        certificate=certificate,
        spent=spent,
        trust=_trust(plan, outcome, private=private, lost=persons is None and bool(plan.persons)),
        private=private,
        events=events,
        dropped=dropped,
        persons=persons,
        errors=outcome.errors,
        bars=bars,
        bounds=error_bounds(plan, outcome.errors, estimates),
        costs=costs or {},
        paid=paid,
    )


def sound_answers(
    plan: Plan,
    shown: Hypothesis,
    measured: Mapping[str, Noisy],
    summed: Mapping[str, Noisy],
    history: Sequence[Measurement],
) -> tuple[BlockAnswers, ...]:
    """Of all blocks. Raises: DpqrError where a third party's rule answers with something else than numbers."""
    tables = {frozenset(block.axes) for one in history for block in one.blocks}
    answers, known = [], isinstance(shown, Unbiased)
    for block in plan.problem.workload.blocks:
        estimate = np.asarray(shown.answer(block), dtype=np.float64) * float(block.scale)
        alone = known and is_answered_alone(plan, block, tables)
        unbiased = unbiased_answers(block, shown, estimate, history) if alone else None
        noisy = measured.get(block.name) or unbiased or summed.get(block.name) or Noisy.absent(block.rows)
        error = unbiased.deviation if unbiased else np.broadcast_to(np.nan, (block.rows,))
        answers.append(BlockAnswers(block=block, estimate=estimate, error=error, noisy=noisy))
    for each in answers:
        require_answers(shown, each.estimate / float(each.block.scale), plan.roles.update.name, each.block)
    return tuple(answers)


def person_answers(persons: MeasuredPersons | None) -> tuple[BlockAnswers, ...]:
    """The tables of persons as measured, none below zero: that moves an estimate towards the truth alone, so its error
    is at most the noise's. Intervals are of the noise alone. Privacy: post-processing of one draw."""
    if persons is None:
        return ()
    drawn, found = persons.measurement, []
    for block, whole in zip(drawn.blocks, drawn.values, strict=True):
        scale = float(block.scale)
        values = whole.astype(np.float64) * scale
        deviation = np.full(block.rows, drawn.law.deviation * scale)
        margin = np.full(block.rows, drawn.law.tail(BETA) * scale)
        noisy = Noisy(values=values, deviation=deviation, margin=margin)
        found.append(BlockAnswers(block=block, estimate=np.maximum(values, 0.0), error=deviation, noisy=noisy))
    return tuple(found)


def tests_of(plan: Plan, direct: Collection[str]) -> dict[str, QueryBlock]:
    """Functions of answers that figures need, by the name of their block; of those that were measured, none."""
    figures = plan.problem.workload.figures
    return {one.blocks[0]: one.tested for one in figures if one.tested and one.blocks[0] not in direct}


def figures_of(
    plan: Plan,
    answers: Sequence[BlockAnswers],
    direct: Collection[str],
    tested: Callable[[str, QueryBlock], FunctionErrors],
) -> tuple[FigureAnswers, ...]:
    """The figures of a plan's workload. direct: blocks that were measured. tested: what is known of their functions."""
    named = {each.block.name: each for each in answers}
    known = {name: tested(name, block) for name, block in tests_of(plan, direct).items()}
    return tuple(figure_answers(figure, named, direct, known) for figure in plan.problem.workload.figures)


def tested_errors(
    name: str,
    block: QueryBlock,
    *,
    plan: Plan,
    hypothesis: Hypothesis,
    history: Sequence[Measurement],
    errors: Mapping[str, FloatArray],
    summed: Mapping[str, Noisy],
) -> FunctionErrors:
    """What is known of functions of a block's answers. name: of the block. errors: by refits, by the name of `block`.
    summed: answers as sums of a measured table's cells, by the block's name."""
    deviations = hypothesis.deviations(block) if isinstance(hypothesis, Unbiased) else None
    estimated = errors.get(block.name) if deviations is None else deviations * float(block.scale)
    sums = summed_tests(plan, history, block) if name in summed else None
    if sums is None:
        merged = bucket_margins(block, hypothesis, history) if deviations is None else None
        return FunctionErrors(estimated=estimated, hidden=merged)
    return FunctionErrors(estimated=estimated, values=summed[name].values, summed=sums[0], factor=sums[1])


def _trust(plan: Plan, outcome: Outcome, *, private: bool, lost: bool = False) -> tuple[str, ...]:
    """What a reader must know before relying on the figures. lost: whether the tables of persons were drawn in vain."""
    reasons = plan.schedule.reasons(plan, outcome.transcript) if isinstance(plan.schedule, Explaining) else ()
    model = outcome.hypothesis.model if isinstance(outcome.hypothesis, ProductDistribution) else outcome.hypothesis
    model = model.model if isinstance(model, RefinedDistribution) else model
    averaged = (model.words,) if isinstance(model, ModelAverage) else ()
    sentences = [*plan.notes, *reasons, *averaged, *plan.roles.update.trust]
    if not private:
        sentences.insert(0, "NOT PRIVATE: the noise came from a repeatable test source")
    if outcome.transcript.lost:
        sentences.append(
            f"the run was interrupted and continued; {outcome.transcript.lost} of its rounds lost a draw by that: they "
            "stay paid and are left out"
        )
    if lost:
        sentences.append(
            "the run was interrupted while it counted persons, and continued; the tables of persons stay paid and are "
            "not in the release"
        )
    if outcome.transcript.lost and not outcome.transcript.measurements:
        sentences.append("nothing was measured: the estimates are those of an empty start, not of the table")
    if outcome.exhausted:
        proved = plan.stop is None or plan.stop.promise == "proved"
        odds = " (an event of probability at most beta)" if proved else ""
        sentences.append(
            f"the update rule ran out of hypotheses that agree with the noisy answers{odds}; the last one is released"
        )
    return tuple(sentences)
