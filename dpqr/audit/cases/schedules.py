"""Whole releases by the schedules that `auto` takes. Choices that they pay for are in the outcome."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpqr.app.planning.roles import chosen_schedule, chosen_wishes, settled
from dpqr.app.requests import PlanRequest
from dpqr.audit.case import Case, Shown, numbers, records
from dpqr.audit.cases.releases import ABSENT, ADDED, DELTA, WORK, PlannedTrial
from dpqr.construction.loop import Outcome
from dpqr.data.attribute import Attribute, Codes
from dpqr.data.domain import Domain
from dpqr.data.unit import PrivacyUnit
from dpqr.privacy.accountants.basic import Basic
from dpqr.privacy.budget import PrivacyBudget
from dpqr.strategies.checks import Laplace
from dpqr.strategies.choice import least_noise
from dpqr.strategies.distinguishers import PermuteAndFlip
from dpqr.strategies.plan import Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.ordered.schedule import Ordered
from dpqr.strategies.schedules.ordered.sequence import groups
from dpqr.strategies.schedules.ordered.tuning import TUNING
from dpqr.strategies.updates.bucket_least_squares import BucketLeastSquares
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, IntMatrix, Prefix
from dpqr.workload.partition import Merged
from dpqr.workload.workload import Workload

CELLS = 8
WIDEST = 4 * CELLS
"""Answers of one measurement, at most: a tree has fewer than twice as many rows as cells, other designs fewer."""


DRAWS = 1 + len(TUNING.recounts) + 3
"""Measurements of a release of ordered columns, at most: records, a first look, boxes, and what answers rest on."""


def rounds_shown(rounds: int, widest: int, plan: Plan, outcome: Outcome) -> Shown:
    """What was chosen, how many rows were measured and how exactly (in tenths of a record); what was found; what is
    answered.

    Args:
        rounds: most of them, so that every run shows as many numbers.
        widest: answers of one round, at most.
    """
    context, measured = list[int](), list[int]()
    for finished in outcome.transcript.rounds:
        assert finished.measurement is not None, "nothing was lost"
        released = numbers(finished.measurement)
        choice = -1 if finished.choice is None else finished.choice
        context += [choice, len(released), round(10 * finished.measurement.law.deviation)]
        measured += [*released, *(ABSENT,) * (widest - len(released))]
    context += [ABSENT] * (3 * rounds - len(context))
    measured += [ABSENT] * (widest * rounds - len(measured))
    answers = np.concatenate([outcome.hypothesis.answer(block) for block in plan.problem.workload.blocks])
    return tuple(context), tuple(measured), tuple(np.rint(answers).astype(np.int64).tolist())


def schedule_cases() -> Iterator[Case]:
    """Add-remove, where the number of records is paid for and steers what follows."""
    yield queries_case("basic-add-remove", PrivacyBudget(Fraction(1)))
    yield ordered_case("zcdp-add-remove", PrivacyBudget(Fraction(1), DELTA))


def queries_case(name: str, budget: PrivacyBudget) -> Case:
    """Two overlapping queries; a record comes to both, one of which is answered too low and the other too high.

    A noisy total decides the number of rounds, and with it their prices: two or three, nine for a noise that never is.
    """
    matrix = Dense(np.array([[1, 1, 0, 0], [1, 0, 1, 0]]))
    plan = automatic(_problem(4, matrix), budget, schedule="queries")
    here: dict[tuple[int, ...], int] = {(1,): 3, (2,): 1}
    return Case(
        name=f"release-queries-{name}",
        what=f"a release by single queries whose number a total tells, {plan.roles.check.name} (a tenth of the runs)",
        pair=(records((4,), here), records((4,), {**here, (0,): 1})),
        trial=PlannedTrial(plan=plan, shown=partial(rounds_shown, 9, 1)),
        work=WORK,
    )


def ordered_case(name: str, budget: PrivacyBudget) -> Case:
    """A cumulative distribution as `auto` releases it, under rho: a count, looks at boxes, and what these decide.

    As many records as decide what is looked at first: the noise of their count is a coin.
    """
    plan = automatic(_problem(CELLS, Prefix(CELLS)), budget, accountant="zcdp", check="gaussian")
    (part,) = groups(plan)
    here: dict[tuple[int, ...], int] = {(2,): math.floor(part.limit)}
    return Case(
        name=f"release-ordered-{name}",
        what=f"a release of ordered cells by a paid count, {plan.roles.check.name} (a tenth of the runs)",
        pair=(records((CELLS,), here), records((CELLS,), {**here, (0,): 1})),
        trial=PlannedTrial(plan=plan, shown=partial(rounds_shown, DRAWS, WIDEST)),
        work=WORK,
    )


def automatic(problem: Problem, budget: PrivacyBudget, **stated: Any) -> Plan:
    """The plan that `dpqr release` makes of the workload where the user states these options alone."""
    request, _ = settled(PlanRequest(queries="", epsilon="", **stated), problem.workload)
    return least_noise(problem, budget, chosen_schedule(request), chosen_wishes(request))


def _problem(cells: int, matrix: IntMatrix) -> Problem:
    block = QueryBlock(name="queries", factors=(Factor(axes=(0,), sizes=(cells,), matrix=matrix),))
    domain = Domain((Attribute(name="column", axis=Codes(cells)),))
    return Problem(domain=domain, workload=Workload((block,)), unit=ADDED)


def buckets_shown(plan: Plan, outcome: Outcome) -> Shown:
    """Buckets, measurements and answers of one release by a plan of `Ordered`."""
    block = plan.problem.workload.blocks[0]
    released = [numbers(one) for one in outcome.transcript.measurements]
    measured = [number for one in released for number in (*one, *(ABSENT,) * (WIDEST - len(one)))]
    measured += [ABSENT] * (DRAWS * WIDEST - len(measured))
    answers = np.rint(outcome.hypothesis.answer(block)).astype(np.int64)
    return _buckets(outcome.transcript.measurements[-1].blocks[0]), tuple(measured), tuple(answers.tolist())


def _buckets(block: QueryBlock) -> tuple[int, ...]:
    """The bucket of every cell; each its own where the strategy over cells was measured."""
    matrix = block.factors[0].matrix
    found = matrix.buckets if isinstance(matrix, Merged) else np.arange(CELLS)
    return tuple(int(bucket) for bucket in found)


def partition_cases() -> Iterator[Case]:
    """Add-remove, where all three draws are made. Replace, where n is public and two are, is left to the tests: its
    worst pair is no worse, and a run takes milliseconds."""
    pure = Roles(distinguisher=PermuteAndFlip(), check=Laplace(), update=BucketLeastSquares(), accountant=Basic())
    yield partition_case("basic-add-remove", ADDED, PrivacyBudget(Fraction(1)), pure)


def partition_case(name: str, unit: PrivacyUnit, budget: PrivacyBudget, roles: Roles) -> Case:
    """A cumulative distribution over a few cells with a few records; one comes to the first cell."""
    block = QueryBlock(name="cdf", factors=(Factor(axes=(0,), sizes=(CELLS,), matrix=Prefix(CELLS)),))
    here: dict[tuple[int, ...], int] = {(2,): 2}
    problem = Problem(
        domain=Domain((Attribute(name="column", axis=Codes(CELLS)),)),
        workload=Workload((block,)),
        unit=unit,
    )
    plan = Ordered().plan(problem, budget, roles)
    return Case(
        name=f"release-partition-{name}",
        what=f"a release in buckets that noisy counts choose, {roles.check.name} (a tenth of the runs)",
        pair=(records((CELLS,), here), records((CELLS,), {**here, (0,): 1})),
        trial=PlannedTrial(plan=plan, shown=buckets_shown),
        work=WORK,
    )
