"""Schedule: turns a budget into a plan, and a plan into steps; and the states that several schedules share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from dpqr.privacy.budget import PrivacyBudget
from dpqr.strategies.problem import Problem
from dpqr.strategies.transcript import Round, Step, Transcript
from dpqr.workload.workload import Measurement

if TYPE_CHECKING:
    from dpqr.strategies.plan import Plan, Roles

S = TypeVar("S")


class Planner(Protocol):
    """Makes plans, each of which names the schedule that follows it."""

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


class Schedule(Planner, Protocol[S]):
    """A planner that follows its plans, from state to state.

    The state S is a value: all that the next steps depend on. `start`, `next` and `after` are functions of their
    arguments and change none of them, so the same plan and the same rounds lead to the same steps, also where a run is
    continued after a crash.

    Privacy: a plan is public and a round released, so each state is public or released too. Nothing else may enter it.
    """

    def start(self, plan: Plan) -> S:
        """Before the first round."""
        ...

    def next(self, plan: Plan, state: S) -> Step | None:
        """The next step, or None at the end."""
        ...

    def after(self, state: S, finished: Round) -> S:
        """The state after one more round, which was made by the step that `next` gave for `state`."""
        ...


@runtime_checkable
class Explaining(Protocol):
    """A schedule that makes choices while it runs, and can say why: for the release."""

    def reasons(self, plan: Plan, transcript: Transcript) -> tuple[str, ...]:
        """Sentences, from public and released figures only."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How many rounds there were, and what the first one released.

    first: None before it, and where it was lost in a crash.

    >>> Progress().after(Round(choice=None, measurement=None, charges=(0,)))
    Progress(rounds=1, first=None)
    """

    rounds: int = 0
    first: Measurement | None = None

    def after(self, finished: Round) -> Progress:
        return Progress(rounds=self.rounds + 1, first=self.first if self.rounds else finished.measurement)


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """What every round released, in order; None for one that was lost in a crash.

    >>> Released().after(Round(choice=None, measurement=None, charges=(0,))).measurements
    ()
    """

    rounds: tuple[Measurement | None, ...] = ()

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return tuple(measured for measured in self.rounds if measured is not None)

    def after(self, finished: Round) -> Released:
        return Released(rounds=(*self.rounds, finished.measurement))
