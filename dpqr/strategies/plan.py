"""Plan: the whole run on paper, before any data: what will be drawn, how often, at what price.

Schedule: turns a budget into a plan, and a plan into steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from dpqr.data.arrays import Axes
from dpqr.plugins import is_builtin
from dpqr.privacy.accountant import Accountant
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.privacy.events import Composition
from dpqr.strategies.candidates import Candidate
from dpqr.strategies.checks import Check
from dpqr.strategies.distinguishers import Distinguisher
from dpqr.strategies.inputs import PublicInputs
from dpqr.strategies.problem import Problem
from dpqr.strategies.transcript import Round, Step, Transcript
from dpqr.strategies.updates.interface import UpdateRule

S = TypeVar("S")

Promise = Literal["proved", "stated", "heuristic"]
"""What stands behind alpha: a proof, the word of a third party's update rule, or neither."""

TINY = 1e-300
"""A deviation that underflows to zero (a budget so large that there is no noise) counts as this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The strategies of one run."""

    distinguisher: Distinguisher
    check: Check
    update: UpdateRule[Any]
    accountant: Accountant


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockForecast:
    """Noise that a block's answers would get if the block is measured.

    deviation: standard deviation of the noise of one answer, in records. error: expected absolute error of an answer
    where the plan knows it in closed form; None: it depends on the data.
    """

    name: str
    rows: int
    deviation: float
    error: float | None = None


Noun = Literal["left out", "opening", "stage", "selection", "measurement", "search", "questions", "errors", "bounds"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Draws of one kind that a plan foresees.

    | noun                   | the draws                                                                               |
    |------------------------|-----------------------------------------------------------------------------------------|
    | left out               | a noisy count of the records that were left out, before all else                        |
    | opening                | measurements before any selection                                                       |
    | stage                  | a further measurement, of blocks that what was released before decides                  |
    | selection, measurement | of every round                                                                          |
    | search                 | the sum that a filter allows for all draws, where their prices follow what was released |
    | questions              | of a session: what was measured first, and the sum for thresholds and surprises         |
    | errors                 | L1 errors of the blocks that were not measured, after the last refit                    |
    | bounds                 | L1 errors of all blocks, for bounds that are proved and for error bars                  |

    count: how many draws; of a search: one sum. price: of each. events: all that is charged for them at most; none
    where a search's sum stands for them. blocks: what each of them measures, where the plan knows. single: whether a
    selection is among single queries, numbered along the workload's rows, not among blocks. part: schedule of its part.

    >>> Phase(noun="opening", count=14, price=Price(epsilon=Fraction(1, 50))).single
    False
    """

    noun: Noun
    count: int
    price: Price
    events: Composition = ()
    blocks: tuple[Candidate, ...] = ()
    single: bool = False
    part: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopTest:
    """threshold: 3 alpha n / 4, in records; None: every stage has its own. promise: what stands behind alpha: a proof,
    or a heuristic that the notes name.

    stages: alphas of a loop in stages, falling. certain: the smallest of them that is reached but with probability
    beta; None: none is. paper: the one that a plan on paper spends its budget at, by which plans are compared.

    >>> StopTest(threshold=Fraction(3, 4) * 100, promise="proved").threshold
    Fraction(75, 1)
    """

    threshold: Fraction | None
    promise: Promise
    stages: tuple[Fraction, ...] = ()
    certain: Fraction | None = None
    paper: Fraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Public; the same inputs always give the same plan.

    phases: all draws, in their order. stop: the test that may end the loop; None: there is none.
    epsilon: what the accountant proves for the events at the budget's delta, rounded up. asked: the roles that the user
    named a strategy for; the others were free to choose. bytes: peak memory that the plan foresees. notes: sentences
    for the user. error_bars: whether answers get estimated errors. inputs: documents and options that it was made from,
    for the record; None: not known. expected: a forecast of the mean L1 error over n, by which plans of one schedule
    are compared (None: they are by their noise); expected_at: the same, by numbers of records.
    >>> from dpqr.data.attribute import Attribute, Codes
    >>> from dpqr.data.domain import Domain
    >>> from dpqr.data.unit import PrivacyUnit
    >>> from dpqr.privacy.accountants.basic import Basic
    >>> from dpqr.strategies.checks import Laplace
    >>> from dpqr.strategies.distinguishers import PermuteAndFlip
    >>> from dpqr.strategies.schedules.rounds import Rounds
    >>> from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
    >>> from dpqr.workload.block import Factor, QueryBlock
    >>> from dpqr.workload.workload import Workload
    >>> domain = Domain(tuple(Attribute(name=name, axis=Codes(2)) for name in ("sex", "ill")))
    >>> workload = Workload(tuple(QueryBlock(name=f"column {k}", factors=(Factor.identity(k, 2),)) for k in (0, 1)))
    >>> problem = Problem(domain=domain, workload=workload, unit=PrivacyUnit())
    >>> roles = Roles(
    ...     distinguisher=PermuteAndFlip(), check=Laplace(), update=MultiplicativeWeights(), accountant=Basic()
    ... )
    >>> plan = Rounds(rounds=1, opening=False).plan(problem, PrivacyBudget(epsilon=Fraction(1)), roles)
    >>> [(phase.noun, phase.count, phase.price.epsilon) for phase in plan.phases]
    [('opening', 1, Fraction(1, 5)), ('selection', 1, Fraction(4, 25)), ('measurement', 1, Fraction(16, 25))]
    """

    problem: Problem
    budget: PrivacyBudget
    roles: Roles
    schedule: Schedule[Any]
    phases: tuple[Phase, ...] = ()
    stop: StopTest | None = None
    epsilon: Fraction = Fraction(0)
    forecast: tuple[BlockForecast, ...] = ()
    bytes: int = 0
    notes: tuple[str, ...] = ()
    asked: frozenset[str] = frozenset()
    error_bars: bool = True
    inputs: PublicInputs | None = None
    expected: float | None = None
    expected_at: tuple[float, ...] = ()

    def named(self, noun: Noun) -> tuple[Phase, ...]:
        """The phases of that noun, in their order."""
        return tuple(phase for phase in self.phases if phase.noun == noun)

    def phase(self, noun: Noun) -> Phase | None:
        """The first phase of that noun; None: there is none."""
        return next(iter(self.named(noun)), None)

    def price(self, noun: Noun) -> Price | None:
        """Of one draw of that phase."""
        phase = self.phase(noun)
        return phase.price if phase else None

    @property
    def events(self) -> Composition:
        """Everything that will be charged at most, in the order of the draws."""
        return tuple(event for phase in self.phases for event in phase.events)

    @property
    def opening(self) -> tuple[Candidate, ...]:
        """What is measured before any selection, draw by draw."""
        return tuple(blocks for phase in self.named("opening") for blocks in phase.blocks)

    @property
    def asked_columns(self) -> tuple[Axes, ...]:
        """The columns of each block that is asked for, or that a phase names."""
        named = [block.axes for phase in self.phases for blocks in phase.blocks for block in blocks]
        return tuple(dict.fromkeys([*(block.axes for block in self.problem.workload.blocks), *named]))

    @property
    def column_sets(self) -> tuple[Axes, ...] | None:
        """The columns that draws look at together, all of them; None: nobody knows beforehand.

        Privacy:
            Whether only these are counted also follows from the sizes of files, which are private. A draw that looked
            elsewhere would end the run or not by these sizes. Draws of third parties may, so they get every row.
        """
        own = (self.schedule, self.roles.distinguisher, self.roles.check)
        if not isinstance(self.schedule, Foreseeing) or not all(map(is_builtin, own)):
            return None
        return self.schedule.column_sets(self)

    @property
    def rounds(self) -> int:
        """Planned rounds, each a selection and a measurement: T0."""
        return sum(phase.count for phase in self.named("selection"))

    @property
    def promised(self) -> Fraction | None:
        """The alpha that holds but with probability beta, said before the run; None: there is none."""
        if self.stop is None:
            return None
        return self.stop.certain if self.stop.stages else self.problem.alpha

    @property
    def noise(self) -> float:
        """Geometric mean of the forecast deviations over all answers: what plans are compared by. Of stages the alpha
        on paper: their noise follows alpha, not the price.

        Why not the mean square: a sum of incomes, in euros, would outweigh every count.
        """
        if self.stop is not None and self.stop.paper is not None:
            return float(self.stop.paper)
        rows = sum(block.rows for block in self.forecast)
        logarithms = (block.rows * math.log(max(block.deviation, TINY)) for block in self.forecast)
        return math.exp(math.fsum(logarithms) / rows) if rows else 0.0

    @property
    def typical_noise(self) -> float:
        """The median of the forecast deviations over all answers: what people are shown.

        Why no mean: it would be that of the sums, whose unit is another one.
        """
        ranked = sorted(self.forecast, key=lambda block: block.deviation)
        middle = sum(block.rows for block in ranked) / 2
        reached = zip(ranked, accumulate(block.rows for block in ranked), strict=True)
        return next((block.deviation for block, rows in reached if rows >= middle), 0.0)


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

    Privacy:
        A plan is public and a round released, so each state is public or released too. Nothing else may enter it.
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
class Foreseeing(Protocol):
    """One of dpqr's schedules that knows which columns its draws will look at together: no row needs to be kept."""

    def column_sets(self, plan: Plan) -> tuple[Axes, ...]:
        """All of them, where draws measure and select among the asked blocks: `plan.asked_columns`."""
        ...


@runtime_checkable
class Explaining(Protocol):
    """A schedule that makes choices while it runs, and can say why: for the release."""

    def reasons(self, plan: Plan, transcript: Transcript) -> tuple[str, ...]:
        """Sentences, from public and released figures only."""
        ...
