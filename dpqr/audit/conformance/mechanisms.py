"""Mechanisms: distinguishers and checks under attack on tiny tables, as `dpqr audit` attacks the house's own.

Draws go through the gate with the operating system's noise. Each statistical line is wrong with a probability of at
most `ALARM`, whatever the strategy is.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec import Struct

from dpqr.audit.attack import attack, lower_limits
from dpqr.audit.case import Case, MechanismTrial, Pair, worst_pair
from dpqr.audit.conformance.cases import frozen_faults
from dpqr.domain.histogram import Counts, DenseHistogram
from dpqr.kernel.arrays import IntArray
from dpqr.kernel.budget import Price
from dpqr.kernel.noise.source import SystemNoise
from dpqr.kernel.plugins import lacking
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.models.hypothesis import DenseDistribution
from dpqr.strategies.checks import Check
from dpqr.strategies.distinguishers import Distinguisher
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.workload import Measurement

ALARM = 1e-9
RUNS = 4000
SIZE = 3
PRICE, RHO, DELTA = Fraction(1), Fraction(1, 2), Fraction(1, 1000)
BETA = 0.05
BLOCKS = (
    QueryBlock(name="cells", factors=(Factor.identity(0, SIZE),)),
    QueryBlock(name="up to", factors=(Factor(axes=(0,), sizes=(SIZE,), matrix=Prefix(SIZE), labels=("1", "2", "3")),)),
)


class CellCountScores(Struct, frozen=True, kw_only=True):
    """Scores: how many records each cell has. One record, more, less or another, moves each by one at most."""

    def __len__(self) -> int:
        return SIZE

    def sensitivity(self, unit: PrivacyUnit) -> int:
        return 1

    def evaluate(self, counts: Counts) -> IntArray:
        return BLOCKS[0].answer(counts)


def distinguisher_faults(distinguisher: Any) -> Iterator[str]:
    """One line a fault: protocol, price, privacy, shortfall."""
    lack = lacking(Distinguisher, distinguisher)
    if lack is not None:
        yield f"protocol: the distinguisher {lack}"
        return
    yield from frozen_faults(distinguisher)
    price = Price(epsilon=PRICE)
    for unit in _units():
        mechanism = distinguisher.mechanism(CellCountScores(), unit, price)
        if mechanism.event != distinguisher.event(price):
            yield f"event: a draw is charged as {mechanism.event}, and planned as {distinguisher.event(price)}"
        tables: Pair = (DenseHistogram(np.array([5, 4, 0])), DenseHistogram(np.array([4, 4, 0])))
        if unit.neighbours is Neighbours.REPLACE:
            tables = tables[0], DenseHistogram(np.array([4, 5, 0]))
        draws = MechanismTrial(mechanisms=(mechanism,))
        yield from _attacked(draws, tables, unit, price)
        if unit.neighbours is Neighbours.REPLACE:
            # How often a draw falls further behind the largest score than F.
            far = distinguisher.shortfall(SIZE, 1, price, Fraction(BETA))
            scores = BLOCKS[0].answer(DenseHistogram(np.array([9, 4, 0])))
            case = Case(name="conformance", what="", pair=(DenseHistogram(scores), tables[1]), trial=draws)
            drawn = case.outcomes(0, RUNS, SystemNoise()).measured[:, 0]
            behind = int((scores.max() - scores[drawn] > far).sum())
            if lower_limits(np.array([behind]), RUNS, ALARM)[0] > BETA:
                yield f"shortfall: {behind} of {RUNS} draws fall more than {far:.3g} behind, and {BETA:g} of them may"


def check_faults(check: Any) -> Iterator[str]:
    """One line a fault: protocol, price, privacy, the law that it states, the stop test."""
    lack = lacking(Check, check)
    if lack is not None:
        yield f"protocol: the check {lack}"
        return
    yield from frozen_faults(check)
    price = Price(epsilon=PRICE) if check.pure else Price(rho=RHO)
    for unit in _units():
        mechanism = check.mechanism(BLOCKS, unit, price)
        if mechanism.event != check.event(BLOCKS, unit, price):
            yield f"event: a draw is charged as {mechanism.event}, and planned as {check.event(BLOCKS, unit, price)}"
        draws = MechanismTrial(mechanisms=(mechanism,), delta=Fraction(0) if check.pure else DELTA)
        tables = worst_pair(BLOCKS, (SIZE,), unit, 1 if check.pure else 2)
        yield from _attacked(draws, tables, unit, price)
        # How often the noise of an answer is beyond the tail that its law states.
        law = check.law(BLOCKS, unit, price)
        case = Case(name="conformance", what="", pair=tables, trial=draws)
        measured = case.outcomes(0, RUNS, SystemNoise()).measured
        truth = np.concatenate([block.answer(tables[0]) for block in BLOCKS])
        beyond = int((np.abs(measured[:, 0] - truth[0]) > law.tail(BETA)).sum())
        if lower_limits(np.array([beyond]), RUNS, ALARM)[0] > BETA:
            yield f"law: {beyond} of {RUNS} draws lie beyond its tail of {BETA:g}, under {unit.neighbours.value}"
    # Its stop test: met where the hypothesis answers what was measured, and not where it is further off than the
    # threshold.
    query = BLOCKS[0].row(0)
    for value, met in ((20, True), (50, False), (-10, False)):
        law = check.law((query,), PrivacyUnit(), price)
        stated = Measurement(blocks=(query,), values=(np.array([value]),), law=law)
        if check.satisfied(stated, DenseDistribution.uniform((SIZE,), 60.0), Fraction(15)) is not met:
            yield f"satisfied: not {met} for {value} against 20 and a threshold of 15"


def _units() -> Iterator[PrivacyUnit]:
    return (PrivacyUnit(neighbours=relation) for relation in Neighbours)


def _attacked(draws: MechanismTrial, tables: Pair, unit: PrivacyUnit, price: Price) -> Iterator[str]:
    """What is charged against the price, and what is lost against what is charged."""
    ((event, _),) = draws.events
    allowed = price.figure
    if draws.cost(event) > allowed:
        yield f"price: {float(draws.cost(event)):.4g} is charged where {float(allowed):.4g} may be"
    case = Case(name="conformance", what="", pair=tables, trial=draws)
    one, two = (case.outcomes(side, RUNS, SystemNoise()) for side in (0, 1))
    loss = attack(one, two, draws.claim, ALARM)
    if loss.breach:
        yield (
            f"privacy: epsilon {loss.epsilon:.3g} is lost under {unit.neighbours.value}, and the event claims "
            f"{float(draws.claim.epsilon):.3g}"
        )
