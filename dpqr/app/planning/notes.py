"""Notes of a plan: public facts that bind the fit, and warnings of what is allowed and yet weaker than it looks."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpqr.data.attribute import Rule
from dpqr.data.domain import Domain, failing_attributes
from dpqr.privacy.budget import PrivacyBudget
from dpqr.strategies.plan import Plan
from dpqr.strategies.updates.interface import ConstrainedRule

LARGE_DELTA = Fraction(1, 10**5)
"""Above it a plan warns of delta by itself."""
LARGE_EPSILON = 20
"""The same of epsilon: odds of exp(20) whether a record is there are next to certainty."""


def fact_notes(plan: Plan) -> Iterator[str]:
    """One sentence where the domain declares public facts."""
    facts, update = plan.problem.domain.facts, plan.roles.update
    if not facts:
        return
    combinations = {region.text for region in facts.impossible}
    parts = [
        _counted(len(combinations), "impossible combination"),
        _counted(len(facts.totals), "known total"),
        f"{facts.records:,} records in all" if facts.records is not None else "",
    ]
    listed = ", ".join(part for part in parts if part) or "bounds on the number of records"
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


def warnings(plan: Plan) -> Iterator[str]:
    """What is allowed, and yet weaker than the figures look."""
    problem = plan.problem
    known = problem.declared or problem.n or problem.domain.facts.most
    what = "persons" if problem.persons else "records"
    yield from budget_warnings(plan.budget, known, what)
    if known is not None and not problem.persons and _drowned(plan, known):
        yield (
            f"warning: the noise of most answers exceeds the {known:,} records that there are at most, so they say "
            "next to nothing; ask fewer queries, or a larger --eps"
        )
    yield from failing_notes(problem.domain)


def _drowned(plan: Plan, records: int) -> bool:
    """Whether the noise of at least half of the answers, if measured, is more than all records can add up to."""
    largest = {block.name: records * block.largest_coefficient for block in plan.problem.workload.blocks}
    rows = sum(block.rows for block in plan.forecast if block.deviation > largest[block.name])
    return 2 * rows > sum(block.rows for block in plan.forecast)


def budget_warnings(budget: PrivacyBudget, known: int | None, what: str = "records") -> Iterator[str]:
    """A sentence where epsilon is large, and where delta is, by itself or beside the known number of units."""
    delta = float(budget.delta)
    if budget.epsilon > LARGE_EPSILON:
        yield (
            f"warning: a guarantee with epsilon {float(budget.epsilon):g} promises next to nothing; "
            "most releases choose 10 or less"
        )
    if known and budget.delta * known * 10 > 1:
        yield f"warning: delta {delta:g} is not far below 1/n; it lets a mechanism reveal single {what}"
    elif budget.delta > LARGE_DELTA:
        yield (
            f"warning: delta {delta:g} is large: with that probability the bound by epsilon may fail altogether; "
            "choose at most 1e-5, and far below 1/n"
        )


def failing_notes(domain: Domain) -> Iterator[str]:
    """One sentence a rule `fail`, of a column or of malformed rows."""
    if domain.malformed is Rule.FAIL:
        yield (
            "warning: malformed rows have the rule `fail`: the exit code tells one bit of the data that the guarantee "
            "does not cover"
        )
    for name in failing_attributes(domain):
        yield (
            f"warning: column {name!r} has a rule `fail`: the exit code tells one bit of the data that the guarantee "
            "does not cover"
        )
