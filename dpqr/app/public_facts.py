"""Public facts in a plan: whether they agree with what else was declared, and what the plan says of them."""

from __future__ import annotations

from collections.abc import Iterator

from dpqr.errors import DocumentError
from dpqr.strategies.plan import Plan
from dpqr.strategies.problem import Problem
from dpqr.strategies.updates.interface import ConstrainedRule


def require_agreement(problem: Problem) -> None:
    """DocumentError where the domain's known totals cannot be true of the records that a run counts.

    Under `replace` these are the declared n, or no more than that where rules may leave some out.
    """
    facts, unit = problem.domain.facts, problem.unit
    if unit.column is not None and (facts.totals or facts.least or facts.most is not None):
        raise DocumentError(
            "the domain's known totals count all rows, and --unit leaves rows of persons out; "
            'leave "totals" out of the domain file'
        )
    n, exact = problem.declared, unit.rows_public
    if n is not None and not (facts.least <= n and (not exact or facts.most is None or n <= facts.most)):
        most = "" if facts.most is None or not exact else f" and at most {facts.most:,}"
        raise DocumentError(
            f"--n {n}: the domain's known totals need at least {facts.least:,}{most} records; correct one of them"
        )


def fact_notes(plan: Plan) -> Iterator[str]:
    """One sentence where the domain declares public facts."""
    facts, update = plan.problem.domain.facts, plan.roles.update
    if not facts:
        return
    combinations = {region.text for region in facts.impossible}
    told = [
        _counted(len(combinations), "impossible combination"),
        _counted(len(facts.totals), "known total"),
        f"{facts.records:,} records in all" if facts.records is not None else "",
    ]
    listed = ", ".join(part for part in told if part) or "bounds on the number of records"
    if isinstance(update, ConstrainedRule) and update.applies_constraints(plan.problem):
        yield (
            f"public facts of the domain file bind the fit ({listed}); they are constants of the run, and the "
            "guarantee does not cover what they tell"
        )
    else:
        yield (
            f"public facts of the domain file ({listed}) are not used: the fit of multiplicative-weights alone obeys "
            "them"
        )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}" if number else ""
