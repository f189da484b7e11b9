"""Anytime: the source's loop in stages of falling alpha, which pays for the rounds that were run.

References:
    Dwork and Roth 2014, section 5.2, with this project's proof. Rogers, Roth, Ullman and Vadhan 2016; Feldman and
    Zrnic 2021 (filters).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Literal, get_args

from msgspec import Struct

from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.plugins import is_builtin
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.strategies.candidates import QueryCandidates
from dpqr.strategies.plan import Phase, Plan, Roles, StopTest
from dpqr.strategies.problem import Level, Problem, Variant
from dpqr.strategies.schedules.drafts import forecast, forecast_row, opening_phase, proved_epsilon, search_phases
from dpqr.strategies.schedules.theory import TOTAL, Tails, Theory, answers_tail, measured_whole, require_fractions
from dpqr.strategies.transcript import Round, Stage, Step
from dpqr.strategies.updates.interface import HeuristicBound, TransferableBound
from dpqr.workload.workload import Workload

# Stages: the falling alphas of the anytime loop, what their rounds cost, and which of them are certain.
#
# Public: a function of plan, budget and the number of records that alpha is a fraction of, declared or bought.


# No promise depends on these. Set by `python tests/benchmarks/theory.py --half set`.

FIRST_ALPHA = Fraction(1, 2)
"""Alpha of the first stage."""
ALPHA_RATIO = Fraction(4, 5)
"""Of each stage's alpha to the last one's."""
COUNT_SHARE = Fraction(1, 20)
"""Of the budget and of beta, for the number of records where it is bought."""
MOST_ROUNDS = 1_000
"""Rounds of a stage that is not certain, at most."""
PRICE_DIGITS = 3
"""Of a price, as a part of the budget."""
SMALLEST_PRICE = 15
"""A draw costs at least 10^-15 of the budget."""

Prices = tuple[Fraction, Fraction]
"""Of a selection and of a measurement, as parts of the budget."""


class Stages(Struct, frozen=True, kw_only=True):
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
    def of(cls, problem: Problem, whole: Price, roles: Roles, records: int) -> Stages:
        """As many as have a round that the budget pays for; none below the problem's alpha, where it states one, nor
        where the rule does not run, nor where a bought count may be off by more than alpha n / 8. Fewer stages are
        cheaper ones, so what is left out at first is no loss to the others."""
        tails = _tails(roles, problem.unit, problem.workload)
        none = cls(problem=problem, roles=roles, whole=whole, records=records, alphas=(), tails=tails)
        least = problem.alpha or Fraction(0)
        alphas, alpha = list[Fraction](), max(FIRST_ALPHA, least)
        while none.affords(alpha):
            alphas.append(alpha)
            if alpha == least:
                break
            alpha = max(alpha * ALPHA_RATIO, least)
        tried = replace(none, alphas=tuple(alphas))
        return replace(none, alphas=tuple(alphas[: sum(map(tried.pays, range(len(alphas))))]))

    def affords(self, alpha: Fraction) -> bool:
        """Whether a stage may stand at that alpha."""
        # A certificate rests on no mistake bound, but a net ends somewhere: a rule may not run at every level.
        rule = self.roles.update
        heuristic = isinstance(rule, HeuristicBound) and not isinstance(rule, TransferableBound)
        runs = heuristic or rule.mistakes(self.problem, self.level(alpha)) is not None
        bought = self.problem.n is None
        if not runs or (bought and self.count_tail > alpha * self.records / 8):
            return False
        prices = _prices(self.tails, self.whole, alpha * self.records / 8, self.beta / 4)
        return prices is not None and sum(prices) <= self.spendable

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
        return 1 - COUNT_SHARE if self.problem.n is None else Fraction(1)

    @property
    def count_tail(self) -> float:
        """By how many records a bought count is off, but with probability beta - beta'; by 1 where clipped to 1."""
        price, gamma = count_price(self.whole), COUNT_SHARE * self.problem.beta
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
        potential P, d_k what an update takes from it (`TransferableBound`); T_k = floor(P / d_k), so the sum of all
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
        stage that is not certain has at most `MOST_ROUNDS`: its budget might pay for hours."""
        updates = self._most_updates(number)
        proved = MOST_ROUNDS if updates is None else updates + 1
        return proved if certain is not None and self.alphas[number] >= certain else min(proved, MOST_ROUNDS)

    def _most_updates(self, number: int) -> int | None:
        rule, stage = self.roles.update, self.stage(number)
        return (
            rule.mistakes_carried(self.problem, stage.level, stage.finest)
            if isinstance(rule, TransferableBound)
            else None
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
    return whole.times(COUNT_SHARE)


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
    steps = 9 * 10 ** (PRICE_DIGITS - 1)
    low, high = -1, steps * SMALLEST_PRICE
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
    digits, unit = 9 * 10 ** (PRICE_DIGITS - 1), 10 ** (PRICE_DIGITS - 1)
    return Fraction((unit + step % digits) * 10 ** (step // digits), unit * 10**SMALLEST_PRICE)


ASSUMED = 10**6
"""Records of a paper plan where their number is bought first and no bound on it is declared."""


class BeforeCount(Struct, frozen=True, kw_only=True):
    """Before the number of records is known."""

    plan: Plan

    def step(self) -> Step:
        count = self.plan.named("opening")[0]
        return Step(candidates=count.blocks[0], select=None, measure=count.price, refit=False)

    def after(self, finished: Round) -> AnytimeState:
        """Without the count, where a crash has lost it, there is nothing to scale answers to."""
        if finished.measurement is None:
            return EndState()
        problem = self.plan.problem
        counted = max(1, int(finished.measurement.values[0][0]))
        records = min(counted, problem.most or counted)
        stages = Stages.of(problem, _paid(self.plan), self.plan.roles, problem.most or records)
        certain = self.plan.promised
        return InStage(stages=stages, certain=certain, counted=records) if stages.alphas else EndState()


def _paid(plan: Plan) -> Price:
    """What all stages together were planned to cost: what is drawn before and after them has shares of the budget."""
    (search,) = plan.named("search")
    return search.price


class InStage(Struct, frozen=True, kw_only=True):
    """number: of the stage, from 0. turn: of the next round in it, from 1. spent: part of the budget. counted: records,
    where these were bought. certain: alpha of the last stage that has as many rounds as it needs."""

    stages: Stages
    certain: Fraction | None = None
    number: int = 0
    turn: int = 1
    spent: Fraction = Fraction(0)
    counted: int | None = None

    def step(self) -> Step | None:
        """One more round, if the budget pays for it."""
        if self.turn > self.stages.most_rounds(self.number, self.certain):
            return None
        stages, prices = self.stages, self.stages.prices(self.number, self.turn)
        if prices is None or self.spent + sum(prices) > stages.spendable:
            return None
        select, measure = (stages.whole.times(part) for part in prices)
        stage = stages.stage(self.number)
        return Step(
            candidates=stages.tails.candidates,
            select=select,
            measure=measure,
            threshold=stage.threshold,
            gamma=stages.gamma(self.turn),
            stage=stage,
            records=self.counted,
        )

    def after(self, finished: Round) -> AnytimeState:
        """What was drawn stays paid, also where a crash has lost it."""
        prices = self.stages.prices(self.number, self.turn)
        assert prices is not None, "a step was made at these prices"
        spent = self.spent + sum(prices)
        if not finished.stopped:
            return replace(self, turn=self.turn + 1, spent=spent)
        following = self.number + 1
        return (
            replace(self, number=following, turn=1, spent=spent) if following < len(self.stages.alphas) else EndState()
        )


class EndState(Struct, frozen=True):
    """Nothing more is drawn."""

    def step(self) -> None:
        return None

    def after(self, finished: Round) -> EndState:
        raise AssertionError("no step was made")


AnytimeState = BeforeCount | InStage | EndState


@dataclass(frozen=True, slots=True, kw_only=True)
class Anytime:
    """Stages of falling alpha, each the source's loop at its alpha from the D of the stage before, until the next round
    does not fit the budget. Every stage ends with a certificate. A stated alpha is the last stage's.

    Guarantee: with probability 1 - beta every certificate holds: no answer of the workload is off by more than its
    bound from the hypothesis of its stage; the one of the smallest bound is released. Each is at most alpha n records
    of its stage. An alpha that the plan calls certain is reached on every table, with the same probability.

    With N = alpha n / 8 at the stage's alpha, a round asks that its selection falls short of the worst query by at most
    N and that its answer is off by at most N, each but with probability gamma (`Stages`). Stop test: |v - f(D)| < 6 N.

    *Proof of the certificates.* The gammas of all rounds add up to at most beta, for both draws together: 2^j rounds of
    every stage have j doublings, at 2 gamma = beta / (K 2^j (j + 1)(j + 2)) each, and sum over j 1 / ((j + 1)(j + 2)) =
    1. So no draw of the whole run is beyond its tail, but with probability beta; that is the good event. (A gamma is
    fixed before its draws, so adaptive choices change nothing in the union.) There, a stop gives max error <=
    |v - f(D)| + tail + F <= (6 + 1 + 1) N = alpha n. Nothing else is used: no mistake bound, nothing of U, and no n:
    the scores compare counts with n0 f(D), whatever n0 is. *Printed or sharp* constants, any rule, either relation.

    *Proof of what is certain.* A round without a stop has a true gap of 6 N - N = 5 alpha n / 8 at least, and v shows
    its side. Where answers are scaled to the table's own n, it is an update of a sequence at level a = 5 alpha / 8;
    where they are scaled to a declared n0 or a bought count within N of n, one at level alpha / 2 (`Theory`).
    Updates of several levels are one sequence for the potential of the rule:
      multiplicative weights: KL(x/n || D) <= log|X|; an update at level a takes 2 a^2 (printed: a^2 / 4);
      perceptron: |D - x/n|^2 <= 1 - 1/|X| (printed: 1); an update takes 4 a^2/|X| (printed: a^2/|X|);
      median: log2 of the members of one net, that of the last stage's level; an update takes 1.
    The steps of the first two are those of the level at which they are made, and no step raises the potential, so it
    never is above its start, however stages and levels change. So stage k makes u_k <= T(a_k) updates and one round
    more, and `Stages.certain` adds up the prices. The proof is the same with the printed constants: a = alpha / 2 and
    the printed drops; the sharp ones are built, for T is smaller. A net serves down to its own level: the stages of the
    median rule end there.

    *Epsilon or rho.* Prices are parts of the budget in the accountant's own unit, the smallest at which the tails fit.
    In rho the exponential mechanism of eps costs eps^2 / 8, Laplace noise of eps eps^2 / 2, Gaussian noise of variance
    s^2 at sensitivity 1 costs 1 / (2 s^2).

    *A marginal a round.* Where the block of the chosen query moves at most twice as far as that query
    (`measured_whole`), all its answers are measured: gamma is shared by its rows, the stop test looks at the furthest
    row, and U takes the rows one by one (`restore_consistency`). Both proofs stay: on the good event all rows are
    within N.

    *Why ||x||_2 is not bought for the perceptron.* It would make T smaller, and T is in no price and in no certificate:
    rounds that a table does not need are not run, so they are not paid. Only `certain` would gain, which is said before
    anything is bought. A fixed plan would gain more, and promises less with the exact norm than stages certify without
    (`python tests/benchmarks/theory.py --case norm`).

    Privacy:
        Neighbours: those of the problem's unit. A draw is an exponential mechanism over all queries' scores or a noisy
        answer, each priced from its own noise. The prices of the t-th round of stage k are public numbers; how many
        rounds a stage has, and which count the stages are fractions of, follows what was released. The filter stops
        what would exceed the budget: adaptive composition (Rogers, Roth, Ullman and Vadhan 2016 for epsilon; Feldman
        and Zrnic 2021, Whitehouse, Ramdas, Rogers and Wu 2023 for rho). The plan states the sum alone.
        Statement P6 of the guide's topic proofs.

    References:
        Dwork and Roth 2014, section 5.2, with the constants of this page; `Theory` is one fixed plan of it.

    >>> Anytime().adaptive
    True
    """

    variant: Literal["anytime"] = "anytime"

    name: ClassVar[str] = "theory"
    distinguisher: ClassVar[str | None] = "exponential"
    adaptive: ClassVar[bool] = True

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """One phase for all stages, and the plan states what they may cost together.

        Raises:
            InfeasiblePlan: no stage can be paid, or none at the stated alpha; a coefficient lies outside [0, 1].
        """
        require_fractions(problem)
        known = problem.n or problem.most
        (paid,) = roles.cut(budget, [Portion(share=Fraction(1), count=1)])
        stages = Stages.of(problem, paid, roles, known or ASSUMED)
        _require_stages(stages)
        number, rounds = _worst_case_rounds(stages)
        # On paper the whole budget goes to rounds of that stage; the filter charges what is drawn.
        select, measure = stages.first_prices(number)
        share = stages.spendable / (rounds * (select + measure))
        unit, counted = stages.problem.unit, ((TOTAL,),) if stages.problem.n is None else ()
        draws = (
            *opening_phase(stages.roles, unit, counted, count_price(stages.whole)),
            Phase(noun="selection", count=rounds, price=stages.whole.times(share * select), single=True),
            Phase(noun="measurement", count=rounds, price=stages.whole.times(share * measure)),
        )
        phases = search_phases(draws, stages.whole)
        price, whole = stages.whole.times(measure), stages.tails.candidates.whole
        forecasts = tuple(
            (forecast if block.name in whole else forecast_row)(problem, roles, block, price)
            for block in problem.workload.blocks
        )
        return Plan(
            problem=replace(problem, level=stages.stage(0).finest),
            budget=budget,
            roles=roles,
            schedule=self,
            phases=phases,
            stop=StopTest(
                threshold=None,
                promise="proved" if is_builtin(roles.update) else "stated",
                stages=stages.alphas,
                certain=stages.certain() if known else None,
                paper=stages.alphas[number],
            ),
            epsilon=proved_epsilon(roles.accountant, phases, budget),
            forecast=forecasts,
            notes=_notes(problem),
        )

    def start(self, plan: Plan) -> AnytimeState:
        problem = plan.problem
        if problem.n is None:
            return BeforeCount(plan=plan)
        return InStage(stages=Stages.of(problem, _paid(plan), plan.roles, problem.n), certain=plan.promised)

    def next(self, plan: Plan, state: AnytimeState) -> Step | None:
        return state.step()

    def after(self, state: AnytimeState, finished: Round) -> AnytimeState:
        return state.after(finished)


def _require_stages(stages: Stages) -> None:
    """InfeasiblePlan where there is none, or none at the stated alpha."""
    rule, alpha = stages.roles.update, stages.problem.alpha
    if stages.alphas and alpha in (None, stages.alphas[-1]):
        return
    if stages.alphas:
        raise InfeasiblePlan(
            f"--alpha {float(alpha or 0):g}: the smallest that this budget, workload, n and update rule can try is "
            f"{float(stages.alphas[-1]):.4g}; leave --alpha out to go as far as the budget goes"
        )
    if rule.mistakes(stages.problem, stages.level(FIRST_ALPHA)) is None:
        raise InfeasiblePlan(
            f"--update {rule.name} has no proved mistake bound here, which --schedule theory is built on; use "
            "--update multiplicative-weights, or --schedule rounds"
        )
    raise InfeasiblePlan(
        "--schedule theory can certify nothing here: one round of its first stage costs more than the budget (n is too "
        "small for this budget and workload); use --schedule rounds"
    )


def _worst_case_rounds(stages: Stages) -> tuple[int, int]:
    """The last stage at which the budget pays for two rounds for each dimension of the workload's answers, and how many
    rounds it pays there; the first stage where none does. A guess of what will be reached: plans are compared by it."""
    problem = stages.problem
    wanted = 2 * min(problem.domain.size, len(stages.tails.candidates)) + len(stages.alphas)
    paid = [int(stages.spendable / sum(stages.first_prices(number))) for number in range(len(stages.alphas))]
    enough = [number for number, rounds in enumerate(paid) if rounds >= wanted]
    number = enough[-1] if enough else 0
    return number, max(1, paid[number])


def _notes(problem: Problem) -> tuple[str, ...]:
    """What the figures rest on besides the privacy analysis."""
    if problem.n is None:
        declared = (
            "the count" if problem.most is None else f"the declared {problem.most:,} rows, those left out included"
        )
        paper = "" if problem.most is not None else f"; until then {ASSUMED:,} are assumed, and no alpha is certain"
        return (
            f"the number of records is private: it is measured first, and alpha is a fraction of {declared}{paper}",
        )
    if problem.unit.neighbours is Neighbours.REPLACE:
        return ()
    return (
        "certificates hold whatever the real number of records is; that an alpha is reached for certain rests on its "
        "being within alpha n0 / 8 of the declared n0",
    )


# The variants of `--schedule theory` by name.

VARIANTS: tuple[str, ...] = ("anytime", *get_args(Variant))


def theory(*, variant: Variant | Literal["anytime"] = "anytime") -> Anytime | Theory:
    """The loop in stages, or as one fixed plan with the printed or the sharp constants.

    >>> theory().adaptive, theory(variant="printed").adaptive
    (True, False)
    """
    return Anytime() if variant == "anytime" else Theory(variant=variant)
