"""The state of a ledger over made-up histories, against a model that adds up every run again from the beginning.

Reservations of all rows, of one period and of several, in layers and in none, that are open, settled in part and in
full; of rows and persons, added and replaced; in epsilon, in rho, in mu^2 and in pairs; with and without a cap, shares
and a first period. What the state admits, refuses, shows and stores must be what the model says.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

import pytest
from support.cases import slowly, thinned
from support.ledger_jobs import terms

from dpqr.domain.periods import Period, PeriodRows
from dpqr.kernel.budget import PURE, Cost, Pricing, PrivacyBudget
from dpqr.kernel.currency import PAIR
from dpqr.kernel.errors import BudgetRefused, LedgerError, UsageFault
from dpqr.kernel.events import ExponentialEvent
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.ledger.chain import digest
from dpqr.ledger.codec import decode_entry, encode_entry
from dpqr.ledger.ledger import LedgerEntry, Reason
from dpqr.ledger.periods import Layer, PeriodBudgets
from dpqr.ledger.state import Charge, LedgerState, decode_state
from dpqr.tables.policy import Policy

FIRST = Period.parse("2026-02")
"""The first period with a budget, and of counters; January comes before it."""
MONTHS = tuple(FIRST.later(step) for step in range(-1, 5))
FIGURES = tuple(Fraction(part, 8) for part in (1, 2, 3, 5))
DELTAS = (Fraction(1, 10**7), Fraction(25, 10**8))
"""Of runs in pairs. A month has five of the former, or two of the latter; where persons are not divided into periods, a
life has three of the former, and a cap below the latter."""
NAME = "survey"
UNPAID = ExponentialEvent(epsilon=Fraction(4))
"""Dearer than any run here."""


@dataclass(slots=True)
class Paid:
    """One run in the model. read: the names of the periods that it reads; None: all rows. span: their places. drawn,
    recorded: its draws that were begun, and how many of them are recorded; mark: of its transcript."""

    number: int
    cost: Cost
    read: tuple[str, ...] | None
    span: tuple[int, int] | None
    layer: Layer | None
    events: tuple
    drawn: list = field(default_factory=list)
    recorded: int = 0
    mark: str = ""
    open: bool = True

    @property
    def begun(self):
        return len(self.drawn)

    def left(self):
        """Its planned draws that were not begun, in any order."""
        flat = [event for event, count in self.events for _ in range(count)]
        for event in self.drawn:
            flat.remove(event)
        return flat


@dataclass(slots=True)
class Model:
    """What the terms say of a list of runs, and nothing that was added up before."""

    terms: object
    runs: list[Paid]

    def total(self, runs):
        largest = 2 if self.terms.neighbours is Neighbours.REPLACE else 1
        sums = [of(run for run in runs if run.layer is None and (run.read is None or not self.terms.periods))]
        if self.terms.periods:
            each = [of(run for run in runs if run.layer is None and run.read and name in run.read) for name in names()]
            sums += [most(each)] if self.terms.periods.parallel else each
        for layer in {run.layer for run in runs if run.layer}:
            costs = sorted((run.cost for run in runs if run.layer == layer), key=lambda cost: cost.amount)
            sums += costs[-largest:]
        return added(sums)

    def shares(self, runs):
        """What the runs that read each period cost together."""
        return {name: of(run for run in runs if run.read is None or name in run.read) for name in names()}

    def admits(self, new):
        """Whether the terms allow one more run. Raises nothing: True or False."""
        after, stated = [*self.runs, new], self.terms
        if stated.cap is not None and not new.cost <= stated.cap:
            return False
        if new.layer is not None and not self.takes(new):
            return False
        if stated.periods:
            if new.read and new.span[0] < 1:
                return False
            shares = self.shares(after)
            if not all(shares[name] <= stated.periods.share for name in new.read or names()):
                return False
        return self.total(after) <= stated.limit

    def takes(self, new):
        if self.terms.currency is PAIR:
            return False
        held = [run for run in self.runs if run.layer == new.layer and run.cost]
        earlier = all(run.span[1] < new.span[0] for run in held)
        return new.span[0] >= 1 and earlier and not any(run.open for run in held)


def names():
    """Of the periods, and one that no run has read."""
    return [month.name for month in MONTHS] + ["2030-01"]


def spending(account):
    """Of the periods that have paid anything."""
    return {name: cost for name, cost in account.periods.items() if cost}


def of(runs):
    return added([run.cost for run in runs])


def added(costs):
    return Cost(sum((cost.amount for cost in costs), Fraction(0)), sum((cost.delta for cost in costs), Fraction(0)))


def most(costs):
    return Cost(max(cost.amount for cost in costs), max(cost.delta for cost in costs))


PLANS = ("a" * 64, "b" * 64, "")
NAMES = ("Ann", "ANN", "Lee", "Max", "")
"""Of who asks and who approves: the first two are one person."""


def approval_for(approvals, plan, reason):
    """The first that the policy lets a run use: of its plan, by somebody else than who asks, by whom the run names."""
    named = reason.approved_by.casefold()
    for approved, by in approvals:
        other = by.casefold() != reason.by.casefold()
        if reason.by and approved == plan and other and named in ("", by.casefold()):
            return approved, by
    return None


ROW, PERSON = PrivacyUnit(), PrivacyUnit(columns=("who",), rows=2)
SWAPPED = PrivacyUnit(columns=("who",), rows=2, neighbours=Neighbours.REPLACE)
BUDGETS = {
    "rows": (ROW, None, {"cap": "1/2"}),
    "approved rows": (ROW, None, {"approval": True}),
    "approved persons": (PERSON, "5/8", {"approval": True}),
    "rows by month": (ROW, "5/8", {}),
    "persons": (PERSON, None, {}),
    "persons by month": (PERSON, "5/8", {}),
    "replaced persons": (SWAPPED, None, {"cap": "3/4"}),
    "rho of rows by month": (ROW, "5/8", {"delta": "1e-9", "accountant": "zcdp"}),
    "mu of persons by month": (PERSON, "5/8", {"delta": "1e-9", "accountant": "gdp"}),
    "pairs of rows by month": (ROW, "5/8", {"delta": "1e-6", "accountant": "basic"}),
    "pairs of persons": (PERSON, None, {"delta": "1e-6", "accountant": "basic"}),
}


def opened(unit, share, more):
    more = dict(more)
    policy = Policy(approval=more.pop("approval", False), records=10**6)
    made = replace(terms(epsilon="1", unit=unit, **more), policy=policy)
    if made.currency is PAIR and share is None:
        made = replace(made, cap=Cost(Fraction(1), Fraction(2, 10**7)), limit=Cost(Fraction(1), Fraction(3, 10**7)))
    if share is None:
        return made
    figure = made.currency.limit(PrivacyBudget(Fraction(share), made.budget.delta / 2))
    periods = PeriodBudgets(column="day", every="month", share=figure, first=FIRST, parallel=not unit.columns)
    return replace(made, periods=periods)


def asked_rows(draw, unit, done):
    """Whose rows: all, one month's or several months', bounded over a counter's life or not; and their places.

    done: place of the last month that was released, which mostly the next one follows.
    """
    start = min(done + 1, len(MONTHS) - 1) if draw.random() < 0.6 else draw.randrange(len(MONTHS))
    stop = start if draw.random() < 0.6 else draw.randrange(start, len(MONTHS))
    if draw.random() < 0.15:
        return None, None, None
    since = None if start == stop else MONTHS[start]
    bounded = bool(unit.columns) and start >= 1 and draw.random() < 0.8
    read = draw.choice(["", "", "", "x"]) if bounded else ""
    rows = PeriodRows(column="day", period=MONTHS[stop], since=since, first=FIRST if bounded else None, read=read)
    return rows, tuple(month.name for month in MONTHS[start : stop + 1]), (start, stop)


class History:
    """One ledger's state, its model, and its entries so far."""

    def __init__(self, seed, unit, share, more):
        self.draw = Random(f"{seed} {unit} {share} {more}")
        self.unit, self.terms = unit, opened(unit, share, more)
        self.state, self.entries, self.refused, self.approvals = LedgerState(), [], 0, []
        self.model = Model(self.terms, [])
        self.admit("open", note="made up")
        self.admit("init", dataset=NAME, terms=self.terms)

    def entry(self, kind, **content):
        return LedgerEntry(
            number=self.state.length, kind=kind, time="T", hash=digest(f"seal {self.state.length}"), **content
        )

    def admit(self, kind, **content):
        entry = self.entry(kind, **content)
        self.state.add(entry)
        self.entries.append(entry)
        return entry

    def reserve(self):
        draw = self.draw
        rows, read, span = asked_rows(
            draw, self.unit, max((run.span[1] for run in self.model.runs if run.span), default=0)
        )
        kinds = 1 + draw.randrange(2)
        parts = tuple((ExponentialEvent(epsilon=draw.choice(FIGURES) / 6), 1 + draw.randrange(2)) for _ in range(kinds))
        merged = {}
        for event, count in parts:
            merged[event] = merged.get(event, 0) + count
        events = tuple(merged.items())
        pricing = Pricing(accountant="advanced", delta=draw.choice(DELTAS)) if draw.random() < 0.5 else PURE
        pricing = pricing if self.terms.currency is PAIR else PURE
        asked = Charge(
            dataset=NAME, events=events, unit=self.unit, policy=self.terms.policy, pricing=pricing, period=rows
        )
        content = asked.content(self.state)
        new = Paid(self.state.length, self.terms.currency.price(events, pricing), read, span, content["layer"], events)
        bounded = rows is not None and rows.first is not None and self.terms.currency is not PAIR
        assert (new.layer is not None) == bounded
        if new.layer is not None:
            assert self.model.takes(new)
            lower = [replace(new.layer, number=number) for number in range(new.layer.number)]
            assert not any(self.model.takes(replace(new, layer=each)) for each in lower)
            if draw.random() < 0.4:  # a forged one
                forged = replace(new.layer, number=draw.randrange(3))
                new, content = replace(new, layer=forged), {**content, "layer": forged}
        elif rows is not None and rows.first is not None and draw.random() < 0.4:
            forged = Layer(column="day", first=FIRST.name, rows=self.unit.rows, read="", number=0)
            new, content = replace(new, layer=forged), {**content, "layer": forged}
        allowed = self.model.admits(new)
        self.refused += not allowed
        plan, reason = "", Reason()
        if self.terms.policy.approval:
            plan, reason = draw.choice(PLANS), Reason(by=draw.choice(NAMES), approved_by=draw.choice(NAMES[2:] * 2))
            found = approval_for(self.approvals, plan, reason)
            self.require_approver(replace(asked, plan=plan, reason=reason), found)
            allowed = allowed and found is not None
        self.expect(allowed, "reserve", **{**content, "plan": plan, "reason": reason})
        if allowed and self.terms.policy.approval:
            self.approvals.remove(found)
        if self.state.length > new.number:
            self.model.runs.append(new)

    def require_approver(self, charge, found):
        if found is None:
            with pytest.raises(BudgetRefused):
                self.state.approver(charge)
        else:
            assert self.state.approver(charge) == found[1]

    def approve(self):
        """By somebody, of some plan; nobody approves nothing."""
        plan, by = self.draw.choice(PLANS), self.draw.choice(NAMES)
        self.expect(bool(plan and by), "approve", dataset=NAME, plan=plan, reason=Reason(by=by))
        if plan and by:
            self.approvals.append((plan, by))

    def expect(self, allowed, kind, **content):
        """The state admits the entry if it may, and is what it was before if not."""
        entry, before = self.entry(kind, **content), self.state.text
        if allowed:
            self.state.add(entry)
            self.entries.append(entry)
            return
        with pytest.raises((BudgetRefused, LedgerError, UsageFault)):
            self.state.add(entry)
        assert self.state.text == before

    def begin(self, run):
        """Record the draw that was begun, or begin the next one: in any other order, and on any other transcript, no
        ledger admits it; nor one that is not paid."""
        left = run.left()
        other, now = digest("another transcript"), digest(f"{run.number} {run.begun} {run.recorded}")
        waits = run.begun > run.recorded
        self.expect(waits, "record", dataset=NAME, run=run.number, transcript=now)
        if waits:
            run.recorded, run.mark = run.recorded + 1, now
            return
        event = self.draw.choice(left or [each for each, _ in run.events])
        on = run.mark or now
        if run.mark:
            self.expect(False, "draw", dataset=NAME, run=run.number, events=((event, 1),), transcript=other)
        for events in ((), ((event, 2),), ((event, 1), (UNPAID, 1)), ((UNPAID, 1),)):
            self.expect(False, "draw", dataset=NAME, run=run.number, events=events, transcript=on)
        self.expect(False, "draw", dataset="another", run=run.number, events=((event, 1),), transcript=on)
        self.expect(False, "draw", dataset=NAME, run=run.number, events=((event, 1),), transcript=on[:-1])
        if left:
            self.expect(True, "draw", dataset=NAME, run=run.number, events=((event, 1),), transcript=on)
            run.mark = on
            run.drawn.append(event)
            self.expect(False, "draw", dataset=NAME, run=run.number, events=((event, 1),), transcript=on)

    def settle(self, run):
        """With what was begun, or with all of it, or with less, which is refused."""
        flat = [*run.drawn, *run.left()]
        least = run.begun
        drawn = self.draw.randrange(least, len(flat) + 1) if self.draw.random() < 0.8 else max(0, least - 1)
        events = {}
        for event in flat[:drawn]:
            events[event] = events.get(event, 0) + 1
        paid = self.state.accounts[NAME].runs[run.number]
        cost, floor = paid.settled(tuple(events.items())), paid.settled(paid.events)
        for more in (Cost(Fraction(1, 10**9)), Cost(delta=Fraction(1, 10**9))):
            content = {"cost": paid.paid.cost + more, "events": run.events, "settles": run.number}
            self.expect(False, "settle", dataset=NAME, **content)
        self.expect(False, "settle", dataset="another", cost=cost, events=tuple(events.items()), settles=run.number)
        self.expect(floor <= cost, "settle", dataset=NAME, cost=cost, events=tuple(events.items()), settles=run.number)
        if floor <= cost:
            run.cost, run.open = cost, False
            self.expect(False, "settle", dataset=NAME, cost=cost, events=(), settles=run.number)

    def step(self):
        waiting = [run for run in self.model.runs if run.open]
        kind = self.draw.random()
        if self.terms.policy.approval:
            self.approve()
        if waiting and kind < 0.25:
            self.begin(self.draw.choice(waiting))
        elif waiting and kind < 0.65:
            self.settle(self.draw.choice(waiting))
        else:
            self.reserve()

    def check(self):
        """What the state shows is the model's."""
        account, runs = self.state.account(NAME), self.model.runs
        assert account.spent == self.model.total(runs)
        assert account.pending == self.model.total([run for run in runs if run.open])
        assert account.unsettled == sum(run.open for run in runs)
        assert account.reservations == len(runs)
        for run in (run for run in runs if run.open):
            known = self.state.unsettled(run.number).public()
            assert known.lost == (run.drawn[-1] if run.begun > run.recorded else None)
            assert (known.recorded, known.transcript, known.reservation.number) == (run.recorded, run.mark, run.number)
        if self.terms.periods:
            shares = self.model.shares(runs)
            whole = of(run for run in runs if run.read is None)
            for name in names():
                assert account.periods.get(name, Cost()) + whole == shares[name]
                assert self.terms.periods.of(name, account.periods) == shares[name]

    def stored(self):
        """A checkpoint of the state holds all of it, and every entry comes back from its text."""
        decoded = decode_state(self.state.text, self.state.seal)
        assert decoded.text == self.state.text
        found, kept = decoded.account(NAME), self.state.account(NAME)
        assert replace(found, periods=spending(found)) == replace(kept, periods=spending(kept))
        there, here = decoded.accounts[NAME], self.state.accounts[NAME]
        assert (there.approvals, there.nodes) == (self.approvals, here.nodes)
        for number, run in here.runs.items():
            kept = there.runs[number]
            assert (kept.events, kept.last, kept.public()) == (run.events, run.last, run.public())
            assert kept.draws == run.draws or run.paid.pricing is None, "a run's own filter may depend on their order"
        replayed = LedgerState()
        for entry in self.entries:
            text = encode_entry(entry)
            read = decode_entry(text, entry.hash)
            assert read == entry
            replayed.add(read)
        assert (replayed.text, replayed.seal) == (self.state.text, self.state.seal)


@pytest.mark.parametrize("seed", [0, *slowly(*range(1, 20))])
@pytest.mark.parametrize("budget", thinned(BUDGETS.values(), 6), ids=BUDGETS)
def test_a_state_is_what_its_runs_add_up_to(budget, seed):
    refused = 0
    for part in range(6):
        history = History((seed, part), *budget)
        for _ in range(20):
            history.step()
            history.check()
        history.stored()
        refused += history.refused
    assert refused or seed or history.terms.policy.approval, "no request was too large, so no limit was tried"


def test_a_ledger_that_was_moved_pays_nothing_until_it_has_arrived():
    history = History((0, 0), *BUDGETS["rows"])
    events = ((ExponentialEvent(epsilon=Fraction(1, 8)), 1),)
    asked = Charge(dataset=NAME, events=events, unit=ROW, policy=history.terms.policy, pricing=PURE)
    content = asked.content(history.state)
    history.admit("move", note="elsewhere")
    with pytest.raises(LedgerError, match="was moved to elsewhere"):
        history.state.require_payable(history.entry("reserve", **content))
    for kind in ("reserve", "anchor", "move"):
        history.expect(False, kind, **(content if kind == "reserve" else {"note": "another"}))
    history.admit("arrive", note="here")
    history.expect(False, "arrive", note="here")
    history.admit("reserve", **content)


def test_a_checkpoint_keeps_the_order_of_the_draws_of_a_run_that_another_theorem_proves():
    """Its own filter may depend on it."""
    history = History((0, 0), *BUDGETS["pairs of rows by month"])
    one, two = (ExponentialEvent(epsilon=Fraction(1, each)) for each in (50, 60))
    pricing = Pricing(accountant="advanced", delta=DELTAS[0])
    asked = Charge(dataset=NAME, events=((one, 2), (two, 2)), unit=ROW, policy=history.terms.policy, pricing=pricing)
    paid = history.admit("reserve", **asked.content(history.state))
    order = [one, two, two, one]
    for number, event in enumerate(order):
        mark, then = digest(f"before {number}"), digest(f"before {number + 1}")
        history.admit("draw", dataset=NAME, run=paid.number, events=((event, 1),), transcript=mark)
        history.admit("record", dataset=NAME, run=paid.number, transcript=then)
        stored = decode_state(history.state.text).accounts[NAME].runs[paid.number]
        assert stored.draws == order[: number + 1]
