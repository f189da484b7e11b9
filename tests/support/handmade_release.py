"""A small release made by hand: every kind of query, stub strategies, figures that can be checked on paper."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpqr.domain.attribute import Attribute, Bins, Codes, Labels, Rule
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import dense_marginal
from dpqr.kernel.accountants.sums import Basic, ZeroConcentrated
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.events import DiscreteLaplaceEvent, ExponentialEvent, PermuteAndFlipEvent
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.releases.answers.answered import BlockAnswers
from dpqr.releases.answers.noisy import Noisy
from dpqr.releases.error_bounds import Certificate
from dpqr.releases.result import FinishedRun
from dpqr.strategies.plan import BlockForecast, Phase, Plan, Roles, StopTest
from dpqr.strategies.problem import Level, Problem
from dpqr.strategies.schedules.rounds import Rounds
from dpqr.strategies.schedules.theory import Theory
from dpqr.strategies.transcript import Round, Transcript
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.workload import Measurement, Workload

DOMAIN = Domain(
    (
        Attribute(name="sex", axis=Labels(("F", "M")), rules={"null": Rule.CELL}),
        Attribute(name="age", axis=Bins((Fraction(0), Fraction(20), Fraction(40), Fraction(60)))),
        Attribute(name="region", axis=Codes(2)),
    )
)
SEX, AGE = Factor.identity(0, 3), Factor.identity(1, 3)
WEIGHTS = np.array(
    [[[5.0, 0.0], [3.5, 1.0], [2.0, 2.0]], [[4.0, 1.0], [0.0, 0.0], [6.0, 1.0]], [[1.0, 0], [0, 0], [0, 0]]]
)


@dataclass(frozen=True)
class TinyHypothesis:
    tensor: np.ndarray

    @property
    def total(self):
        return float(self.tensor.sum())

    def answer(self, block):
        return block.apply(dense_marginal(self.tensor, block.axes))

    def weights(self):
        return self.tensor

    def rows(self, count, seed):
        cells = np.random.default_rng(seed).choice(self.tensor.size, count, p=self.tensor.reshape(-1) / self.total)
        return np.stack(np.unravel_index(cells, self.tensor.shape), axis=1)


class Stub:
    """A role that has a name, trust notes and a first hypothesis; it takes no options."""

    def __init__(self, name, *, trust=(), hypothesis=None, pure=True):
        self.name, self.trust, self.hypothesis, self.pure = name, trust, hypothesis, pure

    def start(self, problem):
        return self.hypothesis


def dense(axes, sizes, rows, labels=()):
    return Factor(axes=axes, sizes=sizes, matrix=Dense(np.array(rows, dtype=np.int64)), labels=labels)


BLOCKS = (
    QueryBlock(name="sex by age", factors=(SEX, AGE)),
    QueryBlock(
        name="cdf", factors=(Factor(axes=(1,), sizes=(3,), matrix=Prefix(3), labels=("< 20", "< 40", "<= 60")),)
    ),
    QueryBlock(name="young women", factors=(dense((0, 1), (3, 3), [[1, 1, 0, 0, 0, 0, 0, 0, 0]]),)),
    QueryBlock(name="years", factors=(SEX, dense((1,), (3,), [[20, 60, 100]], ("sum of age",))), scale=Fraction(1, 2)),
    QueryBlock(
        name="boxes",
        factors=(
            dense((1,), (3,), [[1, 0, 0], [0, 1, 1]], ("age < 20", "age >= 20")),
            dense((2,), (2,), [[1, 0], [1, 1]], ("region 0", "any region")),
        ),
        rowwise=True,
    ),
    QueryBlock(name="all"),
)


def make_plan(domain=DOMAIN, blocks=BLOCKS):
    problem = Problem(domain=domain, workload=Workload(blocks), unit=PrivacyUnit(), seed=7)
    hypothesis = TinyHypothesis(WEIGHTS)
    roles = Roles(
        distinguisher=Stub("permute-and-flip"),
        check=Stub("laplace"),
        update=Stub("multiplicative-weights", trust=("the fit is heuristic",), hypothesis=hypothesis),
        accountant=Basic(),
    )
    return Plan(
        problem=problem,
        budget=PrivacyBudget(Fraction(1)),
        roles=roles,
        schedule=Rounds(rounds=2),
        phases=(
            Phase(
                noun="opening",
                count=1,
                price=Price(epsilon=Fraction(1, 5)),
                events=((DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(5)), 1),),
                blocks=((blocks[0],),),
            ),
            Phase(
                noun="selection",
                count=2,
                price=Price(epsilon=Fraction(2, 25)),
                events=((PermuteAndFlipEvent(epsilon=Fraction(2, 25)), 2),),
            ),
            Phase(
                noun="measurement",
                count=2,
                price=Price(epsilon=Fraction(8, 25)),
                events=((DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(25, 8)), 2),),
            ),
        ),
        epsilon=Fraction(1),
        forecast=(
            BlockForecast(name="sex by age", rows=9, deviation=7.0),
            BlockForecast(name="years", rows=3, deviation=220.5),
        ),
        bytes=2_500_000,
        notes=("ages above 60 are clipped",),
    )


def answered(block, measurement=None):
    estimate = TinyHypothesis(WEIGHTS).answer(block) * float(block.scale)
    unknown = np.full(block.rows, np.nan)
    if measurement is None:
        return BlockAnswers(block=block, estimate=estimate, error=unknown, noisy=Noisy.absent(block.rows))
    values = measurement.values[0] * float(block.scale)
    noise = [measurement.law.deviation, measurement.law.tail(0.05)]
    deviation, margin = (np.full(block.rows, figure * float(block.scale)) for figure in noise)
    noisy = Noisy(values=values, deviation=deviation, margin=margin)
    return BlockAnswers(block=block, estimate=estimate, error=unknown, noisy=noisy)


def make_release(plan=None):
    plan = plan or make_plan()
    first = Measurement(
        blocks=(BLOCKS[0],), values=(np.arange(-4, 5, dtype=np.int64),), law=DiscreteLaplace(Fraction(5))
    )
    second = Measurement(
        blocks=(BLOCKS[3],), values=(np.array([7, -2, 0], dtype=np.int64),), law=DiscreteLaplace(Fraction(25, 8))
    )
    transcript = Transcript()
    transcript.add(Round(choice=None, measurement=first, charges=(0,)))
    transcript.add(Round(choice=2, measurement=second, charges=(1, 2)))
    transcript.add(Round(choice=0, measurement=second, charges=(3, 4)))
    found = {BLOCKS[0].name: first, BLOCKS[3].name: second}
    return FinishedRun(
        plan=plan,
        answers=tuple(answered(block, found.get(block.name)) for block in BLOCKS),
        hypothesis=TinyHypothesis(WEIGHTS),
        transcript=transcript,
        certificate=None,
        spent={"basic": Fraction(1), "zcdp": None, "optimal": Fraction(2, 3)},
        trust=("ages above 60 are clipped", "the fit is heuristic"),
        private=True,
        costs={
            "opening": {"basic": Fraction(1, 5), "zcdp": None},
            "selection": {"basic": Fraction(4, 25), "zcdp": None},
            "measurement": {"basic": Fraction(16, 25), "zcdp": None},
        },
    )


def make_theory_plan():
    """A plan with a stop test, public n, a delta and prices in rho."""
    plan = make_plan()
    problem = replace(
        plan.problem,
        unit=PrivacyUnit(neighbours=Neighbours.REPLACE),
        n=4000,
        alpha=Fraction(1, 20),
        level=Level(value=Fraction(1, 40)),
    )
    return replace(
        plan,
        problem=problem,
        budget=PrivacyBudget.parse("0.5", "1e-9"),
        named_roles=frozenset({"check"}),
        roles=replace(plan.roles, accountant=ZeroConcentrated(), distinguisher=Stub("exponential")),
        schedule=Theory(),
        phases=(
            Phase(
                noun="selection",
                count=26_616,
                price=Price(rho=Fraction(1, 10**7)),
                events=((ExponentialEvent(epsilon=Fraction(1, 1200)), 26_616),),
            ),
            Phase(noun="measurement", count=26_616, price=Price(rho=Fraction(4, 10**7))),
        ),
        stop=StopTest(threshold=Fraction(150), promise="proved"),
        epsilon=Fraction("0.49999"),
        forecast=(BlockForecast(name="sex by age", rows=9, deviation=23.4),),
        bytes=0,
        notes=(),
    )


def make_stopped_release():
    """A release of that plan whose third round met the stop test."""
    release = make_release(make_theory_plan())
    transcript = Transcript()
    for finished in release.transcript.rounds:
        transcript.add(replace(finished, stopped=finished.choice == 0))
    certificate = Certificate(records=198.0041, fraction=0.0495010001, confidence=0.95)
    return replace(
        release,
        transcript=transcript,
        certificate=certificate,
        spent={"basic": None, "zcdp": Fraction(1, 3)},
        trust=(),
        costs={
            "selection": {"basic": None, "zcdp": Fraction(1, 10)},
            "measurement": {"basic": None, "zcdp": Fraction(3, 10)},
        },
    )
