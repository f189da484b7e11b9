"""Case: two neighbouring databases, what is run on both, its claim, and the outcomes of many runs.

The databases are tiny, and their neighbours are the worst of all that there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, log1p
from typing import Any, Protocol

import numpy as np
from msgspec import Struct

from dpqr.audit.law import Laws, NumberLaw
from dpqr.domain.histogram import Counts, DenseHistogram
from dpqr.kernel.accountants.accountant import Accountant, SumFilter, in_parallel, require_pure
from dpqr.kernel.accountants.losses import concentrated_rho
from dpqr.kernel.accountants.sums import Basic, total_rho, zcdp_to_epsilon
from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import (
    AboveThresholdEvent,
    Composition,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    Draw,
    ExponentialEvent,
    GaussianObjectiveEvent,
    LeftOutEvent,
    MuSumEvent,
    PermuteAndFlipEvent,
    PerturbedObjectiveEvent,
    PrivacyEvent,
    PureSumEvent,
    RhoSumEvent,
    RoundedGaussianEvent,
    SphericalLaplaceEvent,
)
from dpqr.kernel.gate import Mechanism, measure
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

Numbers = tuple[int, ...]
PublicOutcome = tuple[Numbers, Numbers, Numbers]
"""One run's outcome: context, measured, derived; see `Outcomes`."""


class Outcomes(Struct, frozen=True, kw_only=True, eq=False):
    """One row a run; shapes (runs, any).

    Attributes:
        context: what the meaning of the measured numbers hangs on (choices made, whether the run stopped).
        measured: numbers that are independent of each other given the context, as far as anybody knows.
        derived: what the run computed from those and gave away too. It should add no information: that is the test.
    """

    context: IntArray
    measured: IntArray
    derived: IntArray

    @classmethod
    def of(cls, shown: Sequence[PublicOutcome]) -> Outcomes:
        context, measured, derived = ([one[part] for one in shown] for part in range(3))
        return cls(context=_rows(context), measured=_rows(measured), derived=_rows(derived))

    @classmethod
    def joined(cls, parts: Iterable[Outcomes]) -> Outcomes:
        kept = list(parts)
        return cls(
            context=np.concatenate([part.context for part in kept]),
            measured=np.concatenate([part.measured for part in kept]),
            derived=np.concatenate([part.derived for part in kept]),
        )

    def __len__(self) -> int:
        return len(self.context)

    def halves(self) -> tuple[Outcomes, Outcomes]:
        """The first half of the runs and as many of the others."""
        half = len(self) // 2
        return self._part(0, half), self._part(half, 2 * half)

    def _part(self, start: int, stop: int) -> Outcomes:
        parts = (self.context, self.measured, self.derived)
        context, measured, derived = (rows[start:stop] for rows in parts)
        return Outcomes(context=context, measured=measured, derived=derived)


def _rows(numbers: list[Numbers]) -> IntArray:
    return np.array(numbers, dtype=np.int64).reshape(len(numbers), len(numbers[0]))


Pair = tuple[Counts, Counts]


class Trial(Protocol):
    """What is attacked. It sees a sealed database and reaches it through the gate, as the product does."""

    @property
    def claim(self) -> Claim:
        """What one run claims to cost, from the events that it is charged for."""
        ...

    def run(self, database: Private[Counts], noise: NoiseSource) -> PublicOutcome:
        """One run; all that it gives away."""
        ...


class AuditedCase(Protocol):
    """What an audit needs of a case; the fields are those of `Case`."""

    @property
    def name(self) -> str: ...

    @property
    def what(self) -> str: ...

    @property
    def work(self) -> int: ...

    @property
    def brief(self) -> int | None: ...

    @property
    def laws(self) -> tuple[Laws, Laws] | None: ...

    @property
    def claim(self) -> Claim: ...

    def outcomes(self, side: int, runs: int, noise: NoiseSource) -> Outcomes: ...


class Case(Struct, frozen=True, kw_only=True, eq=False):
    """One attack. The databases are made up, so that nobody is in them.

    Attributes:
        name: as `--case` takes it.
        what: in words.
        pair: neighbours for which the loss is as large as it can be.
        work: how many runs of other cases one of these takes; an audit makes so many times fewer.
        brief: runs of a short audit, where its faults take fewer or more to show than others do; None: as all others.
        laws: of the measured numbers on either database, as the charged events state them; None: they are not known.

    >>> from dpqr.mechanisms.noisy_answers import LaplaceAnswers
    >>> blocks = (QueryBlock(name="records"),)
    >>> trial = MechanismTrial(mechanisms=(LaplaceAnswers(blocks=blocks, unit=PrivacyUnit(), scale=Fraction(2)),))
    >>> pair = worst_pair(blocks, (2,), PrivacyUnit(), 1)
    >>> Case(name="records", what="a noisy count", pair=pair, trial=trial).claim.epsilon
    Fraction(1, 2)
    """

    name: str
    what: str
    pair: Pair
    trial: Trial
    work: int = 1
    brief: int | None = None
    laws: tuple[Laws, Laws] | None = None

    @property
    def claim(self) -> Claim:
        return self.trial.claim

    def outcomes(self, side: int, runs: int, noise: NoiseSource) -> Outcomes:
        """`runs` independent runs on one of the two databases."""
        database = Private(self.pair[side])
        return Outcomes.of([self.trial.run(database, noise) for _ in range(runs)])


def worst_pair(blocks: Sequence[QueryBlock], shape: tuple[int, ...], unit: PrivacyUnit, power: int) -> Pair:
    """The pair that moves the blocks' answers furthest, in the sum of |change|^power; found by trying all.

    A linear answer moves by what one unit brings, whatever else is in the table: so the rest of it is left empty.

    Args:
        shape: of the histograms.
        power: 1 for L1, 2 for squared L2.
    """
    pairs = [tuple(map(DenseHistogram, pair)) for pair in _pairs(shape, unit)]

    def distance(pair: tuple[DenseHistogram, ...]) -> int:
        changes = [np.abs(block.answer(pair[0]) - block.answer(pair[1])) ** power for block in blocks]
        return sum(int(change.sum()) for change in changes)

    one, two = max(pairs, key=distance)
    return one, two


def _pairs(shape: tuple[int, ...], unit: PrivacyUnit) -> Iterator[tuple[IntArray, IntArray]]:
    """Add-remove: nobody against one unit whose rows all lie in one cell. Replace: every two such units, and one whose
    rows a rule of the domain drops."""
    cells = int(np.prod(shape))
    units = unit.rows * np.eye(cells, dtype=np.int64).reshape(cells, *shape)
    nobody = np.zeros(shape, dtype=np.int64)
    for index, one in enumerate(units):
        yield nobody, one
        if unit.neighbours is Neighbours.REPLACE:
            yield from ((other, one) for other in units[:index])


def records(shape: tuple[int, ...], counts: dict[tuple[int, ...], int]) -> DenseHistogram:
    """A database of so many records in each of these cells."""
    cells = np.zeros(shape, dtype=np.int64)
    for cell, count in counts.items():
        cells[cell] = count
    return DenseHistogram(cells)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MechanismTrial:
    """The mechanisms are drawn from one after the other; all that they release is the outcome.

    delta: 0 claims the sum of their pure epsilons; above 0 the sum of their rhos and its conversion at delta, or where
    an accountant is given what its theorem proves for them at delta.
    """

    mechanisms: tuple[Mechanism[Counts, Any], ...]
    delta: Fraction = Fraction(0)
    accountant: Accountant | None = None
    _limit: Fraction = field(init=False, repr=False)

    def __post_init__(self) -> None:
        groups = (sum((self.cost(event) for event, _ in group), Fraction(0)) for group in in_parallel(self.events))
        object.__setattr__(self, "_limit", max(groups))

    @property
    def events(self) -> Composition:
        return tuple((mechanism.event, 1) for mechanism in self.mechanisms)

    @property
    def claim(self) -> Claim:
        if self.accountant is not None:
            return Claim.proved(self.accountant, self.events, self.delta)
        return Claim.concentrated(self.events, self.delta) if self.delta else Claim.pure(self.events)

    def run(self, database: Private[Counts], noise: NoiseSource) -> PublicOutcome:
        guard = self.guard()
        released: list[int] = []
        for mechanism in self.mechanisms:
            released += numbers(measure(database, mechanism, accountant=guard, noise=noise).value)
        return (), tuple(released), ()

    def cost(self, event: PrivacyEvent) -> Fraction:
        """What one of the events is charged."""
        return concentrated_rho(event) if self._in_rho else require_pure(event)

    def guard(self) -> SumFilter:
        """Admits these draws once."""
        return SumFilter(limit=self._limit, cost=self.cost, unit="rho" if self._in_rho else "epsilon")

    @property
    def _in_rho(self) -> bool:
        return self.delta > 0 and self.accountant is None


def numbers(released: int | Measurement | IntArray) -> Numbers:
    """A choice's index, every noisy answer, block after block, or every noisy error."""
    if isinstance(released, Measurement):
        return tuple(number for values in released.values for number in values.tolist())
    if isinstance(released, np.ndarray):
        return tuple(released.tolist())
    return (released,)


# Claim: what a mechanism says that it costs, and how much of that one event proves to be lost.

ORDERS = 1 + np.geomspace(1e-3, 63, 36)
"""Renyi orders at which a rho is tested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """(epsilon, delta)-DP; with rho also rho-zCDP, from which epsilon at delta follows. Exact figures.

    events: what the sum of epsilons, or of rhos, was taken of; empty: it is no such sum.

    >>> from dpqr.kernel.events import ExponentialEvent
    >>> Claim.pure(((ExponentialEvent(epsilon=Fraction(1, 4)), 2),)).epsilon
    Fraction(1, 2)
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    events: Composition = field(default=(), compare=False)

    @classmethod
    def pure(cls, events: Composition) -> Claim:
        """What the events' pure epsilons add up to. BudgetRefused where one has none."""
        epsilon = Basic().epsilon(events, Fraction(0))
        if epsilon is None:
            raise BudgetRefused("a draw of Gaussian noise has no pure epsilon; audit it in rho")
        return cls(epsilon=epsilon, events=events)

    @classmethod
    def concentrated(cls, events: Composition, delta: Fraction) -> Claim:
        """What the events' rhos add up to, and its conversion at `delta`."""
        rho = total_rho(events)
        return cls(epsilon=zcdp_to_epsilon(rho, delta), delta=delta, rho=rho, events=events)

    @classmethod
    def planned(cls, budget: PrivacyBudget, events: Composition) -> Claim:
        """A plan's: its budget where that is pure; else what its events add up to in rho, or its filter allows."""
        return cls(epsilon=budget.epsilon, events=events) if budget.pure else cls.concentrated(events, budget.delta)

    @classmethod
    def proved(cls, accountant: Accountant, events: Composition, delta: Fraction) -> Claim:
        """What the accountant's theorem says of the events at `delta`. BudgetRefused where it does not cover them."""
        epsilon = accountant.epsilon(events, delta)
        if epsilon is None:
            raise BudgetRefused(f"{accountant.name} does not cover these draws; audit them by another theorem")
        return cls(epsilon=epsilon, delta=delta)

    def shares(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """What events prove to be lost, as shares of the claim: above 1 is a breach. Shape (events,).

        low: lower bounds of their probabilities on one database; high: upper bounds on its neighbour.
        """
        shares = epsilon_bounds(low, high, float(self.delta)) / float(self.epsilon)
        if self.rho is None:
            return shares
        return np.maximum(shares, rho_bounds(low, high) / float(self.rho))


def epsilon_bounds(low: FloatArray, high: FloatArray, delta: float) -> FloatArray:
    """Lower bounds on epsilon at `delta`: P(S) <= e^eps Q(S) + delta gives eps >= log((P(S) - delta) / Q(S)).

    Args:
        low: lower limits of P(S) for each event S, shape (events,).
        high: upper limits of Q(S), shape (events,).

    Returns:
        Shape (events,), at least 0.
    """
    gained = low > delta
    ratio = np.where(gained, low - delta, high) / high
    return np.maximum(np.log(ratio), 0.0)


def rho_bounds(low: FloatArray, high: FloatArray) -> FloatArray:
    """Lower bounds on rho: an event is post-processing, so D_a(Bernoulli(P(S)) || Bernoulli(Q(S))) <= a rho, all a > 1.

    Bun and Steinke 2016, Definition 1.1 and Lemma 1.8. The divergence grows with P(S) and falls with Q(S) where
    P(S) >= Q(S), so limits of the two give a bound.
    """
    high = np.minimum(high, 1 - 1e-12)
    p, q = np.maximum(low, high)[:, None], high[:, None]
    with np.errstate(divide="ignore"):
        inside = ORDERS * np.log(p) + (1 - ORDERS) * np.log(q)
        outside = ORDERS * np.log1p(-p) + (1 - ORDERS) * np.log1p(-q)
    divergences = np.logaddexp(inside, outside) / (ORDERS - 1)
    best: FloatArray = (divergences / ORDERS).max(axis=1)
    return np.where(low > high, np.maximum(best, 0.0), 0.0)


# The audit's own figures: the exact loss of a stated law, and the price of events.
#
# Both are a few lines that share nothing with the accountants whose figures they are compared with.

SLACK = 1e-9
"""Relative; covers the rounding of sums in double precision."""
ALIKE = 1e-10
"""Losses that differ by less are taken for equal."""
MOST_LOSSES = 2**11
"""Distinct losses that are kept while numbers are added up; more are rounded down to a grid of so many."""
SAMPLED = 2**14
"""Losses that are looked at to see whether they are so many."""
MOST_VALUES = 2**13
"""Of a law over more integers than this only every so-manieth is summed: it is flat in between."""


class LossDistribution(Struct, frozen=True, eq=False):
    """The privacy loss log(P(o) / Q(o)) where o is drawn from P; losses and their probabilities, shape (losses,)."""

    losses: FloatArray
    chances: FloatArray

    @classmethod
    def of(cls, one: NumberLaw, two: NumberLaw) -> LossDistribution:
        """Of one number."""
        ends = (one.support, two.support)
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
        stride = 1 + (high - low) // MOST_VALUES
        values = np.arange(low, high + 1, stride)
        here, there = one.log_probabilities(values), two.log_probabilities(values)
        return cls(here - there, stride * np.exp(here)).merged()

    def plus(self, other: LossDistribution) -> LossDistribution:
        """Of two independent numbers."""
        losses = np.add.outer(self.losses, other.losses).reshape(-1)
        return LossDistribution(losses, np.multiply.outer(self.chances, other.chances).reshape(-1)).merged()

    def merged(self) -> LossDistribution:
        """The same with equal losses taken together; where they are very many also those within a fine grid."""
        distinct = np.unique(np.floor(self.losses[:: 1 + len(self.losses) // SAMPLED] / ALIKE))
        if len(distinct) > MOST_LOSSES:
            step = float(np.ptp(self.losses)) / MOST_LOSSES
            places = np.floor((self.losses - self.losses.min()) / step).astype(np.int64)
            chances = np.bincount(places, weights=self.chances).astype(np.float64)
            return LossDistribution(self.losses.min() + step * np.arange(len(chances)), chances)
        losses, places = np.unique(np.floor(self.losses / ALIKE), return_inverse=True)
        return LossDistribution(losses * ALIKE, np.bincount(places, weights=self.chances).astype(np.float64))

    @property
    def epsilon(self) -> float:
        """The largest loss."""
        return float(self.losses[self.chances > 0].max())

    @property
    def rho(self) -> float:
        """The largest Renyi divergence over its order, of the orders at which a rho is tested."""
        powers = np.multiply.outer(ORDERS - 1, self.losses)
        divergences = np.logaddexp.reduce(powers + np.log(self.chances + 1e-300), axis=1) / (ORDERS - 1)
        return float((divergences / ORDERS).max())

    def delta(self, epsilon: float) -> float:
        """sum of P(o) - e^epsilon Q(o) over the outcomes where that is positive."""
        return float((self.chances * np.maximum(0.0, -np.expm1(epsilon - self.losses))).sum())


def loss_law(one: Laws, two: Laws) -> LossDistribution:
    """Of all numbers of a run together."""
    total = LossDistribution(np.zeros(1), np.ones(1))
    for here, there in zip(one, two, strict=True):
        total = total.plus(LossDistribution.of(here, there))
    return total


def exact_share(one: Laws, two: Laws, claim: Claim) -> float:
    """The exact loss as a share of the claim, the larger of both directions; above 1 the claim is false.

    A pure claim is held against the largest loss, one in rho against Renyi divergences, and every claim at a delta
    against the delta that its epsilon needs.
    """
    return max(_share(loss_law(one, two), claim), _share(loss_law(two, one), claim))


def _share(law: LossDistribution, claim: Claim) -> float:
    shares = [law.rho / float(claim.rho)] if claim.rho is not None else []
    if claim.delta:
        shares.append(law.delta(float(claim.epsilon)) / float(claim.delta))
    else:
        shares.append(law.epsilon / float(claim.epsilon))
    return max(shares) / (1 + SLACK)


PRICE_ORDERS = 1 + np.geomspace(1e-4, 1e4, 40_000)
PRICE_SLACK = 1e-6
"""Relative; the least of these orders is above the least of all by less."""


def epsilon_of(event: Draw) -> float:
    """Pure epsilon; infinite for Gaussian noise."""
    match event:
        case DiscreteLaplaceEvent() | SphericalLaplaceEvent():
            return float(event.sensitivity / event.scale)
        case PerturbedObjectiveEvent():
            pull, factor = float(event.sensitivity / event.scale), float(event.curvature)
            return pull + event.units * log1p(factor) + float(event.closing)
        case ExponentialEvent() | PermuteAndFlipEvent() | PureSumEvent():
            return float(event.epsilon)
        case AboveThresholdEvent():
            one, two = float(event.sensitivity / event.threshold_scale), float(event.sensitivity / event.answer_scale)
            return one + two * event.directions
    return inf


def rho_of(event: Draw) -> float:
    """rho of zero-concentrated differential privacy: Bun and Steinke 2016; Cesar and Rogers 2021 for bounded range."""
    match event:
        case DiscreteGaussianEvent() | RoundedGaussianEvent():
            return float(Fraction(event.squared_sensitivity) / (2 * event.variance))
        case GaussianObjectiveEvent():
            pull = float(Fraction(event.squared_sensitivity) / (2 * event.variance))
            both = pull * (1 + float(event.opposite) ** 2) + float(event.curvature)
            return event.changes**2 * both + float(event.closing) ** 2 / 2
        case ExponentialEvent():
            return float(event.epsilon**2 / 8)
        case AboveThresholdEvent() if event.directions == 1:
            one, two = float(event.sensitivity / event.threshold_scale), float(event.sensitivity / event.answer_scale)
            return (one + 2 * two) ** 2 / 8
        case RhoSumEvent():
            return float(event.rho)
        case MuSumEvent():
            return float(event.squared_mu / 2)
    return epsilon_of(event) ** 2 / 2


def epsilon_at(rho: float, delta: float) -> float:
    """Canonne, Kamath and Steinke 2020, Proposition 12: the least over orders a of
    rho a + log(1 / (a delta)) / (a - 1) + log(1 - 1 / a)."""
    found = rho * PRICE_ORDERS + np.log(1 / (PRICE_ORDERS * delta)) / (PRICE_ORDERS - 1) + np.log1p(-1 / PRICE_ORDERS)
    return float(max(0.0, found.min()))


def claimed_share(claim: Claim) -> float:
    """The price of the claim's events as a share of the claim; above 1 it is less than any theorem here proves.

    Draws from kept and from left-out records look at disjoint parts of a table: the larger share of the two groups.
    0 for a claim by a curve, or by a theorem for many draws: these only the exact loss can judge.
    """
    left_out = [(event.event, count) for event, count in claim.events if isinstance(event, LeftOutEvent)]
    kept = [(event, count) for event, count in claim.events if not isinstance(event, LeftOutEvent)]
    return max(_price_share(kept, claim), _price_share(left_out, claim)) / (1 + PRICE_SLACK)


def _price_share(events: list[tuple[Draw, int]], claim: Claim) -> float:
    if not events:
        return 0.0
    if not claim.delta:
        return sum(count * epsilon_of(event) for event, count in events) / float(claim.epsilon)
    rho = sum(count * rho_of(event) for event, count in events)
    return max(rho / float(claim.rho or 0), epsilon_at(rho, float(claim.delta)) / float(claim.epsilon))
