"""Draws: a run's only access to the private counts. Every draw is journalled, paid, made and recorded, in this order,
or taken from the journal of a run that is continued."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np

from dpqr.construction.journal import Blocks, Journal, Plain, Unkept
from dpqr.data.arrays import IntArray
from dpqr.data.histogram import Counts
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.mechanisms.block_errors import GaussianErrors, LaplaceErrors
from dpqr.mechanisms.noisy_answers import on_left_out
from dpqr.noise.law import NoiseLaw
from dpqr.noise.source import NoiseSource
from dpqr.privacy.accountant import PrivacyFilter
from dpqr.privacy.budget import Price
from dpqr.privacy.gate import Mechanism, measure
from dpqr.privacy.sealed import Private
from dpqr.strategies.candidates import Candidate
from dpqr.strategies.plan import Plan
from dpqr.strategies.transcript import Step
from dpqr.workload.workload import Measurement

Out = TypeVar("Out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The blocks that a step measures.

    candidate: the blocks; None if the choice was lost in a crash. index: their position among the step's candidates;
    None if nothing was drawn. charges: numbers of the events that paid for the choice.
    """

    candidate: Candidate | None
    index: int | None = None
    charges: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn(Generic[Out]):
    """A paid draw. value: what was released; None if it was lost in a crash. charge: number of the event that paid."""

    value: Out | None
    charge: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """The sealed counts, with the accountant, noise source and journal that every draw from them uses.

    left_out: whether these are the records that the domain's rules left out. No other draw of the run reads them, so
    their price is composed in parallel (`in_parallel`).

    >>> from fractions import Fraction
    >>> from dpqr.data.histogram import DenseHistogram
    >>> from dpqr.noise.source import SystemNoise
    >>> from dpqr.privacy.accountants.filters import SumFilter, require_pure
    >>> kept, left_out = (Private(DenseHistogram(np.array(counts))) for counts in ([40, 60], [3, 0]))
    >>> guard = SumFilter(limit=Fraction(1), cost=require_pure, unit="epsilon")
    >>> draws = Draws(data=kept, accountant=guard, noise=SystemNoise())
    >>> draws.left_out, draws.of_left_out(left_out).left_out
    (False, True)
    """

    data: Private[Counts]
    accountant: PrivacyFilter
    noise: NoiseSource
    journal: Journal = field(default_factory=Unkept)
    left_out: bool = False

    def of_left_out(self, data: Private[Counts]) -> Draws:
        """Draws from the left-out records in the same run, composed in parallel if the privacy unit allows it."""
        return replace(self, data=data, left_out=True)

    def choose(self, plan: Plan, step: Step, hypothesis: Hypothesis) -> Choice:
        """Select the candidate to measure. A single candidate is taken as it is, without a draw or a charge."""
        candidates = step.candidates
        if isinstance(candidates, tuple) or step.select is None:
            return Choice(candidate=step.only)
        mechanism = plan.roles.distinguisher.mechanism(candidates.scores(hypothesis), plan.problem.unit, step.select)
        drawn = self._drawn(mechanism, (), lambda index: index, _index)
        chosen = None if drawn.value is None else candidates[drawn.value]
        return Choice(candidate=chosen, index=drawn.value, charges=(drawn.charge,))

    def measure(self, plan: Plan, blocks: Candidate, price: Price) -> Drawn[Measurement]:
        """Measure all blocks in one draw of noisy answers."""
        unit, check = plan.problem.unit, plan.roles.check
        law, mechanism = check.law(blocks, unit, price), check.mechanism(blocks, unit, price)
        charged = on_left_out(mechanism, unit) if self.left_out else mechanism
        return self._drawn(charged, blocks, _values, lambda plain: _measurement(plain, blocks, law))

    def errors(self, mechanism: LaplaceErrors | GaussianErrors) -> Drawn[IntArray]:
        """Noisy L1 errors of released answers."""
        return self._drawn(mechanism, mechanism.errors.blocks, lambda values: [values.tolist()], _integers)

    def error_sum(self, mechanism: LaplaceErrors | GaussianErrors) -> Drawn[IntArray]:
        """The noisy L1 error of one group of blocks, measured within the loop. The journal keeps one integer."""
        return self._drawn(mechanism, (), lambda values: int(values[0]), lambda plain: np.array([_index(plain)]))

    def _drawn(
        self,
        mechanism: Mechanism[Any, Out],
        blocks: Blocks,
        encode: Callable[[Out], Plain],
        decode: Callable[[Plain], Out],
    ) -> Drawn[Out]:
        """Make one draw, or take it from the journal of the run that is continued.

        A journalled draw is charged to this run's filter too, which starts at zero. The ledger has paid for it already.
        """
        past = self.journal.past(mechanism.event, blocks)
        if past is not None:
            charge = self.accountant.charge(mechanism.event)
            return Drawn(value=None if past.value is None else decode(past.value), charge=charge)
        self.journal.begin(mechanism.event, blocks)
        drawn = measure(self.data, mechanism, accountant=self.accountant, noise=self.noise)
        self.journal.record(encode(drawn.value))
        return Drawn(value=drawn.value, charge=drawn.charge)


def _index(plain: Plain) -> int:
    if not isinstance(plain, int):
        raise TypeError("not an index")
    return plain


def _values(measured: Measurement) -> Plain:
    return [values.tolist() for values in measured.values]


def _integers(plain: Plain) -> IntArray:
    if isinstance(plain, int):
        raise TypeError("not one list of integers")
    (values,) = plain
    return np.array(values, dtype=np.int64)


def _measurement(plain: Plain, blocks: Candidate, law: NoiseLaw) -> Measurement:
    if isinstance(plain, int):
        raise TypeError("not answers")
    values = tuple(np.array(each, dtype=np.int64) for each in plain)
    return Measurement(blocks=blocks, values=values, law=law)
