"""Update rules: the source's "database update algorithm" U (Dwork and Roth 2014, Definitions 5.3 and 5.4)."""

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
        """Sentences that every release made with this rule carries (heuristics, missing guarantees)."""
        ...

    @property
    def cumulative(self) -> bool:
        """Whether one update after several measurements ends where an update after each would."""
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
            history: all measurements so far. The source's rules read the last one; replay reads all.

        Returns:
            None where no state is consistent with the answers, an event of probability beta: the loop keeps the last
            one.
        """
        ...

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """floor(T(a)), the longest possible database update sequence at level a; None: no bound is proved.

        The `theory` schedule relies on it; plan and record of a third party's rule say whose claim it is.
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
        """Why it is no proof: a sentence for plan and release."""
        ...


@runtime_checkable
class CarriedBound(Protocol):
    """An update rule whose mistake bound rests on a potential that no update raises, at whatever level: its hypothesis
    is carried from stage to stage of falling levels (`theory.anytime`)."""

    def mistakes_carried(self, problem: Problem, level: Level, finest: Level) -> int | None:
        """floor(P / d): P the potential's start, of a hypothesis started for `finest`; d the least that an update at
        `level` or above takes from it; None: no bound is proved. Updates at several levels share one P."""
        ...


@runtime_checkable
class DistinctRecordsBound(Protocol):
    """An update rule with a better mistake bound for tables without duplicate records."""

    def mistakes_distinct(self, problem: Problem, level: Level) -> int | None:
        """floor(T(a)) for such a table of problem.n records; None where n is not known, or above the cells."""
        ...
