"""Faults of the ledger: a state that is not its entries, a text that is not the whole entry, a limit that slips."""

from faults.anchored import Anchored, at

_ROOM = "ledger"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "LedgerState._settle",
        (
            "held.charged(held.spent, paid, entry.cost - paid.cost)",
            "held.charged(held.spent, entry, entry.cost - paid.cost)",
            "a settlement comes back to all periods",
        ),
        (
            "held.charged(held.spent, paid, entry.cost - paid.cost)",
            "held.charged(held.spent, paid, entry.cost)",
            "a settled run pays twice",
        ),
        (
            "not run.settled(run.events) <= entry.cost",
            "not run.settled(entry.events) <= entry.cost",
            "draws that were begun come back",
        ),
        (
            "not entry.cost <= paid.cost",
            "not entry.cost.amount <= paid.cost.amount",
            "a settlement may pass the delta that was reserved",
        ),
    ),
    *at(
        _ROOM,
        "LedgerState._reserve",
        (
            "held.charged(held.spent, entry, entry.cost)",
            "self.accounts[entry.dataset].charged({}, entry, entry.cost)",
            "what was spent before is forgotten",
        ),
        (
            "held.approvals.remove(held.approval(entry.plan, entry.reason, legacy_spelling))",
            "held.approval(entry.plan, entry.reason, legacy_spelling)",
            "an approval is used again and again",
        ),
        (
            "held.approvals.remove(held.approval(entry.plan, entry.reason, legacy_spelling))",
            "held.approvals.clear()",
            "one run uses up all approvals, or none",
        ),
        (
            "held.terms.policy.approval",
            "held.terms.policy.approval and entry.plan",
            "runs without a plan need no approval",
        ),
    ),
    *at(
        _ROOM,
        "LedgerState.require_payable",
        ("not entry.cost <= terms.cap", "not entry.cost.amount <= terms.cap.amount", "the cap's delta is not compared"),
        (
            "not terms.total(spent, nodes) <= terms.limit",
            "not terms.total(held.spent, held.nodes) <= terms.limit",
            "the limit is compared before the run is added",
        ),
        (
            "not terms.total(spent, nodes) <= terms.limit",
            "not terms.total(spent, nodes).amount <= terms.limit.amount",
            "the limit's delta is not compared",
        ),
        ("self.moved", "False", "a ledger that was moved pays on", 0),
    ),
    *at(
        _ROOM,
        "LedgerState.add",
        ("require_stricter(held.terms.policy, entry.policy)", "None", "a policy may become laxer"),
        ("held.terms.policy_stated", "not held.terms.policy_stated", "only an unstated policy may not become laxer"),
        (
            "policy_stated=True",
            "policy_stated=held.terms.policy_stated",
            "an old dataset's policy is never stated, and may change for ever",
        ),
    ),
    *at(
        _ROOM,
        "LedgerState._init",
        (
            "{name.casefold(): name for name in self.accounts}.get(entry.dataset.casefold())",
            "entry.dataset if entry.dataset in self.accounts else None",
            "a name in capitals is a second budget",
        ),
        ("entry.terms.dataset != entry.dataset", "False", "terms of another dataset"),
        ("entry.terms.limit.amount <= 0", "entry.terms.limit.amount < 0", "a budget of nothing"),
    ),
    *at(
        _ROOM,
        "LedgerState._run",
        ("run.paid.dataset != entry.dataset", "False", "a run of another dataset goes on"),
    ),
    *at(
        _ROOM,
        "LedgerState.approver",
        ("held.approval(charge.plan, reason)[1]", "reason.approved_by", "the record names whom the request names"),
    ),
    *at(
        _ROOM,
        "LedgerState.add",
        ("entry.state != digest(self.text)", "not entry.state", "a checkpoint of any state"),
    ),
    *at(
        _ROOM,
        "AccountState.approval",
        ("compared(each[1]) != asker", "True", "who asks may approve"),
        ("each[0] == plan", "True", "the approval of any plan is taken"),
        ("named in ('', compared(each[1]))", "True", "another person's approval than the named one"),
        ("not asker or found is None", "found is None", "nobody asks"),
    ),
    *at(
        _ROOM,
        "OpenRun.begin",
        (
            "self.begun and entry.transcript != self.transcript",
            "self.begun > 1 and entry.transcript != self.transcript",
            "the second draw goes on from any transcript",
        ),
        ("self._require(entry, recorded=self.begun)", "None", "a draw is begun before the last one is recorded"),
        ("event is None or count != 1 or others", "event is None or others", "several draws are begun as one"),
    ),
    *at(
        _ROOM,
        "OpenRun.record",
        ("self._require(entry, recorded=self.begun - 1)", "None", "draws that were not begun are recorded"),
        ("self.transcript = entry.transcript", "", "the transcript after the draw is not remembered"),
    ),
    *at(
        _ROOM,
        "OpenRun.charge",
        ("self.guard.charge(event)", "None", "a run draws more than it has paid for"),
    ),
    *at(
        _ROOM,
        "OpenRun.public",
        ("self.begun > self.recorded", "self.begun >= self.recorded", "a recorded draw is lost"),
        ("self.begun > self.recorded", "False", "a lost draw is not known"),
    ),
    *at(
        _ROOM,
        "_run_document",
        ("encode_events(drawn)", "encode_events(run.events)", "a checkpoint forgets the order of the draws"),
        (
            "encode_events(() if run.last is None else ((run.last, 1),))",
            "encode_events(())",
            "a checkpoint forgets the last draw",
        ),
    ),
    *at(
        _ROOM,
        "_run",
        ("range(count)", "range(min(count, 1))", "repeated draws are read as one"),
        ("document['transcript']", "''", "the transcript of an open run is not read"),
    ),
    *at(
        _ROOM,
        "_account_document",
        (
            "{'approvals': [list(each) for each in held.approvals]} if held.approvals else {}",
            "{}",
            "a checkpoint forgets approvals",
        ),
        ("held.reservations", "len(held.runs)", "a checkpoint counts open reservations alone"),
    ),
    *at(
        _ROOM,
        "ENTRY_FORMATS",
        ("text_part('plan', unset='')", "RecordPart(lambda _: {}, lambda _: {})", "the plan is no part of the seal"),
        (
            "text_part('period', unset=ALL_PERIODS)",
            "RecordPart(lambda _: {}, lambda _: {})",
            "the period is no part of the seal",
        ),
        (
            "attribute('layer', LAYER_FORMAT.write, LAYER_FORMAT.read, unset=None)",
            "RecordPart(lambda _: {}, lambda _: {})",
            "the layer is no part of the seal",
        ),
        (
            "text_part('drawn', unset='')",
            "RecordPart(lambda _: {}, lambda _: {})",
            "what was drawn is no part of the seal",
        ),
    ),
    *at(
        _ROOM,
        "REASON_FORMAT",
        ("('purpose', 'by', 'approved_by')", "('purpose', 'by')", "who approved is no part of the seal"),
        ("('purpose', 'by', 'approved_by')", "('by', 'approved_by')", "the purpose is no part of the seal"),
    ),
    *at(
        _ROOM,
        "PRICING_FORMAT",
        (
            "attribute('delta', exact_text, parse_exact)",
            "attribute('delta', lambda _: '0', parse_exact)",
            "the delta of a price is no part of the seal",
        ),
    ),
    *at(
        _ROOM,
        "POLICY_FORMAT",
        (
            "attribute('approval', read=_flag, unset=False)",
            "RecordPart(lambda _: {}, lambda _: {})",
            "a policy of approvals is no part of the seal",
        ),
        (
            "attribute('records')",
            "attribute('records', lambda _: None)",
            "the largest number of records is no part of the seal",
        ),
    ),
    *at(
        _ROOM,
        "_plain",
        ("value is not None", "value", "a parameter that is nothing is not written"),
    ),
    *at(
        _ROOM,
        "decode_sum",
        (
            "zip(parts[::2], parts[1::2], strict=True)",
            "zip(parts[:2:2], parts[1:2:2], strict=True)",
            "the delta of a sum is not read",
        ),
    ),
    *at(
        _ROOM,
        "Record._charged",
        (
            "charged[entry.settles][0], entry.events",
            "charged[entry.settles][0], charged[entry.settles][1]",
            "a settlement changes no history",
        ),
        (
            "entry.dataset == dataset and entry.kind == 'reserve'",
            "entry.kind == 'reserve'",
            "the history holds other datasets' runs",
        ),
    ),
    *at(
        _ROOM,
        "_paid",
        (
            "currency.proves(entry.cost, currency.price(entry.events, entry.pricing or PURE))",
            "currency.proves(entry.cost, currency.price(entry.events, PURE))",
            "a reservation is proved by another price",
        ),
        (
            "currency.settled(paid.cost, entry.events, paid.pricing or PURE)",
            "currency.settled(entry.cost, entry.events, paid.pricing or PURE)",
            "a settlement is proved by itself",
        ),
        (
            "entry.terms.currency.covers(entry.terms.budget, entry.terms.limit)",
            "True",
            "a limit above the budget is proved",
        ),
        ("entry.kind not in ('reserve', 'settle')", "entry.kind != 'reserve'", "settlements are not proved"),
    ),
    *at(
        _ROOM,
        "require_proofs",
        ("encode_entry(entry) != link.text", "False", "an entry may say more than is read from it"),
    ),
    *at(
        _ROOM,
        "require_unit",
        ("unit.whom != terms.unit", "False", "another unit is paid"),
    ),
    *at(
        _ROOM,
        "require_policy",
        (
            "policy != terms.policy",
            "policy.records != terms.policy.records",
            "other parts of the policy may have changed",
        ),
    ),
    *at(
        _ROOM,
        "Charge.content",
        ("require_unit(terms, self.unit)", "None", "any unit is paid"),
        ("require_policy(terms, self.policy)", "None", "any policy is paid"),
    ),
    *at(
        _ROOM,
        "Charge.content",
        (
            "currency.price(self.events, self.pricing)",
            "currency.price(self.events[:1], self.pricing)",
            "the first kind of draw is paid",
        ),
        ("currency.name not in self.prices", "not self.prices", "the price in one currency is charged in another"),
        (
            "currency.price(self.events, self.pricing)",
            "currency.price(self.events)",
            "runs are priced as pure sums",
        ),
    ),
    *at(
        _ROOM,
        "over_share",
        ("terms.periods.of(period, account.periods)", "terms.periods.share", "the refusal says that all is spent"),
    ),
    *at(
        _ROOM,
        "PairCurrency.settled",
        (
            "self.price(events) if pricing.accountant == PURE.accountant else paid",
            "self.price(events, pricing)",
            "a run of another theorem gets its rest back",
        ),
        ("pricing.accountant == PURE.accountant", "True", "a run of another theorem settles as a pure sum"),
    ),
    *at(
        _ROOM,
        "PairCurrency.guard",
        ("sums.price(events)", "paid", "an epsilon limits a sum of rho"),
        (
            "EPSILON.guard(paid)",
            "PlanFilter(planned=events)",
            "a pure run draws nothing but its plan",
        ),
    ),
    *at(
        _ROOM,
        "PairCurrency.covers",
        ("limit <= self.limit(budget)", "limit.amount <= self.limit(budget).amount", "a limit's delta is not compared"),
    ),
    *at(
        _ROOM,
        "SumCurrency.covers",
        (
            "self.sums.convert(limit.amount, budget.delta) <= budget.epsilon",
            "limit.amount <= budget.epsilon",
            "an amount of rho is compared with epsilon",
        ),
    ),
    *at(
        _ROOM,
        "SumCurrency.largest_epsilon",
        ("self.sums.largest(PrivacyBudget(found, delta)) <= left", "True", "an epsilon that costs more than is left"),
    ),
    *at(
        _ROOM,
        "Cost.__le__",
        (
            "self.amount <= most.amount and self.delta <= most.delta",
            "self.amount <= most.amount or self.delta <= most.delta",
            "one figure is enough",
        ),
        (
            "self.amount <= most.amount and self.delta <= most.delta",
            "self.amount < most.amount and self.delta <= most.delta",
            "an exact fit is refused",
        ),
    ),
    *at(
        _ROOM,
        "upward",
        ("near if Fraction(near) >= value else math.nextafter(near, math.inf)", "near", "a float below the figure"),
    ),
    *at(
        _ROOM,
        "Reservation.guard",
        (
            "self.currency.guard(self.cost, self.events, self.pricing)",
            "self.currency.guard(self.cost, self.events)",
            "another accountant's filter",
        ),
    ),
    *at(
        _ROOM,
        "seal",
        (
            "digest(f'{previous}\\n{text}')",
            "digest(f'{previous[:8]}\\n{text}')",
            "a seal goes on from a part of the one before",
        ),
    ),
    *at(
        _ROOM,
        "Anchor.check",
        ("mark.entries > chain.length", "mark.entries > chain.length + 1", "one entry may be cut off the end"),
        (
            "chain.seal_after(mark.entries) != mark.seal",
            "mark.entries == chain.length and chain.seal_after(mark.entries) != mark.seal",
            "only the newest seal is compared",
        ),
    ),
    *at(
        _ROOM,
        "Anchor._is_behind",
        ("known.entries > mark.entries", "known.entries < mark.entries", "an older mark replaces a later one"),
    ),
    *at(
        _ROOM,
        "Transaction.add",
        (
            "replace(entry, hash=seal(self.state.seal, text))",
            "replace(entry, hash=digest(text))",
            "entries are sealed by themselves",
        ),
    ),
    *at(
        _ROOM,
        "require_stricter",
        ("after > fixed", "after > fixed + 1", "a limit may rise by one"),
        ("later.fail and (not policy.fail)", "False", "a rule `fail` may come back"),
        ("policy.approval and (not later.approval)", "False", "approvals may be dropped"),
    ),
    *at(
        _ROOM,
        "PolicyChange.applied",
        ("policy.approval or self.approval", "self.approval", "another change drops approvals"),
        ("policy.memory if self.memory is None else self.memory", "policy.memory", "a limit of memory is not changed"),
    ),
    *at(
        _ROOM,
        "resolve_policy",
        (
            "asked is not None and asked != fixed",
            "asked is not None and asked != fixed and option != '--max-memory'",
            "a request chooses its memory",
        ),
        ("stated.fail and (not policy.fail)", "False", "a request brings a rule `fail`"),
        ("replace(policy, fail=stated.fail)", "replace(stated, fail=stated.fail)", "the request's own limits are used"),
    ),
)
