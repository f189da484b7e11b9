"""Faults of the kernel: budgets, costs, the gate, the seal, currencies, policies."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "strategies/counter.py",
        ("return 2 * self.tree.levels", "return self.tree.levels", "a replaced row that moves pays once"),
        ("            return self.tree.levels", "            return 1", "a row pays for one level"),
        ("if accountant not in ADDED:", "if not accountant:", "a theorem for fixed schedules prices a counter"),
        ("return PrivacyBudget(share, self.life.delta)", "return self.life", "each node gets the whole life"),
    ),
    *planted_in(
        "ledger/periods.py",
        ("costs[-largest:]", "costs[-1:]", "of two persons, one alone pays for a counter"),
        ("and all(later) and", "and", "a release that comes too late shares a layer"),
        (" and not {one.entry for one in held} & set(waiting)", "", "an open release shares its layer"),
    ),
    *planted_in(
        "tables/persons.py",
        ("inside = numbers >= self.since", "inside = numbers >= 0", "earlier rows are counted once more"),
        ("found[0] = 2 * numbers + 1", "found[0] = 1", "later rows come before earlier ones"),
    ),
    *planted_in(
        "ledger/periods.py",
        (
            "tuple(period.name for period in named_periods(name, self.every))",
            "(named_periods(name, self.every)[-1].name,)",
            "of the periods that a release reads, the last one pays alone",
        ),
    ),
    *planted_in(
        "ledger/state.py",
        ("self.period.name,", "self.period.period.name,", "a counter's release names its last period alone"),
    ),
    *planted_in(
        "releases/answers/answered.py",
        ("np.hypot(own.precision, earlier.error)", "own.precision", "the noise of earlier nodes is forgotten"),
    ),
    *planted_in(
        "domain/periods.py",
        ("node - self.base ** self.level(node) + 1", "node - self.base ** self.level(node)", "nodes overlap"),
        ("len(_digits(self.periods, self.base))", "len(_digits(self.periods - 1, self.base))", "a level is forgotten"),
    ),
    *planted_in(
        "kernel/accountants/accountant.py",
        (
            "if self.share <= 0 or self.count < 0:",
            "if self.share < 0 or self.count < 0:",
            "a portion of nothing may be cut",
        ),
    ),
    *planted_in(
        "kernel/budget.py",
        ("and 0 <= self.delta < 1):", "and 0 <= self.delta <= 1):", "a delta of 1 is a budget"),
        ("if not SMALLEST_EPSILON <= eps <= LARGEST_EPSILON:", "if eps > LARGEST_EPSILON:", "tiny epsilons pass"),
        ("if dlt and not SMALLEST_DELTA <= dlt < 1:", "if dlt and not dlt < 1:", "tiny deltas pass"),
        ("return Fraction(cleaned)", "return Fraction(float(cleaned))", "an epsilon is a float's value"),
    ),
    *planted_in(
        "kernel/budget.py",
        (
            "return Cost(self.amount + other.amount, self.delta + other.delta)",
            "return Cost(self.amount + other.amount, max(self.delta, other.delta))",
            "deltas do not add up",
        ),
        (
            "return Cost(self.amount - other.amount, self.delta - other.delta)",
            "return Cost(self.amount - other.amount, self.delta)",
            "no delta is ever spent of what is left",
        ),
        (
            "return self.amount <= most.amount and self.delta <= most.delta",
            "return self.amount <= most.amount",
            "a cost fits whatever its delta",
        ),
        (
            "return Cost(min(self.amount, other.amount), min(self.delta, other.delta))",
            "return Cost(min(self.amount, other.amount), max(self.delta, other.delta))",
            "the largest request takes the larger delta",
        ),
        (
            "return bool(self.amount or self.delta)",
            "return bool(self.amount)",
            "a cost of a delta alone counts as nothing",
        ),
    ),
    *planted_in(
        "kernel/currency.py",
        ("return self.price(events)", "return paid", "a run that stopped early pays in full"),
        ("return SumFilter(limit=paid.amount,", "return SumFilter(limit=2 * paid.amount,", "a run may draw twice"),
        (
            "        if limit.delta:\n            return False\n",
            "",
            "a limit with a delta is covered by a sum of one figure",
        ),
        (
            "return self.converted(limit.amount, budget.delta) <= budget.epsilon",
            "return limit.amount <= budget.epsilon",
            "a limit of rho is not converted before it is compared",
        ),
        ("return price <= cost", "return cost <= price", "a recorded cost may lie below its price"),
        (
            "return self.converted(spent.amount, delta) if delta else None",
            "return spent.amount",
            "rho is shown as epsilon",
        ),
        ("if self._whole(found, delta) <= left:", "if found <= left:", "a largest request that does not fit"),
        (
            'return PAIR if accountant == "basic" and not pure else CURRENCIES[accountant]',
            "return CURRENCIES[accountant]",
            "a budget with a delta counts epsilons alone",
        ),
        (
            "Basic().epsilon(events, Fraction(0))\n    if found is None:",
            "Basic().epsilon(events, Fraction(0)) or Fraction(0)\n    if found is None:",
            "a draw without a pure epsilon is free",
        ),
        (
            'CURRENCIES = {"basic": EPSILON, "zcdp": RHO, "gdp": SQUARED_MU}',
            'CURRENCIES = {"basic": EPSILON, "zcdp": EPSILON, "gdp": SQUARED_MU}',
            "a zcdp budget counts epsilons",
        ),
    ),
    *planted_in(
        "kernel/currency.py",
        ("return Cost(epsilon, pricing.delta)", "return Cost(epsilon)", "the delta of a run is dropped"),
        (
            "return self.price(events) if pricing.accountant == PURE.accountant else paid",
            "return self.price(events, pricing)",
            "a run of zcdp that stopped early gets a refund",
        ),
        ("        if not events:\n            return Cost()\n", "", "a run that drew nothing is charged"),
        (
            "return SumFilter(limit=paid.amount, cost=require_pure",
            "return SumFilter(limit=paid.amount + 1, cost=require_pure",
            "a run by basic may draw more than was paid",
        ),
        ("limit=total_rho(events),", "limit=paid.amount,", "a run by zcdp may draw as much rho as it paid epsilon"),
        ("return PlanFilter(planned=events)", "return PlanFilter(planned=events * 2)", "a plan may be drawn twice"),
        ("return limit <= self.limit(budget)", "return True", "any limit lies within a budget of pairs"),
        (
            "return price <= Cost(cost.amount * ROUNDING, cost.delta)",
            "return price.amount <= cost.amount * ROUNDING",
            "a forged delta is proved",
        ),
        ("ROUNDING = 1 + Fraction(1, 2**30)", "ROUNDING = 1 + Fraction(1, 2**3)", "a forged epsilon is proved"),
        (
            "return spent.amount if spent.delta <= delta else None",
            "return spent.amount",
            "an epsilon is shown at a smaller delta than was spent",
        ),
        ("if not pricing.delta and pricing != PURE:", "if False:", "zcdp may prove a run at delta 0"),
        ("    if proving is None:", "    if False:", "third parties price runs"),
    ),
    *planted_in(
        "kernel/events.py",
        (
            "if not exact or not (figure > 0 or (figure == 0 and not positive)):",
            "if not exact:",
            "an event of negative cost comes to be",
        ),
        (
            "exact = isinstance(figure, kind) and not isinstance(figure, bool)",
            "exact = True",
            "an event may be made of floats",
        ),
        ("if not isinstance(self.event, Draw):", "if False:", "left-out records may be wrapped twice"),
        (
            "return replace(event, coordinates=None) if isinstance(event, DiscreteLaplaceEvent) else event",
            "return event",
            "a plan claims that one integer moves, whatever will be drawn",
        ),
    ),
    *planted_in(
        "kernel/accountants/accountant.py",
        ("for each in self.filters:", "for each in self.filters[:1]:", "the first filter alone is asked"),
        (
            "return tuple(Counter(self.charged).items())",
            "return tuple((event, 1) for event in set(self.charged))",
            "repeated draws are recorded once",
        ),
    ),
    *planted_in(
        "kernel/exact.py",
        ("if not isinstance(event, ExactEvent):", "if False:", "noisy draws pass where nothing counts them"),
    ),
    *planted_in(
        "kernel/budget.py",
        ("math.nextafter(near, math.inf)", "math.nextafter(near, -math.inf)", "a cost is rounded down to a float"),
        ("return near if Fraction(near) >= value else", "return near if True else", "a cost is rounded to nearest"),
        ("rounding=ROUND_CEILING", "rounding=ROUND_FLOOR", "a cost is rounded down in text"),
        ("Context(prec=digits, rounding=ROUND_FLOOR)", "Context(prec=digits)", "what is left is rounded up in text"),
    ),
    *planted_in(
        "kernel/gate.py",
        (
            "return _released(private, mechanism, accountant.charge(mechanism.event), noise)",
            "drawn = _released(private, mechanism, 0, noise)\n"
            "    return Released(drawn.value, accountant.charge(mechanism.event))",
            "the gate samples before it charges",
        ),
        ("for _ in range(count):", "for _ in range(1):", "a batch charges each event once"),
        (
            "for event, count in batch.events:",
            "for event, count in batch.events[:1]:",
            "a batch charges its first event alone",
        ),
        ("    except BaseException:", "    except Exception:", "an exit carries private frames out"),
        ('            warnings.simplefilter("ignore")\n', "", "warnings tell of the table"),
        ("return KeyboardInterrupt()", "raise", "an interrupt keeps its private frames"),
        (
            "    except BaseException:\n        return MechanismFailed(",
            "    except BaseException as error:\n        return MechanismFailed(str(error) + ",
            "a failure says what the mechanism said",
        ),
    ),
    *planted_in(
        "ledger/ledger.py",
        (
            "return found if cap is None else found.least(cap)",
            "return found if cap is None else cap",
            "the largest release is the cap, whatever is left",
        ),
        ("return self.terms.limit - self.spent", "return self.terms.limit", "nothing is ever spent of what is left"),
    ),
    *planted_in(
        "ledger/periods.py",
        (
            "        return spent.get(WHOLE, NO_COST) + self._joined(spent)",
            "        return self._joined(spent)",
            "a release of all rows costs nothing beside those of periods",
        ),
        (
            "        return spent.get(WHOLE, NO_COST) + most",
            "        return most",
            "a period does not pay for releases of all rows",
        ),
        ("        if self.parallel:", "        if True:", "a person's periods do not add up"),
        (
            "most = _largest(spent) if period == WHOLE else",
            "most = NO_COST if period == WHOLE else",
            "a release of all rows passes by what periods have spent",
        ),
    ),
    *planted_in(
        "tables/persons.py",
        (
            "Fraction(2 * (day - _EPOCH).days - 1, 2) for day in",
            "Fraction(2 * (day - _EPOCH).days + 1, 2) for day in",
            "periods begin a day late",
        ),
        (
            "inside = (numbers >= 0) & (numbers < self.bins)",
            "inside = numbers < self.bins",
            "a row without a date is in every period",
        ),
        (
            "return Records(batch.rows if inside.all() else batch.rows.filter(mask(inside)))",
            "return Records(batch.rows if inside.all() else batch.rows.filter(mask(inside)), batch.malformed)",
            "a malformed row is left out of every period",
        ),
    ),
    *planted_in(
        "tables/policy.py",
        (
            "if asked is not None and asked != fixed:",
            "if False:",
            "a request may state limits of its own",
        ),
        (
            "return replace(policy, fail=stated.fail)",
            "return replace(stated, fail=stated.fail)",
            "a request's limits rule",
        ),
        ("if stated.fail and not policy.fail:", "if False:", "a domain may have a rule fail that the owner forbids"),
        ("            if after > fixed:", "            if after > 2 * fixed:", "a limit may be loosened"),
        (
            'elif asked != before and not (option in ("--delimiter", "--encoding") and before is None):',
            "elif False:",
            "the count column may be exchanged",
        ),
        ("    if later.fail and not policy.fail:", "    if False:", "a rule fail may be allowed later"),
        (
            'elif asked != before and not (option in ("--delimiter", "--encoding") and before is None):',
            "elif asked != before and before is not None:",
            "a count column may be stated later",
        ),
        ("default if limit is None else limit", "limit", "a built-in limit may be loosened"),
        ("(reading.fail or None, ", "(None, ", "the bit of a rule fail is not named"),
        ("(reading.bytes, f", "(None, f", "the bit of --max-bytes is not named"),
    ),
    *planted_in(
        "kernel/budget.py",
        (
            "root_below(2 * self.rho)",
            "root_below(4 * self.rho)",
            "a rho buys sqrt(2) times the epsilon",
        ),
        ("root_below(8 * self.rho)", "root_below(16 * self.rho)", "a rho buys too steep a selection"),
        (
            "return Fraction(isqrt(scaled), 1 << (shift // 2))",
            "return Fraction(isqrt(scaled) + 1, 1 << (shift // 2))",
            "a root is rounded up",
        ),
        ("if len(stated) != 1 or", "if not stated or", "a price may be of both currencies"),
        ("return self.of(self.figure + other.figure)", "return self.of(self.figure)", "prices do not add up"),
    ),
    *planted_in(
        "kernel/sealed.py",
        ("if not isinstance(key, SealKey):", "if key is None:", "any key opens the seal"),
        ('return "Private(...)"', "return repr(self.__value)", "a private value prints itself"),
        (
            'raise TypeError("a private value cannot be compared")',
            "return self is other  # type: ignore[return-value]",
            "a private value can be compared",
        ),
        (
            "    __hash__ = None  # type: ignore[assignment]\n",
            "    __hash__ = object.__hash__\n",
            "a private value hashes",
        ),
        (
            'raise TypeError("a private value has no truth value")',
            "return bool(self.__value)  # type: ignore[return-value]",
            "a private value has a truth value",
        ),
        (
            "    def __reduce_ex__(self, protocol: object) -> NoReturn:\n"
            '        raise TypeError("a private value cannot be copied or pickled")\n\n'
            "    def __getstate__(self) -> NoReturn:\n"
            '        raise TypeError("a private value cannot be copied or pickled")\n',
            "",
            "a private value is pickled",
        ),
        (
            'raise TypeError("a private value cannot be converted to an array")',
            "return self.__value  # type: ignore[return-value]",
            "a private value becomes an array",
        ),
    ),
)
