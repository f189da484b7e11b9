"""Portions: the arithmetic of shares that all cuts have in common, and what may not be cut."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpqr.errors import BudgetRefused, InfeasiblePlan
from dpqr.privacy.accountant import Accountant, Portion
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.events import Composition
from dpqr.privacy.figures import downward_text, upward_text


def weigh(accountant: Accountant, budget: PrivacyBudget, portions: Sequence[Portion]) -> Fraction:
    """Sum of share times count, positive. InfeasiblePlan: the theorem does not cover the budget or the shares."""
    refusal = accountant.refusal(budget)
    if refusal:
        raise InfeasiblePlan(refusal)
    if accountant.homogeneous and len({portion.share for portion in portions}) > 1:
        raise InfeasiblePlan(
            f"the {accountant.name} accountant covers equal draws only; give all portions equal shares"
        )
    total = sum((portion.share * portion.count for portion in portions), Fraction(0))
    if not total:
        raise InfeasiblePlan("a budget cannot be cut for no draws at all; plan at least one")
    return total


def require_affordable(accountant: Accountant, budget: PrivacyBudget, planned: Composition) -> None:
    """BudgetRefused unless the accountant proves the planned events to stay within the budget."""
    refusal = accountant.refusal(budget)
    if refusal:
        raise BudgetRefused(refusal)
    price = accountant.epsilon(planned, budget.delta)
    if price is None:
        raise BudgetRefused(f"the {accountant.name} accountant has no price for the planned draws; choose another one")
    if price > budget.epsilon:
        raise BudgetRefused(
            f"the plan costs epsilon {upward_text(price)} by the {accountant.name} accountant, above the reserved "
            f"{downward_text(budget.epsilon)}; plan fewer draws or raise --eps"
        )


def needs_delta(name: str, budget: PrivacyBudget) -> str | None:
    """The one-line refusal of a theorem that holds for delta above 0 only."""
    if budget.pure:
        return f"the {name} accountant needs a delta above 0; add --delta 1e-9, or choose --accountant basic"
    return None
