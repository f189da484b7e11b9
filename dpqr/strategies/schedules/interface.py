"""Schedule: turns a budget into a plan, and a plan into steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from dpqr.privacy.budget import PrivacyBudget
from dpqr.strategies.problem import Problem
from dpqr.strategies.step import Step
from dpqr.strategies.transcript import Transcript

if TYPE_CHECKING:
    from dpqr.strategies.plan import Plan, Roles


class Schedule(Protocol):
    """A function of public and released things only."""

    @property
    def name(self) -> str: ...

    @property
    def distinguisher(self) -> str | None:
        """The distinguisher that the schedule's proof was written for; None: whichever the accountant favours."""
        ...

    @property
    def adaptive(self) -> bool:
        """Whether `next` may set prices by what was released: then a `FilterAccountant` alone may charge the run."""
        ...

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """The run on paper; InfeasiblePlan where there is none."""
        ...

    def next(self, plan: Plan, transcript: Transcript) -> Step | None:
        """The next step, or None at the end. Reads the transcript's public rounds only."""
        ...


@runtime_checkable
class Explaining(Protocol):
    """A schedule that makes choices while it runs, and can say why: for the release."""

    def reasons(self, plan: Plan, transcript: Transcript) -> tuple[str, ...]:
        """Sentences, from public and released figures only."""
        ...
