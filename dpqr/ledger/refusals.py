"""What a ledger refuses, and why: names and notes, another unit or policy, sums above the limit. All of it public."""

from __future__ import annotations

import re

from dpqr.domain.periods import Period, PeriodRows
from dpqr.kernel.budget import Cost, downward_text, upward_text
from dpqr.kernel.errors import BudgetRefused, LedgerError, UsageFault
from dpqr.kernel.unit import PrivacyUnit
from dpqr.ledger.ledger import Account, BudgetTerms, Reason, person
from dpqr.tables.policy import Policy


def name_place(error: LedgerError, place: object) -> LedgerError:
    """The same of the ledger in this place; what another ledger has said, within a move, names that one already."""
    return error if str(error).startswith("--ledger ") else LedgerError(f"--ledger {place}: {error}")


def breaks_the_rules(number: int, job: str, error: Exception) -> LedgerError:
    """An entry that no ledger admits, or that this version cannot read.

    Args:
        job: the role that has appended it; empty: nobody could have, but the ledger's owner.
    """
    if job:
        return LedgerError(
            f"entry {number} breaks the rules of a ledger, and role {job!r} has appended it past dpqr; nothing is paid "
            "until its owner has looked at it\n"
            f"the owner runs `dpqr budget reject` and, if {job} is not to pay any more, `dpqr budget revoke {job}`"
        )
    if isinstance(error, LedgerError) and "cannot read" in str(error):
        return error
    return LedgerError(f"the ledger was forged or is damaged: entry {number} breaks the rules of a ledger")


def has_moved(place: str) -> LedgerError:
    """The ledger goes on elsewhere, and only there is anything paid."""
    return LedgerError(f"the ledger was moved to {place} and goes on there; name that with --ledger")


def over_limit(account: Account, cost: Cost) -> BudgetRefused:
    """The request does not fit what is left for life."""
    return BudgetRefused(f"{_request_words(account, cost)}, {spent_words(account)}\n{fitting_words(account)}")


def over_cap(account: Account, cost: Cost) -> BudgetRefused:
    """The request is larger than any one release may be."""
    cap = account.terms.currency.words(account.terms.cap or Cost(), downward_text)
    return BudgetRefused(
        f"{_request_words(account, cost)}, above the cap of {cap} for one release; "
        f"{spent_words(account)}\n{fitting_words(account)}"
    )


def over_share(account: Account, period: str, cost: Cost) -> BudgetRefused:
    """The request does not fit what is left of a period's budget."""
    terms, figures = account.terms, account.terms.currency.figures
    if terms.periods is None:
        raise ValueError("a dataset without periods")
    share, spent = terms.periods.share, terms.periods.of(period, account.periods)
    whose = f"of {period}" if period else "of every period, for a release without --period reads the rows of all"
    figured = f"spent {figures(spent, upward_text)} of {figures(share, downward_text)}"
    request = terms.currency.request(account.largest_of(period), terms.budget.delta)
    fits = f"the largest request that fits is {request}" if request else "nothing more fits there"
    return BudgetRefused(f"{_request_words(account, cost)}, from the budget {whose}: {figured}\n{fits}")


def before_first(first: Period, period: Period) -> BudgetRefused:
    """The periods with a budget begin later."""
    return BudgetRefused(
        f"--period {period.name}: the first period with a budget is {first.name}, by the terms of the dataset\n"
        f"release {first.name} or a later one"
    )


def require_period(terms: BudgetTerms, period: PeriodRows | None) -> None:
    """BudgetRefused unless the request divides the table into periods as the budget does."""
    held = terms.periods
    if held is None or period is None or (period.column, period.period.every) == (held.column, held.every):
        return
    raise BudgetRefused(
        f"dataset {terms.dataset!r}: asked for a {period.period.every} by column {period.column!r}, but its budget is "
        f"for each {held.every} by column {held.column!r}; a row may be in one period of each, and would pay twice\n"
        'release by that: "period" in the domain file states both'
    )


def require_unit(terms: BudgetTerms, unit: PrivacyUnit) -> None:
    """BudgetRefused unless the request protects whom the budget protects: costs of other units do not add up."""
    if unit.neighbours is not terms.neighbours:
        raise BudgetRefused(
            f"dataset {terms.dataset!r}: asked under --neighbours {unit.neighbours.value}, but its budget is for "
            f"--neighbours {terms.neighbours.value}; release under that"
        )
    if unit.whom != terms.unit:
        raise BudgetRefused(
            f"dataset {terms.dataset!r}: a release would protect {unit.whom}, but its budget protects {terms.unit}\n"
            "ask for that unit: --unit COLUMN --max-rows K for persons, neither of them for rows; the domain file may "
            'state it as "unit"; or pay from a budget for the other: dpqr budget init NAME --unit COLUMN'
        )


def require_policy(terms: BudgetTerms, policy: Policy) -> None:
    """BudgetRefused unless the policy that a run was resolved under is the budget's now."""
    if policy != terms.policy:
        raise BudgetRefused(
            f"dataset {terms.dataset!r}: the policy of its budget has changed since this run looked it up, and nothing "
            "was opened\nrun the same command again; `dpqr budget show` prints the policy"
        )


def approval_missing(dataset: str, plan: str, reason: Reason) -> BudgetRefused:
    """The policy asks for an approval that is not there. The second line says how to get one."""
    approve = f"`dpqr budget approve {dataset} plan.json --by NAME`"
    if not plan:
        return BudgetRefused(
            f"dataset {dataset!r}: its budget pays for approved plans only, and this run follows none\n"
            f"release, learn, predict or open with --plan, after somebody else has approved the plan with {approve}"
        )
    if not person(reason.by):
        return BudgetRefused(
            f"dataset {dataset!r}: its budget pays only where somebody else than who asks has approved the plan\n"
            "say who asks: add --by NAME"
        )
    whose = f" by {reason.approved_by!r}" if reason.approved_by else ""
    return BudgetRefused(
        f"dataset {dataset!r}: the plan {plan[:12]} has no unused approval{whose}; it takes one by somebody else "
        f"than {reason.by!r} for each run; capitals, blanks and dots make no other name\n"
        "where it is not written yet: `dpqr plan --out plan.json`, of predictions `dpqr predict --lock plan.json`, of "
        "a session `open NAME --lock plan.json`, of what is learned `dpqr domain --learn COLUMN --lock plan.json`; "
        f"then {approve}, and release, learn, predict or open with --plan plan.json"
    )


def spent_words(account: Account) -> str:
    """What is spent and what is left, each rounded to the safe side."""
    figures = account.terms.currency.figures
    spent, limit = figures(account.spent, upward_text), figures(account.terms.limit, downward_text)
    waiting = f" ({figures(account.pending, upward_text)} of it not settled)" if account.pending else ""
    return f"spent {spent} of {limit}{waiting}, left {figures(account.left, downward_text)}"


def fitting_words(account: Account) -> str:
    """The largest request that fits now, in the ledger's currency and as options of a release."""
    if account.request is None:
        return "nothing more can be released from this dataset"
    largest = account.terms.currency.words(account.largest, downward_text)
    return f"the largest request that fits is {largest}, as in {account.request}"


def _request_words(account: Account, cost: Cost) -> str:
    return f"dataset {account.terms.dataset!r}: asked {account.terms.currency.words(cost, upward_text)}"


LONGEST_NAME = 100
LONGEST_NOTE = 2000

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def require_name(name: str, *, what: str = "dataset") -> str:
    """The name itself. UsageFault for one that could be mistaken for another: two names are two budgets."""
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise UsageFault(
            f"{what} {name[:LONGEST_NAME]!r}: a name is made of ASCII letters, digits, '.', '_' and '-', begins "
            f"with a letter or digit and has at most {LONGEST_NAME} characters"
        )
    return name


def require_text(text: str, *, what: str) -> str:
    """The text itself, fit to be recorded."""
    if len(text) > LONGEST_NOTE or not text.isprintable():
        raise UsageFault(f"{what} in the ledger is one line of at most {LONGEST_NOTE} printable characters")
    return text
