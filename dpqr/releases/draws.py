"""Draws: a run's only access to the private counts. Every draw is journalled, paid, made and recorded, in this order,
or taken from the journal of a run that is continued.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeVar, final

import numpy as np
from msgspec import Struct, field

from dpqr.domain.histogram import Counts
from dpqr.kernel.accountants.accountant import Accountant, PrivacyFilter
from dpqr.kernel.arrays import IntArray
from dpqr.kernel.budget import Price
from dpqr.kernel.events import Composition, PrivacyEvent
from dpqr.kernel.gate import Mechanism, measure
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.sealed import Private
from dpqr.kernel.values import replace
from dpqr.mechanisms.block_errors import GaussianErrors, LaplaceErrors
from dpqr.mechanisms.noisy_answers import for_dropped_records
from dpqr.models.hypothesis import Hypothesis
from dpqr.strategies.candidates import Candidate
from dpqr.strategies.plan import Plan
from dpqr.strategies.schedules.split import DROPPED
from dpqr.strategies.transcript import Step
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

# Journal: where a run keeps its draws as they are made, so that it can be continued after a crash.

Plain = int | list[list[int]]
"""A drawn value as JSON holds it: the index of a choice, or the noisy answers of every block."""
Blocks = tuple[QueryBlock, ...]


class RecordedDraw(Struct, frozen=True, kw_only=True):
    """A draw that was begun before. value: what it released; None: that was lost in a crash, and is not drawn anew."""

    value: Plain | None


class Journal(Protocol):
    """Draws in their order.

    Privacy:
        A draw is begun before it is made and counts as spent from then on, whatever becomes of it; nothing may depend
        on its value or show it before `record` has returned. A draw of the past is taken as it was released and never
        made a second time: else one could draw until the answer pleases.
    """

    def past(self, event: PrivacyEvent, blocks: Blocks) -> RecordedDraw | None:
        """The next draw, which must be of this event and these blocks (none, if it chooses), as it was; None: it is
        still to be made."""
        ...

    def begin(self, event: PrivacyEvent, blocks: Blocks) -> None:
        """The draw is about to be made. Durable on return."""
        ...

    def record(self, value: Plain) -> None:
        """The draw that was begun released this. Durable on return."""
        ...


@final
class NoJournal(Struct, frozen=True):
    """No journal: a run that dies is lost with all that it has paid."""

    def past(self, event: PrivacyEvent, blocks: Blocks) -> None:
        return None

    def begin(self, event: PrivacyEvent, blocks: Blocks) -> None:
        """Nothing is written."""

    def record(self, value: Plain) -> None:
        """Nothing is written."""


Out = TypeVar("Out")


class Choice(Struct, frozen=True, kw_only=True):
    """The blocks that a step measures.

    candidate: the blocks; None if the choice was lost in a crash. index: their position among the step's candidates;
    None if nothing was drawn. charges: numbers of the events that paid for the choice.
    """

    candidate: Candidate | None
    index: int | None = None
    charges: tuple[int, ...] = ()


class PaidDraw(Struct, Generic[Out], frozen=True, kw_only=True):
    """A paid draw. value: what was released; None if it was lost in a crash. charge: number of the event that paid."""

    value: Out | None
    charge: int


class Draws(Struct, frozen=True, kw_only=True):
    """The sealed counts, with the accountant, noise source and journal that every draw from them uses.

    left_out: whether these are the records that the domain's rules left out. No other draw of the run reads them, so
    their price is composed in parallel (`in_parallel`).
    """

    data: Private[Counts]
    accountant: PrivacyFilter
    noise: NoiseSource
    journal: Journal = field(default_factory=NoJournal)
    left_out: bool = False

    def of_left_out(self, data: Private[Counts]) -> Draws:
        """Draws from the left-out records in the same run, composed in parallel if the privacy unit allows it."""
        return replace(self, data=data, left_out=True)

    def of_persons(self, data: Private[Counts]) -> Draws:
        """Draws from the tables of persons in the same run: of one person they move as the others do, so prices add
        up."""
        return replace(self, data=data)

    def choose(self, plan: Plan, step: Step, hypothesis: Hypothesis) -> Choice:
        """Select the candidate to measure. A single candidate is taken as it is, without a draw or a charge."""
        candidates = step.candidates
        if isinstance(candidates, tuple) or step.select is None:
            return Choice(candidate=step.only)
        mechanism = plan.roles.distinguisher.mechanism(candidates.scores(hypothesis), plan.problem.unit, step.select)
        drawn = self._drawn(mechanism, (), lambda index: index, _index)
        chosen = None if drawn.value is None else candidates[drawn.value]
        return Choice(candidate=chosen, index=drawn.value, charges=(drawn.charge,))

    def measure(self, plan: Plan, blocks: Candidate, price: Price) -> PaidDraw[Measurement]:
        """Measure all blocks in one draw of noisy answers."""
        unit, check = plan.problem.unit, plan.roles.check
        law, mechanism = check.law(blocks, unit, price), check.mechanism(blocks, unit, price)
        charged = for_dropped_records(mechanism, unit) if self.left_out else mechanism

        def kept(measured: Measurement) -> Plain:
            return [values.tolist() for values in measured.values]

        def remade(plain: Plain) -> Measurement:
            if isinstance(plain, int):
                raise TypeError("not answers")
            values = tuple(np.array(each, dtype=np.int64) for each in plain)
            return Measurement(blocks=blocks, values=values, law=law)

        return self._drawn(charged, blocks, kept, remade)

    def errors(self, mechanism: LaplaceErrors | GaussianErrors) -> PaidDraw[IntArray]:
        """Noisy L1 errors of released answers."""
        return self._drawn(mechanism, mechanism.errors.blocks, lambda values: [values.tolist()], _integers)

    def error_sum(self, mechanism: LaplaceErrors | GaussianErrors) -> PaidDraw[IntArray]:
        """The noisy L1 error of one group of blocks, measured within the loop. The journal keeps one integer."""
        return self._drawn(mechanism, (), lambda values: int(values[0]), lambda plain: np.array([_index(plain)]))

    def _drawn(
        self,
        mechanism: Mechanism[Any, Out],
        blocks: Blocks,
        encode: Callable[[Out], Plain],
        decode: Callable[[Plain], Out],
    ) -> PaidDraw[Out]:
        """Make one draw, or take it from the journal of the run that is continued.

        A journalled draw is charged to this run's filter too, which starts at zero. The ledger has paid for it already.
        """
        past = self.journal.past(mechanism.event, blocks)
        if past is not None:
            charge = self.accountant.charge(mechanism.event)
            return PaidDraw(value=None if past.value is None else decode(past.value), charge=charge)
        self.journal.begin(mechanism.event, blocks)
        drawn = measure(self.data, mechanism, accountant=self.accountant, noise=self.noise)
        self.journal.record(encode(drawn.value))
        return PaidDraw(value=drawn.value, charge=drawn.charge)


def _index(plain: Plain) -> int:
    if not isinstance(plain, int):
        raise TypeError("not an index")
    return plain


def _integers(plain: Plain) -> IntArray:
    if isinstance(plain, int):
        raise TypeError("not one list of integers")
    (values,) = plain
    return np.array(values, dtype=np.int64)


# The noisy count of the records that were left out: how a curator learns of a wrong domain file, at a price.


class DroppedCount(Struct, frozen=True, kw_only=True):
    """What was released of it. charge: number of the event that paid."""

    measurement: Measurement
    charge: int

    @property
    def estimate(self) -> int:
        """Unbiased, so it may be negative."""
        return int(self.measurement.values[0][0])

    @property
    def deviation(self) -> float:
        """Standard deviation of its noise, in records."""
        return self.measurement.law.deviation


def count_dropped(dropped: Draws, plan: Plan) -> DroppedCount | None:
    """One draw at the price that the plan has set aside; None where it bought no count, or a crash has lost it.

    dropped: draws from the records that were left out.

    Privacy:
        These are, of each unit, at most K records that the domain's rules or the bound on a person's rows left out.
        *Add-remove:* one unit comes or goes with at most K of them. *Replace:* at most K take the place of at most K.
        So the count moves by at most K under either relation, which is what `sensitivity` gives for `DROPPED`, and the
        draw is a noisy answer like any other (LaplaceAnswers, GaussianAnswers). The clipped number of a person's
        dropped rows is a function of that person's rows alone: it does not depend on which rows were drawn to be kept.
        Beside the draws from the kept records it costs nothing where a unit lies in one part alone, and its own price
        elsewhere: see `Split`.
    """
    price = plan.price("left out")
    if price is None:
        return None
    drawn = dropped.measure(plan, (DROPPED,), price)
    return None if drawn.value is None else DroppedCount(measurement=drawn.value, charge=drawn.charge)


# The tables of persons: measured once, before the loop, which does not see them.


class MeasuredPersons(Struct, frozen=True, kw_only=True):
    """What was released of the tables of persons. charge: number of the event that paid."""

    measurement: Measurement
    charge: int


def measure_persons(persons: Draws, plan: Plan) -> MeasuredPersons | None:
    """One draw of all tables of persons at the plan's price; None where it asks for none, or a crash has lost it.

    persons: draws from the tables of persons.

    Privacy:
        A person counts once in a cell and in at most C cells of each table (`PersonTally`), so all tables together move
        by what `sensitivity` gives for them, and the draw is a noisy answer like any other (LaplaceAnswers,
        GaussianAnswers). Its own price is a portion of the budget: see `Split`.
    """
    price = plan.price("persons")
    if price is None:
        return None
    drawn = persons.measure(plan, plan.persons, price)
    return None if drawn.value is None else MeasuredPersons(measurement=drawn.value, charge=drawn.charge)


# Costs: what each phase of a run is priced at under every theorem. Public: a plan's events, and no draw's outcome.

Costs = Mapping[str, Mapping[str, Fraction | None]]
"""Phase -> accountant -> epsilon at the plan's delta; None where the theorem does not cover the phase."""


def phases(plan: Plan) -> dict[str, Composition]:
    """The plan's events by what they are for, in the order in which they are drawn.

    A search, whose prices follow what is released, is one phase with all its draws. The stop test is no phase: it
    compares what a measurement released, and that is paid for.
    """
    found: dict[str, Composition] = {}
    for phase in plan.phases:
        if phase.events:
            found[phase.noun] = (*found.get(phase.noun, ()), *phase.events)
    return found


def priced_phases(plan: Plan, accountants: Mapping[str, Accountant]) -> Costs:
    """Every phase by itself. Only sums add up to the total: the other theorems gain from many draws together."""
    return {
        phase: {name: one.epsilon(events, plan.budget.delta) for name, one in accountants.items()}
        for phase, events in phases(plan).items()
    }
