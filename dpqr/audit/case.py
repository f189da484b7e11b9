"""Case: two neighbouring databases, what is run on both, its claim, and the outcomes of many runs.

The databases are tiny, and their neighbours are the worst of all that there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from dpqr.audit.claim import Claim
from dpqr.audit.law import Laws
from dpqr.data.arrays import IntArray
from dpqr.data.histogram import Counts, DenseHistogram
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.noise.source import NoiseSource
from dpqr.privacy.accountant import Accountant
from dpqr.privacy.accountants.filters import SumFilter, require_pure
from dpqr.privacy.accountants.losses import concentrated_rho
from dpqr.privacy.events import Composition, PrivacyEvent
from dpqr.privacy.gate import Mechanism, measure
from dpqr.privacy.parallel import in_parallel
from dpqr.privacy.sealed import Private
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

Numbers = tuple[int, ...]
Shown = tuple[Numbers, Numbers, Numbers]
"""One run's outcome: context, measured, derived; see `Outcomes`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcomes:
    """One row a run; shapes (runs, any).

    context: what the meaning of the measured numbers hangs on (choices made, whether the run stopped).
    measured: numbers that are independent of each other given the context, as far as anybody knows.
    derived: what the run computed from those and gave away too. It should add no information: that is the test.
    """

    context: IntArray
    measured: IntArray
    derived: IntArray

    @classmethod
    def of(cls, shown: Sequence[Shown]) -> Outcomes:
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

    def run(self, database: Private[Counts], noise: NoiseSource) -> Shown:
        """One run; all that it gives away."""
        ...


class Attacked(Protocol):
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """One attack. The databases are made up, so that nobody is in them.

    name: as `--case` takes it. what: in words. pair: neighbours for which the loss is as large as it can be.
    work: how many runs of other cases one of these takes; an audit makes so many times fewer.
    brief: runs of a short audit, where its faults take fewer or more to show than others do; None: as all others.
    laws: of the measured numbers on either database, as the charged events state them; None: they are not known.

    >>> from dpqr.mechanisms.noisy_answers import LaplaceAnswers
    >>> blocks = (QueryBlock(name="records"),)
    >>> trial = Draws(mechanisms=(LaplaceAnswers(blocks=blocks, unit=PrivacyUnit(), scale=Fraction(2)),))
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
class Draws:
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

    def run(self, database: Private[Counts], noise: NoiseSource) -> Shown:
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
