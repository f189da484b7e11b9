"""Whole releases of tiny tables: everything that one publishes is part of the outcome, after a crash as well."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, final

import numpy as np
from msgspec import Struct

from dpqr.audit.case import Case, Claim, Numbers, Pair, PublicOutcome, numbers, records
from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import Counts
from dpqr.kernel.accountants.sums import Basic, ZeroConcentrated
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.events import PrivacyEvent
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.releases.draws import Blocks, Draws, Plain, RecordedDraw
from dpqr.releases.loop import SILENT, Outcome, iterative_construction
from dpqr.releases.requests import PlanRequest
from dpqr.releases.result import FinishedRun, assemble
from dpqr.releases.roles import allowed_strategies, make_schedule, resolve_auto_schedule
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.distinguishers import Exponential, PermuteAndFlip
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.anytime import Anytime
from dpqr.strategies.schedules.ordered import TUNING, Ordered, groups
from dpqr.strategies.schedules.planner import choose_plan
from dpqr.strategies.schedules.rounds import Rounds
from dpqr.strategies.schedules.split import Split, plan_split
from dpqr.strategies.schedules.theory import Theory
from dpqr.strategies.updates.least_squares import BucketLeastSquares
from dpqr.strategies.updates.median import Median
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.strategies.updates.perceptron import Perceptron
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, IntMatrix, Prefix
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.workload import Workload


class Crash(Exception):
    """Stands for the end of the process."""


@final
@dataclass(slots=True, kw_only=True)
class Tape:
    """Keeps draws as the journal of a ledger does.

    lost: the draw, counted from 0, after which the first run dies, before its value is recorded; None: no crash.
    """

    lost: int | None = None
    _kept: list[Plain | None] = field(default_factory=list)
    _read: int = 0

    def rewind(self) -> None:
        """The run is to be continued: what was kept is read from its beginning."""
        self._read = 0

    def past(self, event: PrivacyEvent, blocks: Blocks) -> RecordedDraw | None:
        if self._read == len(self._kept):
            return None
        self._read += 1
        return RecordedDraw(value=self._kept[self._read - 1])

    def begin(self, event: PrivacyEvent, blocks: Blocks) -> None:
        self._kept.append(None)
        self._read += 1

    def record(self, value: Plain) -> None:
        """Crash, instead, at the draw that shall be lost."""
        if len(self._kept) - 1 == self.lost:
            raise Crash
        self._kept[-1] = value


WORK = 10
"""Runs of other cases in the time of one by a schedule that searches or looks twice."""
ABSENT = -(2**40)
"""Stands for a round that an early stop left out."""
DELTA = Fraction(1, 100)
RECORDS = 300
"""Enough for the theory schedule to promise something, and few enough for a schedule of two or three rounds."""
BRIEF = 500
"""Runs that show an exact total, a score that is used again or an answer without noise."""
ADDED = PrivacyUnit(neighbours=Neighbours.ADD_REMOVE)
REPLACED = PrivacyUnit(neighbours=Neighbours.REPLACE)


class PlannedTrial(Struct, frozen=True, kw_only=True, eq=False):
    """One run of the loop by `plan`; `release_outcome`: what an attack looks at in its outcome."""

    plan: Plan
    shown: Callable[[Plan, Outcome], PublicOutcome]

    @property
    def claim(self) -> Claim:
        return Claim.planned(self.plan.budget, self.plan.events)

    def run(self, database: Private[Counts], noise: NoiseSource) -> PublicOutcome:
        draws = Draws(data=database, accountant=make_filter(self.plan), noise=noise)
        return self.shown(self.plan, iterative_construction(draws, self.plan, SILENT))


class ReleaseTrial(Struct, frozen=True, kw_only=True, eq=False):
    """One release by `plan`, as `dpqr release` makes it once the table is loaded.

    lost: the draw, counted from 0, that a crash loses after it was made; the release is then continued from what was
    recorded, by a run of its own. None: no crash.
    """

    plan: Plan
    lost: int | None = None

    @property
    def claim(self) -> Claim:
        return Claim.planned(self.plan.budget, self.plan.events)

    def run(self, database: Private[Counts], noise: NoiseSource) -> PublicOutcome:
        tape = Tape(lost=self.lost)
        try:
            return self._release(database, noise, tape)
        except Crash:
            tape.rewind()
            return self._release(database, noise, tape)

    def _release(self, database: Private[Counts], noise: NoiseSource, tape: Tape) -> PublicOutcome:
        plan = self.plan
        draws = Draws(data=database, accountant=make_filter(plan), noise=noise, journal=tape)
        outcome = iterative_construction(draws, plan, SILENT)
        return release_outcome(plan, assemble(plan, outcome, {}, private=noise.private))


def release_outcome(plan: Plan, release: FinishedRun) -> PublicOutcome:
    """The transcript, the errors that were bought, and the answers and the total of the released hypothesis, rounded to
    records."""
    rounds = release.transcript.rounds
    planned = len(plan.opening) + plan.rounds
    widest = max(block.rows for block in plan.problem.workload.blocks)
    choices = tuple(-1 if finished.choice is None else finished.choice for finished in rounds)
    measured: list[int] = []
    for finished in rounds:
        measured += _padded(numbers(finished.measurement) if finished.measurement else (), widest)
    # At most one integer for each block in each of two draws.
    found = release.errors
    draws = [] if found is None else [draw for draw in (found.sums, found.largest) if draw is not None]
    values = tuple(int(value) for draw in draws for value in draw.values)
    bought = plan.phase("errors") or plan.phase("bounds")
    measured = [
        *_padded(tuple(measured), planned * widest),
        *_padded(values, 2 * len(plan.problem.workload.blocks) if bought else 0),
    ]
    answers = np.concatenate([answers.estimate for answers in release.answers])
    derived = np.rint(np.append(answers, release.hypothesis.total)).astype(np.int64)
    context = (release.transcript.stopped, *_padded(choices, planned))
    return tuple(map(int, context)), tuple(measured), tuple(derived.tolist())


def _padded(given: Numbers, length: int) -> Numbers:
    return given + (ABSENT,) * (length - len(given))


def release_cases() -> Iterator[Case]:
    """Both schedules, both neighbour relations, both accountants that a plan is usually charged by."""
    pure = Roles(distinguisher=PermuteAndFlip(), check=Laplace(), update=MultiplicativeWeights(), accountant=Basic())
    yield rounds_case("basic-add-remove", ADDED, PrivacyBudget(Fraction(2)), pure)
    rho = Roles(
        distinguisher=Exponential(), check=Gaussian(), update=MultiplicativeWeights(), accountant=ZeroConcentrated()
    )
    yield rounds_case("zcdp-replace", REPLACED, PrivacyBudget(Fraction(3), DELTA), rho)
    theory = Roles(distinguisher=Exponential(), check=Laplace(), update=MultiplicativeWeights(), accountant=Basic())
    yield theory_case("replace", REPLACED, theory)
    signed = Roles(distinguisher=Exponential(), check=Laplace(), update=Perceptron(), accountant=Basic())
    yield theory_case("add-remove", ADDED, signed)
    halving = Roles(distinguisher=Exponential(), check=Laplace(), update=Median(), accountant=Basic())
    yield theory_case("median", REPLACED, halving)
    yield anytime_case("replace", REPLACED, theory)
    yield anytime_case("add-remove", ADDED, signed)
    yield resumed_case(pure)
    yield certified_case(pure)


def rounds_case(name: str, unit: PrivacyUnit, budget: PrivacyBudget, roles: Roles) -> Case:
    """One round on three marginals."""
    pair, plan = _in_rounds(unit, budget, roles, rounds=1)
    what = f"a release in rounds, {roles.distinguisher.name} and {roles.check.name}"
    return Case(name=f"release-rounds-{name}", what=what, pair=pair, trial=ReleaseTrial(plan=plan), brief=BRIEF)


def resumed_case(roles: Roles) -> Case:
    """A release that dies with a choice in its hands, and is continued: that choice stays lost, and paid."""
    pair, plan = _in_rounds(ADDED, PrivacyBudget(Fraction(2)), roles, rounds=2)
    what = "a release that lost a draw in a crash and was continued"
    trial = ReleaseTrial(plan=plan, lost=len(plan.opening))
    return Case(name="release-resumed", what=what, pair=pair, trial=trial, brief=BRIEF)


def certified_case(roles: Roles) -> Case:
    """A release that buys bounds, its groups cut by what the first of their draws has shown."""
    pair, plan = _in_rounds(ADDED, PrivacyBudget(Fraction(2)), roles, rounds=1)
    schedule, split = Rounds(rounds=1, opening=False), Split(bounds=Fraction(1, 2))
    trial = ReleaseTrial(plan=plan_split(schedule, split, plan.problem, plan.budget, roles))
    return Case(
        name="release-certified", what="a release with bounds on its errors", pair=pair, trial=trial, brief=BRIEF
    )


def theory_case(name: str, unit: PrivacyUnit, roles: Roles) -> Case:
    """A few rounds at most on a query asked twice, whose gap is the stop test's threshold: it stops by a fair coin."""
    plan = Theory(variant="sharp").plan(_asked_twice(unit), PrivacyBudget(Fraction(3)), roles)
    what = f"a release by theory with its stop test, {roles.update.name}"
    return _coin(f"release-theory-{name}", what, plan, (plan.stop and plan.stop.threshold) or Fraction(0))


def anytime_case(name: str, unit: PrivacyUnit, roles: Roles) -> Case:
    """The same in stages; the gap is the threshold of the first."""
    plan = Anytime().plan(_asked_twice(unit), PrivacyBudget(Fraction(8)), roles)
    what = f"a release by theory in stages, {roles.update.name}"
    first = (plan.stop.stages if plan.stop else (Fraction(0),))[0]
    return _coin(f"release-stages-{name}", what, plan, first * Fraction(3, 4) * RECORDS)


def _coin(name: str, what: str, plan: Plan, gap: Fraction) -> Case:
    # `first` records in the first cell, and one more there; under replace it comes from the second cell.
    first = RECORDS // 2 + math.floor(gap)
    others = RECORDS - first - 1
    left = others + (plan.problem.unit.neighbours is Neighbours.REPLACE)
    pair = records((2,), {(0,): first, (1,): left}), records((2,), {(0,): first + 1, (1,): others})
    return Case(name=name, what=what, pair=pair, trial=ReleaseTrial(plan=plan), brief=BRIEF)


def _asked_twice(unit: PrivacyUnit) -> Problem:
    rows = Dense(np.array([[1, 0], [1, 0]]))
    block = QueryBlock(name="queries", factors=(Factor(axes=(0,), sizes=(2,), matrix=rows),))
    return Problem(domain=codes_domain((2,)), workload=Workload((block,)), unit=unit, n=RECORDS)


def _in_rounds(unit: PrivacyUnit, budget: PrivacyBudget, roles: Roles, rounds: int) -> tuple[Pair, Plan]:
    """Three marginals. The record that comes fills the emptier cell of one of them and the fuller of another."""
    shape = (2, 2, 2)
    blocks = tuple(QueryBlock(name=f"{axis}", factors=(Factor.identity(axis, 2),)) for axis in range(3))
    here: dict[tuple[int, ...], int] = {(1, 0, 0): 9, (0, 1, 1): 3}
    n, one = None, here
    if unit.neighbours is Neighbours.REPLACE:
        n, one = 13, {**here, (1, 1, 0): 1}
    pair = records(shape, one), records(shape, {**here, (0, 0, 0): 1})
    problem = Problem(domain=codes_domain(shape), workload=Workload(blocks), unit=unit, n=n)
    return pair, Rounds(rounds=rounds, opening=False).plan(problem, budget, roles)


def codes_domain(shape: tuple[int, ...]) -> Domain:
    """A column of codes for each axis."""
    return Domain(tuple(Attribute(name=f"column {axis}", axis=Codes(size)) for axis, size in enumerate(shape)))


# Whole releases by the schedules that `auto` takes. Choices that they pay for are in the outcome.

CELLS = 8
WIDEST = 4 * CELLS
"""Answers of one measurement, at most: a tree has fewer than twice as many rows as cells, other designs fewer."""


DRAWS = 1 + len(TUNING.recounts) + 3
"""Measurements of a release of ordered columns, at most: records, two looks, and what answers rest on."""


def rounds_outcome(rounds: int, widest: int, plan: Plan, outcome: Outcome) -> PublicOutcome:
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
    return tuple(context), tuple(measured), numbers(np.rint(answers).astype(np.int64))


def schedule_cases() -> Iterator[Case]:
    """Add-remove, where the number of records is paid for and steers what follows."""
    # Two overlapping queries; a record comes to both, one of which is answered too low and the other too high. A noisy
    # total decides the number of rounds, and with it their prices: two or three, nine for a noise that never is.
    matrix = Dense(np.array([[1, 1, 0, 0], [1, 0, 1, 0]]))
    plan = automatic(_problem(4, matrix), PrivacyBudget(Fraction(1)), schedule="queries")
    here: dict[tuple[int, ...], int] = {(1,): 3, (2,): 1}
    yield Case(
        name="release-queries-basic-add-remove",
        what=f"a release by single queries whose number a total tells, {plan.roles.check.name} (a tenth of the runs)",
        pair=(records((4,), here), records((4,), {**here, (0,): 1})),
        trial=PlannedTrial(plan=plan, shown=partial(rounds_outcome, 9, 1)),
        work=WORK,
    )
    # A cumulative distribution as `auto` releases it, under rho: counts, looks at boxes, and what these decide. With
    # as many records as decide on a second look: the noise of their count is a coin.
    budget = PrivacyBudget(Fraction(1), DELTA)
    plan = automatic(_problem(CELLS, Prefix(CELLS)), budget, accountant="zcdp", check="gaussian")
    (part,) = groups(plan)
    here = {(2,): math.floor(part.limit)}
    yield Case(
        name="release-ordered-zcdp-add-remove",
        what=f"a release of ordered cells by a paid count, {plan.roles.check.name} (a tenth of the runs)",
        pair=(records((CELLS,), here), records((CELLS,), {**here, (0,): 1})),
        trial=PlannedTrial(plan=plan, shown=partial(rounds_outcome, DRAWS, WIDEST)),
        work=WORK,
    )


def automatic(problem: Problem, budget: PrivacyBudget, **stated: Any) -> Plan:
    """The plan that `dpqr release` makes of the workload where the user states these options alone."""
    request, _ = resolve_auto_schedule(PlanRequest(queries="", epsilon="", **stated), problem.workload)
    return choose_plan(problem, budget, make_schedule(request), allowed_strategies(request))


def _problem(cells: int, matrix: IntMatrix) -> Problem:
    block = QueryBlock(name="queries", factors=(Factor(axes=(0,), sizes=(cells,), matrix=matrix),))
    domain = Domain((Attribute(name="column", axis=Codes(cells)),))
    return Problem(domain=domain, workload=Workload((block,)), unit=ADDED)


def buckets_outcome(plan: Plan, outcome: Outcome) -> PublicOutcome:
    """Buckets, measurements and answers of one release by a plan of `Ordered`."""
    block = plan.problem.workload.blocks[0]
    released = [numbers(one) for one in outcome.transcript.measurements]
    measured = [number for one in released for number in (*one, *(ABSENT,) * (WIDEST - len(one)))]
    measured += [ABSENT] * (DRAWS * WIDEST - len(measured))
    answers = np.rint(outcome.hypothesis.answer(block)).astype(np.int64)
    # The bucket of every cell; each its own where the strategy over cells was measured.
    matrix = outcome.transcript.measurements[-1].blocks[0].factors[0].matrix
    found = matrix.buckets if isinstance(matrix, BucketMatrix) else np.arange(CELLS)
    return tuple(int(bucket) for bucket in found), tuple(measured), tuple(answers.tolist())


def partition_cases() -> Iterator[Case]:
    """Add-remove, where all three draws are made. Replace, where n is public and two are, is left to the tests: its
    worst pair is no worse, and a run takes milliseconds."""
    pure = Roles(distinguisher=PermuteAndFlip(), check=Laplace(), update=BucketLeastSquares(), accountant=Basic())
    # A cumulative distribution over a few cells with a few records; one comes to the first cell.
    here: dict[tuple[int, ...], int] = {(2,): 2}
    plan = Ordered().plan(_problem(CELLS, Prefix(CELLS)), PrivacyBudget(Fraction(1)), pure)
    yield Case(
        name="release-partition-basic-add-remove",
        what="a release in buckets that noisy counts choose, laplace (a tenth of the runs)",
        pair=(records((CELLS,), here), records((CELLS,), {**here, (0,): 1})),
        trial=PlannedTrial(plan=plan, shown=buckets_outcome),
        work=WORK,
    )
