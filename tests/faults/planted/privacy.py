"""Faults of the kernel: budgets, costs, the gate, the seal, currencies, policies."""

from faults.anchored import Anchored, at

FAULTS: tuple[Anchored, ...] = (
    *at(
        "kernel",
        "Counter.prices",
        ("2 * self.tree.levels", "self.tree.levels", "a replaced row that moves pays once"),
        ("return self.tree.levels", "return 1", "a row pays for one level"),
    ),
    *at(
        "kernel",
        "Counter.of",
        ("accountant not in ADDITIVE_ACCOUNTANTS", "not accountant", "a theorem for fixed schedules prices a counter"),
    ),
    *at(
        "kernel",
        "Counter.node",
        ("PrivacyBudget(share, self.life.delta)", "self.life", "each node gets the whole life"),
    ),
    *at(
        "kernel",
        "is_free",
        (
            (
                "start.index(Period.parse(layer.first)) >= 0 and all(later) and (not {one.entry for one in held} & "
                "set(waiting))"
            ),
            "start.index(Period.parse(layer.first)) >= 0 and (not {one.entry for one in held} & set(waiting))",
            "a release that comes too late shares a layer",
        ),
        (
            (
                "start.index(Period.parse(layer.first)) >= 0 and all(later) and (not {one.entry for one in held} & "
                "set(waiting))"
            ),
            "start.index(Period.parse(layer.first)) >= 0 and all(later)",
            "an open release shares its layer",
        ),
    ),
    *at(
        "tables",
        "FirstRows.ranked",
        ("self.since", "0", "earlier rows are counted once more"),
        ("2 * numbers + 1", "1", "later rows come before earlier ones"),
    ),
    *at(
        "tables",
        "PeriodTree.levels",
        ("self.periods", "self.periods - 1", "a level is forgotten"),
    ),
    *at(
        "kernel",
        "Portion.__post_init__",
        ("self.share <= 0", "self.share < 0", "a portion of nothing may be cut"),
    ),
    *at(
        "kernel",
        "PrivacyBudget.__post_init__",
        ("0 <= self.delta < 1", "0 <= self.delta <= 1", "a delta of 1 is a budget"),
    ),
    *at(
        "kernel",
        "PrivacyBudget.parse",
        ("not SMALLEST_EPSILON <= eps <= LARGEST_EPSILON", "eps > LARGEST_EPSILON", "tiny epsilons pass"),
        ("SMALLEST_DELTA <= dlt < 1", "dlt < 1", "tiny deltas pass"),
    ),
    *at(
        "kernel",
        "exact_decimal",
        ("Fraction(cleaned)", "Fraction(float(cleaned))", "an epsilon is a float's value"),
    ),
    *at(
        "kernel",
        "Cost.__add__",
        ("self.delta + other.delta", "max(self.delta, other.delta)", "deltas do not add up"),
    ),
    *at(
        "kernel",
        "Cost.__sub__",
        ("self.delta - other.delta", "self.delta", "no delta is ever spent of what is left"),
    ),
    *at(
        "kernel",
        "Cost.__le__",
        (
            "self.amount <= most.amount and self.delta <= most.delta",
            "self.amount <= most.amount",
            "a cost fits whatever its delta",
        ),
    ),
    *at(
        "kernel",
        "Cost.least",
        ("min(self.delta, other.delta)", "max(self.delta, other.delta)", "the largest request takes the larger delta"),
    ),
    *at(
        "kernel",
        "Cost.__bool__",
        ("self.amount or self.delta", "self.amount", "a cost of a delta alone counts as nothing"),
    ),
    *at(
        "kernel",
        "SumCurrency.settled",
        ("self.price(events)", "paid", "a run that stopped early pays in full"),
    ),
    *at(
        "kernel",
        "SumCurrency.guard",
        ("paid.amount", "2 * paid.amount", "a run may draw twice"),
    ),
    *at(
        "kernel",
        "SumCurrency.covers",
        ("not limit.delta", "True", "a limit with a delta is covered by a sum of one figure"),
    ),
    *at(
        "kernel",
        "SumCurrency.proves",
        ("price <= cost", "cost <= price", "a recorded cost may lie below its price"),
    ),
    *at(
        "kernel",
        "SumCurrency.epsilon",
        (
            "self.sums.convert(spent.amount, delta) if delta or not self.sums.concentrated else None",
            "spent.amount",
            "rho is shown as epsilon",
        ),
    ),
    *at(
        "kernel",
        "SumCurrency.largest_epsilon",
        ("self.sums.largest(PrivacyBudget(found, delta))", "found", "a largest request that does not fit"),
    ),
    *at(
        "kernel",
        "currency",
        (
            "PAIR if accountant == 'basic' and (not pure) else CURRENCIES[accountant]",
            "CURRENCIES[accountant]",
            "a budget with a delta counts epsilons alone",
        ),
    ),
    *at(
        "kernel",
        "SumCurrency.price",
        (
            "self.sums.total(events)",
            "self.sums.total(events) or Fraction(0)",
            "a draw without a pure epsilon is free",
        ),
    ),
    *at(
        "kernel",
        "CURRENCIES",
        (
            "{'basic': EPSILON, 'zcdp': RHO, 'gdp': SQUARED_MU}",
            "{'basic': EPSILON, 'zcdp': EPSILON, 'gdp': SQUARED_MU}",
            "a zcdp budget counts epsilons",
        ),
    ),
    *at(
        "kernel",
        "_proved",
        ("Cost(epsilon, pricing.delta)", "Cost(epsilon)", "the delta of a run is dropped"),
        ("not pricing.delta and pricing != PURE", "False", "zcdp may prove a run at delta 0"),
        ("proving is None", "False", "third parties price runs"),
    ),
    *at(
        "kernel",
        "PairCurrency.settled",
        ("not events", "False", "a run that drew nothing is charged"),
    ),
    *at(
        "kernel",
        "PairCurrency.guard",
        ("EPSILON.guard(paid)", "EPSILON.guard(Cost(paid.amount + 1))", "a run by basic may draw more than was paid"),
        ("planned=events", "planned=events * 2", "a plan may be drawn twice"),
    ),
    *at(
        "kernel",
        "PairCurrency.covers",
        ("limit <= self.limit(budget)", "True", "any limit lies within a budget of pairs"),
    ),
    *at(
        "kernel",
        "PairCurrency.proves",
        (
            "price <= Cost(cost.amount * ROUNDING, cost.delta)",
            "price.amount <= cost.amount * ROUNDING",
            "a forged delta is proved",
        ),
    ),
    *at(
        "kernel",
        "ROUNDING",
        ("2 ** 30", "2 ** 3", "a forged epsilon is proved"),
    ),
    *at(
        "kernel",
        "PairCurrency.epsilon",
        (
            "spent.amount if spent.delta <= delta else None",
            "spent.amount",
            "an epsilon is shown at a smaller delta than was spent",
        ),
    ),
    *at(
        "kernel",
        "_require",
        (
            "not exact or not (figure > 0 or (figure == 0 and (not positive)))",
            "not exact",
            "an event of negative cost comes to be",
        ),
        ("isinstance(figure, kind) and (not isinstance(figure, bool))", "True", "an event may be made of floats"),
    ),
    *at(
        "kernel",
        "LeftOutEvent.__post_init__",
        ("not isinstance(self.event, Draw)", "False", "left-out records may be wrapped twice"),
    ),
    *at(
        "kernel",
        "of_any_blocks",
        (
            "replace(event, coordinates=None) if isinstance(event, DiscreteLaplaceEvent) else event",
            "event",
            "a plan claims that one integer moves, whatever will be drawn",
        ),
    ),
    *at(
        "kernel",
        "EveryFilter.charge",
        ("self.filters", "self.filters[:1]", "the first filter alone is asked"),
    ),
    *at(
        "kernel",
        "EveryFilter.events",
        (
            "Counter(self.charged).items()",
            "((event, 1) for event in set(self.charged))",
            "repeated draws are recorded once",
        ),
    ),
    *at(
        "kernel",
        "PublicFilter.charge",
        ("not isinstance(event, ExactEvent)", "False", "noisy draws pass where nothing counts them"),
    ),
    *at(
        "kernel",
        "upward",
        ("math.inf", "-math.inf", "a cost is rounded down to a float"),
        ("Fraction(near) >= value", "True", "a cost is rounded to nearest"),
    ),
    *at(
        "kernel",
        "upward_text",
        ("rounding=ROUND_CEILING", "rounding=ROUND_FLOOR", "a cost is rounded down in text"),
    ),
    *at(
        "kernel",
        "downward_text",
        ("rounding=ROUND_FLOOR", "", "what is left is rounded up in text"),
    ),
    *at(
        "kernel",
        "measure",
        (
            "return _released(private, mechanism, accountant.charge(mechanism.event), noise)",
            (
                "drawn = _released(private, mechanism, 0, noise)\n"
                "return ReleasedValue(drawn.value, accountant.charge(mechanism.event))"
            ),
            "the gate samples before it charges",
        ),
    ),
    *at(
        "kernel",
        "measure_together",
        ("range(count)", "range(1)", "a batch charges each event once"),
        ("batch.events", "batch.events[:1]", "a batch charges its first event alone"),
    ),
    *at(
        "kernel",
        "_attempt",
        ("BaseException", "Exception", "an exit carries private frames out"),
        ("warnings.simplefilter('ignore')", "", "warnings tell of the table"),
        ("return KeyboardInterrupt()", "raise", "an interrupt keeps its private frames"),
        (
            "MechanismFailed(...)",
            'MechanismFailed(str(__import__("sys").exc_info()[1]))',
            "a failure says what the mechanism said",
        ),
    ),
    *at(
        "kernel",
        "Account.largest_of",
        ("found.least(cap)", "cap", "the largest release is the cap, whatever is left"),
    ),
    *at(
        "kernel",
        "Account.left",
        ("self.terms.limit - self.spent", "self.terms.limit", "nothing is ever spent of what is left"),
    ),
    *at(
        "kernel",
        "PeriodBudgets.of",
        ("_largest(spent)", "NO_COST", "a release of all rows passes by what periods have spent"),
    ),
    *at(
        "tables",
        "PeriodFilter.records",
        (
            "TableBatch(batch.rows if inside.all() else batch.rows.filter(mask(inside)))",
            "TableBatch(batch.rows if inside.all() else batch.rows.filter(mask(inside)), batch.malformed)",
            "a malformed row is left out of every period",
        ),
    ),
    *at(
        "kernel",
        "resolve_policy",
        ("asked is not None and asked != fixed", "False", "a request may state limits of its own"),
    ),
    *at(
        "kernel",
        "require_stricter",
        ("after > fixed", "after > 2 * fixed", "a limit may be loosened"),
        (
            "asked != before and (not (option in ('--delimiter', '--encoding') and before is None))",
            "False",
            "the count column may be exchanged",
        ),
        (
            "not (option in ('--delimiter', '--encoding') and before is None)",
            "before is not None",
            "a count column may be stated later",
        ),
    ),
    *at(
        "kernel",
        "Policy.stated",
        ("default if limit is None else limit", "limit", "a built-in limit may be loosened"),
    ),
    *at(
        "kernel",
        "uncovered_bits",
        ("reading.fail or None", "None", "the bit of a rule fail is not named"),
        ("reading.bytes", "None", "the bit of --max-bytes is not named", 0),
    ),
    *at(
        "kernel",
        "Price.pure",
        ("2 * self.rho", "4 * self.rho", "a rho buys sqrt(2) times the epsilon"),
    ),
    *at(
        "kernel",
        "Price.bounded_range",
        ("8 * self.rho", "16 * self.rho", "a rho buys too steep a selection"),
    ),
    *at(
        "kernel",
        "root_below",
        ("isqrt(scaled)", "isqrt(scaled) + 1", "a root is rounded up"),
    ),
    *at(
        "kernel",
        "Price.__post_init__",
        ("len(stated) != 1", "not stated", "a price may be of both currencies"),
    ),
    *at(
        "kernel",
        "Price.plus",
        ("self.figure + other.figure", "self.figure", "prices do not add up"),
    ),
    *at(
        "kernel",
        "Private._unseal",
        ("not isinstance(key, SealKey)", "key is None", "any key opens the seal"),
    ),
    *at(
        "kernel",
        "Private.__repr__",
        ("'Private(...)'", "repr(self.__value)", "a private value prints itself"),
    ),
    *at(
        "kernel",
        "Private.__eq__",
        ("raise TypeError(...)", "return self is other", "a private value can be compared"),
    ),
    *at(
        "kernel",
        "Private",
        ("__hash__ = None", "__hash__ = object.__hash__", "a private value hashes"),
        (
            ("def __reduce_ex__(self, protocol: object) -> NoReturn: ...\ndef __getstate__(self) -> NoReturn: ..."),
            "",
            "a private value is pickled",
        ),
    ),
    *at(
        "kernel",
        "Private.__bool__",
        ("raise TypeError(...)", "return bool(self.__value)", "a private value has a truth value"),
    ),
    *at(
        "kernel",
        "Private.__array__",
        ("raise TypeError(...)", "return self.__value", "a private value becomes an array"),
    ),
)
