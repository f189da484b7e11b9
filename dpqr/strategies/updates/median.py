"""Median: halving over a net of small databases (Dwork and Roth 2014, section 5.2; Gupta, Roth and Ullman 2012)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.models.small_databases import Net, PolytopeSample, coefficients_on, every_database, rounding_size
from dpqr.strategies.problem import Footprint, Level, Problem
from dpqr.strategies.updates.interface import SingleQuery, floor_of_log, records
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

MEMBER_LIMIT = 2**22
"""Members up to which a net is listed."""
CELL_LIMIT = 2**12
"""Cells up to which the polytope is sampled."""
SPELT_OUT = 10**15
"""Larger numbers are shown by their power of ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Median:
    """Starts with a strict a-net and drops every member that the answer contradicts.

    A net has, for every distribution, a member whose answers all differ by less than a. When v < f(D), the truth has
    f(x) <= f(D) - a, so its member answers less than f(D): members that answer f(D) or more are dropped, at least half
    of them, for f(D) is their median. So at most log2 of the net's size updates are possible.

    The net is all databases of m records, m the smaller of |X|/(4a) (every workload, `rounding_size`) and
    log(2|Q|)/(2 a^2) (Hoeffding's bound and the union over the workload: some sample of m records is a member within
    a), each plus one and rounded down.

    Attributes:
        members: how large a net is listed.
        cells: largest universe of which the polytope of consistent histograms is sampled instead.
        points, steps: of that sample.

    >>> Median().cumulative
    False
    """

    name: ClassVar[str] = "median"

    members: int = MEMBER_LIMIT
    cells: int = CELL_LIMIT
    points: int = 256
    steps: int = 128

    @property
    def trust(self) -> tuple[str, ...]:
        """Empty: a listed net has a proved bound, and a sample has its `caution`."""
        return ()

    @property
    def cumulative(self) -> bool:
        return False

    def start(self, problem: Problem) -> Net | PolytopeSample:
        """The whole net, or uniform points of all distributions where it is too large."""
        refusal = self.footprint(problem).refusal
        if refusal is not None or problem.level is None:
            raise InfeasiblePlan(refusal or _NO_LEVEL)
        shape, total = problem.domain.shape, float(problem.n or 0)
        size = net_records(problem, problem.level)
        if net_members(problem, size) <= self.members:
            return Net(members=every_database(size, problem.domain.size), size=size, total=total, shape=shape)
        return PolytopeSample.simplex(shape, total, count=self.points, steps=self.steps, seed=problem.seed)

    def update(
        self, problem: Problem, hypothesis: Net | PolytopeSample, history: Sequence[Measurement]
    ) -> Net | PolytopeSample | None:
        """The members left by the newest answer; None where none is (the answer was outside its tail bound)."""
        if problem.level is None:
            raise InfeasiblePlan(_NO_LEVEL)
        if isinstance(hypothesis, Net):
            return _halved(problem, hypothesis, history[-1])
        return _cut(problem, problem.level, hypothesis, history)

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """floor(log2 of the net's size), where all its members can be listed; a sample proves nothing."""
        if problem.domain.size > self.cells:
            return None
        members = net_members(problem, net_records(problem, level))
        return members.bit_length() - 1 if members <= self.members else None

    def mistakes_carried(self, problem: Problem, level: Level, finest: Level) -> int | None:
        """floor(log2 of the size of the finest level's net), which serves at all levels above.

        Proof: the net has a member m* whose answers all differ from the truth's by less than the finest level b. An
        update at a level a >= b has f(x) <= f(D) - a where v < f(D), so f(m*) < f(x) + b <= f(D): m* stays, and every
        update halves the others.
        """
        return self.mistakes(problem, finest)

    def expected_mistakes(self, problem: Problem, level: Level) -> int | None:
        """The same figure where a sample of the polytope replaces a net that is too large to be listed."""
        if problem.domain.size > self.cells or problem.n is None:
            return None
        return net_members(problem, net_records(problem, level)).bit_length() - 1

    def caution(self, problem: Problem, level: Level) -> str:
        """For a sampled polytope."""
        members = net_members(problem, net_records(problem, level))
        size = f"{members:,}" if members < SPELT_OUT else f"about 10^{int(math.log10(members))}"
        return (
            f"median: the net at this alpha has {size} members and at most {self.members:,} are listed, so a "
            "hit-and-run sample of the histograms that are consistent with the answers stands for it: the number of "
            "rounds and alpha are heuristic"
        )

    def footprint(self, problem: Problem) -> Footprint:
        """Three copies of the members of a listed net; or the points and a walk's work space."""
        cells = problem.domain.size
        if problem.level is None:
            return Footprint(bytes=0, refusal=_NO_LEVEL)
        if cells > self.cells:
            refusal = (
                f"the domain has {cells} cells, and the median rule works on at most {self.cells}; merge bins, or "
                "take --update multiplicative-weights"
            )
            return Footprint(bytes=0, refusal=refusal)
        size = net_records(problem, problem.level)
        members = net_members(problem, size)
        if members <= self.members:
            width = 1 if size < 2**7 else 2 if size < 2**15 else 4
            return Footprint(bytes=members * (3 * cells * width + 3 * 8))
        return Footprint(bytes=6 * 8 * self.points * 2 * cells)

    def fits(self, problem: Problem, measured: Sequence[QueryBlock], candidate: Sequence[QueryBlock]) -> bool:
        """Always: the hypothesis does not grow with what was measured."""
        return True


_NO_LEVEL = "the median rule halves a net at a stated accuracy; take it with --schedule theory"


def net_records(problem: Problem, level: Level) -> int:
    """m: records of the net's databases."""
    sampled = floor_of_log(2 * problem.workload.rows, Fraction(1, 2) / level.value**2) + 1
    return min(rounding_size(problem.domain.size, level.value), sampled)


def net_members(problem: Problem, size: int) -> int:
    """C(m + |X| - 1, m)."""
    return math.comb(size + problem.domain.size - 1, size)


def _halved(problem: Problem, net: Net, measured: Measurement) -> Net | None:
    """In integers: value / n < median / m, on the query's grid."""
    block, value = SingleQuery.parts(measured)
    (median,) = net.medians(block)
    answers = net.member_answers(coefficients_on(block, net.shape)[0])
    kept = answers < median if value * net.size < int(median) * records(problem) else answers > median
    return net.only(kept) if kept.any() else None


def _cut(
    problem: Problem, level: Level, sample: PolytopeSample, history: Sequence[Measurement]
) -> PolytopeSample | None:
    """A fair answer puts f(x) within a of v, and the gap puts it at least a away from f(D), on v's side."""
    query = SingleQuery.newest(problem, history)
    block, _ = SingleQuery.parts(history[-1])
    row = np.broadcast_to(query.coefficients, sample.shape).reshape(-1)
    expected = float(sample.answer(block)[0]) * float(block.scale) / sample.total
    a = float(level.value)
    low, high = query.value - a, query.value + a
    low, high = (low, min(high, expected - a)) if query.value < expected else (max(low, expected + a), high)
    return sample.cut(np.stack([row, -row]), np.array([high, -low]))
