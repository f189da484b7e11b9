"""Ledger: the budgets of datasets, as the Python interface opens and reads them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Unpack

from dpqr.kernel.errors import DpqrError, UsageFault
from dpqr.python.checks import Figure, Path, check_options, figure, run_sanitised, text
from dpqr.python.options import ApprovalOptions, LedgerPlace, ReasonOptions, checks
from dpqr.python.shown import Readable, Receipt
from dpqr.tables.engines.address import require_displayable as place

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.ledger.budgets import PeriodRequest, PricedAccount
    from dpqr.ledger.chain import Mark
    from dpqr.ledger.chained_ledger import ChainedLedger
    from dpqr.ledger.ledger import LedgerEntry, Reason
    from dpqr.python.approval import ApprovedRun
    from dpqr.python.owner_options import BudgetOptions, PolicyOptions
    from dpqr.releases.requests import LedgerRequest
    from dpqr.tables.policy import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one dataset may spend in its life, has spent, and has left.

    spent, left: exact, in the unit `currency` (epsilon, or rho); with their deltas where these are added up. request:
    options of the largest release that fits now, such as "--eps 0.5"; None: none does. unsettled: reservations of runs
    that have not ended. priced: the account, and what its history costs under every accountant.
    """

    dataset: str
    kind: str
    unit: str
    epsilon: Fraction
    delta: Fraction
    accountant: str
    currency: str
    spent: Fraction
    spent_delta: Fraction
    left: Fraction
    left_delta: Fraction
    request: str | None
    reservations: int
    unsettled: int
    priced: PricedAccount = field(repr=False)

    @classmethod
    def of(cls, priced: PricedAccount) -> Budget:
        """The budget that an account describes."""
        account, terms = priced.account, priced.account.terms
        return cls(
            dataset=terms.dataset,
            kind=terms.kind.value,
            unit=terms.unit,
            epsilon=terms.budget.epsilon,
            delta=terms.budget.delta,
            accountant=terms.accountant,
            currency=terms.currency.name,
            spent=account.spent.amount,
            spent_delta=account.spent.delta,
            left=account.left.amount,
            left_delta=account.left.delta,
            request=account.request,
            reservations=account.reservations,
            unsettled=account.unsettled,
            priced=priced,
        )

    @property
    def record(self) -> dict[str, Any]:
        """What `dpqr budget show --json` prints of it."""
        return self.priced.document()


class Ledger(LedgerPlace):
    """The budgets in one file or on a server, shared by all jobs. Nothing is opened before a method is called.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     opened = (ledger := Ledger(f"{folder}/budgets.sqlite")).init("survey", eps=5, cap_eps=1)
    ...     type(opened).__name__, opened.left, opened.request, ledger.history()["entry"].tolist()
    ('Budget', Fraction(5, 1), '--eps 1', ['open', 'init'])

    Raises:
        LedgerError: from any method, where the ledger is locked, damaged, edited or rolled back.
        UsageFault: from any method, for a name that has no budget.
    """

    def __init__(self, path: Path | None = None, anchor: Path | None = None) -> None:
        """path, anchor: as --ledger and --anchor; None: as configured by the environment, else this user's own."""
        self.path = None if path is None else place(os.fspath(path), "--ledger")
        self.anchor = None if anchor is None else os.fspath(anchor)

    def init(self, dataset: str, *, eps: Figure, **options: Unpack[BudgetOptions]) -> Budget:
        """Give a dataset its budget, once: there is no reset. options: of `dpqr budget init`, with _ for -.

        Raises:
            BudgetRefused: the dataset has one.
        """
        from dpqr.ledger.budgets import BudgetRequest, open_budget
        from dpqr.python.owner_options import BudgetOptions, BudgetPeriodOptions, PolicyOptions
        from dpqr.tables.policy import Policy

        stated = check_options(options, checks(BudgetOptions))
        divided = {*checks(PolicyOptions), *checks(BudgetPeriodOptions)}
        reading, periods = budget_fields({name: value for name, value in stated.items() if name in divided})
        request = BudgetRequest(
            dataset=text("dataset", dataset),
            epsilon=figure("eps", eps),
            delta=stated.get("delta"),
            accountant=stated.get("accounting"),
            cap=stated.get("cap_eps"),
            cap_delta=stated.get("cap_delta"),
            neighbours=stated.get("neighbours", "add-remove"),
            unit=stated.get("unit"),
            per=stated.get("per"),
            kind=stated.get("kind", "private"),
            reason=reason(stated),
            policy=Policy(
                counts=stated.get("counts"),
                fail=stated.get("allow_fail", False),
                learning=stated.get("allow_learning", False),
                **reading,
            ),
            periods=periods,
        )
        return Budget.of(run_sanitised(lambda: open_budget(self._opened(), request)))

    def policy(
        self,
        dataset: str,
        *,
        fail: bool | None = None,
        learning: bool | None = None,
        **reading: Unpack[PolicyOptions],
    ) -> Budget:
        """Change which table every run reads (`source`), whether labels and bounds may be learned (`learning`), and how
        the table is read, the last towards stricter only.

        Raises:
            BudgetRefused: any other change.
        """
        from dpqr.ledger.budgets import restrict
        from dpqr.tables.policy import PolicyChange

        change = PolicyChange(fail=fail, learning=learning, **policy_fields(reading))
        return Budget.of(run_sanitised(lambda: restrict(self._opened(), dataset, change)))

    def approve(self, dataset: str, plan: Path, *, by: str | None = None, purpose: str | None = None) -> Approval:
        """Approve one release by the plan in a file. by: who approves, and is not who will ask.

        Raises:
            DocumentError: the plan is not what would be planned now.
        """
        from dpqr.python.approval import approve
        from dpqr.releases.requests import LedgerRequest

        payer = LedgerRequest(dataset=text("dataset", dataset), ledger=self.path, anchor=self.anchor)
        return Approval(run_sanitised(lambda: approve(payer, os.fspath(plan), reason({"purpose": purpose, "by": by}))))

    def budget(self, dataset: str) -> Budget:
        """What one dataset has spent and has left.

        Raises:
            UsageFault: a name that has no budget.
        """
        return self.budgets(dataset)[0]

    def budgets(self, dataset: str | None = None, *, delta: Figure | None = None) -> tuple[Budget, ...]:
        """What one dataset, or every dataset, has spent and has left.

        Args:
            delta: where the history is priced; None: at each budget's own.

        Raises:
            UsageFault: a name that has no budget.
        """
        from dpqr.ledger.budgets import budgets

        at = None if delta is None else figure("delta", delta)
        return tuple(map(Budget.of, run_sanitised(lambda: budgets(self._opened(), dataset, at))))

    def show(self, dataset: str | None = None, *, delta: Figure | None = None) -> pd.DataFrame:
        """The same as a table, one row a dataset; spent is rounded up and left down.

        The history is priced at `delta` in the columns `eps_ACCOUNTANT`.
        """
        import pandas as pd

        found = self.budgets(dataset, delta=delta)
        rows = [_row(one) | {f"eps_{name}": _up(cost) for name, cost in one.priced.prices.items()} for one in found]
        return pd.DataFrame(rows, columns=None if rows else [each.name for each in fields(Budget) if each.repr])

    def entries(self, dataset: str | None = None) -> tuple[LedgerEntry, ...]:
        """The entries of one dataset, or all: budgets, reservations, settlements."""
        from dpqr.ledger.budgets import history

        return run_sanitised(lambda: history(self._opened(), dataset))

    def history(self, dataset: str | None = None) -> pd.DataFrame:
        """The same as a table, one row an entry; costs in the budget's currency."""
        import pandas as pd

        rows = [
            (
                each.number,
                each.time,
                each.kind,
                each.dataset,
                _up(each.cost.amount),
                each.settles,
                each.reason.purpose,
                each.reason.by,
                each.note,
                each.hash,
            )
            for each in self.entries(dataset)
        ]
        names = ["number", "time", "entry", "dataset", "cost", "settles", "purpose", "by", "note", "seal"]
        found = pd.DataFrame(rows, columns=names)
        return found.assign(time=pd.to_datetime(found["time"], utc=True), settles=found["settles"].astype("Int64"))

    def verify(self) -> dict[str, Any]:
        """Walk the whole ledger: structure, chain, anchor, rules, prices.

        Raises:
            LedgerError: at the first fault.
        """
        from dpqr.ledger.budgets import verify

        return run_sanitised(lambda: verify(self._opened()))

    def export(self) -> Iterator[str]:
        """The record as JSON lines, from which anybody can check the chain."""
        from dpqr.ledger.budgets import export

        return run_sanitised(lambda: export(self._opened()))

    def renew_anchor(self) -> Mark:
        """Write the anchor of a ledger that has none yet, or whose anchor was lost; what it says.

        Raises:
            UsageFault: no anchor is named.
        """
        return run_sanitised(lambda: self._opened().renew_anchor())

    def move(self, to: Path) -> Ledger:
        """Carry the whole ledger on in another file or database, `to`; this one ends. The anchor goes with it."""
        from dpqr.ledger.budgets import move

        run_sanitised(lambda: move(self._opened(), os.fspath(to)))
        return Ledger(to, self.anchor)

    def grant(self, role: str) -> None:
        """Let a role of the PostgreSQL database pay for runs: it may append, and change or remove no entry."""
        from dpqr.ledger.budgets import grant

        run_sanitised(lambda: grant(self._opened(), text("role", role)))

    def revoke(self, role: str) -> None:
        """Let a role of the PostgreSQL database pay for nothing any more."""
        from dpqr.ledger.budgets import revoke

        run_sanitised(lambda: revoke(self._opened(), text("role", role)))

    def checkpoint(self) -> Mark:
        """Keep the state of all budgets, so that new jobs replay nothing that came before; where the ledger stands.

        A ledger in a file keeps it by itself, and so does every use of one on a server by its owner.
        """
        return run_sanitised(lambda: self._opened().checkpoint())

    def reject(self) -> tuple[int, ...]:
        """Go on in spite of entries that jobs have appended past dpqr and that break the rules; their numbers."""
        return run_sanitised(lambda: self._opened().reject())

    def _opened(self) -> ChainedLedger:
        from dpqr.ledger.budgets import configured_ledger

        return configured_ledger(self.path, self.anchor)

    def __repr__(self) -> str:
        return f"Ledger({self.path or 'as configured'})"

    def _repr_html_(self) -> str:
        from dpqr.report.budget import account_view, accounts_view

        priced = (each.priced for each in self.budgets())
        views = [account_view(each.account, each.prices, each.delta) for each in priced]
        return Receipt.of(lambda: accounts_view(iter(views)))._repr_html_()


def _row(budget: Budget) -> dict[str, Any]:
    fields_by_name = {each.name: getattr(budget, each.name) for each in fields(budget) if each.repr}
    exact = {
        name: 0.0 - _up(-value) if name.startswith("left") else _up(value)
        for name, value in fields_by_name.items()
        if isinstance(value, Fraction)
    }
    return fields_by_name | exact


def _up(value: Fraction | None) -> float:
    from dpqr.kernel.budget import upward

    return math.nan if value is None else upward(value)


# Options of a budget's policy, as the Python interface takes them.

UNBOUND = "files"
"""What is stated in the place of an address where a budget shall read files by path again."""


def policy_fields(given: Mapping[str, object]) -> dict[str, Any]:
    """The options of a policy by the names of its fields. UsageFault for a source that no budget may be bound to."""
    from dpqr.python.owner_options import PolicyOptions

    named = check_options(given, checks(PolicyOptions))
    source = _source(named.pop("source", None), named.pop("source_query", None))
    fields = {name.removeprefix("max_").removeprefix("require_"): value for name, value in named.items()}
    return fields if source is None else {**fields, "source": source}


def _source(address: str | None, query: str | None) -> Source | None:
    """What the owner registers; None: nothing is stated."""
    from pathlib import Path as FilePath

    from dpqr.domain.text.documents import read_regular_file
    from dpqr.tables.engines.known import LONGEST, source_at
    from dpqr.tables.policy import FILES

    if address is None:
        if query is not None:
            raise UsageFault("--source-query: says what is read of an engine; name that with --source ADDRESS")
        return None
    if address == UNBOUND:
        if query is not None:
            raise UsageFault("--source-query: files hold tables, and no query is asked of them; leave it out")
        return FILES
    if query is None:
        return source_at(address)
    try:
        content = read_regular_file(FilePath(query), LONGEST).decode("utf-8")
    except (OSError, DpqrError, UnicodeDecodeError):
        raise UsageFault(
            f"--source-query {query}: is no readable file of one SELECT, in UTF-8 and of at most {LONGEST:,} bytes"
        ) from None
    return source_at(address, content)


def budget_fields(given: Mapping[str, object]) -> tuple[dict[str, Any], PeriodRequest | None]:
    """The options of a policy by the names of its fields; and how the budget is divided, where it is.

    Raises:
        UsageFault: some of what divides a budget is missing.
    """
    from dpqr.ledger.budgets import PeriodRequest
    from dpqr.python.owner_options import BudgetPeriodOptions
    from dpqr.tables.policy import FILES

    known = checks(BudgetPeriodOptions)
    periods = check_options({name: value for name, value in given.items() if name in known}, known)
    policy = policy_fields({name: value for name, value in given.items() if name not in known})
    policy = {name: value for name, value in policy.items() if value != FILES}
    if not periods:
        return policy, None
    missing = [name for name in ("period", "period_column", "per_period") if name not in periods]
    if missing:
        option = missing[0].replace("_", "-")
        raise UsageFault(
            f"--{option}: is missing; a budget of periods states their kind, the date column and what each may spend\n"
            "for example --period month --period-column admitted --per-period 0.1"
        )
    return policy, PeriodRequest(
        every=periods["period"],
        column=periods["period_column"],
        epsilon=periods["per_period"],
        first=periods.get("first"),
    )


def reason(given: Mapping[str, object]) -> Reason:
    """Why a budget is opened or charged, who asks, and who approved."""
    from dpqr.ledger.ledger import Reason

    known = checks(ReasonOptions) | checks(ApprovalOptions)
    return Reason(**check_options({name: value for name, value in given.items() if name in known}, known))


# Who pays, from what callers name: a dataset, and the ledger that keeps its budget.


def payer(
    dataset: str | None, ledger: Path | LedgerPlace | None, anchor: Path | None, resume: bool = False
) -> LedgerRequest | None:
    """Who pays; None: no ledger is named or configured."""
    from dpqr.releases.paying import ledger_request

    return ledger_request(dataset, *ledger_paths(ledger, anchor), resume)


def ledger_paths(ledger: Path | LedgerPlace | None, anchor: Path | None) -> tuple[str | None, str | None]:
    """The files of a ledger and of its anchor; None: as configured."""
    held = ledger if isinstance(ledger, LedgerPlace) else Ledger(ledger, anchor)
    return held.path, held.anchor


# Approval: what the Python interface returns of a release that somebody has approved.


class Approval(Readable):
    """One run that a ledger pays for, by a plan that somebody has approved; printed, it says what was approved."""

    def __init__(self, approved: ApprovedRun) -> None:
        self._approved = approved

    @property
    def sha256(self) -> str:
        """The hash of the plan."""
        return self._approved.sha256

    @property
    def text(self) -> Receipt:
        """What was approved, in a few lines."""
        from dpqr.prediction.plan import PredictionPlan
        from dpqr.prediction.receipt import approved_prediction_facts
        from dpqr.releases.learned.learning import LearningPlan
        from dpqr.releases.receipt import approved_facts, approved_learning_facts

        found = self._approved
        plan, parts = found.plan, (found.sha256, found.dataset, found.reason)
        if isinstance(plan, LearningPlan):
            return Receipt.of_facts(approved_learning_facts(plan.names, plan.lines, *parts))
        if isinstance(plan, PredictionPlan):
            return Receipt.of_facts(approved_prediction_facts(plan, *parts))
        return Receipt.of_facts(approved_facts(plan, *parts))

    def __repr__(self) -> str:
        return f"Approval({self.sha256[:12]})"
