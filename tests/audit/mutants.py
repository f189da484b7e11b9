"""Mechanisms and trials made wrong on purpose, one fault each."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from dpqr.audit.case import Case, MechanismTrial, numbers
from dpqr.domain.histogram import Counts
from dpqr.kernel.gate import measure
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.selection import ExponentialChoice
from dpqr.models.hypothesis import DenseDistribution
from dpqr.strategies.candidates import BlockCandidates
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement


@dataclass(frozen=True)
class Billed:
    """Draws one thing and bills another."""

    drawn: Any
    billed: Any

    @property
    def event(self):
        return self.billed.event

    def sample(self, value, noise):
        return self.drawn.sample(value, noise)


@dataclass(frozen=True)
class Twice:
    """Two looks at the data for one charge."""

    inner: Any

    @property
    def event(self):
        return self.inner.event

    def sample(self, value, noise):
        one, two = self.inner.sample(value, noise), self.inner.sample(value, noise)
        return Measurement(blocks=one.blocks + two.blocks, values=one.values + two.values, law=one.law)


@dataclass(frozen=True)
class ExactCheck:
    """A check that gives out the answer by which the selection scored, without fresh noise."""

    inner: Any

    name = "exact"
    pure = True

    def mechanism(self, blocks, unit, price):
        return ExactAnswers(self.inner.mechanism(blocks, unit, price))

    def law(self, blocks, unit, price):
        return self.inner.law(blocks, unit, price)


@dataclass(frozen=True)
class ExactAnswers:
    inner: Any

    @property
    def event(self):
        return self.inner.event

    def sample(self, value, noise):
        values = tuple(block.answer(value) for block in self.inner.blocks)
        return Measurement(blocks=self.inner.blocks, values=values, law=self.inner.law)


@dataclass(frozen=True)
class ScoreLeaks:
    """The true score of the candidate that was drawn goes out with it."""

    inner: ExponentialChoice

    @property
    def event(self):
        return self.inner.event

    def sample(self, value, noise):
        index = self.inner.sample(value, noise)
        return 1000 * index + int(self.inner.scores.evaluate(value)[index])


@dataclass(frozen=True)
class Greedy:
    """The best candidate, with no coin tossed."""

    inner: Any

    @property
    def event(self):
        return self.inner.event

    def sample(self, value, noise):
        return int(self.inner.scores.evaluate(value).argmax())


@dataclass(frozen=True)
class OneLess:
    """Scores that state a sensitivity smaller by one."""

    inner: Any

    def __len__(self):
        return len(self.inner)

    def sensitivity(self, unit):
        return self.inner.sensitivity(unit) - 1

    def evaluate(self, counts):
        return self.inner.evaluate(counts)


@dataclass(frozen=True)
class StartsAtTotal:
    """A selection against the uniform hypothesis; its total is the real number of records, or a public one."""

    blocks: tuple[QueryBlock, ...]
    unit: PrivacyUnit
    epsilon: Fraction
    public: int | None = None

    @property
    def event(self):
        return ExponentialChoice(scores=self.scores(0), unit=self.unit, epsilon=self.epsilon).event

    @cache  # noqa: B019 (a few mutants, for the time of a test)
    def scores(self, total):
        return BlockCandidates(blocks=self.blocks).scores(DenseDistribution.uniform((8, 8), float(total)))

    def sample(self, value: Counts, noise):
        total = int(value.marginal(())) if self.public is None else self.public
        return ExponentialChoice(scores=self.scores(total), unit=self.unit, epsilon=self.epsilon).sample(value, noise)


@dataclass(frozen=True)
class TotalOfPlan(MultiplicativeWeights):
    """Keeps the plan's n as the number of records, whatever was measured."""

    def update(self, problem, hypothesis, history):
        return replace(super().update(problem, hypothesis, history), total=float(problem.n))


@dataclass(frozen=True)
class PlannedOnData:
    """A release whose plan was told the real number of records."""

    inner: Any

    @property
    def claim(self):
        return self.inner.claim

    def run(self, database, noise):
        total = int(database._Private__value.marginal(()))
        plan = self.inner.plan
        roles = replace(plan.roles, update=TotalOfPlan())
        return replace(self.inner, plan=replace(plan, roles=roles, problem=replace(plan.problem, n=total))).run(
            database, noise
        )


@dataclass(frozen=True)
class Restarted:
    """Every draw of a run starts the same stream of noise again."""

    inner: MechanismTrial

    @property
    def claim(self):
        return self.inner.claim

    def run(self, database, noise):
        seed, guard = int(noise.words(1)[0]), self.inner.guard()
        drawn = [
            measure(database, one, accountant=guard, noise=SeededNoise(seed)).value for one in self.inner.mechanisms
        ]
        return (), tuple(number for one in drawn for number in numbers(one)), ()


@dataclass(frozen=True)
class Stuck:
    """Every run starts the same stream again, as a copied generator would."""

    inner: Any

    @property
    def claim(self):
        return self.inner.claim

    def run(self, database, noise):
        return self.inner.run(database, SeededNoise(3))


def with_mechanism(case: Case, *mechanisms) -> Case:
    """The case with other mechanisms in its draws."""
    return replace(case, trial=MechanismTrial(mechanisms=mechanisms, delta=case.trial.delta))


def with_trial(case: Case, trial) -> Case:
    return replace(case, trial=trial)


@dataclass(frozen=True)
class BareBoxes:
    """A check that leaves the noise out of counts of boxes and of all records, which steer a run, and bills it."""

    inner: Any
    field: str = "scale"

    name = "bare"

    @property
    def pure(self):
        return self.inner.pure

    def mechanism(self, blocks, unit, price):
        right = self.inner.mechanism(blocks, unit, price)
        bare = blocks[0].name.startswith(("scouting", "first look", "number of records"))
        return Billed(replace(right, **{self.field: Fraction(1, 1000)}), right) if bare else right

    def event(self, blocks, unit, price):
        return self.inner.event(blocks, unit, price)

    def law(self, blocks, unit, price):
        return self.inner.law(blocks, unit, price)


@dataclass(frozen=True)
class RoundsOfData:
    """A release in as many rounds as there are records."""

    inner: Any

    @property
    def claim(self):
        return self.inner.claim

    def run(self, database, noise):
        plan = self.inner.plan
        schedule = replace(plan.schedule, rounds=int(database._Private__value.marginal(())))
        return replace(self.inner, plan=schedule.plan(plan.problem, plan.budget, plan.roles)).run(database, noise)
