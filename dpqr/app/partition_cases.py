"""Releases in buckets under attack: the choice of the buckets is part of what is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpqr.app.release_cases import ABSENT, ADDED, Unwatched
from dpqr.construction.draws import Draws
from dpqr.construction.loop import iterative_construction
from dpqr.data.attribute import Attribute, Codes
from dpqr.data.counts import Counts
from dpqr.data.domain import Domain
from dpqr.data.unit import PrivacyUnit
from dpqr.evaluation.case import Case
from dpqr.evaluation.claim import Claim
from dpqr.evaluation.draws import numbers
from dpqr.evaluation.neighbours import records
from dpqr.evaluation.outcomes import Shown
from dpqr.noise.source import NoiseSource
from dpqr.privacy.accountants.basic import Basic
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.sealed import Private
from dpqr.strategies.checks.laplace import Laplace
from dpqr.strategies.choice import guarded
from dpqr.strategies.distinguishers.permute_and_flip import PermuteAndFlip
from dpqr.strategies.plan import Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.ordered.schedule import Ordered
from dpqr.strategies.updates.bucket_least_squares import BucketLeastSquares
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.merged import Merged
from dpqr.workload.workload import Workload

CELLS = 8
WIDEST = 4 * CELLS
"""Answers of one measurement, at most: a tree has fewer than twice as many rows as cells, other designs fewer."""

WORK = 10
"""Runs of other cases in the time of one of these."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionTrial:
    """One release by a plan of `Ordered`: buckets, measurements, answers."""

    plan: Plan

    @property
    def claim(self) -> Claim:
        return Claim.planned(self.plan.budget, self.plan.events)

    def run(self, database: Private[Counts], noise: NoiseSource) -> Shown:
        plan = self.plan
        outcome = iterative_construction(Draws(data=database, accountant=guarded(plan), noise=noise), plan, Unwatched())
        block = plan.problem.workload.blocks[0]
        told = [numbers(one) for one in outcome.transcript.measurements]
        measured = [number for one in told for number in (*one, *(ABSENT,) * (WIDEST - len(one)))]
        planned = (len(plan.opening) + len(plan.named("stage"))) * WIDEST
        measured += [ABSENT] * (planned - len(measured))
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
        trial=PartitionTrial(plan=plan),
        work=WORK,
    )
