"""Searches among marginals: the next draw and its price follow from what was released."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from dpqr.audit.case import Case, Shown, numbers, records
from dpqr.audit.cases.releases import ABSENT, ADDED, DELTA, REPLACED, WORK, PlannedTrial
from dpqr.construction.loop import Outcome
from dpqr.data.attribute import Attribute, Codes
from dpqr.data.domain import Domain
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.fitting.maximum_entropy import MaximumEntropyFit
from dpqr.privacy.accountants.basic import Basic
from dpqr.privacy.accountants.zcdp import ZeroConcentrated
from dpqr.privacy.budget import PrivacyBudget
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.distinguishers import Exponential, PermuteAndFlip
from dpqr.strategies.plan import Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.marginals.schedule import Marginals
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.workload import Workload

SHAPE, COUNTED, COMPARED = (2, 2, 2), (6, 5, 4, 3), (4, 4, 4)
WIDEST = 4
MOST = 16
"""Draws of one run: single columns three times, three choices, three pairs again; the rest is room."""


def search_shown(plan: Plan, outcome: Outcome) -> Shown:
    """Which columns were measured, how exactly (in tenths of a record), what was found, what is answered."""
    context, measured = list[int](), list[int]()
    for one in outcome.transcript.measurements:
        released = numbers(one)
        context += [sum(1 << axis for axis in one.blocks[0].axes), round(10 * one.law.deviation)]
        measured += [*released, *(ABSENT,) * (WIDEST - len(released))]
    context += [ABSENT] * (2 * MOST - len(context))
    measured += [ABSENT] * (WIDEST * MOST - len(measured))
    found = outcome.hypothesis
    answers = np.concatenate([found.answer(block) for block in plan.problem.workload.blocks])
    derived = np.rint(np.append(answers, found.total)).astype(np.int64)
    return tuple(context), tuple(measured), tuple(derived.tolist())


def search_cases() -> Iterator[Case]:
    """Both relations, both accountants that may charge it."""
    update = MultiplicativeWeights(fit=MaximumEntropyFit(tolerance=1.0, steps=3))
    pure = Roles(distinguisher=PermuteAndFlip(), check=Laplace(), update=update, accountant=Basic())
    yield search_case("basic-add-remove", ADDED, PrivacyBudget(Fraction(1)), pure)
    rho = Roles(distinguisher=Exponential(), check=Gaussian(), update=update, accountant=ZeroConcentrated())
    yield search_case("zcdp-replace", REPLACED, PrivacyBudget(Fraction(3), DELTA), rho)
    yield counted_case(pure)
    yield dependence_case(rho)


def search_case(name: str, unit: PrivacyUnit, budget: PrivacyBudget, roles: Roles) -> Case:
    """All pairs of three columns, two of which agree but for the record that comes: the search finds and asks them."""
    blocks = tuple(
        QueryBlock(name=f"{pair}", factors=tuple(Factor.identity(axis, 2) for axis in pair))
        for pair in combinations(range(3), 2)
    )
    here: dict[tuple[int, ...], int] = {(0, 0, 0): 320, (1, 1, 0): 240, (1, 1, 1): 240}
    n, one = None, here
    if unit.neighbours is Neighbours.REPLACE:
        n, one = 801, {**here, (1, 1, 0): 241}
    domain = Domain(tuple(Attribute(name=f"column {axis}", axis=Codes(size)) for axis, size in enumerate(SHAPE)))
    problem = Problem(domain=domain, workload=Workload(blocks), unit=unit, n=n)
    return Case(
        name=f"release-search-{name}",
        what=f"a search whose prices follow what it releases, {roles.check.name} (a tenth of the runs)",
        pair=(records(SHAPE, one), records(SHAPE, {**here, (0, 1, 1): 1})),
        trial=PlannedTrial(plan=Marginals(table=0).plan(problem, budget, roles), shown=search_shown),
        work=WORK,
    )


def counted_case(roles: Roles) -> Case:
    """A noisy count decides between one table and one-way marginals; with and without the record both come about."""
    blocks = tuple(
        QueryBlock(name=f"{axes}", factors=tuple(Factor.identity(axis, COUNTED[axis]) for axis in axes))
        for axes in combinations(range(len(COUNTED)), 3)
    )
    domain = Domain(tuple(Attribute(name=f"column {axis}", axis=Codes(size)) for axis, size in enumerate(COUNTED)))
    problem = Problem(domain=domain, workload=Workload(blocks), unit=ADDED)
    here: dict[tuple[int, ...], int] = {(0, 0, 0, 0): 300, (1, 1, 1, 1): 300}
    return Case(
        name="release-counted-basic-add-remove",
        what=f"a release whose count decides what is measured, {roles.check.name} (a tenth of the runs)",
        pair=(records(COUNTED, here), records(COUNTED, {**here, (2, 2, 2, 2): 1})),
        trial=PlannedTrial(plan=Marginals().plan(problem, PrivacyBudget(Fraction(1, 10)), roles), shown=counted_shown),
        work=WORK,
    )


def counted_shown(plan: Plan, outcome: Outcome) -> Shown:
    """The count, what was measured after it and how exactly, the first cells of that, and what is answered."""
    counted, following = (outcome.transcript.measurements[place] for place in (0, 1))
    context = (sum(1 << axis for axis in following.blocks[0].axes), round(10 * following.law.deviation))
    released = (*numbers(counted), *numbers(following))[:MOST]
    last = numbers(outcome.transcript.measurements[-1])[-1:]
    found = outcome.hypothesis
    answers = np.append(found.answer(plan.problem.workload.blocks[0]), found.total)
    padded = (*released, *(ABSENT,) * (MOST - len(released)), *last)
    return context, padded, tuple(np.rint(answers).astype(np.int64).tolist())


def dependence_case(roles: Roles) -> Case:
    """The error of one-way marginals on pairs decides between all pairs once and a search; both come about. Two columns
    agree in a third of the records, and the record that changes comes to agree."""
    blocks = tuple(
        QueryBlock(name=f"{pair}", factors=tuple(Factor.identity(axis, COMPARED[axis]) for axis in pair))
        for pair in combinations(range(len(COMPARED)), 2)
    )
    domain = Domain(tuple(Attribute(name=f"column {axis}", axis=Codes(size)) for axis, size in enumerate(COMPARED)))
    here: dict[tuple[int, ...], int] = dict.fromkeys(product(*map(range, COMPARED)), 15)
    here |= {(value, value, other): 26 for value in range(4) for other in range(4)}
    problem = Problem(domain=domain, workload=Workload(blocks), unit=REPLACED, n=sum(here.values()))
    budget = PrivacyBudget(Fraction(2), DELTA)
    other = {**here, (0, 1, 0): 14, (0, 0, 0): 27}
    return Case(
        name="release-dependence-zcdp-replace",
        what=f"a release that a measured error decides, {roles.check.name} (a tenth of the runs)",
        pair=(records(COMPARED, here), records(COMPARED, other)),
        trial=PlannedTrial(plan=Marginals().plan(problem, budget, roles), shown=dependence_shown),
        work=WORK,
    )


def dependence_shown(plan: Plan, outcome: Outcome) -> Shown:
    """How many rounds there were, the noisy error, what was measured last, and what is answered."""
    found = [one.errors for one in outcome.transcript.rounds if one.errors is not None]
    last = outcome.transcript.measurements[-1]
    context = (len(found), len(outcome.transcript.rounds), len(last.blocks[0].axes))
    released = (*(one.value for one in found), *numbers(last))[:MOST]
    answers = np.append(outcome.hypothesis.answer(plan.problem.workload.blocks[0]), outcome.hypothesis.total)
    return context, (*released, *(ABSENT,) * (MOST - len(released))), tuple(np.rint(answers).astype(np.int64).tolist())
