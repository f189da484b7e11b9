"""Book: the state of all budgets, replayed from the entries, and the rules that every entry must obey.

Why replayed: a balance that is stored beside its entries can be edited without them. Where a checkpoint spares the
replay of what lies before it, its entry holds the digest of the state that it stands for, under the same chain. The
rules that refuse a request and the rules that find a forged entry are the same lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from dpqr.errors import BudgetRefused, DpqrError, LedgerError, UsageFault
from dpqr.io.ledger.chain import BEGINNING, Stretch, digest
from dpqr.io.ledger.entry_codec import decode_entry
from dpqr.io.ledger.open_run import OpenRun
from dpqr.io.ledger.refusals import over_cap, over_limit
from dpqr.io.ledger.standing import Standing
from dpqr.io.ledger.state_codec import State, encode_state
from dpqr.privacy.ledger import Account, Entry
from dpqr.privacy.pair_currency import PAIR
from dpqr.privacy.policy import require_stricter


@dataclass(slots=True)
class Book:
    """The ledger after its first `length` entries; `add` admits one more or raises.

    seal: of the chain so far. anchored: an anchor is kept. checkpoint: the newest one.
    """

    length: int = 0
    seal: str = BEGINNING
    anchored: bool = False
    checkpoint: Entry | None = None
    standings: dict[str, Standing] = field(default_factory=dict)

    @classmethod
    def of(cls, state: State, seal: str) -> Book:
        """The book of a state that was kept; whose it is, the checkpoint entry that follows must say."""
        return cls(length=state.length, seal=seal, anchored=state.anchored, standings=dict(state.standings))

    @property
    def state(self) -> str:
        """The text whose digest a checkpoint holds."""
        return encode_state(State(length=self.length, anchored=self.anchored, standings=self.standings))

    def replay(self, chain: Stretch) -> tuple[Entry, ...]:
        """Admit what follows; its entries. LedgerError for an entry that no ledger would have admitted."""
        return tuple(self._replayed(decode_entry(link.text, link.seal)) for link in chain.links)

    def account(self, dataset: str) -> Account:
        """UsageFault for a name that has no budget here."""
        return self._standing(dataset).account

    def unsettled(self, number: int) -> OpenRun:
        """The run that this reservation pays for. BudgetRefused: there is none, or it is settled."""
        for standing in self.standings.values():
            if number in standing.runs:
                return standing.runs[number]
        raise BudgetRefused(f"entry {number} is no reservation that waits for a settlement; each is settled once")

    def add(self, entry: Entry) -> None:
        """Errors: BudgetRefused or UsageFault, and nothing is changed."""
        if entry.number != self.length or (entry.kind == "open") != (entry.number == 0):
            raise LedgerError("an entry is out of order")
        if entry.kind == "init":
            self._init(entry)
        elif entry.kind == "policy":
            self._restrict(entry)
        elif entry.kind == "reserve":
            self._reserve(entry)
        elif entry.kind in ("draw", "record"):
            self._continue(entry)
        elif entry.kind == "settle":
            self._settle(entry)
        elif entry.kind == "checkpoint":
            self._check(entry)
        elif entry.kind in ("open", "anchor"):
            self.anchored = entry.anchored or entry.kind == "anchor"
        else:
            raise LedgerError("an entry of an unknown kind")
        self.length, self.seal = self.length + 1, entry.hash

    def _replayed(self, entry: Entry) -> Entry:
        try:
            self.add(entry)
        except DpqrError:
            raise LedgerError(
                f"the ledger was forged or is damaged: entry {entry.number} breaks the rules of a ledger"
            ) from None
        return entry

    def _check(self, entry: Entry) -> None:
        if entry.state != digest(self.state):
            raise LedgerError("a checkpoint of another state")
        self.checkpoint = entry

    def _init(self, entry: Entry) -> None:
        taken = {name.casefold(): name for name in self.standings}.get(entry.dataset.casefold())
        if taken is not None:
            raise BudgetRefused(
                f"dataset {taken!r} has its budget already, and it holds for life: there is no reset; "
                "`dpqr budget show` prints it"
            )
        if entry.terms is None or entry.terms.dataset != entry.dataset or entry.terms.limit.amount <= 0:
            raise LedgerError("an init entry without terms")
        _ = entry.terms.currency
        self.standings[entry.dataset] = Standing(terms=entry.terms)

    def _restrict(self, entry: Entry) -> None:
        standing = self._standing(entry.dataset)
        if entry.policy is None:
            raise LedgerError("an entry of a policy without one")
        if standing.terms.policy_stated:
            require_stricter(standing.terms.policy, entry.policy)
        standing.terms = replace(standing.terms, policy=entry.policy, policy_stated=True)

    def _reserve(self, entry: Entry) -> None:
        standing = self._standing(entry.dataset)
        terms, spent = standing.terms, standing.spent + entry.cost
        if (entry.pricing is not None) != (terms.currency is PAIR):
            raise LedgerError("a reservation that does not say how it is priced, or says it in vain")
        if terms.cap is not None and not entry.cost <= terms.cap:
            raise over_cap(standing.account, entry.cost)
        if not spent <= terms.limit:
            raise over_limit(standing.account, entry.cost)
        standing.spent = spent
        standing.reservations += 1
        standing.runs[entry.number] = OpenRun.of(entry, terms.currency)

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
        if not run.settled(run.events) <= entry.cost:
            raise BudgetRefused(f"the draws that entry {paid.number} has begun cost more than that settlement")
        if not entry.cost <= paid.cost:
            raise BudgetRefused(
                f"a settlement may not pass what entry {paid.number} has reserved; it stays spent in full"
            )
        standing = self._standing(entry.dataset)
        del standing.runs[paid.number]
        standing.spent = standing.spent - paid.cost + entry.cost

    def _standing(self, dataset: str) -> Standing:
        if dataset not in self.standings:
            known = ", ".join(sorted(self.standings)[:5]) or "none yet"
            raise UsageFault(
                f"dataset {dataset!r} has no budget in this ledger (known: {known}); "
                "open one with `dpqr budget init`, or mend the name"
            )
        return self.standings[dataset]
