"""Outlook: what else a budget would buy, for those who weigh a plan against others. Public facts only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from dpqr.errors import DpqrError
from dpqr.mechanisms.learned_functions import FINENESS, PREDICTION
from dpqr.prediction.forms import EnsembleForm
from dpqr.prediction.plan import PredictionPlan
from dpqr.prediction.planner import Wanted, least_spread
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.theory import Theory, theory
from dpqr.privacy.accountant import Accountant
from dpqr.privacy.events import DiscreteLaplaceEvent, PrivacyEvent, RoundedGaussianEvent

MOST = 2**24
"""Counts of predictions beyond it are not told apart."""
ROUNDED = 1 + Fraction(1, 2**20)
"""So much more noise than the plan's is still as good as the same: no count is lost to a rounded figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """bought: predictions with the plan's noise (votes: at its epsilon and parts) that each accountant can prove,
    MOST standing for that many or more. function_from: the number of predictions from which on `--release function`
    has less noise on each; None: never, or there is no function. theory: the sources' rates; None for ensembles, and
    where no number of records is declared.
    """

    bought: Mapping[str, int]
    function_from: int | None
    theory: Theory | None


def outlook(plan: PredictionPlan, wanted: Wanted) -> Outlook:
    """For the plan that was made for `wanted`."""
    recipe, records = plan.recipe, plan.problem.records
    rates = theory(recipe, records) if isinstance(recipe, StableRecipe) and records else None
    return Outlook(
        bought={one.name: count for one in wanted.accountants if (count := _bought(plan, one)) is not None},
        function_from=_function_from(wanted) if isinstance(recipe, StableRecipe) and recipe.releases == 1 else None,
        theory=rates,
    )


def _bought(plan: PredictionPlan, accountant: Accountant) -> int | None:
    """The most predictions that fit; None where the accountant does not cover the budget."""
    before = plan.events[:-1]
    if accountant.refusal(plan.budget) or (accountant.homogeneous and before):
        return None

    def fits(event: PrivacyEvent, count: int) -> bool:
        cost = accountant.epsilon((*before, (event, count)), plan.budget.delta)
        return cost is not None and cost <= plan.budget.epsilon

    return max(_most(partial(fits, event)) for event in _alike(plan))


def _alike(plan: PredictionPlan) -> Iterator[PrivacyEvent]:
    """Draws that make one prediction as noisy as the plan's are."""
    if isinstance(plan.form, EnsembleForm):
        yield plan.events[-1][0]
        return
    deviation = Fraction(plan.spread) * FINENESS * ROUNDED
    yield RoundedGaussianEvent(squared_sensitivity=PREDICTION**2, variance=deviation**2)
    yield DiscreteLaplaceEvent(sensitivity=PREDICTION, scale=deviation * Fraction(2**-0.5), coordinates=1)


def _function_from(wanted: Wanted) -> int | None:
    """By the standard deviation of one number's noise, in units of the learner's bound, which both forms share."""

    def spread(points: int | None) -> float:
        try:
            return least_spread(replace(wanted, problem=replace(wanted.problem, points=points))).spread
        except DpqrError:
            return float("inf")

    function = spread(None)
    count = _most(lambda points: spread(points) <= function) + 1
    return count if count <= MOST else None


def _most(fits: Callable[[int], bool]) -> int:
    """The largest count that fits, where every smaller one does too; 0: none; at most MOST."""
    low, high = 0, 1
    while high <= MOST and fits(high):
        low, high = high, 2 * high
    while high - low > 1 and low < MOST:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
