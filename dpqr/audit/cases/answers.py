"""Noisy answers to every kind of block, on the pair of databases that moves them furthest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from dpqr.audit.case import Case, Draws, Pair, worst_pair
from dpqr.audit.law import IntegerGaussian, Law, Laws, TwoSidedGeometric
from dpqr.data.arrays import IntArray
from dpqr.data.histogram import Counts
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.errors import UsageFault
from dpqr.privacy.accountant import Accountant
from dpqr.privacy.accountants.known import available
from dpqr.privacy.budget import Price
from dpqr.privacy.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, LeftOutEvent, PrivacyEvent
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.schedules.dropped_count import DROPPED
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.contrasts import interaction
from dpqr.workload.matrix import Dense, IntMatrix, Prefix

SHAPE = (4,)
DELTA = Fraction(1, 100)
"""Where claims in rho are converted: below 1 / runs no event could test an epsilon."""
COMPOSED_DELTA = Fraction(1, 10)
"""Where the price of a few pure draws is asked for: there it is well below the sum of their epsilons."""
EPSILONS = {"marginal": Fraction(1), "predicate": Fraction(1, 2), "prefix": Fraction(2), "sum": Fraction(1)}
RHOS = {"marginal": Fraction(1, 2), "prefix": Fraction(1)}
UNITS = {
    "add-remove": PrivacyUnit(neighbours=Neighbours.ADD_REMOVE),
    "replace": PrivacyUnit(neighbours=Neighbours.REPLACE),
}
PERSON = PrivacyUnit(column="person", rows=3)
ROWS = {
    "marginal": np.eye(4, dtype=np.int64),
    "predicate": np.array([[1, 1, 0, 0]]),
    "opposite": np.array([[-1, -1, 0, 0]]),
    "prefix": np.tril(np.ones((4, 4), dtype=np.int64)),
    "sum": np.array([[-3, 5, 1, 0]]),
    "pair interaction": np.array([[55, -55, -55, 55, 0, 0], [32, -32, 32, -32, -64, 64]]),
}
"""What every query counts of the four cells, written out; an interaction of the six cells of two columns."""


def answer_cases() -> Iterator[Case]:
    """Laplace and Gaussian checks."""
    for relation, unit in UNITS.items():
        for kind, epsilon in EPSILONS.items():
            yield laplace_case(f"{kind}-{relation}", block(kind), unit, epsilon)
        for kind, rho in RHOS.items():
            yield gaussian_case(f"{kind}-{relation}", block(kind), unit, rho)
    yield gaussian_case("sum-add-remove", block("sum"), UNITS["add-remove"], Fraction(1, 4))
    yield laplace_case("marginal-strict", block("marginal"), UNITS["replace"], Fraction(1, 4))
    yield laplace_case("marginal-loose", block("marginal"), UNITS["add-remove"], Fraction(3))
    for relation, unit in UNITS.items():
        yield gaussian_case(f"interaction-{relation}", pair_block(), unit, Fraction(1, 4), shape=(3, 2))
    yield laplace_case("interaction-add-remove", pair_block(), UNITS["add-remove"], Fraction(1), shape=(3, 2))
    yield laplace_case("marginal-person", block("marginal"), PERSON, Fraction(1))
    for relation in UNITS:
        unit = PrivacyUnit(neighbours=Neighbours(relation), column="person", rows=3)
        yield laplace_case(f"left-out-{relation}", DROPPED, unit, Fraction(1), shape=())
    yield twice_case()
    for theorem in ("optimal", "pld"):
        if theorem in available():
            yield composed_case(available()[theorem])


def laplace_case(
    name: str, asked: QueryBlock, unit: PrivacyUnit, epsilon: Fraction, shape: tuple[int, ...] = SHAPE
) -> Case:
    """One Laplace check of `asked` at a pure price."""
    trial = Draws(mechanisms=(Laplace().mechanism((asked,), unit, Price(epsilon=epsilon)),))
    pair = worst_pair((asked,), shape, unit, power=1)
    return Case(
        name=f"laplace-{name}",
        what=f"Laplace answers to a {asked.name}" if shape else f"Laplace count of {asked.name}",
        pair=pair,
        trial=trial,
        laws=stated_laws(trial, (asked,), pair),
    )


def gaussian_case(
    name: str, asked: QueryBlock, unit: PrivacyUnit, rho: Fraction, shape: tuple[int, ...] = SHAPE
) -> Case:
    """One Gaussian check of `asked` at a price in rho."""
    trial = Draws(mechanisms=(Gaussian().mechanism((asked,), unit, Price(rho=rho)),), delta=DELTA)
    pair = worst_pair((asked,), shape, unit, power=2)
    return Case(
        name=f"gaussian-{name}",
        what=f"Gaussian answers to a {asked.name}",
        pair=pair,
        trial=trial,
        laws=stated_laws(trial, (asked,), pair),
    )


def twice_case() -> Case:
    """Two checks in a row, of a query and its opposite: noise that was used for both cancels in their difference."""
    unit, price = UNITS["add-remove"], Price(epsilon=Fraction(1, 2))
    asked = (block("predicate"), block("opposite"))
    trial = Draws(mechanisms=tuple(Laplace().mechanism((one,), unit, price) for one in asked))
    pair = worst_pair(asked, SHAPE, unit, power=1)
    return Case(
        name="laplace-two-draws-add-remove",
        what="two Laplace checks one after the other",
        pair=pair,
        trial=trial,
        laws=stated_laws(trial, asked, pair),
    )


def composed_case(accountant: Accountant) -> Case:
    """A query asked three times, priced together by a theorem for a schedule that is fixed in advance."""
    unit, price = UNITS["add-remove"], Price(epsilon=Fraction(1, 2))
    asked = block("predicate")
    mechanism = Laplace().mechanism((asked,), unit, price)
    trial = Draws(mechanisms=(mechanism,) * 3, delta=COMPOSED_DELTA, accountant=accountant)
    pair = worst_pair((asked,), SHAPE, unit, power=1)
    return Case(
        name=f"laplace-composed-{accountant.name}",
        what=f"three Laplace checks priced together by the {accountant.name} accountant",
        pair=pair,
        trial=trial,
        laws=stated_laws(trial, (asked,) * 3, pair),
    )


def stated_laws(trial: Draws, asked: Sequence[QueryBlock], pair: Pair) -> tuple[Laws, Laws]:
    """The laws of all numbers on both databases: the query's rows, as they are written out, and the events' noise."""
    one, two = (
        tuple(
            noisy(int(answer), event)
            for block, (event, _) in zip(asked, trial.events, strict=True)
            for answer in ROWS.get(block.name, np.ones((1, 1), dtype=np.int64)) @ _cells(database)
        )
        for database in pair
    )
    return one, two


def _cells(database: Counts) -> IntArray:
    return database.marginal(tuple(range(len(database.shape)))).reshape(-1)


def noisy(answer: int, event: PrivacyEvent) -> Law:
    """The law of an answer and the noise that an event states."""
    if isinstance(event, LeftOutEvent):
        return noisy(answer, event.event)
    if isinstance(event, DiscreteLaplaceEvent):
        return TwoSidedGeometric(answer=answer, scale=float(event.scale))
    if isinstance(event, DiscreteGaussianEvent):
        return IntegerGaussian(answer=answer, variance=float(event.variance))
    raise UsageFault(f"an event of type {type(event).__name__} has no law here; write one in dpqr.audit.law")


def pair_block() -> QueryBlock:
    """What two columns together add to what each of them does."""
    return interaction(QueryBlock(name="", factors=(Factor.identity(0, 3), Factor.identity(1, 2))), "pair interaction")


def block(kind: str) -> QueryBlock:
    """One block over four cells, in the form that the product has for it."""
    if kind == "marginal":
        return QueryBlock(name="marginal", factors=(Factor.identity(0, 4),))
    matrix: IntMatrix = Prefix(4) if kind == "prefix" else Dense(ROWS[kind])
    return QueryBlock(name=kind, factors=(Factor(axes=(0,), sizes=SHAPE, matrix=matrix),))
