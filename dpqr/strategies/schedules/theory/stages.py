"""Stages: the falling alphas of the anytime loop, what their rounds cost, and which of them are certain.

Public: a function of plan, budget and the number of records that alpha is a fraction of, declared or bought.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from dpqr.data.unit import PrivacyUnit
from dpqr.errors import InfeasiblePlan
from dpqr.privacy.accountant import Portion
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.strategies.candidates import QueryCandidates
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Level, Problem
from dpqr.strategies.schedules.theory.tails import TOTAL, Tails, answers_tail, measured_whole
from dpqr.strategies.transcript import Stage
from dpqr.strategies.updates.interface import CarriedBound, HeuristicBound
from dpqr.workload.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """No promise depends on these. Set by `python tests/benchmarks/theory.py --half set`."""

    first: Fraction = Fraction(1, 2)  # alpha of the first stage
    ratio: Fraction = Fraction(4, 5)  # of each stage's alpha to the last one's
    count: Fraction = Fraction(1, 20)  # of the budget and of beta, for the number of records where it is bought
    turns: int = 1_000  # rounds of a stage that is not certain, at most
    digits: int = 3  # of a price, as a part of the budget
    smallest: int = 15  # a draw costs at least 10^-15 of the budget


TUNING = Tuning()

Prices = tuple[Fraction, Fraction]
"""Of a selection and of a measurement, as parts of the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """alphas: fractions of `records`, falling. whole: the budget, as the accountant counts it.

    Price of round t of a stage. 2^j <= t < 2^(j+1); each of its two draws may be beyond its tail with probability

        gamma = beta' / (2 K 2^j (j + 1) (j + 2)),

    K the number of stages; beta' = beta, less the part of a bought count. Over the 2^j rounds of every j and all stages
    that adds up to beta' at most, whatever the number of rounds: T(a) is not in it. The price of each draw is the
    smallest, of three digits, at which its tail at gamma is at most alpha n / 8.
    """

    problem: Problem
    roles: Roles
    whole: Price
    records: int
    alphas: tuple[Fraction, ...]
    tails: Tails

    @classmethod
    def of(cls, problem: Problem, budget: PrivacyBudget, roles: Roles, records: int) -> Stages:
        """As many as have a round that the budget pays for; none below the problem's alpha, where it states one, nor
        where the rule does not run, nor where a bought count may be off by more than alpha n / 8. Fewer stages are
        cheaper ones, so what is left out at first is no loss to the others."""
        (whole,) = roles.accountant.cut(budget, [Portion(share=Fraction(1), count=1)])
        tails = _tails(roles, problem.unit, problem.workload)
        none = cls(problem=problem, roles=roles, whole=whole, records=records, alphas=(), tails=tails)
        least = problem.alpha or Fraction(0)
        alphas, alpha = list[Fraction](), max(TUNING.first, least)
        while none.affords(alpha):
            alphas.append(alpha)
            if alpha == least:
                break
            alpha = max(alpha * TUNING.ratio, least)
        tried = replace(none, alphas=tuple(alphas))
        return replace(none, alphas=tuple(alphas[: sum(map(tried.pays, range(len(alphas))))]))

    def affords(self, alpha: Fraction) -> bool:
        """Whether a stage may stand at that alpha."""
        bought = self.problem.n is None
        if not self._runs(self.level(alpha)) or (bought and self.count_tail > alpha * self.records / 8):
            return False
        prices = _prices(self.tails, self.whole, alpha * self.records / 8, self.beta / 4)
        return prices is not None and sum(prices) <= self.spendable

    def _runs(self, level: Level) -> bool:
        """Whether the rule may run at a level: a certificate rests on no mistake bound, but a net ends somewhere."""
        rule = self.roles.update
        heuristic = isinstance(rule, HeuristicBound) and not isinstance(rule, CarriedBound)
        return heuristic or rule.mistakes(self.problem, level) is not None

    def pays(self, number: int) -> bool:
        """Whether the budget covers one round of that stage."""
        prices = self.prices(number, 1)
        return prices is not None and sum(prices) <= self.spendable

    @property
    def beta(self) -> Fraction:
        """Of the rounds."""
        return self.problem.beta * self.spendable

    @property
    def spendable(self) -> Fraction:
        """The part of the budget, and of beta, that is left to the rounds."""
        return 1 - TUNING.count if self.problem.n is None else Fraction(1)

    @property
    def count_tail(self) -> float:
        """By how many records a bought count is off, but with probability beta - beta'; by 1 where clipped to 1."""
        price, gamma = count_price(self.whole), TUNING.count * self.problem.beta
        return max(1.0, answers_tail(self.roles, self.problem.unit, TOTAL, price, gamma))

    @property
    def exact(self) -> bool:
        """Whether answers are scaled to the table's own number of records."""
        return self.problem.n is not None and self.problem.unit.rows_public

    def level(self, alpha: Fraction) -> Level:
        """a = 5 alpha / 8; alpha / 2 where the number of records may be off by alpha n / 8."""
        return Level(value=alpha * (Fraction(5, 8) if self.exact else Fraction(1, 2)), variant="sharp")

    def stage(self, number: int) -> Stage:
        alpha = self.alphas[number]
        return Stage(
            alpha=alpha,
            level=self.level(alpha),
            finest=self.level(self.alphas[-1]),
            noise=alpha * self.records / 8,
            exact=self.exact,
        )

    def gamma(self, turn: int) -> Fraction:
        """Of the round that is the turn-th of its stage, from 1."""
        doublings = turn.bit_length() - 1
        return self.beta / (2 * len(self.alphas) * (1 << doublings) * (doublings + 1) * (doublings + 2))

    def first_prices(self, number: int) -> Prices:
        """Of the first round of a stage, which the budget pays for."""
        prices = self.prices(number, 1)
        assert prices is not None, "a stage has a round that the budget pays for"
        return prices

    def prices(self, number: int, turn: int) -> Prices | None:
        """None: no price of the budget's size buys so little noise."""
        return _prices(self.tails, self.whole, self.alphas[number] * self.records / 8, self.gamma(turn))

    def certain(self) -> Fraction | None:
        """The smallest alpha that is certified with probability 1 - beta, whatever the table; None: none is.

        Proof. On the good event stage k makes u_k updates and one round more, and sum u_k d_k <= P for the rule's
        potential P, d_k what an update takes from it (`CarriedBound`); T_k = floor(P / d_k), so the sum of all
        u_k / (T_k + 1) is at most 1. Prices rise within a stage, so r rounds of it cost at most r / (T_k + 1) times
        what T_k + 1 rounds do, C_k. So stages 1 to K cost at most max_k C_k + sum_k C_k / (T_k + 1) together.
        """
        found, dearest, single = None, Fraction(0), Fraction(0)
        for number, alpha in enumerate(self.alphas):
            most = self._most_updates(number)
            cost = None if most is None else self._cost(number, most + 1)
            if most is None or cost is None:
                return found
            dearest, single = max(dearest, cost), single + cost / (most + 1)
            if dearest + single > self.spendable:
                return found
            found = alpha
        return found

    def most_rounds(self, number: int, certain: Fraction | None) -> int:
        """After so many the run ends, which only happens off the good event, or where a declared n0 is far from n. A
        stage that is not certain has at most `TUNING.turns`: its budget might pay for hours."""
        updates = self._most_updates(number)
        proved = TUNING.turns if updates is None else updates + 1
        return proved if certain is not None and self.alphas[number] >= certain else min(proved, TUNING.turns)

    def _most_updates(self, number: int) -> int | None:
        rule, stage = self.roles.update, self.stage(number)
        return (
            rule.mistakes_carried(self.problem, stage.level, stage.finest) if isinstance(rule, CarriedBound) else None
        )

    def _cost(self, number: int, rounds: int) -> Fraction | None:
        """Of so many rounds, as a part of the budget."""
        total, first = Fraction(0), 1
        while first <= rounds:
            prices = self.prices(number, first)
            if prices is None:
                return None
            total += min(first, rounds - first + 1) * sum(prices)
            first *= 2
        return total


def count_price(whole: Price) -> Price:
    """Of the number of records, where it is bought."""
    return whole.times(TUNING.count)


@lru_cache(maxsize=64)
def _tails(roles: Roles, unit: PrivacyUnit, workload: Workload) -> Tails:
    """Of the workload's queries. Cached: the prices are, for every tails."""
    candidates = QueryCandidates(blocks=workload.blocks, whole=measured_whole(workload.blocks, unit))
    return Tails.of(roles, unit, candidates, counted=False)


@lru_cache(maxsize=2**14)
def _prices(tails: Tails, whole: Price, room: Fraction, gamma: Fraction) -> Prices | None:
    """The smallest at which either draw is within `room` records but with probability gamma."""
    select = _smallest(lambda part: tails.shortfall(whole.times(part), gamma) <= room)
    measure = _smallest(lambda part: tails.noise(whole.times(part), gamma) <= room)
    return None if select is None or measure is None else (select, measure)


def _smallest(serves: Callable[[Fraction], bool]) -> Fraction | None:
    """The smallest part of the budget, of three digits, that serves, as all larger ones do; None: the whole does not.

    Three digits, so that another processor's last bit does not make another price.
    """
    steps = 9 * 10 ** (TUNING.digits - 1)
    low, high = -1, steps * TUNING.smallest
    if not _served(serves, high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _served(serves, middle) else (middle, high)
    return _part(high)


def _served(serves: Callable[[Fraction], bool], step: int) -> bool:
    """Less than a sampler offers does not serve."""
    try:
        return serves(_part(step))
    except InfeasiblePlan:
        return False


def _part(step: int) -> Fraction:
    digits, unit = 9 * 10 ** (TUNING.digits - 1), 10 ** (TUNING.digits - 1)
    return Fraction((unit + step % digits) * 10 ** (step // digits), unit * 10**TUNING.smallest)
