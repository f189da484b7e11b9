"""UpdateRule: the source's "database update algorithm" U (Dwork and Roth 2014, Definitions 5.3 and 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar, runtime_checkable

from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.strategies.footprint import Footprint
from dpqr.strategies.problem import Level, Problem
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

H = TypeVar("H", bound=Hypothesis)


class UpdateRule(Protocol[H]):
    """How a hypothesis is refitted to measurements.

    Privacy: post-processing as long as it reads its arguments alone, which is what it is handed: public facts and
    released values. It runs in the same process as everything else, so a rule that means to reach private data can.
    That is why a third party's needs `--trust`.
    """

    @property
    def name(self) -> str: ...

    @property
    def trust(self) -> tuple[str, ...]:
        """Sentences that every release made with this rule must carry (heuristics, missing guarantees)."""
        ...

    @property
    def cumulative(self) -> bool:
        """Whether one update after several measurements ends where an update after each would."""
        ...

    def start(self, problem: Problem) -> H:
        """D^1, from public facts only."""
        ...

    def update(self, problem: Problem, hypothesis: H, history: Sequence[Measurement]) -> H | None:
        """The next hypothesis. The source's rules read history[-1], replay reads all; None: the rule is exhausted.

        Exhausted means that no state is consistent with the answers (a beta-event): the loop keeps the last one.
        """
        ...

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """floor(T(a)), the longest possible database update sequence at level a; None: no bound is proved.

        The schedule `theory` takes its word for it: plan and record of a third party's rule say whose word it is.
        """
        ...

    def footprint(self, problem: Problem) -> Footprint: ...

    def fits(self, problem: Problem, measured: Sequence[QueryBlock], candidate: Sequence[QueryBlock]) -> bool:
        """Whether a hypothesis that has seen `measured` has room for `candidate` too: a public rule for schedules."""
        ...


@runtime_checkable
class FactBinding(Protocol):
    """An update rule whose hypotheses can obey the public facts of the domain."""

    def binds(self, problem: Problem) -> bool:
        """Whether they do in this run."""
        ...


@runtime_checkable
class HeuristicBound(Protocol):
    """An update rule that may run at levels for which it has no proved mistake bound."""

    def expected_mistakes(self, problem: Problem, level: Level) -> int | None:
        """A number of updates that is likely to do where `mistakes` proves none; None: the rule cannot run there."""
        ...

    def caution(self, problem: Problem, level: Level) -> str:
        """Why it is no proof: a sentence for plan and release."""
        ...


@runtime_checkable
class UnlikeBound(Protocol):
    """An update rule with a better mistake bound for tables in which no two records are alike."""

    def mistakes_unlike(self, problem: Problem, level: Level) -> int | None:
        """floor(T(a)) for such a table of problem.n records; None where n is not known, or too large for one."""
        ...
