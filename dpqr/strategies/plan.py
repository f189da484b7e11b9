"""Plan: a run before any data is opened: its draws, their number and their prices.

Schedule: makes a plan from a budget, and the steps of the loop from a plan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from msgspec import Struct

from dpqr.kernel.accountants.accountant import Accountant, Portion
from dpqr.kernel.arrays import Axes
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.events import Composition
from dpqr.kernel.plugins import is_builtin
from dpqr.kernel.values import replace
from dpqr.strategies.candidates import Candidate
from dpqr.strategies.checks import Check
from dpqr.strategies.distinguishers import Distinguisher
from dpqr.strategies.problem import Problem, PublicInputs
from dpqr.strategies.transcript import Round, Step, Transcript
from dpqr.strategies.updates.interface import UpdateRule
from dpqr.workload.block import QueryBlock

S = TypeVar("S")

Promise = Literal["proved", "stated", "heuristic"]
"""The basis of alpha: a proof, a third party's statement about its update rule, or a heuristic that the notes name."""

TINY = 1e-300
"""A deviation that underflows to zero (a budget so large that there is no noise) counts as this."""


class Roles(Struct, frozen=True, kw_only=True):
    """The strategies of one run.

    reserved: while a schedule plans, what other draws of the run take of the budget, each as a multiple of all that the
    schedule cuts; what was reserved last comes first (`Split`).
    """

    distinguisher: Distinguisher
    check: Check
    update: UpdateRule[Any]
    accountant: Accountant
    reserved: tuple[Fraction, ...] = ()

    def cut(self, budget: PrivacyBudget, portions: Sequence[Portion]) -> tuple[Price, ...]:
        """The prices of a schedule's draws: the accountant cuts these and what is reserved in one call.

        Raises:
            InfeasiblePlan: as `Accountant.cut`.

        >>> from dpqr.kernel.accountants.sums import Basic
        >>> from dpqr.strategies.checks import Laplace
        >>> from dpqr.strategies.distinguishers import PermuteAndFlip
        >>> from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
        >>> names = {"distinguisher": PermuteAndFlip(), "check": Laplace(), "update": MultiplicativeWeights()}
        >>> roles = Roles(**names, accountant=Basic()).reserving(Fraction(1, 9))
        >>> roles.cut(PrivacyBudget(epsilon=Fraction(1)), [Portion(share=Fraction(1), count=3)])[0].epsilon
        Fraction(3, 10)
        """
        together = sum((portion.share * portion.count for portion in portions), Fraction(0))
        others = [Portion(share=odds * together, count=1) for odds in self.reserved if together]
        return self.accountant.cut(budget, [*portions, *others])[: len(portions)]

    def reserving(self, odds: Fraction) -> Roles:
        """The same, with `odds` times what is cut reserved for one draw more; its price counts as cut for those before
        it."""
        return replace(self, reserved=(odds, *(each * (1 + odds) for each in self.reserved)))


class BlockForecast(Struct, frozen=True, kw_only=True):
    """Noise of a block's answers, should the block be measured.

    deviation: standard deviation of the noise of one answer, in records. error: expected absolute error of an answer,
    where a closed form gives it; None: it depends on the data.
    """

    name: str
    rows: int
    deviation: float
    error: float | None = None


Noun = Literal[
    "left out", "persons", "opening", "stage", "selection", "measurement", "search", "questions", "errors", "bounds"
]


class Phase(Struct, frozen=True, kw_only=True):
    """Draws of one kind that a plan foresees.

    | noun                   | the draws                                                                               |
    |------------------------|-----------------------------------------------------------------------------------------|
    | left out               | a noisy count of the left-out records, before all else                                  |
    | persons                | all tables of persons at once                                                           |
    | opening                | measurements before any selection                                                       |
    | stage                  | a later measurement of blocks that released values decide                               |
    | selection, measurement | one of each in every round                                                              |
    | search                 | the budget of a filter, for draws whose prices depend on released values                |
    | questions              | of a session: its first measurements, and the budget for thresholds and surprises       |
    | errors                 | L1 errors of the blocks that were not measured, after the last refit                    |
    | bounds                 | L1 errors of all blocks, for proved bounds and for error bars                           |

    count: number of draws; 1 for a search. price: of each draw. events: the most that is charged for them; empty where
    a search pays for them. blocks: what each draw measures, where the plan knows it. single: whether a selection is
    among single queries, numbered along the workload's rows, and not among blocks. part: schedule of the part of the
    workload that it belongs to; empty where there are no parts.

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


class StopTest(Struct, frozen=True, kw_only=True):
    """The stop test of a plan.

    threshold: 3 alpha n / 4, in records; None: every stage has its own. promise: the basis of alpha.
    stages: alphas of a loop in stages, falling. certain: the smallest alpha that is reached with probability 1 - beta;
    None: none is. paper: the alpha at which the plan spends its whole budget, by which plans are compared.

    >>> StopTest(threshold=Fraction(3, 4) * 100, promise="proved").threshold
    Fraction(75, 1)
    """

    threshold: Fraction | None
    promise: Promise
    stages: tuple[Fraction, ...] = ()
    certain: Fraction | None = None
    paper: Fraction | None = None


class Plan(Struct, frozen=True, kw_only=True):
    """Everything about a run that is known before data is opened. Public; equal inputs give equal plans.

    phases: all draws, in order. stop: the test that may end the loop; None: there is none.
    epsilon: proved by the accountant for the events at the budget's delta, rounded up. forecast: of every block's
    noise. bytes: forecast peak memory. notes: sentences for the user. named_roles: those whose strategy the user named.
    error_bars: whether answers get estimated errors. inputs: documents and options that the plan was made from, for the
    record; None: not known. expected: forecast mean L1 error over n, by which plans of one schedule are compared (None:
    by their noise); expected_at: the same at several numbers of records.

    >>> from dpqr.domain.attribute import Attribute, Codes
    >>> from dpqr.domain.domain import Domain
    >>> from dpqr.kernel.unit import PrivacyUnit
    >>> from dpqr.kernel.accountants.sums import Basic
    >>> from dpqr.strategies.checks import Laplace
    >>> from dpqr.strategies.distinguishers import PermuteAndFlip
    >>> from dpqr.strategies.schedules.rounds import Rounds
    >>> from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
    >>> from dpqr.workload.block import Factor, QueryBlock
    >>> from dpqr.workload.workload import Workload
    >>> domain = Domain(tuple(Attribute(name=name, axis=Codes(2)) for name in ("sex", "ill")))
    >>> workload = Workload(tuple(QueryBlock(name=f"column {k}", factors=(Factor.identity(k, 2),)) for k in (0, 1)))
    >>> problem = Problem(domain=domain, workload=workload, unit=PrivacyUnit())
    >>> names = {"distinguisher": PermuteAndFlip(), "check": Laplace(), "update": MultiplicativeWeights()}
    >>> roles = Roles(**names, accountant=Basic())
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
    named_roles: frozenset[str] = frozenset()
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
        """Price of one draw of the first phase of that noun; None: there is none."""
        phase = self.phase(noun)
        return phase.price if phase else None

    @property
    def events(self) -> Composition:
        """The most that will be charged, in the order of the draws."""
        return tuple(event for phase in self.phases for event in phase.events)

    @property
    def opening(self) -> tuple[Candidate, ...]:
        """The blocks that are measured before any selection, one entry a draw."""
        return tuple(blocks for phase in self.named("opening") for blocks in phase.blocks)

    @property
    def persons(self) -> tuple[QueryBlock, ...]:
        """The tables of persons, which one draw measures together."""
        return tuple(block for phase in self.named("persons") for blocks in phase.blocks for block in blocks)

    @property
    def person_forecast(self) -> tuple[BlockForecast, ...]:
        """Noise of the tables of persons, in persons or in units of the summed column, and the error that it makes:
        released counts, of which none is below zero, err no more. `forecast` is of the blocks that records answer."""
        price = self.price("persons")
        if price is None:
            return ()
        law = self.roles.check.law(self.persons, self.problem.unit, price)
        return tuple(
            BlockForecast(
                name=block.name,
                rows=block.rows,
                deviation=law.deviation * float(block.scale),
                error=law.mean_size * float(block.scale),
            )
            for block in self.persons
        )

    @property
    def asked_columns(self) -> tuple[Axes, ...]:
        """The columns of each block that is asked for, or that a phase names."""
        of_records = (phase for phase in self.phases if phase.noun != "persons")
        named = [block.axes for phase in of_records for blocks in phase.blocks for block in blocks]
        return tuple(dict.fromkeys([*(block.axes for block in self.problem.workload.blocks), *named]))

    @property
    def column_sets(self) -> tuple[Axes, ...] | None:
        """All sets of columns of which draws read marginals; None: not known before the run.

        Privacy:
            A large table may be counted by these sets alone. Whether it is depends on file sizes, which are private. A
            draw that then read other columns would fail, and so tell a size. Third parties' strategies get every row.
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
        """The alpha that is stated before the run and holds with probability 1 - beta; None: there is none."""
        if self.stop is None:
            return None
        return self.stop.certain if self.stop.stages else self.problem.alpha

    @property
    def noise(self) -> float:
        """Geometric mean of the forecast deviations over all answers, by which plans are compared.

        The noise of a loop in stages follows alpha, not the price: there it is the stop test's `paper`. A mean square
        would let one sum of incomes, in euros, outweigh every count.
        """
        if self.stop is not None and self.stop.paper is not None:
            return float(self.stop.paper)
        rows = sum(block.rows for block in self.forecast)
        logarithms = (block.rows * math.log(max(block.deviation, TINY)) for block in self.forecast)
        return math.exp(math.fsum(logarithms) / rows) if rows else 0.0

    @property
    def typical_noise(self) -> float:
        """Median of the forecast deviations over all answers, shown to users.

        A mean would be dominated by sums, whose unit is not records.
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
        """The distinguisher of the schedule's proof; None: the best one under the accountant."""
        ...

    @property
    def adaptive(self) -> bool:
        """Whether prices may depend on released values; such a run needs a `FilterAccountant`."""
        ...

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """Return the plan of a run. Raises: InfeasiblePlan."""
        ...


class Schedule(Planner, Protocol[S]):
    """A planner that also gives the loop its steps.

    The state S holds all that later steps depend on. `start`, `next` and `after` are pure functions: the same plan and
    the same rounds give the same steps, also when a run is continued after a crash.

    Privacy:
        A state is computed from the public plan and released rounds only.
    """

    def start(self, plan: Plan) -> S:
        """Return the state before the first round."""
        ...

    def next(self, plan: Plan, state: S) -> Step | None:
        """Return the next step, or None at the end."""
        ...

    def after(self, state: S, finished: Round) -> S:
        """Return the state after the round that followed from `next(plan, state)`."""
        ...


@runtime_checkable
class Foreseeing(Protocol):
    """A schedule of dpqr that knows before the run of which columns its draws read marginals (`Plan.column_sets`)."""

    def column_sets(self, plan: Plan) -> tuple[Axes, ...]:
        """All sets of columns; `plan.asked_columns` where draws read the workload's blocks alone."""
        ...


@runtime_checkable
class Explaining(Protocol):
    """A schedule that chooses while it runs, and explains its choices in the release."""

    def reasons(self, plan: Plan, transcript: Transcript) -> tuple[str, ...]:
        """Return sentences from public and released values."""
        ...
