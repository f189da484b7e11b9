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

import json
import re
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

import msgspec
from msgspec import Struct

from dpqr.domain.periods import PeriodRows, parse_periods
from dpqr.kernel.accountants.accountant import PrivacyFilter
from dpqr.kernel.budget import NO_COST, PURE, Cost, Pricing
from dpqr.kernel.currency import PAIR, Currency
from dpqr.kernel.errors import BudgetRefused, DpqrError, LedgerError, UsageFault
from dpqr.kernel.events import Composition, PrivacyEvent
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.ledger.chain import BEGINNING, ChainSegment, digest
from dpqr.ledger.codec import (
    JSON,
    LAYER_FORMAT,
    TERMS_FORMAT,
    RecordFormat,
    attribute,
    canonical,
    decode_entry,
    decode_events,
    decode_sum,
    encode_events,
    entry_document,
    read_entry,
    sum_document,
)
from dpqr.ledger.ledger import DEFAULT, NO_REASON, Account, BudgetTerms, LedgerEntry, Reason, Reservation, Run, person
from dpqr.ledger.periods import ALL_PERIODS, Layer, LayerNode, free_layer, is_free
from dpqr.ledger.refusals import (
    approval_missing,
    before_first,
    breaks_the_rules,
    has_moved,
    over_cap,
    over_limit,
    over_share,
    require_period,
    require_policy,
    require_text,
    require_unit,
)
from dpqr.tables.policy import Policy, require_stricter

_TIME = re.compile(r"2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00")


@dataclass(slots=True)
class LedgerState:
    """A ledger after its first `length` entries; `add` admits one more or raises.

    seal: of the chain so far. anchored: an anchor is kept. checkpoint: the newest one. moved: the place in which the
    ledger goes on; "": here.
    """

    length: int = 0
    seal: str = BEGINNING
    anchored: bool = False
    checkpoint: LedgerEntry | None = None
    moved: str = ""
    accounts: dict[str, AccountState] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The one text of the state, whose digest a checkpoint holds. Sums are written in base 16, which no limit on
        digits ends."""
        datasets = [_account_document(held) for held in self.accounts.values()]
        return canonical({"dpqr": FORMAT, "entries": self.length, "anchored": self.anchored, "datasets": datasets})

    @property
    def waiting(self) -> frozenset[int]:
        """Numbers of the reservations that are not settled."""
        return frozenset(number for held in self.accounts.values() for number in held.runs)

    def replay(self, chain: ChainSegment, refusable: Collection[int] = ()) -> tuple[LedgerEntry, ...]:
        """Admit what follows; its entries. LedgerError for an entry that no ledger would have admitted.

        Args:
            refusable: numbers of the entries that may break the rules, beside those that the owner has rejected.
        """
        rejected, entries = chain.rejected.union(refusable), list[LedgerEntry]()
        for link in chain.links:
            number = self.length
            try:
                entry = decode_entry(link.text, link.seal)
                # Whoever reads an export, or a ledger that was moved, knows no roles: so of rejected entries too.
                if link.job or number in rejected:
                    require_printable(entry)
                self.add(entry)
            except (DpqrError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
                if number not in rejected:
                    raise breaks_the_rules(number, link.job, error) from None
                entry = LedgerEntry(number=number, kind="void", time="", hash=link.seal, text=link.text)
                self.length, self.seal = number + 1, link.seal
            entries.append(entry)
        return tuple(entries)

    def account(self, dataset: str) -> Account:
        """UsageFault for a name that has no budget here."""
        return self._account_state(dataset).account

    def unsettled(self, number: int) -> OpenRun:
        """The run that this reservation pays for. BudgetRefused: there is none, or it is settled."""
        for held in self.accounts.values():
            if number in held.runs:
                return held.runs[number]
        raise BudgetRefused(f"entry {number} is no reservation that waits for a settlement; each is settled once")

    def add(self, entry: LedgerEntry) -> None:
        """Raises: BudgetRefused or UsageFault, and nothing is changed."""
        if entry.number != self.length or (entry.kind == "open") != (entry.number == 0):
            raise LedgerError("an entry is out of order")
        if bool(self.moved) != (entry.kind == "arrive"):
            raise has_moved(self.moved)
        if entry.kind == "init":
            self._init(entry)
        elif entry.kind == "policy":
            held = self._account_state(entry.dataset)
            if entry.policy is None:
                raise LedgerError("an entry of a policy without one")
            if held.terms.policy_stated:
                require_stricter(held.terms.policy, entry.policy)
            held.terms = replace(held.terms, policy=entry.policy, policy_stated=True)
        elif entry.kind == "approve":
            held = self._account_state(entry.dataset)
            if not is_digest(entry.plan):
                raise LedgerError("an approval that names no plan")
            if not legacy_spelling(entry.reason.by):
                raise UsageFault("--by: say who approves; the release must then be asked for by somebody else")
            held.approvals.append((entry.plan, entry.reason.by))
        elif entry.kind == "reserve":
            self._reserve(entry)
        elif entry.kind in ("draw", "record"):
            run = self._run(entry, entry.run)
            if entry.kind == "record":
                run.record(entry)
            else:
                run.begin(entry)
        elif entry.kind == "settle":
            self._settle(entry)
        elif entry.kind == "checkpoint":
            if entry.state != digest(self.text):
                raise LedgerError("a checkpoint of another state")
            self.checkpoint = entry
        elif entry.kind in ("move", "arrive"):
            self.moved = entry.note if entry.kind == "move" else ""
        elif entry.kind in ("open", "anchor"):
            self.anchored = entry.anchored or entry.kind == "anchor"
        elif entry.kind == "reject":
            pass  # read before the replay (`ChainSegment.rejected`)
        else:
            raise LedgerError("an entry of an unknown kind")
        self.length, self.seal = self.length + 1, entry.hash

    def _init(self, entry: LedgerEntry) -> None:
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

    def layer(self, dataset: str, rows: PeriodRows | None, most: int) -> Layer | None:
        """The layer that a release joins; None: it bounds no rows over a life, or costs are pairs, which do not scale
        with rows."""
        held = self._account_state(dataset)
        if rows is None or held.terms.currency is PAIR:
            return None
        return free_layer(rows, most, held.nodes, held.runs)

    def approver(self, charge: Charge) -> str:
        """Whose approval a reservation would use up; of a policy that asks for none, who is named. BudgetRefused."""
        held, reason = self._account_state(charge.dataset), charge.reason
        return held.approval(charge.plan, reason)[1] if held.terms.policy.approval else reason.approved_by

    def require_payable(self, entry: LedgerEntry) -> None:
        """BudgetRefused where a reservation does not fit what is left. LedgerError where the ledger was moved."""
        if self.moved:
            raise has_moved(self.moved)
        held = self._account_state(entry.dataset)
        terms, spent = held.terms, held.charged(held.spent, entry, entry.cost)
        nodes = held.noded(entry, entry.cost)
        if entry.layer is not None and (
            terms.currency is PAIR  # whose costs do not scale with rows
            or not is_free(entry.layer, entry.period, held.nodes, held.runs)
        ):
            raise LedgerError("a reservation in a layer that does not take it")
        if (entry.pricing is not None) != (terms.currency is PAIR):
            raise LedgerError("a reservation that does not say how it is priced, or says it in vain")
        if terms.cap is not None and not entry.cost <= terms.cap:
            raise over_cap(held.account, entry.cost)
        if terms.periods:
            if entry.period != ALL_PERIODS:
                period, first = parse_periods(entry.period, terms.periods.every)[0], terms.periods.first
                if first is not None and period.index(first) < 0:
                    raise before_first(first, period)
            read = terms.periods.read(spent, nodes)
            for name in terms.periods.paying(entry.period):
                if not terms.periods.of(name, read) <= terms.periods.share:
                    raise over_share(held.account, name, entry.cost)
        if not terms.total(spent, nodes) <= terms.limit:
            raise over_limit(held.account, entry.cost)

    def _reserve(self, entry: LedgerEntry) -> None:
        self.require_payable(entry)
        held = self._account_state(entry.dataset)
        run = OpenRun.of(entry, held.terms.currency)
        if held.terms.policy.approval:
            held.approvals.remove(held.approval(entry.plan, entry.reason, legacy_spelling))
        held.spent = held.charged(held.spent, entry, entry.cost)
        held.nodes = held.noded(entry, entry.cost)
        held.reservations += 1
        held.runs[entry.number] = run

    def _run(self, entry: LedgerEntry, number: int | None) -> OpenRun:
        run = self.unsettled(number if number is not None else -1)
        if run.paid.dataset != entry.dataset:
            raise BudgetRefused(f"entry {run.paid.number} is a reservation of another dataset")
        return run

    def _settle(self, entry: LedgerEntry) -> None:
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


def require_printable(entry: LedgerEntry) -> None:
    """LedgerError or UsageFault for texts of a job's entry that dpqr does not write, for whoever lists the entries is
    shown them."""
    try:
        if not _TIME.fullmatch(entry.time):
            raise ValueError
        datetime.fromisoformat(entry.time)
    except ValueError:
        raise LedgerError(f"the clock of this machine says {entry.time[:40]!r}; set it right") from None
    reason = entry.reason
    for text in (entry.note, entry.plan, reason.purpose, reason.by, reason.approved_by):
        require_text(text, what="a text")


# The state of one dataset's budget while entries are replayed, and of each of its runs that is not settled.

Approval = tuple[str, str]


def legacy_spelling(name: str) -> str:
    """A name as versions up to 0.10 compared it: without capitals, and with single blanks.

    Names that differ by `person` differ by this too. So a ledger admits what those versions have written, and every
    request, which passes `person`, passes this.
    """
    return " ".join(name.casefold().split())


_DIGEST = re.compile(r"[0-9a-f]{64}")


def is_digest(text: str) -> bool:
    """Whether a text is a SHA-256 in hexadecimal digits."""
    return _DIGEST.fullmatch(text) is not None


class OpenRun(Struct, kw_only=True):
    """A run that is paid and not settled, and the order in which the ledger admits its draws.

    Each draw is begun on the transcript that holds all before it, then recorded.

    paid: the reservation's entry. guard: what it admits, and has admitted. draws: those that were begun, in
    order where the guard depends on it; last: the newest.
    A transcript in any other state than the last one that is known here (shortened, edited, copied earlier) finds no
    way to go on.
    """

    paid: LedgerEntry
    currency: Currency
    guard: PrivacyFilter
    draws: list[PrivacyEvent] = msgspec.field(default_factory=list)
    last: PrivacyEvent | None = None
    recorded: int = 0
    transcript: str = ""

    @classmethod
    def of(cls, paid: LedgerEntry, currency: Currency) -> OpenRun:
        """A run that has drawn nothing."""
        guard = currency.guard(paid.cost, paid.events, paid.pricing or PURE)
        return cls(paid=paid, currency=currency, guard=guard)

    @property
    def begun(self) -> int:
        return len(self.draws)

    @property
    def events(self) -> Composition:
        """The draws that were begun, with how often."""
        return tuple(Counter(self.draws).items())

    def settled(self, events: Composition) -> Cost:
        """What the run costs where it has drawn `events`. BudgetRefused: they have no price."""
        return self.currency.settled(self.paid.cost, events, self.paid.pricing or PURE)

    def begin(self, entry: LedgerEntry) -> None:
        """Admit one more draw. LedgerError: the last is not recorded, the transcript is another, or it is not paid."""
        (event, count), *others = entry.events or ((None, 0),)
        if event is None or count != 1 or others:
            raise LedgerError("an entry of a draw that names no single event")
        self._require(entry, recorded=self.begun)
        if self.begun and entry.transcript != self.transcript:
            raise self._fault()
        self.charge(event)
        self.last = event
        self.transcript = entry.transcript

    def charge(self, event: PrivacyEvent) -> None:
        """Admit the draw by its price alone. LedgerError: the reservation does not pay for it."""
        try:
            self.guard.charge(event)
        except BudgetRefused:
            raise LedgerError(f"entry {self.paid.number} does not pay for another draw") from None
        self.draws.append(event)

    def record(self, entry: LedgerEntry) -> None:
        """Admit that the last draw lies in the transcript."""
        self._require(entry, recorded=self.begun - 1)
        self.recorded += 1
        self.transcript = entry.transcript

    def require_next(self, number: int) -> None:
        """LedgerError unless draw `number` is the next to be begun, or the begun one that is not recorded."""
        if number != self.recorded:
            raise self._fault()

    def public(self) -> Run:
        """The same for everybody to read."""
        paid = self.paid
        return Run(
            reservation=Reservation(
                dataset=paid.dataset,
                number=paid.number,
                receipt=paid.hash,
                currency=self.currency,
                cost=paid.cost,
                events=paid.events,
                pricing=paid.pricing or PURE,
                reason=paid.reason,
                plan=paid.plan,
            ),
            note=paid.note,
            lost=self.last if self.begun > self.recorded else None,
            recorded=self.recorded,
            transcript=self.transcript,
        )

    def _require(self, entry: LedgerEntry, *, recorded: int) -> None:
        if self.recorded != recorded or not _DIGEST.fullmatch(entry.transcript):
            raise self._fault()

    def _fault(self) -> LedgerError:
        return LedgerError(
            f"the run of entry {self.paid.number} has come to another place than its transcript says; another job "
            "continues it, or the transcript is not the newest one"
        )


class AccountState(Struct):
    """A dataset's budget, and the runs that are paid and not settled, by their reservation's number.

    spent: by period; under ALL_PERIODS that of all periods, and of a dataset that has none. nodes: what is spent on
    counters that bound each person's rows over their life, and is not part of the former. approvals: those that no
    reservation has used up: the hash of a plan, and who approved it.
    """

    terms: BudgetTerms
    spent: dict[str, Cost] = msgspec.field(default_factory=dict)
    reservations: int = 0
    runs: dict[int, OpenRun] = msgspec.field(default_factory=dict)
    nodes: tuple[LayerNode, ...] = ()
    approvals: list[Approval] = msgspec.field(default_factory=list)

    def approval(self, plan: str, reason: Reason, compared: Callable[[str], str] = person) -> Approval:
        """One of the plan by somebody else than who asks; by the one whom the reason names, where it names any.

        compared: what of a name counts; of entries that are replayed what counted in every version (`legacy_spelling`).
        Raises: BudgetRefused.
        """
        asker, named = compared(reason.by), compared(reason.approved_by)
        others = [each for each in self.approvals if each[0] == plan and compared(each[1]) != asker]
        found = next((each for each in others if named in ("", compared(each[1]))), None)
        if not asker or found is None:
            raise approval_missing(self.terms.dataset, plan, reason)
        return found

    def charged(self, spent: dict[str, Cost], paid: LedgerEntry, cost: Cost) -> dict[str, Cost]:
        """What is spent with `cost` added for the run of a reservation; where there are periods, each that it reads
        pays it. A counter's layer pays by itself (`noded`)."""
        if paid.layer is not None:
            return spent
        names = self.terms.periods.paying(paid.period) if self.terms.periods else (ALL_PERIODS,)
        return spent | {name: spent.get(name, NO_COST) + cost for name in names}

    def noded(self, paid: LedgerEntry, cost: Cost) -> tuple[LayerNode, ...]:
        """The nodes with `cost` added for the run of a reservation; one that has cost nothing is gone."""
        if paid.layer is None:
            return self.nodes
        before = sum((node.cost for node in self.nodes if node.entry == paid.number), NO_COST)
        node = LayerNode(layer=paid.layer, period=paid.period, entry=paid.number, cost=before + cost)
        others = tuple(other for other in self.nodes if other.entry != paid.number)
        return (*others, node) if node.cost else others

    @property
    def account(self) -> Account:
        waiting: dict[str, Cost] = {}
        for run in self.runs.values():
            waiting = self.charged(waiting, run.paid, run.paid.cost)
        return Account(
            terms=self.terms,
            spent=self.terms.total(self.spent, self.nodes),
            pending=self.terms.total(waiting, [node for node in self.nodes if node.entry in self.runs]),
            reservations=self.reservations,
            unsettled=len(self.runs),
            periods=self.terms.periods.read(self.spent, self.nodes) if self.terms.periods else {},
        )


# What a reservation asks for, held against the terms of its budget.


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What one run asks a budget to pay for.

    Attributes:
        dataset: whose budget pays.
        events: of the run.
        unit: the privacy unit that the run was resolved for.
        policy: the one that it was resolved under.
        pricing: the accountant that proves the run; only a budget in epsilon and delta derives the cost by it.
        period: whose rows alone the run reads; None: those of all.
        plan: the hash of the plan's document; empty: it follows none.
        reason: why, who asks, and who approved, which a policy of approvals looks up; it is recorded.
        prices: by currency; they are worked out once, for some accountants take a while, before the ledger is locked.
    """

    dataset: str
    events: Composition
    unit: PrivacyUnit
    policy: Policy = DEFAULT
    pricing: Pricing = PURE
    period: PeriodRows | None = None
    plan: str = ""
    reason: Reason = NO_REASON
    prices: dict[str, Cost] = field(default_factory=dict, init=False)

    def content(self, state: LedgerState) -> JSON:
        """The content of its entry. BudgetRefused: the budget is for another unit, or read under another policy."""
        terms = state.account(self.dataset).terms
        require_unit(terms, self.unit)
        require_policy(terms, self.policy)
        require_period(terms, self.period)
        currency = terms.currency
        if currency.name not in self.prices:
            self.prices[currency.name] = currency.price(self.events, self.pricing)
        return {
            "dataset": self.dataset,
            "cost": self.prices[currency.name],
            "events": self.events,
            "pricing": self.pricing if currency is PAIR else None,
            "layer": state.layer(self.dataset, self.period, self.unit.rows),
            "period": ALL_PERIODS if self.period is None else self.period.name,
            "plan": self.plan,
            "reason": self.reason,
        }


# The state of all budgets as the text that a checkpoint stores, and back.

FORMAT = "dpqr state/1"
_FAULTS = (ArithmeticError, ValueError, KeyError, TypeError, AttributeError, RecursionError, DpqrError)


NODE_FORMAT = RecordFormat(
    LayerNode,
    (
        attribute("layer", LAYER_FORMAT.write, LAYER_FORMAT.read),
        attribute("period"),
        attribute("entry"),
        attribute("cost", sum_document, decode_sum),
    ),
)


def decode_state(text: str, seal: str = BEGINNING) -> LedgerState:
    """The state that a checkpoint holds; its entry, which follows, must prove it. seal: of the chain before that.

    Raises: LedgerError for any text that `LedgerState.text` of this version does not write.
    """
    try:
        document = json.loads(text)
        state = LedgerState(length=document["entries"], seal=seal, anchored=document["anchored"])
        for part in document["datasets"]:
            held = _account_state(part)
            state.accounts[held.terms.dataset] = held
        if state.text != text:
            raise ValueError("not the text of a state")
    except _FAULTS:
        raise LedgerError(
            "the ledger was edited or is damaged: its state cannot be read; restore it from a backup"
        ) from None
    return state


def _account_document(held: AccountState) -> JSON:
    # Periods, layers and approvals are left out where there are none, as in earlier versions.
    periods = {name: sum_document(cost) for name, cost in held.spent.items() if name != ALL_PERIODS}
    return {
        "dataset": held.terms.dataset,
        "terms": TERMS_FORMAT.write(held.terms),
        "spent": sum_document(held.spent.get(ALL_PERIODS, NO_COST)),
        **({"periods": periods} if periods else {}),
        **({"layers": [NODE_FORMAT.write(node) for node in held.nodes]} if held.nodes else {}),
        "reservations": held.reservations,
        "runs": [_run_document(run) for run in held.runs.values()],
        **({"approvals": [list(each) for each in held.approvals]} if held.approvals else {}),
    }


def _account_state(document: JSON) -> AccountState:
    terms = TERMS_FORMAT.read(document["terms"], dataset=document["dataset"])
    runs = [_run(part, terms.currency) for part in document["runs"]]
    return AccountState(
        terms=terms,
        spent={ALL_PERIODS: decode_sum(document["spent"])}
        | {name: decode_sum(cost) for name, cost in document.get("periods", {}).items()},
        nodes=tuple(NODE_FORMAT.read(part) for part in document.get("layers", [])),
        reservations=document["reservations"],
        runs={run.paid.number: run for run in runs},
        approvals=[(plan, by) for plan, by in document.get("approvals", [])],
    )


def _run_document(run: OpenRun) -> JSON:
    # In a currency of whole runs the order of the draws matters to the run's own filter.
    drawn = (
        run.events
        if run.paid.pricing is None
        else tuple((event, len(list(same))) for event, same in groupby(run.draws))
    )
    return {
        "paid": entry_document(run.paid),
        "seal": run.paid.hash,
        "drawn": encode_events(drawn),
        "last": encode_events(() if run.last is None else ((run.last, 1),)),
        "recorded": run.recorded,
        "transcript": run.transcript,
    }


def _run(document: JSON, currency: Currency) -> OpenRun:
    run = OpenRun.of(read_entry(document["paid"], document["seal"]), currency)
    for event, count in decode_events(document["drawn"]):
        for _ in range(count):
            run.charge(event)
    last = decode_events(document["last"])
    run.last = last[0][0] if last else None
    run.recorded, run.transcript = document["recorded"], document["transcript"]
    return run
