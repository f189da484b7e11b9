"""Draws that follow from what was released: an adversary against a filter, and comparisons with a noisy threshold."""

# Filters: an adversary chooses each next draw, and its price, by all that was released, until the filter refuses.

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from msgspec import Struct

from dpqr.audit.case import Case, Claim, PublicOutcome, numbers, records
from dpqr.audit.cases.noisy_answers import UNITS, noisy
from dpqr.audit.law import FirstPass, Laws
from dpqr.domain.histogram import Counts
from dpqr.kernel.accountants.accountant import FilterAccountant, Portion, PrivacyFilter, SumFilter, require_pure
from dpqr.kernel.accountants.analytic import GaussianDP, largest_squared_mu
from dpqr.kernel.accountants.by_count import ByCount
from dpqr.kernel.accountants.losses import concentrated_rho
from dpqr.kernel.accountants.sums import total_rho
from dpqr.kernel.arrays import IntArray
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import Composition, MuSumEvent
from dpqr.kernel.gate import measure
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.noisy_answers import GaussianAnswers, LaplaceAnswers
from dpqr.mechanisms.selection import ExponentialChoice
from dpqr.mechanisms.sparse_vector import AboveThreshold, Question, is_above_threshold, open_threshold
from dpqr.releases.questions import SessionTerms
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

BUDGET = PrivacyBudget(Fraction(3, 2), Fraction(1, 10))
EVERYBODY = QueryBlock(name="records")
STEPS = 64
"""A run's log-likelihood ratio is shown in so many parts of 1."""
MOST = 32
SMALLEST = Fraction(1, 64)
WORK = 4
"""Runs of other cases in the time of one."""


class Opposed(Struct, frozen=True, kw_only=True):
    """Two scores that one record moves in opposite directions, so that the odds of a choice move by all of epsilon."""

    def __len__(self) -> int:
        return 2

    def sensitivity(self, unit: PrivacyUnit) -> int:
        return 1

    def evaluate(self, counts: Counts) -> IntArray:
        (found,) = EVERYBODY.answer(counts)
        return np.array([found, 1 - found])


class Adversary(Struct, frozen=True, kw_only=True, eq=False):
    """He asks whether there is a record: a count with Gaussian noise where he is ahead, a choice where he is behind.

    accountant: whose filter he faces. whole: mu^2 of the budget. What a run shows is the logarithm of its likelihood
    ratio (of a count: before it is rounded), by which he also chooses. A price that is refused is halved twice.
    """

    accountant: FilterAccountant
    whole: Fraction

    @property
    def claim(self) -> Claim:
        spent = ((MuSumEvent(squared_mu=self.whole), 1),)
        return replace(Claim.proved(GaussianDP(), spent, BUDGET.delta), rho=total_rho(spent))

    def run(self, database: Private[Counts], noise: NoiseSource) -> PublicOutcome:
        guard, seen, part = self.accountant.filter(BUDGET), 0.0, Fraction(1)
        for _ in range(MOST):
            try:
                if seen > 0:
                    counted = _count(part * self.whole / 4)
                    (found,) = numbers(measure(database, counted, accountant=guard, noise=noise).value)
                    seen += (found - 0.5) / float(counted.variance)
                else:
                    choice = ExponentialChoice(
                        scores=Opposed(),
                        unit=PrivacyUnit(),
                        epsilon=Price(squared_mu=(part * self.whole / 8)).bounded_range,
                    )
                    chosen = measure(database, choice, accountant=guard, noise=noise).value
                    seen += float(choice.epsilon) * (0.5 - chosen)
            except BudgetRefused:
                part /= 4
                if part < SMALLEST:
                    break
        return (), (round(STEPS * seen),), ()


def _count(squared_mu: Fraction) -> GaussianAnswers:
    return Gaussian().mechanism((EVERYBODY,), PrivacyUnit(), Price(squared_mu=squared_mu))


class Turned(Struct, frozen=True, kw_only=True, eq=False):
    """A count of the records, whose answer turns him to the dearest Laplace noise or to the dearest Gaussian noise on
    the same question that the filter admits after it. accountant: whose filter he faces."""

    accountant: ByCount

    @property
    def first(self) -> LaplaceAnswers:
        return Laplace().mechanism((EVERYBODY,), PrivacyUnit(), self.accountant.first(BUDGET))

    @property
    def few(self) -> LaplaceAnswers:
        return Laplace().mechanism((EVERYBODY,), PrivacyUnit(), Price(epsilon=self.accountant.rest(BUDGET).epsilon))

    @property
    def many(self) -> GaussianAnswers:
        return _count(largest_squared_mu(self.accountant.rest(BUDGET)))

    @property
    def claim(self) -> Claim:
        sound = ByCount()
        return Claim.proved(sound, ((self.first.event, 1), *sound.sums(BUDGET)), BUDGET.delta)

    def run(self, database: Private[Counts], noise: NoiseSource) -> PublicOutcome:
        guard = self.accountant.filter(BUDGET)
        (counted,) = numbers(measure(database, self.first, accountant=guard, noise=noise).value)
        following = self.many if counted > 0 else self.few
        (found,) = numbers(measure(database, following, accountant=guard, noise=noise).value)
        return (int(counted > 0),), (counted, found), ()


def filter_cases() -> Iterator[Case]:
    """The filter of squares of mu, and the one whose theorem follows a count."""
    accountant = GaussianDP()
    whole = accountant.cut(BUDGET, [Portion(share=Fraction(1), count=1)])[0].figure
    yield Case(
        name="filter-gdp",
        what="draws whose kinds and prices follow what was released, under the filter of Gaussian DP",
        pair=(records((1,), {}), records((1,), {(0,): 1})),
        trial=Adversary(accountant=accountant, whole=whole),
        work=WORK,
    )
    yield Case(
        name="filter-by-count",
        what="a count that decides whether pure or Gaussian noise follows, and the theorem that charges it",
        pair=(records((1,), {}), records((1,), {(0,): 1})),
        trial=Turned(accountant=ByCount()),
        work=WORK,
    )


# Comparisons with a noisy threshold, on neighbours between which the early answers rise and the last ones do not.
#
# What a run shows is at which question each epoch ended. An epoch after another asks the same questions again. Beside
# them the noisy answer that a session pays for when a comparison has passed, at the price of its query alone.

PERSON = PrivacyUnit(columns=("person",), rows=3)
DELTA = Fraction(1, 10)
"""Where a price in rho is converted; see `choices.DELTA`."""
EARLY = 7
"""Questions about the cell that gains a record. The more there are, the better their silence shows the threshold."""
LAST = (0, 3)
"""Margins of the last questions, in rows of a person: few thresholds are as low as the second of them asks."""
PRICES = {"pure": Price(epsilon=Fraction(1, 2)), "rho": Price(rho=Fraction(1, 2))}
EPOCHS = {"pure": 1, "rho": 2}


class Epochs(Struct, frozen=True, kw_only=True, eq=False):
    """So many epochs, each of them up to its first pass, or through all questions.

    delta: 0: claims the sum of pure epsilons; else the sum of rhos and its conversion.
    """

    epoch: AboveThreshold
    questions: tuple[Question, ...]
    times: int
    delta: Fraction

    @property
    def events(self) -> Composition:
        return ((self.epoch.event, self.times),)

    @property
    def claim(self) -> Claim:
        return Claim.concentrated(self.events, self.delta) if self.delta else Claim.pure(self.events)

    def run(self, database: Private[Counts], noise: NoiseSource) -> PublicOutcome:
        guard = self.guard()
        return (), tuple(self.ended(database, guard, noise) for _ in range(self.times)), ()

    def ended(self, database: Private[Counts], guard: PrivacyFilter, noise: NoiseSource) -> int:
        """Place of the question that ends one epoch."""
        watch = open_threshold(self.epoch, guard, noise)
        answers = (is_above_threshold(database, watch, question, noise) for question in self.questions)
        return next((place for place, passed in enumerate(answers) if passed), len(self.questions))

    def guard(self) -> SumFilter:
        """Admits these epochs once."""
        cost = concentrated_rho if self.delta else require_pure
        return SumFilter(limit=self.times * cost(self.epoch.event), cost=cost, unit="rho" if self.delta else "epsilon")


def sparse_vector_cases() -> Iterator[Case]:
    """Both relations, persons, either side, and epochs priced together in rho."""
    for relation, unit in UNITS.items():
        for kind in PRICES:
            yield epoch_case(f"{kind}-{relation}", unit, kind)
    yield epoch_case("pure-person", PERSON, "pure")
    yield epoch_case("below-add-remove", UNITS["add-remove"], "pure", side=-1)
    for relation, unit in UNITS.items():
        yield hard_query_case(relation, unit)


class HardQueryTrial(Struct, frozen=True, kw_only=True, eq=False):
    """The noisy answer to one hard query of a session; claims what the session pays for it."""

    terms: SessionTerms
    query: QueryBlock

    @property
    def claim(self) -> Claim:
        return Claim.pure(((self.terms.check.event((self.query,), self.terms.unit, self.terms.answer), 1),))

    def run(self, database: Private[Counts], noise: NoiseSource) -> PublicOutcome:
        terms = self.terms
        mechanism = terms.check.mechanism((terms.measured(self.query),), terms.unit, terms.answer)
        guard = SumFilter(limit=self.claim.epsilon, cost=require_pure, unit="epsilon")
        return (), numbers(measure(database, mechanism, accountant=guard, noise=noise).value), ()


def hard_query_case(relation: str, unit: PrivacyUnit) -> Case:
    """A conjunction of two columns; one record enters it, or comes from where both parts are false."""
    terms = SessionTerms.within(Price(epsilon=Fraction(4)), unit, surprises=1, questions=1)
    parts = (Dense(np.array([[1, 0]])), Dense(np.array([[1, 0]])))
    query = QueryBlock(
        name="hard query",
        factors=tuple(Factor(axes=(axis,), sizes=(2,), matrix=part) for axis, part in enumerate(parts)),
    )
    replaced = unit.neighbours is Neighbours.REPLACE
    pair = records((2, 2), {(1, 1): 1} if replaced else {}), records((2, 2), {(0, 0): 1})
    trial = HardQueryTrial(terms=terms, query=query)
    ((event, _),) = trial.claim.events
    comparison = terms.measured(query)
    one, two = (tuple(noisy(int(answer), event) for answer in comparison.answer(database)) for database in pair)
    return Case(
        name=f"hard-query-{relation}",
        what="noisy answer to a hard query of a session, with the noise that its release states",
        pair=pair,
        trial=trial,
        laws=(one, two),
    )


def epoch_case(name: str, unit: PrivacyUnit, kind: str, side: int = 1) -> Case:
    """Early questions about a cell that gains a unit's rows; the last ones about a cell that loses them, or stays."""
    epoch = AboveThreshold.at(PRICES[kind], unit, side=1 if side > 0 else -1)
    early, last = _cell(0), _cell(1)
    expected = 0 if side > 0 else unit.rows
    questions = (
        *(Question(block=early, expected=expected, margin=0) for _ in range(EARLY)),
        *(Question(block=last, expected=0, margin=margin * unit.rows) for margin in LAST),
    )
    replaced = unit.neighbours is Neighbours.REPLACE
    pair = records((2,), {(1,): unit.rows} if replaced else {}), records((2,), {(0,): unit.rows})
    trial = Epochs(epoch=epoch, questions=questions, times=EPOCHS[kind], delta=DELTA if kind == "rho" else Fraction(0))
    return Case(
        name=f"sparse-vector-{name}",
        what="questions compared with a noisy threshold, up to the first surprise",
        pair=pair,
        trial=trial,
        laws=(_laws(trial, pair[0]), _laws(trial, pair[1])),
    )


def _laws(trial: Epochs, database: Counts) -> Laws:
    """Of the places where the epochs end, at the scales of their event."""
    event, cells = trial.epoch.event, database.marginal((0,))
    answers = (*(int(cells[0]) for _ in range(EARLY)), *(int(cells[1]) for _ in LAST))
    above = tuple(
        trial.epoch.side * (answer - question.expected) - question.margin
        for answer, question in zip(answers, trial.questions, strict=True)
    )
    law = FirstPass(above=above, threshold_scale=float(event.threshold_scale), answer_scale=float(event.answer_scale))
    return (law,) * trial.times


def _cell(place: int) -> QueryBlock:
    row = np.eye(2, dtype=np.int64)[[place]]
    return QueryBlock(name=f"cell {place}", factors=(Factor(axes=(0,), sizes=(2,), matrix=Dense(row)),))
