"""Noisy answers to every kind of block, on the pair of databases that moves them furthest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from msgspec import Struct

from dpqr.audit.case import Case, MechanismTrial, Pair, records, worst_pair
from dpqr.audit.law import IntegerGaussian, Laws, NumberLaw, TwoSidedGeometric
from dpqr.domain.histogram import Counts, DenseHistogram
from dpqr.kernel.accountants.accountant import Accountant
from dpqr.kernel.accountants.known import available
from dpqr.kernel.budget import Price
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, LeftOutEvent, PrivacyEvent
from dpqr.kernel.gate import Mechanism
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.block_errors import FINENESS, GroupErrors, Groups, noisy_errors
from dpqr.mechanisms.noisy_answers import for_dropped_records
from dpqr.strategies.checks import Check, Gaussian, Laplace
from dpqr.strategies.schedules.split import DROPPED
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, IntMatrix, Prefix
from dpqr.workload.strategy_matrices import interaction
from dpqr.workload.workload import Measurement

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
PERSON = PrivacyUnit(columns=("person",), rows=3)
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
    """Laplace checks at a price in epsilon, Gaussian checks at one in rho; and some checks one after the other."""
    add_remove, pair = UNITS["add-remove"], (3, 2)
    for relation, unit in UNITS.items():
        for kind, epsilon in EPSILONS.items():
            yield check_case(f"{kind}-{relation}", block(kind), unit, Price(epsilon=epsilon))
        for kind, rho in RHOS.items():
            yield check_case(f"{kind}-{relation}", block(kind), unit, Price(rho=rho))
    yield check_case("sum-add-remove", block("sum"), add_remove, Price(rho=Fraction(1, 4)))
    yield check_case("marginal-strict", block("marginal"), UNITS["replace"], Price(epsilon=Fraction(1, 4)))
    yield check_case("marginal-loose", block("marginal"), add_remove, Price(epsilon=Fraction(3)))
    for relation, unit in UNITS.items():
        yield check_case(f"interaction-{relation}", pair_block(), unit, Price(rho=Fraction(1, 4)), shape=pair)
    yield check_case("interaction-add-remove", pair_block(), add_remove, Price(epsilon=Fraction(1)), shape=pair)
    yield check_case("marginal-person", block("marginal"), PERSON, Price(epsilon=Fraction(1)))
    for relation in UNITS:
        unit = PrivacyUnit(neighbours=Neighbours(relation), columns=("person",), rows=3)
        yield check_case(f"left-out-{relation}", DROPPED, unit, Price(epsilon=Fraction(1)), shape=())
    # A query and its opposite: noise that was used for both cancels in their difference.
    opposed = (block("predicate"), block("opposite"))
    what = "two Laplace checks one after the other"
    yield answered_case("laplace-two-draws-add-remove", what, opposed, add_remove, Price(epsilon=Fraction(1, 2)))
    # A query asked three times, priced together by a theorem for a schedule that is fixed in advance.
    for theorem in ("optimal", "pld"):
        if theorem in available():
            yield answered_case(
                f"laplace-composed-{theorem}",
                f"three Laplace checks priced together by the {theorem} accountant",
                (block("predicate"),) * 3,
                add_remove,
                Price(epsilon=Fraction(1, 2)),
                delta=COMPOSED_DELTA,
                accountant=available()[theorem],
            )


def check_case(name: str, block: QueryBlock, unit: PrivacyUnit, price: Price, shape: tuple[int, ...] = SHAPE) -> Case:
    """One check of `block`: Laplace at a pure price, Gaussian at one in rho."""
    law = "Gaussian" if price.epsilon is None else "Laplace"
    what = f"{law} answers to a {block.name}" if shape else f"{law} count of {block.name}"
    delta = DELTA if price.epsilon is None else Fraction(0)
    return answered_case(f"{law.lower()}-{name}", what, (block,), unit, price, shape=shape, delta=delta)


def answered_case(
    name: str,
    what: str,
    blocks: Sequence[QueryBlock],
    unit: PrivacyUnit,
    price: Price,
    *,
    shape: tuple[int, ...] = SHAPE,
    delta: Fraction = Fraction(0),
    accountant: Accountant | None = None,
) -> Case:
    """Checks of these queries, each at this price, on the pair that moves all of their answers furthest."""
    check: Check = Gaussian() if price.epsilon is None else Laplace()
    mechanisms = tuple(check.mechanism((one,), unit, price) for one in blocks)
    trial = MechanismTrial(mechanisms=mechanisms, delta=delta, accountant=accountant)
    pair = worst_pair(blocks, shape, unit, power=2 if price.epsilon is None else 1)
    return Case(name=name, what=what, pair=pair, trial=trial, laws=stated_laws(trial, blocks, pair))


def stated_laws(trial: MechanismTrial, blocks: Sequence[QueryBlock], pair: Pair) -> tuple[Laws, Laws]:
    """The laws of all numbers on both databases: the query's rows, as they are written out, and the events' noise."""
    one, two = (
        tuple(
            noisy(int(answer), event)
            for block, (event, _) in zip(blocks, trial.events, strict=True)
            for answer in ROWS.get(block.name, np.ones((1, 1), dtype=np.int64)) @ cells
        )
        for cells in (database.marginal(tuple(range(len(database.shape)))).reshape(-1) for database in pair)
    )
    return one, two


def noisy(answer: int, event: PrivacyEvent) -> NumberLaw:
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


# Noisy L1 errors of a hypothesis, on the record that takes all of its blocks further from it at once.

ERRORS_SHAPE = (2, 2)
PURE, RHO = Price(epsilon=Fraction(1)), Price(rho=Fraction(1, 2))
FIRST = QueryBlock(name="first", factors=(Factor.identity(0, 2),))
SECOND = QueryBlock(name="second", factors=(Factor.identity(1, 2),))
BOTH = QueryBlock(name="both", factors=(*FIRST.factors, *SECOND.factors))
EACH: Groups = ((FIRST,), (SECOND,), (BOTH,))
TOGETHER: Groups = ((FIRST, BOTH), (SECOND,))


def error_cases() -> Iterator[Case]:
    """In epsilon and in rho, of single blocks, of sums, and of the largest; rows and persons, both relations."""
    for relation, unit in UNITS.items():
        yield error_case(f"laplace-{relation}", EACH, unit, PURE)
        yield error_case(f"gaussian-{relation}", EACH, unit, RHO)
    yield error_case("laplace-sums-add-remove", TOGETHER, UNITS["add-remove"], PURE)
    yield error_case("gaussian-sums-person", TOGETHER, PERSON, RHO)
    yield error_case("laplace-largest-add-remove", TOGETHER, UNITS["add-remove"], PURE, largest=True)


def error_case(name: str, groups: Groups, unit: PrivacyUnit, price: Price, *, largest: bool = False) -> Case:
    """One draw, against the hypothesis of the table without the unit; under replace, of the one with the other unit."""
    # Five records; the same with one unit in a cell, or with that unit's rows moved to the cell across.
    replaced = unit.neighbours is Neighbours.REPLACE
    left = records(ERRORS_SHAPE, {(0, 0): 5 + unit.rows if replaced else 5})
    pair = left, records(ERRORS_SHAPE, {(0, 0): 5, (1, 1): unit.rows})
    known = FINENESS * np.concatenate([block.answer(pair[0]) for group in groups for block in group])
    errors = GroupErrors(groups=groups, expected=known, unit=unit, largest=largest)
    trial = MechanismTrial(
        mechanisms=(noisy_errors(errors, price),), delta=Fraction(0) if price.epsilon is not None else DELTA
    )
    what = f"noisy L1 errors of {len(groups)} groups of blocks"
    laws = (
        _laws(trial, [0] * len(groups)),
        _laws(trial, [FINENESS * (1 if largest else len(group)) for group in groups]),
    )
    return Case(name=f"errors-{name}", what=what, pair=pair, trial=trial, laws=laws)


def _laws(trial: MechanismTrial, errors: list[int]) -> Laws:
    """Of every group's integer: each block is off by nothing, or by all that one unit can move it."""
    ((event, _),) = trial.events
    return tuple(noisy(error, event) for error in errors)


# The count of left-out records beside an answer about kept ones: free where rows come or go, and paid elsewhere.

KEPT, LEFT_OUT = 0, 1
LEFT_OUT_SHAPE = (2, 2)
"""The part of a record, and its cell there."""
LEFT_OUT_DELTA = Fraction(1, 100)
LEFT_OUT_PURE, LEFT_OUT_RHO = Price(epsilon=Fraction(1)), Price(rho=Fraction(1, 2))
LEFT_OUT_ROWS = PrivacyUnit()
REPLACED = PrivacyUnit(neighbours=Neighbours.REPLACE, drops=True)
LEFT_OUT_PERSON = PrivacyUnit(columns=("person",), rows=3)
AUDITED_QUERY = QueryBlock(name="cell", factors=(Factor(axes=(0,), sizes=(2,), matrix=Dense(np.array([[1, 0]]))),))


class OfParts(Struct, frozen=True, kw_only=True, eq=False):
    """`inner` on some parts of a table whose first axis separates the parts."""

    inner: Mechanism[Counts, Measurement]
    parts: tuple[int, ...]

    @property
    def event(self) -> PrivacyEvent:
        return self.inner.event

    def sample(self, value: Counts, noise: NoiseSource) -> Measurement:
        cells = value.marginal((0, 1))
        return self.inner.sample(DenseHistogram(cells[list(self.parts)].sum(axis=0)), noise)


def dropped_cases() -> Iterator[Case]:
    """A kept record comes; a left-out one comes; one takes the other's place; a person brings rows of both kinds."""
    yield left_out_case("kept-add-remove", LEFT_OUT_ROWS, {}, {(KEPT, 0): 1})
    yield left_out_case("dropped-add-remove", LEFT_OUT_ROWS, {}, {(LEFT_OUT, 0): 1})
    yield left_out_case("replace", REPLACED, {(KEPT, 0): 1}, {(LEFT_OUT, 0): 1})
    yield left_out_case("person", LEFT_OUT_PERSON, {}, {(KEPT, 0): 3, (LEFT_OUT, 0): 3})
    yield left_out_case("kept-rho-add-remove", LEFT_OUT_ROWS, {}, {(KEPT, 0): 1}, in_rho=True)
    yield left_out_case("rho-replace", REPLACED, {(KEPT, 0): 1}, {(LEFT_OUT, 0): 1}, in_rho=True)


def left_out_case(
    name: str,
    unit: PrivacyUnit,
    here: dict[tuple[int, ...], int],
    there: dict[tuple[int, ...], int],
    *,
    in_rho: bool = False,
) -> Case:
    """The count, charged as a release charges it, and then an answer, at the same price each."""
    check: Check = Gaussian() if in_rho else Laplace()
    price = LEFT_OUT_RHO if in_rho else LEFT_OUT_PURE
    count = OfParts(inner=for_dropped_records(check.mechanism((DROPPED,), unit, price), unit), parts=(LEFT_OUT,))
    answer = OfParts(inner=check.mechanism((AUDITED_QUERY,), unit, price), parts=(KEPT,))
    trial = MechanismTrial(mechanisms=(count, answer), delta=LEFT_OUT_DELTA if in_rho else Fraction(0))
    return Case(
        name=f"left-out-{name}",
        what=f"a {check.name} count of left-out records and an answer about the others",
        pair=(records(LEFT_OUT_SHAPE, here), records(LEFT_OUT_SHAPE, there)),
        trial=trial,
        laws=(_left_out_laws(here, trial), _left_out_laws(there, trial)),
    )


def _left_out_laws(table: dict[tuple[int, ...], int], trial: MechanismTrial) -> Laws:
    """Of the number of left-out records, and of that of kept ones in the first cell."""
    left_out = sum(records for (part, _), records in table.items() if part == LEFT_OUT)
    (count, _), (answer, _) = trial.events
    return noisy(left_out, count), noisy(table.get((KEPT, 0), 0), answer)
