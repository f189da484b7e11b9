"""The state of all budgets, replayed from the entries under the rules that every entry must obey.

A balance that is stored beside its entries could be edited without them, so the state is replayed. A checkpoint spares
the replay of what lies before it: its entry holds the digest of the state that it stands for, under the same chain. The
same lines refuse a request and find a forged entry.

An entry that breaks the rules stops every replay. Skipping it would be wrong: to a program that does not know a newer
rule it could be a payment. Where a job has appended it past dpqr, the message names the job's role, and the owner
rejects it by an entry of their own (`ChainedLedger.reject`), which every later replay obeys: what the rules refuse then
counts for nothing (no dpqr has drawn for it, for none has gone on behind it), and what they admit counts as it did. So
nobody takes back what was spent by rejecting it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime

from dpqr.data.period import PeriodRows, named_periods
from dpqr.errors import BudgetRefused, DpqrError, LedgerError, UsageFault
from dpqr.io.ledger.account_state import AccountState, OpenRun, is_digest, spelled
from dpqr.io.ledger.chain import BEGINNING, ChainSegment, Link, digest
from dpqr.io.ledger.entry_codec import decode_entry
from dpqr.io.ledger.refusals import (
    before_first,
    breaks_the_rules,
    has_moved,
    over_cap,
    over_limit,
    over_share,
    require_text,
)
from dpqr.io.ledger.state_codec import Checkpoint, encode_state
from dpqr.privacy.layers import Layer, free_layer, is_free
from dpqr.privacy.ledger import Account, Entry
from dpqr.privacy.pair_currency import PAIR
from dpqr.privacy.periods import WHOLE, PeriodBudgets
from dpqr.privacy.policy import require_stricter
from dpqr.privacy.reason import Reason

_TIME = re.compile(r"2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00")


def _require_texts(entry: Entry) -> None:
    """LedgerError or UsageFault for texts that dpqr does not write, which whoever lists the entries would print."""
    if not _TIME.fullmatch(entry.time):
        raise LedgerError("an entry without a time")
    datetime.fromisoformat(entry.time)
    for text in (entry.note, entry.plan, entry.reason.purpose, entry.reason.by, entry.reason.approved_by):
        require_text(text, what="a text")


def _require_period(periods: PeriodBudgets, name: str) -> None:
    """BudgetRefused for a period before the first; UsageFault for a name of another kind of period."""
    if name == WHOLE:
        return
    period = named_periods(name, periods.every)[0]
    if periods.first is not None and period.index(periods.first) < 0:
        raise before_first(periods.first, period)


def _require_layer(held: AccountState, entry: Entry, layer: Layer) -> None:
    """LedgerError for a layer that the release may not join, or in a currency of pairs, where costs do not scale."""
    if held.terms.currency is PAIR or not is_free(layer, entry.period, held.nodes, held.runs):
        raise LedgerError("a reservation in a layer that does not take it")


@dataclass(slots=True)
class LedgerState:
    """A ledger after its first `length` entries; `add` admits one more or raises.

    seal: of the chain so far. anchored: an anchor is kept. checkpoint: the newest one. moved: the place in which the
    ledger goes on; "": here.
    """

    length: int = 0
    seal: str = BEGINNING
    anchored: bool = False
    checkpoint: Entry | None = None
    moved: str = ""
    accounts: dict[str, AccountState] = field(default_factory=dict)

    @classmethod
    def of(cls, stored: Checkpoint, seal: str) -> LedgerState:
        """The state that a checkpoint holds; its entry, which follows, must prove it."""
        return cls(length=stored.length, seal=seal, anchored=stored.anchored, accounts=dict(stored.accounts))

    @property
    def text(self) -> str:
        """The text whose digest a checkpoint holds."""
        return encode_state(Checkpoint(length=self.length, anchored=self.anchored, accounts=self.accounts))

    @property
    def waiting(self) -> frozenset[int]:
        """Numbers of the reservations that are not settled."""
        return frozenset(number for held in self.accounts.values() for number in held.runs)

    def replay(self, chain: ChainSegment, refusable: Collection[int] = ()) -> tuple[Entry, ...]:
        """Admit what follows; its entries. LedgerError for an entry that no ledger would have admitted.

        Args:
            refusable: numbers of the entries that may break the rules, beside those that the owner has rejected.
        """
        rejected = chain.rejected.union(refusable)
        return tuple(self._replayed(link, self.length in rejected) for link in chain.links)

    def account(self, dataset: str) -> Account:
        """UsageFault for a name that has no budget here."""
        return self._account_state(dataset).account

    def unsettled(self, number: int) -> OpenRun:
        """The run that this reservation pays for. BudgetRefused: there is none, or it is settled."""
        for held in self.accounts.values():
            if number in held.runs:
                return held.runs[number]
        raise BudgetRefused(f"entry {number} is no reservation that waits for a settlement; each is settled once")

    def add(self, entry: Entry) -> None:
        """Raises: BudgetRefused or UsageFault, and nothing is changed."""
        if entry.number != self.length or (entry.kind == "open") != (entry.number == 0):
            raise LedgerError("an entry is out of order")
        if bool(self.moved) != (entry.kind == "arrive"):
            raise has_moved(self.moved)
        if entry.kind == "init":
            self._init(entry)
        elif entry.kind == "policy":
            self._restrict(entry)
        elif entry.kind == "approve":
            self._approve(entry)
        elif entry.kind == "reserve":
            self._reserve(entry)
        elif entry.kind in ("draw", "record"):
            self._continue(entry)
        elif entry.kind == "settle":
            self._settle(entry)
        elif entry.kind == "checkpoint":
            self._check(entry)
        elif entry.kind in ("move", "arrive"):
            self.moved = entry.note if entry.kind == "move" else ""
        elif entry.kind in ("open", "anchor"):
            self.anchored = entry.anchored or entry.kind == "anchor"
        elif entry.kind == "reject":
            pass  # read before the replay (`ChainSegment.rejected`)
        else:
            raise LedgerError("an entry of an unknown kind")
        self.length, self.seal = self.length + 1, entry.hash

    def _replayed(self, link: Link, refusable: bool) -> Entry:
        """The entry of a link, admitted, or in place of it one that is void."""
        number = self.length
        try:
            entry = decode_entry(link.text, link.seal)
            if link.job or refusable:  # both: whoever reads an export, or a ledger that was moved, knows no roles
                _require_texts(entry)
            self.add(entry)
        except (DpqrError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
            if not refusable:
                raise breaks_the_rules(number, link.job, error) from None
            entry = Entry(number=number, kind="void", time="", hash=link.seal, text=link.text)
            self.length, self.seal = number + 1, link.seal
        return entry

    def _check(self, entry: Entry) -> None:
        if entry.state != digest(self.text):
            raise LedgerError("a checkpoint of another state")
        self.checkpoint = entry

    def _init(self, entry: Entry) -> None:
        existing = {name.casefold(): name for name in self.accounts}.get(entry.dataset.casefold())
        if existing is not None:
            raise BudgetRefused(
                f"dataset {existing!r} has its budget already, and it holds for life: there is no reset; "
                "`dpqr budget show` prints it"
            )
        if entry.terms is None or entry.terms.dataset != entry.dataset or entry.terms.limit.amount <= 0:
            raise LedgerError("an init entry without terms")
        _ = entry.terms.currency
        self.accounts[entry.dataset] = AccountState(terms=entry.terms)

    def _restrict(self, entry: Entry) -> None:
        held = self._account_state(entry.dataset)
        if entry.policy is None:
            raise LedgerError("an entry of a policy without one")
        if held.terms.policy_stated:
            require_stricter(held.terms.policy, entry.policy)
        held.terms = replace(held.terms, policy=entry.policy, policy_stated=True)

    def layer(self, dataset: str, rows: PeriodRows | None, most: int) -> Layer | None:
        """The layer that a release joins; None: it bounds no rows over a life, or costs are pairs, which do not scale
        with rows."""
        held = self._account_state(dataset)
        if rows is None or held.terms.currency is PAIR:
            return None
        return free_layer(rows, most, held.nodes, held.runs)

    def approver(self, dataset: str, plan: str, reason: Reason) -> str:
        """Whose approval a reservation would use up; of a policy that asks for none, who is named. BudgetRefused."""
        held = self._account_state(dataset)
        return held.approval(plan, reason)[1] if held.terms.policy.approval else reason.approved_by

    def _approve(self, entry: Entry) -> None:
        held = self._account_state(entry.dataset)
        if not is_digest(entry.plan):
            raise LedgerError("an approval that names no plan")
        if not spelled(entry.reason.by):
            raise UsageFault("--by: say who approves; the release must then be asked for by somebody else")
        held.approvals.append((entry.plan, entry.reason.by))

    def require_payable(self, entry: Entry) -> None:
        """BudgetRefused where a reservation does not fit what is left. LedgerError where the ledger was moved."""
        if self.moved:
            raise has_moved(self.moved)
        held = self._account_state(entry.dataset)
        terms, spent = held.terms, held.charged(held.spent, entry, entry.cost)
        nodes = held.noded(entry, entry.cost)
        if entry.layer is not None:
            _require_layer(held, entry, entry.layer)
        if (entry.pricing is not None) != (terms.currency is PAIR):
            raise LedgerError("a reservation that does not say how it is priced, or says it in vain")
        if terms.cap is not None and not entry.cost <= terms.cap:
            raise over_cap(held.account, entry.cost)
        if terms.periods:
            _require_period(terms.periods, entry.period)
            read = terms.periods.read(spent, nodes)
            for name in terms.periods.paying(entry.period):
                if not terms.periods.of(name, read) <= terms.periods.share:
                    raise over_share(held.account, name, entry.cost)
        if not terms.total(spent, nodes) <= terms.limit:
            raise over_limit(held.account, entry.cost)

    def _reserve(self, entry: Entry) -> None:
        self.require_payable(entry)
        held = self._account_state(entry.dataset)
        run = OpenRun.of(entry, held.terms.currency)
        if held.terms.policy.approval:
            held.approvals.remove(held.approval(entry.plan, entry.reason, spelled))
        held.spent = held.charged(held.spent, entry, entry.cost)
        held.nodes = held.noded(entry, entry.cost)
        held.reservations += 1
        held.runs[entry.number] = run

    def _continue(self, entry: Entry) -> None:
        run = self._run(entry, entry.run)
        if entry.kind == "record":
            run.record(entry)
        else:
            run.begin(entry)

    def _run(self, entry: Entry, number: int | None) -> OpenRun:
        run = self.unsettled(number if number is not None else -1)
        if run.paid.dataset != entry.dataset:
            raise BudgetRefused(f"entry {run.paid.number} is a reservation of another dataset")
        return run

    def _settle(self, entry: Entry) -> None:
        run = self._run(entry, entry.settles)
        paid = run.paid
        if entry.drawn and not is_digest(entry.drawn):
            raise LedgerError("a settlement that names draws by no digest")
        if not run.settled(run.events) <= entry.cost:
            raise BudgetRefused(f"the draws that entry {paid.number} has begun cost more than that settlement")
        if not entry.cost <= paid.cost:
            raise BudgetRefused(
                f"a settlement may not pass what entry {paid.number} has reserved; it stays spent in full"
            )
        held = self._account_state(entry.dataset)
        del held.runs[paid.number]
        held.spent = held.charged(held.spent, paid, entry.cost - paid.cost)
        held.nodes = held.noded(paid, entry.cost - paid.cost)

    def _account_state(self, dataset: str) -> AccountState:
        if dataset not in self.accounts:
            known = ", ".join(sorted(self.accounts)[:5]) or "none yet"
            raise UsageFault(
                f"dataset {dataset!r} has no budget in this ledger (known: {known}); "
                "open one with `dpqr budget init`, or fix the name"
            )
        return self.accounts[dataset]
