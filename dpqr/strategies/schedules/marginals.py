"""Marginals: one table of all columns where it is small; else one-way marginals, a search for the blocks that they do
not tell, and a last, exact measurement of these."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain

from dpqr.privacy.accountant import Portion
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.strategies.candidates import BlockCandidates
from dpqr.strategies.plan import Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.coarsening import coarsened
from dpqr.strategies.schedules.expected_error import ExpectedError, expected_error, records_told
from dpqr.strategies.schedules.exploration import Exploration
from dpqr.strategies.schedules.gap import NOISE
from dpqr.strategies.schedules.levels import candidate_levels, joint
from dpqr.strategies.schedules.purse import Purse
from dpqr.strategies.schedules.reopening import OPENING, opening_counts, reopened
from dpqr.strategies.schedules.rounds import LARGEST_PENALTY, forecast, one_way, proved
from dpqr.strategies.schedules.stand_ins import with_stand_ins
from dpqr.strategies.schedules.standing import Batch, Standing
from dpqr.strategies.schedules.whole_table import loss, measured_once, whole_table
from dpqr.strategies.step import Step
from dpqr.strategies.transcript import Transcript
from dpqr.workload.block import QueryBlock

LAST = 0.5
"""Share of the budget that last measurements, about as many as there are attributes, are taken to get when it is asked
what noise would leave of a block."""

SELECTION = Fraction(1, 10)
"""Share of a round's budget that its selection is forecast to take."""

SEARCH = (
    "one-way marginals come first; then choices look for blocks that are further off than noise would leave them; "
    "rounds and prices follow what was released, within the budget, and the last measurements spend it"
)

LARGEST_TABLE = 2**22
"""Cells of the one table of all columns, at most (32 MiB)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginals:
    """For workloads of marginals, and of blocks that they tell: see `with_stand_ins`.

    table: cells of the one table of all columns, at most; 0: there is always a search.

    **Privacy.** Neighbours: those of the problem's unit. Every draw is a selection among blocks or a noisy answer to
    one, each with its own proof and price. Which draws are made, at what prices and how many, is a function of the
    plan and of what was released before, never of the table; the prices are shares of the budget in the accountant's
    currency, and its filter stops what would go beyond it: adaptive composition with prices chosen on the way (Rogers,
    Roth, Ullman and Vadhan 2016 for epsilon; Feldman and Zrnic 2021, Whitehouse, Ramdas, Rogers and Wu 2023 for rho).
    The plan states the sum alone, so no other theorem counts on single draws.
    """

    table: int = LARGEST_TABLE

    @property
    def name(self) -> str:
        return "marginals"

    @property
    def distinguisher(self) -> str | None:
        return None

    @property
    def adaptive(self) -> bool:
        return True

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        searching = self._searching(problem, budget, roles)
        table = whole_table(problem)
        if table.cells > self.table:
            return searching
        whole = measured_once(table, self, problem, budget, roles)
        return whole if loss(whole) <= loss(searching) else searching

    def _searching(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """On paper two rounds a column; in the run as many as what they show is worth, at prices that follow it.

        So the plan states the sum that the filter allows: no other theorem, and no ledger, may count on single draws.
        """
        opening = one_way(problem)
        rounds = max(1, min(2 * len(opening), len(joint(with_stand_ins(problem, roles.check)))))
        rest = (1 - OPENING) / rounds
        cut = roles.accountant.cut(
            budget,
            [
                Portion(share=OPENING / len(opening), count=len(opening)),
                Portion(share=rest * SELECTION, count=rounds, event=roles.distinguisher.event),
                Portion(share=rest * (1 - SELECTION), count=rounds),
            ],
        )
        events = ((_whole_of(cut[0], OPENING / len(opening)).event, 1),)
        return Plan(
            problem=problem,
            budget=budget,
            roles=roles,
            schedule=self,
            opening=opening,
            opening_price=cut[0],
            rounds=rounds,
            select=cut[1],
            measure=cut[2],
            events=events,
            epsilon=proved(roles.accountant, events, budget),
            forecast=tuple(forecast(problem, roles, block, cut[2]) for block in problem.workload.blocks),
            notes=(SEARCH,),
        )

    def next(self, plan: Plan, transcript: Transcript) -> Step | None:
        if plan.opening_price is None:
            return None
        done, first = len(transcript.rounds), len(plan.opening)
        if done < first:
            mend = done == first - 1
            return Step(candidates=plan.opening[done], select=None, measure=plan.opening_price, mend=mend)
        return _search(plan, transcript) if plan.rounds else None


def _search(plan: Plan, transcript: Transcript) -> Step | None:
    """The step after the opening: one-way marginals again, a choice, or one of the last measurements."""
    kept = transcript.kept
    if "known" not in kept:
        kept["known"], kept["again"] = _exploration(plan, transcript)
    known: Exploration = kept["known"]
    again: list[tuple[QueryBlock, float]] = kept["again"]
    done, first = len(transcript.rounds), len(plan.opening)
    start = Standing(left=1.0 - sum(known.spent), at=first + len(again))
    if done < start.at:
        block, share = again[done - first]
        return Step(candidates=(block,), select=None, measure=known.purse.price(share), mend=done == start.at - 1)
    standing, batch = known.walk(kept.get("standing", start), transcript.rounds)
    kept["standing"] = standing
    if batch is not None:
        return _choice(plan, transcript, known, standing, batch)
    last = kept["last"] = kept.get("last") or known.final(standing)
    index = done - standing.at
    if index >= len(last):
        return None
    block, share = last[index]
    return Step(candidates=(block,), select=None, measure=known.purse.price(share), mend=index == len(last) - 1)


def _choice(plan: Plan, transcript: Transcript, known: Exploration, standing: Standing, batch: Batch) -> Step:
    """One of a batch's choices, among blocks that were not measured; each block's score is lowered by the error that
    measuring it would leave. All of a batch are made against one hypothesis, which is asked once."""
    drawn = transcript.rounds[standing.at :]
    last = len(drawn) == batch.size - 1
    answers = transcript.kept.setdefault("answers", {})
    if last:
        del transcript.kept["answers"]
    taken = {block.name for block in standing.explored}
    taken |= {one.measurement.blocks[0].name for one in drawn if one.measurement is not None}
    offered = tuple(block for block in known.offered(standing.level) if block.name not in taken)
    penalties = tuple(round(min(NOISE * known.errors.at(block, batch.deviation), LARGEST_PENALTY)) for block in offered)
    return Step(
        candidates=BlockCandidates(blocks=offered, unit=plan.problem.unit, penalties=penalties, answers=answers),
        select=known.purse.price(batch.selection),
        measure=known.purse.price(batch.measurement),
        mend=last,
        compare=True,
    )


def _exploration(plan: Plan, transcript: Transcript) -> tuple[Exploration, list[tuple[QueryBlock, float]]]:
    """What the first measurements of all attributes tell of the rest; and those that are measured again before the
    search, with their shares."""
    problem = with_stand_ins(plan.problem, plan.roles.check)
    levels = candidate_levels(problem)
    singles = tuple(candidate[0] for candidate in plan.opening)
    counts = opening_counts(plan, transcript)
    told = tuple((axis, values.tobytes()) for axis, values in counts.items())
    assert plan.opening_price is not None
    purse = Purse.of(plan.roles, problem.unit, singles[0], _whole_of(plan.opening_price, OPENING / len(singles)))
    records = max(1.0, float(problem.n or records_told(counts)))
    errors: ExpectedError = expected_error((*chain(*levels), *singles), told)
    coarse = coarsened(levels[0], counts, errors, records, purse.bought(LAST / len(singles))) if levels else ()
    known = Exploration(
        levels=levels,
        coarse=coarse,
        singles=singles,
        asked=problem.workload.blocks,
        errors=errors.joined(expected_error(coarse, told)) if coarse else errors,
        purse=purse,
        records=records,
        spent=(float(OPENING) / len(singles),) * len(singles),
    )
    again = reopened(known)
    spent = tuple(old + new for old, new in zip(known.spent, again, strict=True))
    return replace(known, spent=spent), [(block, share) for block, share in zip(singles, again, strict=True) if share]


def _whole_of(price: Price, share: Fraction) -> Price:
    """What `price` is `share` of."""
    return Price(epsilon=price.pure / share) if price.rho is None else Price(rho=price.rho / share)
