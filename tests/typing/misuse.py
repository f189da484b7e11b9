"""Lines that must not type-check, each marked `wrong`, beside the lines that must. Never run: a type checker reads it.

Private values are opaque to the type checker too: it knows no operation on `Private` but handing it to the gate.
"""
# ruff: noqa: B015, B018, F841 (lines that nobody may write have no use either)

from collections.abc import Sequence
from fractions import Fraction

from dpqr.domain.histogram import Counts, DenseHistogram
from dpqr.kernel.accountants.accountant import Accountant, FilterAccountant, PrivacyFilter
from dpqr.kernel.accountants.fixed_schedules import Advanced, Optimal
from dpqr.kernel.accountants.pld import PrivacyLossDistribution
from dpqr.kernel.accountants.sums import Basic, ZeroConcentrated
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.events import DiscreteLaplaceEvent, ExponentialEvent
from dpqr.kernel.gate import Mechanism, measure
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.sealed import Private
from dpqr.kernel.values import replace
from dpqr.models.hypothesis import Hypothesis
from dpqr.strategies.problem import Problem
from dpqr.strategies.updates.interface import UpdateRule
from dpqr.tables.limits import Limits
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement


def through_the_gate(
    private: Private[Counts],
    mechanism: Mechanism[Counts, Measurement],
    accountant: PrivacyFilter,
    noise: NoiseSource,
    rule: UpdateRule[Hypothesis],
    problem: Problem,
    hypothesis: Hypothesis,
) -> Hypothesis | None:
    released = measure(private, mechanism, accountant=accountant, noise=noise)
    return rule.update(problem, hypothesis, [released.value])


def around_the_gate(
    private: Private[Counts],
    mechanism: Mechanism[Counts, Measurement],
    noise: NoiseSource,
    block: QueryBlock,
) -> None:
    private.shape  # wrong
    private.value  # wrong
    private.marginal((0,))  # wrong
    private[0]  # wrong
    float(private)  # wrong
    int(private)  # wrong
    len(private)  # wrong
    list(private)  # wrong
    private + 1  # wrong
    private < private  # wrong
    block.answer(private)  # wrong
    mechanism.sample(private, noise)  # wrong
    counts: Counts = private  # wrong
    histogram: DenseHistogram = private  # wrong
    marginal: Sequence[int] = private  # wrong
    private._unseal(None)  # wrong


def past_the_accountant(
    private: Private[Counts],
    mechanism: Mechanism[Counts, Measurement],
    foreign: Mechanism[str, Measurement],
    accountant: PrivacyFilter,
    theorem: Accountant,
    noise: NoiseSource,
) -> None:
    measure(private, mechanism)  # wrong
    measure(private, mechanism, noise=noise)  # wrong
    measure(private, mechanism, accountant=accountant)  # wrong
    measure(private, mechanism, accountant=None, noise=noise)  # wrong
    measure(private, mechanism, accountant=theorem, noise=noise)  # wrong
    measure(private, mechanism, accountant=accountant, noise=7)  # wrong
    measure(private, foreign, accountant=accountant, noise=noise)  # wrong
    accountant.charge(0.1)  # wrong


def adaptive_prices(budget: PrivacyBudget) -> None:
    filters: list[FilterAccountant] = [Basic(), ZeroConcentrated()]
    fixed: list[Accountant] = [Advanced(), Optimal(), PrivacyLossDistribution()]
    filters.append(Advanced())  # wrong
    filters.append(Optimal())  # wrong
    filters.append(PrivacyLossDistribution())  # wrong
    filters.append(fixed[0])  # wrong
    Basic().filter(budget).charge(ExponentialEvent(epsilon=Fraction(1)))
    Advanced().filter(budget)  # wrong
    PrivacyLossDistribution().filter(budget)  # wrong


def into_an_update(
    private: Private[Counts], rule: UpdateRule[Hypothesis], problem: Problem, hypothesis: Hypothesis
) -> None:
    rule.update(problem, private, [])  # wrong
    rule.update(problem, hypothesis, private)  # wrong
    rule.update(problem, hypothesis, [private])  # wrong
    rule.update(private, hypothesis, [])  # wrong
    rule.start(private)  # wrong


def figures_that_are_not_exact() -> None:
    PrivacyBudget(Fraction(1), Fraction(1, 10**9))
    PrivacyBudget(0.1)  # wrong
    PrivacyBudget.parse(0.1)  # wrong
    Price(epsilon=0.1)  # wrong
    ExponentialEvent(epsilon=0.1)  # wrong
    DiscreteLaplaceEvent(sensitivity=1.5, scale=Fraction(1))  # wrong
    ExponentialEvent(Fraction(1))  # wrong


def a_seal_that_is_changed(private: Private[Counts], budget: PrivacyBudget) -> None:
    private.extra = 1  # wrong
    budget.epsilon = Fraction(2)  # wrong


def copies_with_other_fields(limits: Limits, budget: PrivacyBudget) -> None:
    replace(limits, cells=2)
    replace(limits, cell=2)  # wrong
    replace(limits, cells="2")  # wrong
    replace(budget, epsilon=0.1)  # wrong
