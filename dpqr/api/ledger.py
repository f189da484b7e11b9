"""Ledger: the budgets of datasets, as the Python interface opens and reads them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Unpack

from dpqr.api.approval import Approval
from dpqr.api.checks import Figure, Path, figure, text, truth
from dpqr.api.policy_options import BudgetOptions, PolicyOptions, budget_fields, policy_fields
from dpqr.api.shown import Receipt
from dpqr.api.withheld import withheld
from dpqr.io.ledger.addresses import shown as place

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.app.paying.budget import PricedAccount
    from dpqr.io.ledger.chain import Mark
    from dpqr.io.ledger.chained_ledger import ChainedLedger
    from dpqr.privacy.ledger import Entry


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


class Ledger:
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

    def init(
        self,
        dataset: str,
        *,
        eps: Figure,
        delta: Figure | None = None,
        accounting: str | None = None,
        cap_eps: Figure | None = None,
        cap_delta: Figure | None = None,
        neighbours: Literal["add-remove", "replace"] = "add-remove",
        unit: str | None = None,
        counts: str | None = None,
        allow_fail: bool = False,
        kind: Literal["private", "public", "synthetic"] = "private",
        purpose: str | None = None,
        by: str | None = None,
        **options: Unpack[BudgetOptions],
    ) -> Budget:
        """Give a dataset its budget, once: there is no reset. Raises: BudgetRefused: the dataset has one."""
        from dpqr.api.options import reason
        from dpqr.app.paying.budget import BudgetRequest, open_budget
        from dpqr.privacy.policy import Policy

        reading, periods = budget_fields(options)
        asked = BudgetRequest(
            dataset=text("dataset", dataset),
            epsilon=figure("eps", eps),
            delta=None if delta is None else figure("delta", delta),
            accountant=accounting,
            cap=None if cap_eps is None else figure("cap_eps", cap_eps),
            cap_delta=None if cap_delta is None else figure("cap_delta", cap_delta),
            neighbours=text("neighbours", neighbours, among=("add-remove", "replace")),
            unit=unit,
            kind=text("kind", kind, among=("private", "public", "synthetic")),
            reason=reason({"purpose": purpose, "by": by}),
            policy=Policy(counts=counts, fail=truth("allow_fail", allow_fail), **reading),
            periods=periods,
        )
        return Budget.of(withheld(lambda: open_budget(self._opened(), asked)))

    def policy(self, dataset: str, *, fail: bool | None = None, **reading: Unpack[PolicyOptions]) -> Budget:
        """Change which table every run reads (`source`), and how, the latter towards stricter only.

        Raises:
            BudgetRefused: any other change.
        """
        from dpqr.app.paying.budget import restrict
        from dpqr.privacy.policy import PolicyChange

        change = PolicyChange(fail=fail, **policy_fields(reading))
        return Budget.of(withheld(lambda: restrict(self._opened(), dataset, change)))

    def approve(self, dataset: str, plan: Path, *, by: str | None = None, purpose: str | None = None) -> Approval:
        """Approve one release by the plan in a file. by: who approves, and is not who will ask.

        Raises:
            DocumentError: the plan is not what would be planned now.
        """
        from dpqr.api.options import reason
        from dpqr.app.releasing.approval import approve
        from dpqr.app.requests import LedgerRequest

        payer = LedgerRequest(dataset=text("dataset", dataset), ledger=self.path, anchor=self.anchor)
        return Approval(withheld(lambda: approve(payer, os.fspath(plan), reason({"purpose": purpose, "by": by}))))

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
        from dpqr.app.paying.budget import budgets

        at = None if delta is None else figure("delta", delta)
        return tuple(map(Budget.of, withheld(lambda: budgets(self._opened(), dataset, at))))

    def show(self, dataset: str | None = None, *, delta: Figure | None = None) -> pd.DataFrame:
        """The same as a table, one row a dataset; spent is rounded up and left down.

        The history is priced at `delta` in the columns `eps_ACCOUNTANT`.
        """
        import pandas as pd

        found = self.budgets(dataset, delta=delta)
        rows = [_row(one) | {f"eps_{name}": _up(cost) for name, cost in one.priced.prices.items()} for one in found]
        return pd.DataFrame(rows, columns=None if rows else [each.name for each in fields(Budget) if each.repr])

    def entries(self, dataset: str | None = None) -> tuple[Entry, ...]:
        """The entries of one dataset, or all: budgets, reservations, settlements."""
        from dpqr.app.paying.budget import history

        return withheld(lambda: history(self._opened(), dataset))

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
        from dpqr.app.paying.budget import verify

        return withheld(lambda: verify(self._opened()))

    def export(self) -> Iterator[str]:
        """The record as JSON lines, from which anybody can check the chain."""
        from dpqr.app.paying.budget import export

        return withheld(lambda: export(self._opened()))

    def renew_anchor(self) -> Mark:
        """Write the anchor of a ledger that has none yet, or whose anchor was lost; what it says.

        Raises:
            UsageFault: no anchor is named.
        """
        return withheld(lambda: self._opened().renew_anchor())

    def move(self, to: Path) -> Ledger:
        """Carry the whole ledger on in another file or database, `to`; this one ends. The anchor goes with it."""
        from dpqr.app.paying.budget import move

        withheld(lambda: move(self._opened(), os.fspath(to)))
        return Ledger(to, self.anchor)

    def grant(self, role: str) -> None:
        """Let a role of the PostgreSQL database pay for runs: it may append, and change or remove no entry."""
        from dpqr.app.paying.budget import grant

        withheld(lambda: grant(self._opened(), text("role", role)))

    def revoke(self, role: str) -> None:
        """Let a role of the PostgreSQL database pay for nothing any more."""
        from dpqr.app.paying.budget import revoke

        withheld(lambda: revoke(self._opened(), text("role", role)))

    def checkpoint(self) -> Mark:
        """Keep the state of all budgets, so that new jobs replay nothing that came before; where the ledger stands.

        A ledger in a file keeps it by itself, and so does every use of one on a server by its owner.
        """
        return withheld(lambda: self._opened().checkpoint())

    def reject(self) -> tuple[int, ...]:
        """Go on in spite of entries that jobs have appended past dpqr and that break the rules; their numbers."""
        return withheld(lambda: self._opened().reject())

    def _opened(self) -> ChainedLedger:
        from dpqr.app.paying.budget import configured_ledger

        return configured_ledger(self.path, self.anchor)

    def __repr__(self) -> str:
        return f"Ledger({self.path or 'as configured'})"

    def _repr_html_(self) -> str:
        from dpqr.report.budget_view import account_view, accounts_view

        priced = (each.priced for each in self.budgets())
        views = [account_view(each.account, each.prices, each.delta) for each in priced]
        return Receipt.of(lambda: accounts_view(iter(views)))._repr_html_()


def _row(budget: Budget) -> dict[str, Any]:
    told = {each.name: getattr(budget, each.name) for each in fields(budget) if each.repr}
    exact = {
        name: _down(value) if name.startswith("left") else _up(value)
        for name, value in told.items()
        if isinstance(value, Fraction)
    }
    return told | exact


def _up(value: Fraction | None) -> float:
    from dpqr.privacy.budget import upward

    return math.nan if value is None else upward(value)


def _down(value: Fraction) -> float:
    return 0.0 - _up(-value)
