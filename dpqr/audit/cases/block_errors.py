"""Noisy L1 errors of a hypothesis, on the record that takes all of its blocks further from it at once."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dpqr.audit.case import Case, Draws, Pair, records
from dpqr.audit.cases.answers import DELTA, PERSON, UNITS, noisy
from dpqr.audit.law import Laws
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.block_errors import FINENESS, GroupErrors, Groups, noisy_errors
from dpqr.privacy.budget import Price
from dpqr.workload.block import Factor, QueryBlock

SHAPE = (2, 2)
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
    pair = _pair(unit)
    known = FINENESS * np.concatenate([block.answer(pair[0]) for group in groups for block in group])
    errors = GroupErrors(groups=groups, expected=known, unit=unit, largest=largest)
    trial = Draws(mechanisms=(noisy_errors(errors, price),), delta=Fraction(0) if price.epsilon is not None else DELTA)
    what = f"noisy L1 errors of {len(groups)} groups of blocks"
    laws = (
        _laws(trial, [0] * len(groups)),
        _laws(trial, [FINENESS * (1 if largest else len(group)) for group in groups]),
    )
    return Case(name=f"errors-{name}", what=what, pair=pair, trial=trial, laws=laws)


def _pair(unit: PrivacyUnit) -> Pair:
    """Five records; the same with one unit in a cell, or with that unit's rows moved to the cell across."""
    crowd: dict[tuple[int, ...], int] = {(0, 0): 5}
    if unit.neighbours is Neighbours.REPLACE:
        return records(SHAPE, {(0, 0): 5 + unit.rows}), records(SHAPE, {**crowd, (1, 1): unit.rows})
    return records(SHAPE, crowd), records(SHAPE, {**crowd, (1, 1): unit.rows})


def _laws(trial: Draws, errors: list[int]) -> Laws:
    """Of every group's integer: each block is off by nothing, or by all that one unit can move it."""
    ((event, _),) = trial.events
    return tuple(noisy(error, event) for error in errors)
