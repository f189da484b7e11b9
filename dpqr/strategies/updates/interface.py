"""Update rules: the book's "database update algorithm" U (Dwork and Roth 2014, Definitions 5.3 and 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar, runtime_checkable

from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.strategies.problem import Footprint, Level, Problem
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

H = TypeVar("H", bound=Hypothesis)


class UpdateRule(Protocol[H]):
    """How a hypothesis is refitted to measurements.

    Privacy:
        Post-processing, as long as the rule reads its arguments alone: public facts and released values. It runs in the
        same process as everything else, so a malicious rule can reach private data. A third party's needs `--trust`.
    """

    @property
    def name(self) -> str: ...

    @property
    def trust(self) -> tuple[str, ...]:
        """Sentences that every release made with this rule states (heuristics, missing guarantees)."""
        ...

    @property
    def cumulative(self) -> bool:
        """Whether one update after several measurements gives the same hypothesis as an update after each."""
        ...

    def start(self, problem: Problem) -> H:
        """D^1, from public facts only.

        Raises:
            InfeasiblePlan: the rule cannot run on this problem (`footprint`).
        """
        ...

    def update(self, problem: Problem, hypothesis: H, history: Sequence[Measurement]) -> H | None:
        """The next hypothesis; `hypothesis` is left as it was.

        Args:
            history: all measurements so far. The book's rules read the last one; replay reads all.

        Returns:
            None if no hypothesis agrees with all answers, an event of probability at most beta. The loop then ends
            with the last one.
        """
        ...

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """floor(T(a)), the longest possible database update sequence at level a; None: no bound is proved.

        The schedule `theory` relies on it. If the rule is a third party's, plan and record name whose claim it is.
        """
        ...

    def footprint(self, problem: Problem) -> Footprint:
        """Peak memory, or why the rule cannot run."""
        ...

    def fits(self, problem: Problem, measured: Sequence[QueryBlock], candidate: Sequence[QueryBlock]) -> bool:
        """Whether a hypothesis fitted to `measured` has room for `candidate` too. A function of public sizes."""
        ...


@runtime_checkable
class ConstrainedRule(Protocol):
    """An update rule whose hypotheses can satisfy structural zeros and known totals."""

    def applies_constraints(self, problem: Problem) -> bool:
        """Whether they do in this run."""
        ...


@runtime_checkable
class StartedRule(Protocol):
    """An update rule that can take the tables of an earlier release as weak evidence."""

    def takes_start(self, problem: Problem) -> bool:
        """Whether it does in this run."""
        ...


@runtime_checkable
class HeuristicBound(Protocol):
    """An update rule that may run at levels for which it has no proved mistake bound."""

    def expected_mistakes(self, problem: Problem, level: Level) -> int | None:
        """A number of updates that is likely to suffice where none is proved; None: the rule cannot run there."""
        ...

    def caution(self, problem: Problem, level: Level) -> str:
        """A sentence for plan and release: why this number is not proved."""
        ...


@runtime_checkable
class CarriedBound(Protocol):
    """An update rule whose mistake bound follows from a potential that updates at any level lower. Its hypothesis may
    be carried from stage to stage of falling levels (`theory.anytime`)."""

    def mistakes_carried(self, problem: Problem, level: Level, finest: Level) -> int | None:
        """floor(P / d); None: no bound is proved. Updates at several levels share one P.

        P is the potential of a hypothesis started for `finest`, d the least amount by which an update at `level` or
        above lowers it.
        """
        ...


@runtime_checkable
class DistinctRecordsBound(Protocol):
    """An update rule with a better mistake bound for tables without duplicate records."""

    def mistakes_distinct(self, problem: Problem, level: Level) -> int | None:
        """floor(T(a)) for such a table of problem.n records; None where n is not known, or above the cells."""
        ...
